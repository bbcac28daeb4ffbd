"""What `docpruner explain` is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from docpruner.errors import DocPrunerError
from docpruner.types import Ocr

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")


@dataclass(frozen=True)
class ExplainRequest:
    """The options, as given."""

    subject: str  # a file, or an index
    is_index: bool
    page: str | None
    pages: tuple[int, int | None] | None
    query: str | None
    hits: int | None
    word: str | None
    spec: str | None
    k: float | None
    encoder: str | None
    ocr: Ocr | None
    output: Path | None
    device: str | None
    trust_remote_code: bool
    quiet: bool

    def check(self) -> None:
        """That options are given that go together."""
        if self.output is not None and self.output.suffix.lower() not in SUFFIXES:
            raise DocPrunerError(f"--output {self.output} is not a picture; end it in .png")
        if self.spec is not None and self.k is not None:
            raise DocPrunerError("--k is short for --spec docpruner:k=…; give one of the two")
        self._check_hits()
        if self.is_index and (self.encoder is not None or self.ocr is not None):
            options = {True: "--ocr", False: "--no-ocr", None: "--encoder"}
            option = "--ocr-language" if isinstance(self.ocr, str) else options[self.ocr]
            raise DocPrunerError(
                f"{option} is for files; the pages of {self.subject} are encoded already"
            )
        one_page = self.page is not None and (not self.is_index or "#" in self.page)
        if one_page and self.pages is not None:
            raise DocPrunerError("--page is one page, --pages are many; give one of the two")

    def _check_hits(self) -> None:
        if self.query is None:
            for option, value in {"-k": self.hits, "--word": self.word}.items():
                if value is not None:
                    also = "; the factor of DocPruner is --k" if option == "-k" else ""
                    raise DocPrunerError(f"{option} goes with --hit QUERY{also}")
        elif not self.is_index:
            raise DocPrunerError(
                f"--hit needs an index; make one with: docpruner index my.idx {self.subject}"
            )
        elif self.spec is not None or self.k is not None:
            raise DocPrunerError("--hit shows what the index stores; leave out --k and --spec")

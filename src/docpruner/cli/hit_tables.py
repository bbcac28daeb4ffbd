"""Hits as commands show them: with the words that match, read from all files in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from docpruner.cli.documents import file_is_gone
from docpruner.cli.output import console, shown_path
from docpruner.explain import matched_words
from docpruner.hits import Hit
from docpruner.pages.page_files import PageFiles
from docpruner.types import Word


@dataclass(frozen=True)
class HitView:
    hit: Hit
    words: tuple[Word, ...]  # of the page; none if it has none, or if its file can't be read
    file_is_gone: bool

    @property
    def matched(self) -> list[tuple[str, str]]:
        """Words of the query that count, each with what answers it."""
        return matched_words(self.hit, self.words)

    @property
    def snippet(self) -> str:
        return replace(self.hit, recognised=self.words).snippet() if self.words else ""

    def to_dict(self, rank: int) -> dict[str, Any]:
        return {
            "rank": rank,
            **self.hit.to_dict(),
            "matched": [{"query": word, "page": text} for word, text in self.matched],
            "snippet": self.snippet,
            "file_is_gone": self.file_is_gone,
        }


def views_of(hits: Sequence[Hit]) -> list[HitView]:
    """Call it while the index is open: the hits' own child process reads all their words."""
    files = next((hit.files for hit in hits if isinstance(hit.files, PageFiles)), None)
    unknown = [(hit.document, hit.page) for hit in hits if not hit.tells_words]
    words = files.words_of(unknown) if files is not None and unknown else {}
    return [
        HitView(
            hit,
            hit.recognised or words.get((hit.document, hit.page), ()),
            file_is_gone(hit.document),
        )
        for hit in hits
    ]


def show_hits(views: Sequence[HitView]) -> None:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    table.add_column("", style="dim", justify="right")
    table.add_column("document", style="bold", overflow="fold", max_width=40)
    table.add_column("page", justify="right")
    table.add_column("score", justify="right", style="green")
    table.add_column("matched")
    paths = {view.hit.document for view in views}
    alone = len({Path(path).name for path in paths}) == len(paths)  # names say which is meant
    for rank, view in enumerate(views, 1):
        hit = view.hit
        matched = "  ".join(_pair(word, text) for word, text in view.matched)
        if view.file_is_gone:
            matched = f"[yellow](file is gone)[/] {matched}"
        name = Path(hit.document).name if alone else shown_path(hit.document)
        table.add_row(str(rank), escape(name), str(hit.page), f"{hit.score:.2f}", matched)
    console().print(table)


def _pair(word: str, text: str) -> str:
    same = word.casefold() == text.casefold()
    return escape(word) if same else f"{escape(word)}[dim]→[/]{escape(text)}"

"""One file, open, and its pages, in this process: for the worker alone.

Everything else reads through a `PageReader`, for a hostile file can do no harm in its child.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, Self

from docpruner.errors import PageError
from docpruner.pages.files import IMAGE_SUFFIXES, PDF_SUFFIXES
from docpruner.pages.images import ImageFile
from docpruner.pages.ocr import recognised_words
from docpruner.pages.parsed_page import ParsedPage, Picture, content_hash_of
from docpruner.pages.pdf import PdfFile
from docpruner.pages.problems import printable_path
from docpruner.types import Ocr, Word, WordsFrom

OCR_PIXELS = 4_000_000


class OpenPage(Protocol):
    """A page while its file is open."""

    @property
    def size(self) -> tuple[float, float]: ...
    def words(self) -> tuple[Word, ...]: ...
    def draw(self, pixels: int) -> Picture: ...


class OpenFile(Protocol):
    """A file of some kind."""

    @property
    def count(self) -> int: ...
    def open_page(self, number: int) -> AbstractContextManager[OpenPage]: ...
    def close(self) -> None: ...


class Document:
    """An open file. Its pages outlive it."""

    def __init__(self, path: Path, file: OpenFile) -> None:
        self.path = path
        self.count = file.count
        self._file = file

    def parsed_page(
        self, number: int, *, pixels: int | None, words: bool = True, ocr: Ocr = False
    ) -> ParsedPage:
        """A page, numbered from 1, as an encoder sees it.

        `pixels` is the area an encoder makes use of: a PDF is drawn to it, an image only scaled
        down; with None there is no picture. `words` asks for those of the text layer. With `ocr`,
        the words of a page that has none are recognised from its picture.
        """
        with self._open_page(number) as page:
            size, written = page.size, page.words() if words else ()
            words_from: WordsFrom = "text layer" if written else "nowhere"
            if ocr and not written:
                drawn = page.draw(OCR_PIXELS).image()
                written, words_from = recognised_words(drawn, ocr), "ocr"
            picture = None if pixels is None else page.draw(pixels)
        seen = written if picture is None else ()  # by an encoder: of a picture, no words
        content_hash = content_hash_of(size, seen, picture)
        return ParsedPage(number, size, written, words_from, content_hash, picture)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _open_page(self, number: int) -> AbstractContextManager[OpenPage]:
        if not 1 <= number <= self.count:
            pages, known = f"{self.count} pages", f"one from 1 to {self.count}"
            if self.count == 1:
                pages, known = "1 page", "page 1"
            path = printable_path(self.path)
            raise PageError(path, f"has only {pages}", f"ask for {known}", number)
        return self._file.open_page(number)


def open_document(path: Path) -> Document:
    suffix = path.suffix.lower()
    if suffix in PDF_SUFFIXES:
        return Document(path, PdfFile(path))
    if suffix in IMAGE_SUFFIXES:
        return Document(path, ImageFile(path))
    raise PageError(
        printable_path(path),
        "doesn't look like a PDF or an image (by its ending)",
        "save it as a PDF",
    )

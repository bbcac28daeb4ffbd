"""Words and pictures of single pages, read from their files when someone asks for them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from docpruner.errors import PageError
from docpruner.pages.reader import SECONDS, PageReader, page_or_raise
from docpruner.types import Page, Word

if TYPE_CHECKING:
    from PIL.Image import Image


class PageFiles:
    """Reads pages of any files in a child process, started when first needed and then kept.

    Threads take turns. `close` ends what another thread is reading, with a `PageError` there;
    the next call starts a new child. A page may take `seconds`. Paths are absolute, or below
    `root`.
    """

    def __init__(self, root: str = "", *, seconds: float = SECONDS) -> None:
        self.root = root
        self._seconds = seconds
        self._turn = Lock()
        self._reader: PageReader | None = None

    def words(self, path: str, number: int) -> tuple[Word, ...]:
        """Words of the text layer, in reading order; `number` is from 1."""
        return self._page(path, number).words

    def words_of(self, pages: Iterable[tuple[str, int]]) -> dict[tuple[str, int], tuple[Word, ...]]:
        """Words of pages given by path and number; those that can't be read are left out."""
        numbers: dict[str, list[int]] = {}
        for path, number in dict.fromkeys(pages):
            numbers.setdefault(path, []).append(number)
        with self._open_reader() as reader:
            return {
                (path, page.number): page.words
                for path in numbers
                for page in self._readable(reader, path, numbers[path])
            }

    def picture(self, path: str, number: int, pixels: int) -> Image:
        """A page drawn to an area of `pixels`; an image is only scaled down to it."""
        return self._page(path, number, pixels).render()

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()

    def _page(self, path: str, number: int, pixels: int | None = None) -> Page:
        with self._open_reader() as reader:
            reader.open(self._file(path, number))
            (page,) = reader.pages([number], pixels=pixels)
            return page_or_raise(page)

    @contextmanager
    def _open_reader(self) -> Iterator[PageReader]:
        with self._turn:
            if self._reader is None or self._reader.closed:
                self._reader = PageReader(pixels=None, seconds=self._seconds)
            yield self._reader

    def _file(self, path: str, number: int | None = None) -> Path:
        file = Path(os.path.join(self.root, path))
        if not file.is_absolute():
            remedy = "look it up by its name, where you added it from"
            raise PageError(path, "is not a file", remedy, number)
        return file

    def _readable(self, reader: PageReader, path: str, numbers: list[int]) -> Iterator[Page]:
        try:
            reader.open(self._file(path))
        except PageError:
            return
        for page in reader.pages(numbers):
            if isinstance(page, Page):
                yield page

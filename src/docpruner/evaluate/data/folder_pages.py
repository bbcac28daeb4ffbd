"""The pages of a folder of one's own: PDFs and images."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from docpruner.errors import PageError
from docpruner.evaluate.data.sampling import some_of
from docpruner.pages.file_source import FileDocument, is_gone
from docpruner.pages.files import find_files, pictures_after
from docpruner.pages.page_files import PageFiles
from docpruner.pages.parsed_page import DEFAULT_PIXELS
from docpruner.pages.problems import printable_path, unreachable
from docpruner.pages.reader import PageReader, page_or_raise
from docpruner.stores.records import PageName
from docpruner.types import Ocr, Page

if TYPE_CHECKING:
    from PIL.Image import Image

Stamp = tuple[Path, int, int]
"""A file, its size and when it was changed last."""


@dataclass(frozen=True)
class FolderPages:
    """PDFs and images below a folder; a document is called by its path from there.

    A file is hashed once, however many encoders read it, unless it changes.
    """

    folder: Path  # resolved
    _hashes: dict[Stamp, bytes] = field(default_factory=dict, repr=False, compare=False)

    @property
    def key(self) -> str:
        return str(self.folder)

    def files(self) -> list[Path]:
        return [file for file in find_files([self.folder]) if isinstance(file, Path)]

    def name_of(self, file: Path) -> str:
        if not file.is_relative_to(self.folder):
            reason = f"lies outside {self.folder}, where a link leads to it"
            raise PageError(printable_path(file), reason, "copy it there")
        return file.relative_to(self.folder).as_posix()

    def page_id(self, page: PageName) -> str:
        return f"{page.document}#{page.number}"

    def source(self, *, pixels: int | None, ocr: Ocr) -> FolderSource:
        return FolderSource(self, pixels=pixels, ocr=ocr)

    def content_hash(self, document: str) -> bytes | None:
        try:
            return self.hash_of(self.folder / document)
        except OSError:
            return None

    def hash_of(self, file: Path) -> bytes:
        status = file.stat()
        stamp = file, status.st_size, status.st_mtime_ns
        if stamp not in self._hashes:
            with file.open("rb") as content:
                self._hashes[stamp] = hashlib.file_digest(content, "sha256").digest()
        return self._hashes[stamp]

    def picture(self, page: PageName) -> Image:
        with closing(PageFiles()) as files:
            return files.picture(str(self.folder / page.document), page.number, DEFAULT_PIXELS)

    def some_pages(self, count: int, *, pixels: int | None, ocr: Ocr) -> list[Page]:
        with PageReader(pixels=pixels, ocr=ocr) as reader:
            places = [
                (file, number) for file in self.files() for number in _page_numbers(reader, file)
            ]
            return some_of(places, count, partial(_read_page, reader))


class FolderSource:
    """All files of a data set, to be added to an index that holds nothing else."""

    def __init__(self, pages: FolderPages, *, pixels: int | None, ocr: Ocr) -> None:
        self._pages = pages
        self._files = list(find_files([pages.folder]))
        self._reader = PageReader(pixels=pixels, ocr=ocr, title_page=True)
        self.size = sum(_size(file) for file in self._files if isinstance(file, Path))

    def documents(self) -> Iterator[FileDocument | PageError]:
        for place, file in enumerate(self._files):
            if isinstance(file, PageError):
                yield file
                continue
            try:
                name, content_hash = self._pages.name_of(file), self._pages.hash_of(file)
                size, ahead = file.stat().st_size, pictures_after(self._files, place)
                yield FileDocument(name, file, content_hash, size, self._reader, ahead)
            except PageError as problem:
                yield problem
            except OSError as error:
                yield unreachable(file, error)

    def covers(self, document: str) -> bool:  # noqa: ARG002
        return True

    def is_gone(self, document: str) -> bool:
        return is_gone(str(self._pages.folder / document))

    def close(self) -> None:
        self._reader.close()


def _page_numbers(reader: PageReader, file: Path) -> range:
    try:
        return range(1, reader.open(file) + 1)
    except PageError:  # reported when the pages are encoded
        return range(0)


def _read_page(reader: PageReader, place: tuple[Path, int]) -> Page:
    file, number = place
    reader.open(file)
    (page,) = reader.pages([number])
    return page_or_raise(page)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # reported when it is read
        return 0

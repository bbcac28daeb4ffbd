"""The pages of a folder of one's own: PDFs and images."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from docpruner.errors import PageError
from docpruner.evaluate.data.sampling import some_of
from docpruner.pages.file_source import FileSource
from docpruner.pages.files import find_files
from docpruner.pages.page_files import PageFiles
from docpruner.pages.parsed_page import DEFAULT_PIXELS
from docpruner.pages.reader import PageReader, page_or_raise
from docpruner.stores.records import PageName
from docpruner.types import Page

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class FolderPages:
    """PDFs and images below a folder; answers call a page `report.pdf#3`, with its folders."""

    folder: Path  # resolved

    @property
    def key(self) -> str:
        return str(self.folder)

    def files(self) -> list[Path]:
        return [file for file in find_files([self.folder]) if isinstance(file, Path)]

    def name_of(self, file: Path) -> str:
        return str(file.relative_to(self.folder))

    def page_id(self, page: PageName) -> str:
        return f"{self.name_of(Path(page.document))}#{page.number}"

    def source(self, *, pixels: int | None, ocr: bool) -> FileSource:
        return FileSource([self.folder], pixels=pixels, ocr=ocr)

    def picture(self, page: PageName) -> Image:
        with closing(PageFiles()) as files:
            return files.picture(page.document, page.number, DEFAULT_PIXELS)

    def some_pages(self, count: int, *, pixels: int | None, ocr: bool) -> list[Page]:
        with PageReader(pixels=pixels, ocr=ocr) as reader:
            places = [
                PageName(str(file), number)
                for file in self.files()
                for number in _page_numbers(reader, file)
            ]
            return some_of(places, count, partial(_read_page, reader))


def _page_numbers(reader: PageReader, file: Path) -> range:
    try:
        return range(1, reader.open(file) + 1)
    except PageError:  # reported when the pages are encoded
        return range(0)


def _read_page(reader: PageReader, page: PageName) -> Page:
    reader.open(Path(page.document))
    (read,) = reader.pages([page.number])
    return page_or_raise(read)

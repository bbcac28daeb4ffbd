"""Files and folders as a source of pages."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from docpruner.errors import PageError
from docpruner.pages.files import find_files
from docpruner.pages.problems import unreachable
from docpruner.pages.reader import PageReader
from docpruner.types import Page


@dataclass
class FileDocument:
    path: Path
    content_hash: bytes
    bytes: int
    reader: PageReader
    is_open: bool = False  # by its reader, until the next document is

    @property
    def name(self) -> str:
        return str(self.path)

    def count(self) -> int:
        count = self.reader.open(self.path)
        self.is_open = True
        return count

    def pages(self, numbers: Sequence[int]) -> Iterator[Page | PageError]:
        if not self.is_open:
            self.count()
        return self.reader.pages(numbers)


class FileSource:
    """PDFs and images, given by name or by the folders that they lie in.

    `pixels` and `ocr` are those of `PageReader`.
    """

    def __init__(
        self, paths: Iterable[str | os.PathLike[str]], *, pixels: int | None, ocr: bool = False
    ) -> None:
        given = list(paths)
        self._roots = [os.path.realpath(path) for path in given]
        self._files = list(find_files(given))
        if not self._files:
            where = ", ".join(map(str, given)) or "nowhere"
            remedy = "give PDF, PNG, JPEG, TIFF or WebP files, or folders with some"
            self._files = [PageError(where, "holds no document", remedy)]
        self.size = sum(_size(file) for file in self._files if isinstance(file, Path))
        self._reader = PageReader(pixels=pixels, ocr=ocr)

    def documents(self) -> Iterator[FileDocument | PageError]:
        for file in self._files:
            if isinstance(file, PageError):
                yield file
                continue
            try:
                with file.open("rb") as content:
                    digest = hashlib.file_digest(content, "sha256").digest()
                yield FileDocument(file, digest, file.stat().st_size, self._reader)
            except OSError as error:
                yield unreachable(file, error)

    def covers(self, document: str) -> bool:
        """Of a folder that is gone itself, nothing is known: its disk may just not be there."""
        for root in self._roots:
            if document == root:
                return os.path.isdir(os.path.dirname(root))
            if document.startswith(root.rstrip(os.sep) + os.sep):
                return os.path.isdir(root)
        return False

    def is_gone(self, document: str) -> bool:
        return is_gone(document)

    def close(self) -> None:
        self._reader.close()


def is_gone(path: str) -> bool:
    """Whether there is no such file; one that may not be looked at is not gone."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # reported when it is read

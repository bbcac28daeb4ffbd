"""Files and folders as a source of pages."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from docpruner.errors import PageError
from docpruner.pages.files import find_files, pictures_after
from docpruner.pages.problems import printable_path, unreachable
from docpruner.pages.reader import PageReader
from docpruner.types import Ocr, Page


@dataclass
class FileDocument:
    name: str
    path: Path
    content_hash: bytes
    bytes: int
    reader: PageReader
    ahead: Iterable[Path] = ()  # pictures that may be next
    is_open: bool = False  # by its reader, until the next document is

    def count(self) -> int:
        count = self.reader.open(self.path, ahead=self.ahead)
        self.is_open = True
        return count

    def pages(self, numbers: Sequence[int]) -> Iterator[Page | PageError]:
        if not self.is_open:
            self.count()
        return self.reader.pages(numbers)


class FileSource:
    """PDFs and images, given by name or by the folders that they lie in.

    `pixels`, `words` and `ocr` are those of `PageReader`. With a `root`, documents are named by
    their paths below it, so that they can be moved with it; a file elsewhere is a problem.
    """

    def __init__(
        self,
        paths: Iterable[str | os.PathLike[str]],
        *,
        pixels: int | None,
        words: bool = True,
        ocr: Ocr = False,
        root: str = "",
    ) -> None:
        self._root = os.path.realpath(root) if root else ""
        given = list(paths)
        self._given = [os.path.realpath(path) for path in given]
        self._files = list(find_files(given))
        if not self._files:
            where = ", ".join(map(str, given)) or "nowhere"
            remedy = "give PDF, PNG, JPEG, TIFF or WebP files, or folders with some"
            self._files = [PageError(where, "holds no document", remedy)]
        self.size = sum(_size(file) for file in self._files if isinstance(file, Path))
        self._reader = PageReader(pixels=pixels, words=words, ocr=ocr, title_page=True)

    def documents(self) -> Iterator[FileDocument | PageError]:
        for place, file in enumerate(self._files):
            if isinstance(file, PageError):
                yield file
                continue
            try:
                with file.open("rb") as content:
                    digest = hashlib.file_digest(content, "sha256").digest()
                name, size = self._name(file), file.stat().st_size
                ahead = pictures_after(self._files, place)
                yield FileDocument(name, file, digest, size, self._reader, ahead)
            except PageError as problem:
                yield problem
            except OSError as error:
                yield unreachable(file, error)

    def _name(self, file: Path) -> str:
        if not self._root:
            return str(file)
        if not file.is_relative_to(self._root):
            reason = f"is not below {self._root}, the root of the index"
            raise PageError(printable_path(file), reason, "move it there, or make another index")
        return file.relative_to(self._root).as_posix()

    def covers(self, document: str) -> bool:
        """Of a folder that is gone itself, nothing is known: its disk may just not be there."""
        path = os.path.join(self._root, document)
        for given in self._given:
            if path == given:
                return os.path.isdir(os.path.dirname(given))
            if path.startswith(given.rstrip(os.sep) + os.sep):
                return os.path.isdir(given)
        return False

    def is_gone(self, document: str) -> bool:
        path = os.path.join(self._root, document)
        return os.path.isabs(path) and is_gone(path)

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

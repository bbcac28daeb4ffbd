"""Files as a source of pages that somebody else reads: listed, hashed and counted here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docpruner.errors import PageError
from docpruner.pages.file_source import FileDocument, FileSource
from docpruner.types import Page

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, eq=False)
class UnreadPage(Page):
    """A page of which nothing is known but its number and its file."""

    path: str = ""


@dataclass(frozen=True, eq=False)
class UnreadDocument:
    document: FileDocument

    @property
    def name(self) -> str:
        return self.document.name

    @property
    def content_hash(self) -> bytes:
        return self.document.content_hash

    @property
    def bytes(self) -> int:
        return self.document.bytes

    def count(self) -> int:
        return self.document.count()

    def pages(self, numbers: Sequence[int]) -> Iterator[Page | PageError]:
        path = self.document.path
        for number in numbers:
            yield UnreadPage(f"{path.name}#{number}", unread, number=number, path=str(path))


class UnreadFiles:
    """The documents of a `FileSource`, without what is on their pages."""

    def __init__(self, files: FileSource) -> None:
        self._files = files
        self.size = files.size

    def documents(self) -> Iterator[UnreadDocument | PageError]:
        for document in self._files.documents():
            yield document if isinstance(document, PageError) else UnreadDocument(document)

    def close(self) -> None:
        self._files.close()


class FollowedFiles(UnreadFiles):
    """The same, of which is known what has become of them."""

    def covers(self, document: str) -> bool:
        return self._files.covers(document)

    def is_gone(self, document: str) -> bool:
        return self._files.is_gone(document)


def unread() -> Image:
    raise ValueError("a page that was not read can't be drawn")

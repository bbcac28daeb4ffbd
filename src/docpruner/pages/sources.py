"""Where pages come from: documents, one after another, and of each the pages that are asked for.

Files and folders, pictures in memory and embeddings computed elsewhere each have a module; anything
else that is a `Source` can be added to an index in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from docpruner.errors import PageError
from docpruner.types import Page


class SourceDocument(Protocol):
    """A document that may be added. Nothing of it is read before it is asked for."""

    @property
    def name(self) -> str:
        """By which the index knows it; a file's path."""

    @property
    def content_hash(self) -> bytes:
        """Another one means that it has changed."""

    @property
    def bytes(self) -> int:
        """How much work it is, beside the others of its source."""

    def count(self) -> int:
        """How many pages it has; PageError if it can't be read."""

    def pages(self, numbers: Sequence[int]) -> Iterator[Page | PageError]:
        """These pages, in this order."""


class Source(Protocol):
    """Documents to add, read one after another."""

    @property
    def size(self) -> int:
        """The bytes of all documents."""

    def documents(self) -> Iterator[SourceDocument | PageError]: ...

    def close(self) -> None:
        """May be called by another thread, to end what is waited for at once."""


@runtime_checkable
class FollowsDocuments(Protocol):
    """A source that can tell what has become of documents that came from it."""

    def covers(self, document: str) -> bool:
        """Whether a document would be among those of this source, if it still existed."""

    def is_gone(self, document: str) -> bool: ...

"""Pages that were encoded elsewhere as a source: only what comes after encoding is left to do."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from docpruner.errors import InvalidPageError, PageError
from docpruner.types import Page, PageEmbedding

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, eq=False)
class EmbeddingDocument:
    name: str
    embeddings: dict[int, PageEmbedding]  # by their numbers

    @property
    def content_hash(self) -> bytes:
        digest = hashlib.sha256()
        for number, page in sorted(self.embeddings.items()):
            digest.update(f"{number} {page.grid} {page.prompt}\0".encode())
            arrays = (page.vectors, page.importance, page.cells, page.boxes, page.centrality)
            for array in arrays:
                if array is not None:
                    digest.update(array.data)
        return digest.digest()

    @property
    def bytes(self) -> int:
        return sum(page.vectors.nbytes for page in self.embeddings.values())

    def count(self) -> int:
        return max(self.embeddings)

    def pages(self, numbers: Sequence[int]) -> Iterator[Page | PageError]:
        for number in numbers:
            if number in self.embeddings:  # others may come later
                page = self.embeddings[number]
                yield Page(page.name, _no_picture, number=number, embedding=page)


class EmbeddingSource:
    """`report.pdf#3` is page 3 of report.pdf, any other name a document of one page.

    The pages of a document follow each other.
    """

    def __init__(self, embeddings: Iterable[PageEmbedding]) -> None:
        self._embeddings = embeddings
        self.size = 0  # nobody knows before they have come

    def documents(self) -> Iterator[EmbeddingDocument | PageError]:
        named = ((*_named(page.name), page) for page in self._embeddings)
        come: set[str] = set()
        for document, pages in groupby(named, key=lambda each: each[0]):
            if document in come:
                raise InvalidPageError(
                    f"{document}: its pages don't follow each other; sort them by document"
                )
            come.add(document)
            embeddings: dict[int, PageEmbedding] = {}
            for _, number, page in pages:
                if number in embeddings:
                    raise InvalidPageError(f"page {page.name} is given twice")
                embeddings[number] = page
            yield EmbeddingDocument(document, embeddings)

    def close(self) -> None:
        pass


def _named(name: str) -> tuple[str, int]:
    document, sign, number = name.rpartition("#")
    if sign and document and number.isdecimal() and int(number) >= 1:
        return document, int(number)
    return name, 1


def _no_picture() -> Image:
    raise NotImplementedError("a page that was encoded elsewhere has no picture here")

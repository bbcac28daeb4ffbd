"""What goes into an index and what comes out of it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from docpruner.codecs import Encoded, Rows
from docpruner.index.page_map import PageMap
from docpruner.types import WordsFrom


@dataclass(frozen=True)
class FileRecord:
    """A document as it was when it was read."""

    path: str
    sha256: bytes
    mtime_ns: int
    bytes: int
    pages: int
    metadata: Mapping[str, str] | None = None  # None leaves what is there


@dataclass(frozen=True, eq=False)
class PageRecord:
    """A page to store: its encoded vectors, and its map as bytes."""

    number: int
    size: tuple[float, float]
    content: bytes
    words_from: WordsFrom
    rows: Rows
    special: int
    patches: int  # before reduction
    map: bytes

    def checksum(self, path: str) -> int:
        told = (path, self.number, *self.size, self.special, self.patches)
        return _checksum(self.rows, self.map, told)


class PageRow(NamedTuple):
    """A page as the catalogue has it, with its document's path and its map."""

    id: int
    path: str
    number: int
    width: float
    height: float
    words_from: WordsFrom
    segment: int
    start: int
    vectors: int
    special: int
    patches: int
    checksum: int
    map: bytes

    @property
    def is_sound(self) -> bool:
        """False where a damaged catalogue has a value of another kind, or none."""
        return tuple(map(type, self)) == KINDS

    def rows_in(self, segment: Rows) -> Rows:
        """Its rows; fewer than it has if the segment is shorter than it was."""
        return segment[max(self.start, 0) : max(self.start + self.vectors, 0)]

    def checksum_of(self, rows: Rows, page_map: bytes) -> int:
        told = (self.path, self.number, self.width, self.height, self.special, self.patches)
        return _checksum(rows, page_map, told)


KINDS = (int, str, int, float, float, str, int, int, int, int, int, int, bytes)

PAGE_ROWS = """SELECT p.id, d.path, p.number, p.width, p.height, p.words_from, p.segment, p.start,
    p.vectors, p.special, p.patches, p.checksum, m.map
    FROM pages p LEFT JOIN documents d ON d.id = p.document LEFT JOIN maps m ON m.page = p.id """
"""Selects what a `PageRow` has."""


def _checksum(rows: Rows, page_map: bytes, told: tuple[str, int, float, float, int, int]) -> int:
    """Over everything of a page that a flipped bit could change without anybody noticing."""
    path, number, width, height, special, patches = told
    text = repr((path, number, float(width), float(height), len(rows), special, patches))
    data = np.ascontiguousarray(rows).data
    return zlib.crc32(text.encode(errors="surrogatepass"), zlib.crc32(page_map, zlib.crc32(data)))


def document_checksum(path: str, sha256: bytes, size: int, pages: int, metadata: str) -> int:
    text = repr((path, sha256, size, pages, metadata))
    return zlib.crc32(text.encode(errors="surrogatepass"))


@dataclass(frozen=True)
class DocumentPages:
    """Some pages of a document, to be committed together; `finished` with the last of them."""

    file: FileRecord
    pages: Sequence[PageRecord]
    finished: bool


@dataclass(frozen=True)
class Known:
    """What an index has of a file with this content."""

    pages: int  # that the file has
    there: frozenset[int]  # numbers of those that are in
    without_words: frozenset[int]  # of those, where no words were found and none were looked for
    whole: bool  # all pages are in, and it is the only version of the file


@dataclass(frozen=True, eq=False)
class StoredPage:
    """A page as it lies in an index."""

    document: str
    number: int
    size: tuple[float, float]
    words_from: WordsFrom
    checksum: int  # another one whenever it is stored otherwise
    vectors: Encoded
    map: PageMap


@dataclass(frozen=True)
class DocumentEntry:
    """A document of an index."""

    id: int
    path: str
    pages: int  # that the file has
    metadata: Mapping[str, str]

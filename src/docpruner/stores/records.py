"""What goes into a store and what comes out of it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from docpruner.codecs import Encoded
from docpruner.stores.page_map import PageMap
from docpruner.stores.page_text import PageText
from docpruner.stores.settings import Settings
from docpruner.types import Metadata, Word, WordsFrom


class PageName(NamedTuple):
    """What a page is called, in every store."""

    document: str
    number: int  # from 1


class RankedPage(NamedTuple):
    document: str
    number: int
    score: float

    @property
    def name(self) -> PageName:
        return PageName(self.document, self.number)


@dataclass(frozen=True)
class DocumentRecord:
    """A document as it was when it was read."""

    name: str  # a file's path, or whatever the source calls it
    content_hash: bytes  # another one means another version
    bytes: int
    pages: int
    metadata: Metadata | None = None  # None leaves what is there


@dataclass(frozen=True, eq=False)
class StoredPage:
    """A page as it is kept."""

    document: str
    number: int  # from 1
    size: tuple[float, float]
    words_from: WordsFrom
    vectors: Encoded
    provenance: PageMap
    content_hash: bytes = b""  # of what an encoder sees of it, empty if unknown
    text: PageText = field(default_factory=PageText)  # empty where words are not stored

    @property
    def name(self) -> str:
        return f"{PurePath(self.document).name}#{self.number}"

    @property
    def words(self) -> tuple[Word, ...]:
        """Its words with their places, in reading order, as far as they are stored."""
        return self.text.placed(self.provenance.patch_boxes) or self.provenance.placed_words

    @property
    def special(self) -> int:
        """Stored vectors that are special tokens'."""
        return int(self.provenance.special.sum())

    @property
    def patches(self) -> int:
        """Of the page before reduction."""
        return len(self.provenance.patches)

    @property
    def fingerprint(self) -> int:
        """Another one whenever it is stored otherwise."""
        parts = (self.vectors.rows, self.provenance.sources, self.provenance.offsets)
        checksum = 0
        for part in parts:
            checksum = zlib.crc32(np.ascontiguousarray(part).data, checksum)
        return checksum


@dataclass(frozen=True)
class DocumentPages:
    """Some pages of a document, to be committed together; `finished` with the last of them."""

    document: DocumentRecord
    pages: Sequence[StoredPage]
    finished: bool


@dataclass(frozen=True)
class DocumentEntry:
    """A document of an index."""

    name: str
    pages: int  # that the document has
    metadata: Metadata
    content_hash: bytes


@dataclass(frozen=True)
class KnownDocument:
    """What an index has of a document, compared with how it is now."""

    same: bool  # some version has this content; the rest is about that version
    pages: int = 0  # that the document has
    there: frozenset[int] = frozenset()  # numbers of those that are in
    without_words: frozenset[int] = frozenset()  # of those, where no words were found
    whole: bool = False  # all pages are in, and there is no other version
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True)
class Stats:
    """What an index holds, and what it would hold without pruning."""

    settings: Settings
    documents: int
    pages: int
    missing_pages: int  # that the documents have but the index lacks
    pages_without_words: int
    vectors: int
    vectors_unpruned: int
    bytes_on_disk: int  # or in memory, where it is kept there
    bytes_of_vectors: int
    bytes_reclaimable: int  # by compaction
    bytes_unpruned_float16: int
    pruned: float  # share of all patches, 0..1
    pruned_by_page: dict[str, float]  # quantiles over pages
    pruned_histogram: list[int]  # pages in ten equal steps from 0 to 1
    bytes_besides: int = 0  # of all but the vectors, when compacted
    bytes_empty: int = 0  # of those, what an index without pages takes too
    pages_with_text: int = 0  # whose words are stored, also where there are none
    bytes_of_text: int = 0  # of these words, and of what full-text search needs; they are besides


@dataclass(frozen=True)
class Tuning:
    """What a first stage was measured to find of what an exact search finds."""

    candidates: int  # pages that are ranked exactly
    recall: float  # share of the exact ten best that are among them
    interval: tuple[float, float]  # of the recall, 95 %
    queries: int  # that it was measured with
    asked: int  # of those given by the user; the others were made from pages
    pages: int  # in the index at that time
    milliseconds: float  # of a search, the middle one
    exact_milliseconds: float


@dataclass(frozen=True)
class FirstStageState:
    """The first stage of an index."""

    centroids: int
    pages: int  # in its lists
    pages_outside: int  # which are ranked exactly in every search
    bytes_on_disk: int
    error: float  # squared distance of vectors to their centroids, of their squared length
    error_when_trained: float
    candidates: int
    tuning: Tuning | None  # None if it was not measured


@dataclass(frozen=True)
class IndexVersion:
    """A state of an index that can still be read."""

    number: int
    time: datetime


@dataclass(frozen=True)
class Damage:
    """A page whose bytes are not the ones that were written."""

    document: str
    page: int
    reason: str

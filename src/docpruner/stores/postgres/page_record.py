"""A page as the tables have it, and the checksums over what they say."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np

from docpruner.codecs import Encoded, Rows
from docpruner.stores.page_map_bytes import unpack
from docpruner.stores.page_text import PageText
from docpruner.stores.records import StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import WordsFrom


class PageRecord(NamedTuple):
    """What `PAGES` selects."""

    id: int
    document: int
    name: str  # of the document
    number: int
    width: float
    height: float
    content: bytes
    words_from: WordsFrom
    vectors: int
    special: int
    patches: int
    checksum: int
    rows: bytes
    map: bytes
    words: bytes

    @property
    def is_whole(self) -> bool:
        """Whether nothing has changed since it was written.

        The name is not in it: the document's own checksum has that, and a document may be renamed
        without a look at its pages.
        """
        told = (
            self.document, self.number, self.width, self.height, self.content, self.words_from,
            self.vectors, self.special, self.patches,
        )  # fmt: skip
        return page_checksum(told, self.rows, self.map, self.words) == self.checksum

    def vectors_in(self, settings: Settings) -> Encoded:
        return Encoded(settings.codec, settings.dim, rows_of(self.rows, settings))

    def page(self, settings: Settings) -> StoredPage:
        return StoredPage(
            document=self.name,
            number=self.number,
            size=(self.width, self.height),
            words_from=self.words_from,
            vectors=self.vectors_in(settings),
            provenance=unpack(self.map),
            content_hash=self.content,
            text=PageText(self.words),
        )


PAGES = """SELECT p.id, p.document, d.name, p.number, p.width, p.height, p.content, p.words_from,
    p.vectors, p.special, p.patches, p.checksum, p.rows, t.map, t.words
    FROM pages p JOIN documents d ON d.id = p.document JOIN page_details t ON t.page = p.id """

Told = tuple[int, int, float, float, bytes, str, int, int, int]


def rows_of(data: bytes, settings: Settings) -> Rows:
    return np.frombuffer(data, np.uint8).reshape(-1, settings.row_bytes)


def page_checksum(told: Told, rows: bytes, page_map: bytes, words: bytes) -> int:
    checksum = zlib.crc32(words, zlib.crc32(page_map, zlib.crc32(rows)))
    return zlib.crc32(repr(told).encode(errors="surrogatepass"), checksum)


def document_checksum(name: str, content: bytes, size: int, pages: int, metadata: str) -> int:
    text = repr((name, content, size, pages, metadata))
    return zlib.crc32(text.encode(errors="surrogatepass"))

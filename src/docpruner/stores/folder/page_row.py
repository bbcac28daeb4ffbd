"""A page as the catalogue has it, and the checksums over what it says."""

from __future__ import annotations

import sqlite3
import zlib
from typing import NamedTuple

import numpy as np

from docpruner.codecs import CodecName, Encoded, Rows
from docpruner.stores.page_map_bytes import unpack
from docpruner.stores.page_text import PageText
from docpruner.stores.records import StoredPage
from docpruner.types import WordsFrom


class PageRow(NamedTuple):
    """A row of the table, with its document's name, its map and its words."""

    id: int
    path: str
    number: int
    width: float
    height: float
    content: bytes
    words_from: WordsFrom
    segment: int
    start: int
    vectors: int
    special: int
    patches: int
    checksum: int
    map: bytes
    text: bytes  # empty if there is none

    @property
    def is_sound(self) -> bool:
        """False where a damaged catalogue has a value of another kind, or none."""
        return tuple(map(type, self)) == KINDS

    def rows_in(self, segment: Rows) -> Rows:
        """Its rows; fewer than it has if the segment is shorter than it was."""
        return segment[max(self.start, 0) : max(self.start + self.vectors, 0)]

    def checksum_of(self, rows: Rows, page_map: bytes) -> int:
        return page_checksum(
            rows, page_map, self.path, self.number, (self.width, self.height), self.special,
            self.patches, self.text,
        )  # fmt: skip

    def page(self, rows: Rows, codec: CodecName, dim: int) -> StoredPage:
        return StoredPage(
            document=self.path,
            number=self.number,
            size=(self.width, self.height),
            words_from=self.words_from,
            vectors=Encoded(codec, dim, rows),
            provenance=unpack(self.map),
            content_hash=self.content,
            text=PageText(self.text),
        )


KINDS = (int, str, int, float, float, bytes, str, int, int, int, int, int, int, bytes, bytes)

PLACED = "pages p LEFT JOIN moved v ON v.page = p.id AND v.segment IN (SELECT id FROM segments)"
"""Pages, and where they lie if that is not written into them yet (`rewriting`)."""

PAGE_ROWS = f"""SELECT p.id, d.path, p.number, p.width, p.height, p.content, p.words_from,
    coalesce(v.segment, p.segment), coalesce(v.start, p.start), coalesce(v.vectors, p.vectors),
    p.special, p.patches, coalesce(v.checksum, p.checksum), coalesce(v.map, m.map),
    coalesce(t.packed, x'')
    FROM {PLACED}
    LEFT JOIN documents d ON d.id = p.document LEFT JOIN maps m ON m.page = p.id
    LEFT JOIN texts t ON t.page = p.id """
"""Selects what a `PageRow` has."""

NO_TEXTS = "(SELECT NULL AS page, NULL AS packed)"
NONE_MOVED = (
    "(SELECT NULL AS page, NULL AS segment, NULL AS start, NULL AS vectors, NULL AS checksum, "
    "NULL AS map)"
)


def page_rows(connection: sqlite3.Connection) -> str:
    return fitting(connection, PAGE_ROWS)


def fitting(connection: sqlite3.Connection, statement: str) -> str:
    """A statement, also for an index that was made before there were texts, or anything moved."""
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found > 2:
        return statement
    return statement.replace("texts", NO_TEXTS).replace("moved", NONE_MOVED)


def page_checksum(
    rows: Rows,
    page_map: bytes,
    path: str,
    number: int,
    size: tuple[float, float],
    special: int,
    patches: int,
    words: bytes = b"",
) -> int:
    """Over everything of a page that a flipped bit could change without anybody noticing."""
    width, height = size
    text = repr((path, number, float(width), float(height), len(rows), special, patches))
    checksum = zlib.crc32(page_map, zlib.crc32(np.ascontiguousarray(rows).data))
    return zlib.crc32(words, zlib.crc32(text.encode(errors="surrogatepass"), checksum))


def document_checksum(path: str, sha256: bytes, size: int, pages: int, metadata: str) -> int:
    text = repr((path, sha256, size, pages, metadata))
    return zlib.crc32(text.encode(errors="surrogatepass"))

"""What the rows of the table hold, and what is made of them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from docpruner.codecs import Encoded, Rows
from docpruner.errors import DamagedIndexError
from docpruner.maxsim import Spans
from docpruner.stores.bm25 import words_in
from docpruner.stores.page_map_bytes import pack, unpack
from docpruner.stores.page_text import PageText
from docpruner.stores.records import DocumentEntry, StoredPage
from docpruner.stores.settings import Settings
from docpruner.stores.totals import Counts
from docpruner.types import Metadata

FORMAT = "1"
SETTINGS, DOCUMENT, PAGE = 0, 1, 2  # kinds of rows

_AS_IS = {"lance-encoding:compression": "none"}  # is compressed already, or is not to be

SCHEMA = pa.schema(
    [
        pa.field("kind", pa.int8()),
        pa.field("document", pa.int64()),  # its number; names are in entries, so that they change
        pa.field("entry", pa.string()),  # JSON of a document or of the settings
        pa.field("content", pa.binary()),  # hash of a document, or of a page
        pa.field("number", pa.int32()),
        pa.field("width", pa.float64()),
        pa.field("height", pa.float64()),
        pa.field("words_from", pa.string()),
        pa.field("vectors", pa.int32()),
        pa.field("special", pa.int32()),
        pa.field("patches", pa.int32()),
        pa.field("text_bytes", pa.int32()),
        pa.field("rows", pa.large_binary(), metadata=_AS_IS),
        pa.field("map", pa.large_binary(), metadata=_AS_IS),
        pa.field("text", pa.large_binary(), metadata=_AS_IS),
        pa.field("words", pa.large_string()),  # of the text, for Lance's full-text search
        pa.field("checksum", pa.int64()),
    ],
    metadata={"docpruner.format": FORMAT},
)

LISTED = (
    *("kind", "document", "entry", "content", "number", "words_from", "vectors", "special"),
    *("patches", "text_bytes", "checksum"),
)
"""What is read of every row when the table is opened."""

STORED = (
    *("document", "content", "number", "width", "height", "words_from", "vectors", "special"),
    *("patches", "rows", "map", "text", "checksum"),
)
"""What is read of a page."""


@dataclass(frozen=True)
class DocumentRow:
    """A version of a document."""

    id: int
    name: str
    content: bytes
    size: int  # in bytes
    pages: int
    metadata: Metadata
    incoming: bool  # there is another version, which this one will replace

    @property
    def entry(self) -> DocumentEntry:
        return DocumentEntry(self.name, self.pages, self.metadata, self.content)

    def as_json(self) -> str:
        """In ASCII, as names of files need not be Unicode."""
        return json.dumps(
            {
                "name": self.name,
                "bytes": self.size,
                "pages": self.pages,
                "incoming": self.incoming,
                "metadata": dict(self.metadata),
            }
        )

    @classmethod
    def read(cls, number: int, content: bytes, text: str) -> DocumentRow:
        values = json.loads(text)
        return cls(
            id=number,
            name=str(values["name"]),
            content=content,
            size=int(values["bytes"]),
            pages=int(values["pages"]),
            metadata=dict(values["metadata"]),
            incoming=bool(values["incoming"]),
        )


def settings_table(settings: Settings) -> pa.Table:
    return _table([{"kind": SETTINGS, "entry": json.dumps(settings.as_rows())}])


def settings_of(entry: str) -> Settings:
    return Settings.from_rows([(name, value) for name, value in json.loads(entry)])


def document_table(rows: Iterable[DocumentRow]) -> pa.Table:
    return _table(
        {
            "kind": DOCUMENT,
            "document": row.id,
            "entry": (entry := row.as_json()),
            "content": row.content,
            "checksum": document_checksum(row.id, row.content, entry),
        }
        for row in rows
    )


def page_table(pages: Iterable[tuple[int, StoredPage]]) -> pa.Table:
    """Of pages, each with the number of its document."""
    return _table(_page_row(document, page) for document, page in pages)


def _table(rows: Iterable[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


def _page_row(document: int, page: StoredPage) -> dict[str, Any]:
    row = {
        "kind": PAGE,
        "document": document,
        "content": page.content_hash,
        "number": page.number,
        "width": float(page.size[0]),
        "height": float(page.size[1]),
        "words_from": page.words_from,
        "vectors": len(page.vectors),
        "special": page.special,
        "patches": page.patches,
        "text_bytes": len(page.text.packed),
        "rows": np.ascontiguousarray(page.vectors.rows).tobytes(),
        "map": pack(page.provenance),
        "text": page.text.packed,
        "words": searched_words(page.text.plain) or None,
    }
    return {**row, "checksum": page_checksum(row)}


def searched_words(text: str) -> str:
    """As they are searched, of pages and of queries: so it is the same whether Lance has an index
    of them, with its own rules on what a word is, or reads them through."""
    return " ".join(words_in(text.encode(errors="replace").decode()))


def document_checksum(number: int, content: bytes, entry: str) -> int:
    return zlib.crc32(repr((number, content, entry)).encode())


def page_checksum(row: dict[str, Any]) -> int:
    """Over everything of a page that is read back."""
    checksum = 0
    for column in ("rows", "map", "text"):
        checksum = zlib.crc32(row[column], checksum)
    rest = [row[name] for name in STORED if name not in ("rows", "map", "text", "checksum")]
    return zlib.crc32(repr(rest).encode(), checksum)


def stored_page(row: dict[str, Any], name: str, settings: Settings) -> StoredPage:
    """A row of `STORED` columns as a page of a document of this name."""
    width = settings.row_bytes
    if row["rows"] is None or len(row["rows"]) != width * (row["vectors"] or 0):
        raise DamagedIndexError(f"{name}#{row['number']}: its vectors are damaged")
    rows = np.frombuffer(row["rows"], np.uint8).reshape(-1, width)
    return StoredPage(
        document=name,
        number=row["number"],
        size=(row["width"], row["height"]),
        words_from=row["words_from"],
        vectors=Encoded(settings.codec, settings.dim, rows),
        provenance=unpack(row["map"]),
        content_hash=row["content"],
        text=PageText(row["text"]),
    )


def rows_in(column: pa.Array, vectors: Counts, width: int) -> tuple[Rows, Spans]:
    """The rows of pages, seen where Arrow has them, (all vectors, width), and where each page's
    begin and end. DamagedIndexError if a page has not as many as it should."""
    bounds = np.frombuffer(column.buffers()[1], np.int64, len(column) + 1, 8 * column.offset)
    if not np.array_equal(np.diff(bounds), vectors * width):
        raise DamagedIndexError("a page has other vectors than it was stored with")
    if column.buffers()[2] is None:
        return np.empty((0, width), np.uint8), np.empty((0, 2), np.int64)
    data = np.frombuffer(column.buffers()[2], np.uint8)[bounds[0] : bounds[-1]]
    ends = (bounds - bounds[0]) // width
    return data.reshape(-1, width), np.stack([ends[:-1], ends[1:]], axis=1)

"""A stored page as plain values and bytes: what is sent to another machine, or put in a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from docpruner.codecs import CodecName, Encoded, bytes_per_vector
from docpruner.stores.page_map_bytes import pack, unpack
from docpruner.stores.page_text import PageText
from docpruner.stores.records import StoredPage
from docpruner.types import WordsFrom


class PackedPage(NamedTuple):
    """A few kilobytes where a `StoredPage` pickled has some dozen."""

    document: str
    number: int  # from 1
    width: float
    height: float
    words_from: WordsFrom
    content_hash: bytes
    codec: CodecName
    dim: int
    vectors: bytes  # rows of the codec, one after another
    map: bytes
    text: bytes

    @classmethod
    def of(cls, page: StoredPage) -> PackedPage:
        return cls(
            document=page.document,
            number=page.number,
            width=float(page.size[0]),
            height=float(page.size[1]),
            words_from=page.words_from,
            content_hash=page.content_hash,
            codec=page.vectors.codec,
            dim=page.vectors.dim,
            vectors=np.ascontiguousarray(page.vectors.rows).tobytes(),
            map=pack(page.provenance),
            text=page.text.packed,
        )

    @property
    def page(self) -> StoredPage:
        width = bytes_per_vector(self.codec, self.dim)
        rows = np.frombuffer(self.vectors, np.uint8).reshape(-1, width)
        return StoredPage(
            document=self.document,
            number=self.number,
            size=(self.width, self.height),
            words_from=self.words_from,
            vectors=Encoded(self.codec, self.dim, rows),
            provenance=unpack(self.map),
            content_hash=self.content_hash,
            text=PageText(self.text),
        )

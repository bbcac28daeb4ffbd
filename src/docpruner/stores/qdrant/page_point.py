"""A stored page as a point, and back."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections import Counter
from uuid import uuid5

import numpy as np

from docpruner.codecs import Encoded, encode
from docpruner.errors import IndexWriteError
from docpruner.stores.bm25 import K1, B, words_in
from docpruner.stores.page_map_bytes import pack, unpack
from docpruner.stores.page_text import PageText
from docpruner.stores.qdrant.history import FAR, Head
from docpruner.stores.qdrant.points import MOST_NUMBERS, Found, Point, SparseVector
from docpruner.stores.qdrant.version_listing import POINTS
from docpruner.stores.records import StoredPage
from docpruner.types import FloatArray

USUAL_WORDS = 300
"""On a page: BM25 compares the length of a text with the usual one, which a point can't know."""


def page_key(version: int, number: int) -> str:
    return f"{version}/{number}"


def checked(page: StoredPage, dim: int, location: str) -> StoredPage:
    numbers = len(page.vectors) * dim
    if numbers >= MOST_NUMBERS:
        raise IndexWriteError(
            f"{page.name} has {len(page.vectors):,} vectors of {dim} numbers, {numbers:,} in all; "
            f"a point in Qdrant has fewer than {MOST_NUMBERS:,}, and {location} was not changed. "
            "Prune more (--spec docpruner:k=0), or render pages smaller"
        )
    return page


def page_point(page: StoredPage, version: int, head: Head, commit: int, *, shown: bool) -> Point:
    packed, rows = pack(page.provenance), page.vectors.rows.tobytes()
    vectors = page.vectors.decode()
    texts = {"map": _text(packed), "words": _text(page.text.packed)}
    if not head.rows_are_vectors:
        texts["rows"] = _text(rows)
    payload = {
        "kind": "page",
        "version": version,
        "number": page.number,
        "page": page_key(version, page.number),
        "born": commit,
        "shown": commit if shown else FAR,
        "died": FAR,
        "size": [float(side) for side in page.size],
        "words_from": page.words_from,
        "content": page.content_hash.hex(),
        "vectors": len(vectors),
        "special": page.special,
        "patches": page.patches,
        "besides": sum(map(len, texts.values())),
        "text_bytes": len(page.text.packed),
        **texts,
    }
    name = f"page {version} {page.number} {commit}"
    return Point(str(uuid5(POINTS, name)), payload, vectors, term_weights(page.text.plain))


def stored_page(found: Found, document: str, head: Head) -> StoredPage:
    payload, settings = found.payload, head.settings
    if "rows" in payload:
        rows = np.frombuffer(b64decode(payload["rows"]), np.uint8).reshape(-1, settings.row_bytes)
        vectors = Encoded(settings.codec, settings.dim, rows)
    else:
        vectors = encode(_given(found), settings.codec)
    width, height = payload["size"]
    return StoredPage(
        document=document,
        number=payload["number"],
        size=(width, height),
        words_from=payload["words_from"],
        vectors=vectors,
        provenance=unpack(b64decode(payload["map"])),
        content_hash=bytes.fromhex(payload["content"]),
        text=PageText(b64decode(payload["words"])),
    )


def term_weights(text: str) -> SparseVector:
    """What BM25 gives each word of a text before its rarity, which the engine knows."""
    words = words_in(text)
    norm = K1 * (1 - B + B * len(words) / USUAL_WORDS)
    weights: dict[int, float] = {}
    for word, times in Counter(words).items():
        place = word_place(word)
        weights[place] = weights.get(place, 0.0) + times * (K1 + 1) / (times + norm)
    return weights


def word_place(word: str) -> int:
    """A number of 32 bits, as the engine wants: a hundred pairs of a million words share one."""
    return zlib.crc32(word.encode(errors="surrogatepass"))


def _given(found: Found) -> FloatArray:
    assert found.vectors is not None
    return found.vectors


def _text(data: bytes) -> str:
    return b64encode(data).decode()

"""Exact search of an index, and where on each page the answer is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from docpruner.encoders.registry import Encoder
from docpruner.errors import ScoringError
from docpruner.index.records import StoredPage
from docpruner.index.snapshot import Filter
from docpruner.index.store import PageStore
from docpruner.types import FloatArray, Hit, Match


def search_many(
    store: PageStore,
    encoder: Encoder,
    queries: Sequence[str],
    k: int = 10,
    which: Filter | None = None,
) -> list[list[Hit]]:
    """For each query its `k` best pages, the best first."""
    if k < 1:
        raise ScoringError(f"k={k} must be at least 1")
    if not queries:
        return []
    vectors = encoder.encode_queries(queries)
    words = [encoder.query_words(text) for text in queries]
    return store.at_once(lambda: _hits(store, words, vectors, k, which))


def _hits(
    store: PageStore,
    words: Sequence[Sequence[str]],
    queries: Sequence[FloatArray],
    k: int,
    which: Filter | None,
) -> list[list[Hit]]:
    best = store.best_pages(queries, k, which)
    metadata = {entry.path: entry.metadata for entry in store.snapshot().documents.values()}
    found = []
    for texts, query, pages in zip(words, queries, best, strict=True):
        hits = []
        for page_id, score in pages:
            page = store.page(page_id)
            if page is not None:  # it is there, unless the catalogue is damaged
                told = metadata.get(page.document, {})
                matched = matches(texts, query, page)
                hits.append(Hit(page.document, page.number, score, matched, told))
        found.append(hits)
    return found


def matches(words: Sequence[str], query: FloatArray, page: StoredPage) -> tuple[Match, ...]:
    """For each vector of the query the stored vector that matches it best, and its boxes."""
    # (words, stored vectors); by BLAS, its idle threads would slow the next search down
    similarities = np.einsum("wd,vd->wv", query, page.vectors.decode())
    best = np.argmax(similarities, axis=1)
    return tuple(
        Match(
            word,
            float(row[vector]),
            page.map.boxes_of(int(vector)),
            page.map.words_of(int(vector)),
        )
        for word, row, vector in zip(words, similarities, best, strict=True)
    )

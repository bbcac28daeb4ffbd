"""Exact scores of pages, fragment by fragment, from the bytes where Arrow has them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from docpruner.codecs import Encoded, Rows
from docpruner.cores import usable_cores
from docpruner.maxsim import Asked, Spans, score_spans
from docpruner.stores.lance_store.lance_listing import FragmentRows, Listing, Numbers
from docpruner.stores.lance_store.lance_rows import rows_in
from docpruner.stores.lance_store.lance_table import Fragment, LanceTable
from docpruner.types import FloatArray

Scored = Callable[[Rows, Spans], FloatArray]

KEPT_BYTES = 1 << 30
"""Of rows that an open index keeps in memory; what there is beyond is read for every search."""

FEW = 4  # of so many pages of a fragment one is wanted: then they are read one by one
READERS = 4  # fragments that are read at a time, so also the most that are in memory besides


class RowCache:
    """Rows of whole fragments, those that came first: what is scanned in turn would otherwise push
    out what is wanted next."""

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        self._limit = limit
        self._kept: dict[Fragment, tuple[Rows, Spans]] = {}
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        return sum(rows.nbytes for rows, _ in self._kept.values())

    def get(self, fragment: Fragment) -> tuple[Rows, Spans] | None:
        return self._kept.get(fragment)

    def has_room(self, size: int) -> bool:
        with self._lock:
            return self.nbytes + size <= self._limit

    def put(self, fragment: Fragment, rows: Rows, spans: Spans) -> None:
        with self._lock:
            if self.nbytes + rows.nbytes <= self._limit:
                self._kept[fragment] = (rows, spans)

    def keep_only(self, fragments: Collection[Fragment]) -> None:
        with self._lock:
            self._kept = {each: rows for each, rows in self._kept.items() if each in fragments}


def scores_of(
    listing: Listing, cache: RowCache, queries: Sequence[FloatArray], places: Numbers
) -> FloatArray:
    """Of every query against the pages at these places, which are in order: (queries, places)."""
    tasks = list(listing.in_fragments(places))
    workers = min(len(tasks), max(READERS, usable_cores()))
    threads = None if workers < usable_cores() else 1

    asked = Asked.of(queries, listing.settings.codec, listing.settings.dim)

    def score(task: tuple[FragmentRows, Numbers]) -> FloatArray:
        return _scores(listing, cache, asked, *task, threads)

    nothing = np.empty((len(queries), 0), np.float32)
    if workers < 2:
        return np.concatenate([nothing, *map(score, tasks)], axis=1)
    with ThreadPoolExecutor(workers) as pool:
        return np.concatenate([nothing, *pool.map(score, tasks)], axis=1)


def _scores(
    listing: Listing,
    cache: RowCache,
    asked: Asked,
    pages: FragmentRows,
    places: Numbers,
    threads: int | None,
) -> FloatArray:
    settings = listing.settings

    def scored(rows: Rows, spans: Spans) -> FloatArray:
        corpus = Encoded(settings.codec, settings.dim, rows)
        return score_spans(asked, corpus, spans, threads=threads)

    vectors = pages.columns["vectors"]
    kept = cache.get(pages.fragment)
    if kept is not None:
        return scored(kept[0], kept[1][places])
    if len(places) * FEW <= len(vectors):
        return scored(*_some(listing.table, pages, places, settings.row_bytes))
    if not cache.has_room(int(vectors.sum()) * settings.row_bytes):
        return _streamed(listing, pages, places, scored)
    rows, spans = _all(listing.table, pages, settings.row_bytes)
    cache.put(pages.fragment, rows, spans)
    return scored(rows, spans[places])


def _some(
    table: LanceTable, pages: FragmentRows, places: Numbers, width: int
) -> tuple[Rows, Spans]:
    taken = table.take(pages.fragment, places.tolist(), ["rows"]).combine_chunks()
    return rows_in(taken["rows"].chunk(0), pages.columns["vectors"][places], width)


def _all(table: LanceTable, pages: FragmentRows, width: int) -> tuple[Rows, Spans]:
    batches = table.scan(["rows"], [pages.fragment])
    parts, first = [], 0
    for batch in batches:
        vectors = pages.columns["vectors"][first : first + len(batch)]
        parts.append(rows_in(batch.column(0), vectors, width)[0])
        first += len(batch)
    ends = np.cumsum(pages.columns["vectors"])
    spans = np.stack([ends - pages.columns["vectors"], ends], axis=1)
    return parts[0] if len(parts) == 1 else np.concatenate(parts), spans


def _streamed(listing: Listing, pages: FragmentRows, places: Numbers, scored: Scored) -> FloatArray:
    """A batch at a time, for what has no room in memory."""
    scores, first = [], 0
    for batch in listing.table.scan(["rows"], [pages.fragment]):
        here = places[(places >= first) & (places < first + len(batch))] - first
        if len(here):
            vectors = pages.columns["vectors"][first : first + len(batch)]
            rows, spans = rows_in(batch.column(0), vectors, listing.settings.row_bytes)
            scores.append(scored(rows, spans[here]))
        first += len(batch)
    return np.concatenate(scores, axis=1)

"""Every setting over every page, in one pass.

A page is read once, and its similarities to all vectors of all queries are computed once for each
codec: for settings that only drop patches they are all that is needed. Pages are shared out to
processes, and of each ranking no more than its top is kept, so memory does not grow with the pages.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docpruner.codecs import CodecName, encode
from docpruner.cores import usable_cores
from docpruner.evaluate.measuring.encoded import EncodedData, embeddings
from docpruner.evaluate.measuring.measures import DEPTH
from docpruner.evaluate.measuring.methods import Setting
from docpruner.reduce.threshold import unwarned
from docpruner.stores.contract import Progress
from docpruner.stores.records import PageName
from docpruner.types import FloatArray, PageEmbedding, Reduction

CHUNK = 16  # pages that a process is given at a time
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Swept:
    """What came out of a pass, for each setting in its order."""

    settings: tuple[Setting, ...]
    top: npt.NDArray[np.int64]  # (settings, queries, DEPTH): places of pages, the best first; -1
    # where there are no more
    patches: Counts  # (pages,) before reduction
    special: Counts  # (pages,) vectors besides, which are always kept
    kept: Counts  # (settings, pages): patch vectors that are stored
    seconds: npt.NDArray[np.float64]  # (settings,) of reducing one page
    entropy: FloatArray  # (pages,)

    @property
    def pruned(self) -> FloatArray:
        """(settings, pages): the share of a page's patches that need not be stored."""
        shares: FloatArray = (1 - self.kept / self.patches).astype(np.float32)
        return shares


def sweep(
    data: EncodedData,
    settings: Sequence[Setting],
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Swept:
    """Score all pages for all queries under each setting."""
    count = len(data.pages)
    chunks = [data.pages[at : at + CHUNK] for at in range(0, count, CHUNK)]
    top = _Top(len(settings), len(data.queries))
    parts: list[_Part] = []
    task = _Task(data, tuple(settings))
    for part in _mapped(task, chunks, workers or usable_cores()):
        top.add(part.scores)
        parts.append(part)
        if progress is not None:
            progress(sum(len(part.patches) for part in parts), count)
    return Swept(
        settings=tuple(settings),
        top=top.places,
        patches=np.concatenate([part.patches for part in parts]),
        special=np.concatenate([part.special for part in parts]),
        kept=np.concatenate([part.kept for part in parts], axis=1),
        seconds=np.sum([part.seconds for part in parts], axis=0) / count,
        entropy=np.concatenate([part.entropy for part in parts]),
    )


class _Top:
    """The best pages of each ranking so far."""

    def __init__(self, settings: int, queries: int) -> None:
        self.places = np.full((settings, queries, DEPTH), -1, np.int64)
        self._scores = np.full((settings, queries, DEPTH), -np.inf, np.float32)
        self._pages = 0

    def add(self, scores: FloatArray) -> None:
        """Scores of the next pages: (settings, queries, pages)."""
        new = np.arange(self._pages, self._pages + scores.shape[2])
        self._pages += scores.shape[2]
        both = np.concatenate([self._scores, scores], axis=2)
        places = np.concatenate([self.places, np.broadcast_to(new, scores.shape)], axis=2)
        order = np.argsort(-both, axis=2, kind="stable")[:, :, :DEPTH]  # of equals the first
        self._scores = np.take_along_axis(both, order, 2)
        self.places = np.take_along_axis(places, order, 2)


# ---------------------------------------------------------------------- in the processes


@dataclass(frozen=True, eq=False)
class _Part:
    scores: FloatArray  # (settings, queries, pages)
    patches: Counts
    special: Counts
    kept: Counts  # (settings, pages)
    seconds: npt.NDArray[np.float64]  # (settings,) for all these pages
    entropy: FloatArray


class _Task:
    """What a process does with some pages; it opens the index for itself."""

    def __init__(self, data: EncodedData, settings: tuple[Setting, ...]) -> None:
        self._location, self._encoder, self._settings = data.location, data.encoder, settings
        self._words = np.ascontiguousarray(np.concatenate(data.queries).T)  # (dim, words)
        counts = [len(query) for query in data.queries]
        self._starts = np.concatenate([[0], np.cumsum(counts)[:-1]])

    def __call__(self, pages: Sequence[PageName]) -> _Part:
        shape = (len(self._settings), len(self._starts), len(pages))
        scores = np.empty(shape, np.float32)
        kept = np.empty((len(self._settings), len(pages)), np.int64)
        seconds = np.zeros(len(self._settings))
        patches, special, entropy = [], [], []
        for number, page in enumerate(embeddings(self._location, self._encoder, pages)):
            patches.append(len(page.patches))
            special.append(len(page.vectors) - len(page.patches))
            entropy.append(page.entropy)
            self._page(page, scores[:, :, number], kept[:, number], seconds)
        return _Part(
            scores,
            np.array(patches),
            np.array(special),
            kept,
            seconds,
            np.array(entropy, np.float32),
        )

    def _page(
        self,
        page: PageEmbedding,
        scores: FloatArray,
        kept: Counts,
        seconds: npt.NDArray[np.float64],
    ) -> None:
        reductions: dict[str, tuple[Reduction, float]] = {}
        whole: dict[CodecName, FloatArray] = {}  # of all vectors of the page; rounding is by vector
        for number, setting in enumerate(self._settings):
            if setting.spec not in reductions:
                began = time.perf_counter()
                reduction = reduced(page, setting)
                reductions[setting.spec] = reduction, time.perf_counter() - began
            reduction, took = reductions[setting.spec]
            seconds[number] += took
            kept[number] = reduction.patches
            if len(reduction.sources) == len(reduction.vectors):
                if setting.codec not in whole:
                    whole[setting.codec] = _stored(page.vectors, setting.codec) @ self._words
                similarity = whole[setting.codec][reduction.sources]
            else:
                similarity = _stored(reduction.vectors, setting.codec) @ self._words
            scores[number] = np.add.reduceat(similarity.max(axis=0), self._starts)


def reduced(page: PageEmbedding, setting: Setting) -> Reduction:
    with unwarned():  # what it prunes is in the results
        return setting.reducer(page)


def _stored(vectors: FloatArray, codec: CodecName) -> FloatArray:
    """The vectors as they come back from an index."""
    return encode(vectors, codec).decode()


_task: _Task | None = None


def _begin(task: _Task) -> None:
    global _task
    _task = task


def _do(pages: Sequence[PageName]) -> _Part:
    assert _task is not None
    return _task(pages)


def _mapped(task: _Task, chunks: Sequence[Sequence[PageName]], workers: int) -> Iterator[_Part]:
    """In order. One process needs no other; more of them must not each use all cores."""
    if workers == 1 or len(chunks) == 1:
        yield from map(task, chunks)
        return
    context = multiprocessing.get_context("spawn")
    with _one_thread_each(), ProcessPoolExecutor(workers, context, _begin, (task,)) as pool:
        yield from pool.map(_do, chunks)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

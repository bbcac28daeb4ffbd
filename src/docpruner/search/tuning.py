"""How much of an exact search the first stage finds, and how many candidates it takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

from docpruner.errors import IndexStateError
from docpruner.stores.contract import Progress, Reader, Store
from docpruner.stores.records import PageName, RankedPage, Tuning
from docpruner.types import Filter, FloatArray

BEST = 10  # pages of the exact search that have to be found
LADDER = (100, 200, 400, 800, 1600, 3200, 6400, 12_800)
TOKENS = 16  # of a made query
RESAMPLES = 2000
EVERYTHING = Filter()


def measured(
    store: Store,
    asked: Sequence[FloatArray],
    made: int,
    target: float,
    progress: Progress | None = None,
) -> Tuning:
    """The fewest candidates that find `target` of what an exact search finds.

    Measured with the queries that are `asked`, and so many `made` from pages of the index: half of
    their tokens are vectors of one page, the others of pages anywhere.
    """
    if not 0 < target < 1:
        raise IndexStateError(f"target={target} must lie between 0 and 1, such as 0.99")
    with store.reader() as reader:
        pages = reader.pages()
        queries = [*asked, *_made_queries(reader, pages, made)]
        if not queries:
            raise IndexStateError("there is nothing to measure with: no pages, and no queries")
        steps = len(queries) * (len(LADDER) + 1)
        exact, slow = _timed(queries, _exactly(reader), progress, 0, steps)
        for step, candidates in enumerate(LADDER, 1):
            staged, quick = _timed(
                queries, _staged(reader, candidates), progress, step * len(queries), steps
            )
            recalls = np.array([_recall(*both) for both in zip(exact, staged, strict=True)])
            if recalls.mean() >= target or candidates >= len(pages):
                break
    if progress is not None:
        progress(steps, steps)
    return Tuning(
        candidates=candidates,
        recall=float(recalls.mean()),
        interval=_interval(recalls),
        queries=len(queries),
        asked=len(asked),
        pages=len(pages),
        milliseconds=quick,
        exact_milliseconds=slow,
    )


Ranking = Callable[[FloatArray], list[RankedPage]]


def _exactly(reader: Reader) -> Ranking:
    return lambda query: reader.rank([query], BEST, EVERYTHING)[0]


def _staged(reader: Reader, candidates: int) -> Ranking:
    return lambda query: reader.rank([query], BEST, EVERYTHING, exact=False, candidates=candidates)[
        0
    ]


def _timed(
    queries: Sequence[FloatArray],
    rank: Ranking,
    progress: Progress | None,
    done: int,
    total: int,
) -> tuple[list[list[RankedPage]], float]:
    """The ranking of each query, and the milliseconds of the middle one."""
    results, times = [], []
    for query in queries:
        began = time.perf_counter()
        results.append(rank(query))
        times.append(1000 * (time.perf_counter() - began))
        done += 1
        if progress is not None:
            progress(done, total)
    return results, statistics.median(times)


def _recall(exact: Sequence[RankedPage], staged: Sequence[RankedPage]) -> float:
    """The share of the best that was found. Of pages with equal scores any will do."""
    if not exact:
        return 1.0
    found = {page.name for page in staged}
    last = staged[-1].score if staged else -np.inf
    hits = sum(page.name in found or page.score <= last for page in exact)
    return hits / len(exact)


def _made_queries(reader: Reader, pages: Sequence[PageName], count: int) -> list[FloatArray]:
    rng = np.random.default_rng(0)
    queries = []
    for _ in range(count if pages else 0):
        places = [0] * (TOKENS // 2) + [1, 2, 3, 4] * (TOKENS // 8)
        names = [pages[place] for place in rng.integers(0, len(pages), 5)]
        stored = [page for page in (reader.page(*name) for name in names) if page is not None]
        vectors = [page.vectors.decode() for page in stored]
        if len(vectors) == 5:
            tokens = [vectors[at][rng.integers(0, len(vectors[at]))] for at in places]
            queries.append(np.stack(tokens))
    return queries


def _interval(recalls: FloatArray) -> tuple[float, float]:
    """95 %, by resampling queries."""
    rng = np.random.default_rng(0)
    means = rng.choice(recalls, (RESAMPLES, len(recalls))).mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)

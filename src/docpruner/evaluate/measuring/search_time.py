"""How long exact search takes over what a setting stores, as a share of the base's time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from docpruner.codecs import encode
from docpruner.evaluate.measuring.encoded import EncodedData
from docpruner.evaluate.measuring.latency import seconds_of
from docpruner.evaluate.measuring.methods import Setting
from docpruner.evaluate.measuring.sweep import reduced
from docpruner.maxsim import score_pages
from docpruner.types import FloatArray, PageEmbedding

PAGES, QUERIES = 64, 32  # at most
TIMES, SECONDS = 5, 0.15  # that two searches take turns, at least

Search = Callable[[], object]


def search_times(
    data: EncodedData, settings: Sequence[Setting], *, base: Setting
) -> dict[Setting, float]:
    """Of some queries over some pages, all in int8: what differs is how many vectors there are."""
    pages = list(data.embeddings(data.some_pages(PAGES)))
    queries = data.queries[:QUERIES]
    search_base = _search(pages, base, queries)
    times = {base.spec: 1.0}
    for setting in settings:
        if setting.spec not in times:
            times[setting.spec] = _ratio(_search(pages, setting, queries), search_base)
    return {setting: times[setting.spec] for setting in settings}


def _search(
    pages: Sequence[PageEmbedding], setting: Setting, queries: Sequence[FloatArray]
) -> Search:
    vectors = [reduced(page, setting).vectors for page in pages]
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in vectors])])
    return partial(score_pages, queries, encode(np.concatenate(vectors), "int8"), offsets)


def _ratio(search: Search, search_base: Search) -> float:
    """The two take turns, for other work on the machine to weigh on both, and the best counts."""
    seconds: list[tuple[float, float]] = []
    while len(seconds) < TIMES or sum(map(sum, seconds)) < SECONDS:
        seconds.append((seconds_of(search), seconds_of(search_base)))
    return min(own for own, _ in seconds) / min(of_base for _, of_base in seconds)

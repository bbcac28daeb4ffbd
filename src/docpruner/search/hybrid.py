"""Two rankings of the same pages in one: by their vectors, and by their words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from docpruner.stores.contract import Reader
from docpruner.stores.records import PageName, RankedPage
from docpruner.types import Filter, FloatArray

CANDIDATES = 200  # of each ranking
TEXT_WEIGHT = 0.2  # that the words have in the score; see docs/text.md for how it was chosen


def rank_by_both(
    reader: Reader,
    texts: Sequence[str],
    queries: Sequence[FloatArray],
    k: int,
    which: Filter,
    *,
    exact: bool,
) -> list[list[RankedPage]]:
    """For each query the best of the pages that either ranking has among its first.

    Each of them has its exact score by vectors; by text it has none if it is not among the first.
    """
    most = max(k, CANDIDATES)
    by_vectors = reader.rank(queries, most, which, exact=exact)
    by_text = [reader.rank_text(text, most, which) for text in texts]
    more = [
        {page.name for page in said} - {page.name for page in seen}
        for said, seen in zip(by_text, by_vectors, strict=True)
    ]
    if any(more):
        others = reader.rank(queries, 2 * most, which, more)
        by_vectors = [[*seen, *rest] for seen, rest in zip(by_vectors, others, strict=True)]
    return [fused(seen, said)[:k] for seen, said in zip(by_vectors, by_text, strict=True)]


def fused(by_vectors: Sequence[RankedPage], by_text: Sequence[RankedPage]) -> list[RankedPage]:
    """Pages by both scores, each in deviations from its mean over all of them, the best first."""
    said = {page.name: page.score for page in by_text}
    names = [page.name for page in by_vectors]
    seen = _standardised([page.score for page in by_vectors])
    text = _standardised([said.get(name, 0.0) for name in names])
    scores = ((1 - TEXT_WEIGHT) * seen + TEXT_WEIGHT * text).tolist()
    ranked: list[tuple[float, PageName]] = sorted(
        (-score, name) for score, name in zip(scores, names, strict=True)
    )
    return [RankedPage(*name, -negated) for negated, name in ranked]


def _standardised(scores: Sequence[float]) -> FloatArray:
    """Zeros where all are the same."""
    values = np.array(scores, np.float32)
    spread = float(values.std()) if len(values) else 0.0
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)

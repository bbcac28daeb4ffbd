"""How good rankings are, how sure that is, and whether two differ, by ir-measures and scipy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from docpruner.errors import MissingExtraError

Values = npt.NDArray[np.float64]  # one for each query
Run = Mapping[str, Sequence[str]]  # of a query the ids of pages, the best first

MEASURES = ("ndcg@5", "ndcg@10", "recall@5", "recall@10", "recall@100", "mrr")
DEPTH = 100  # pages of a ranking that measures look at
CONFIDENCE = 0.95
RESAMPLES = 2000
SEED = 0


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


def measure_name(measure: str) -> str:
    """As the papers print it: nDCG@5."""
    return measure.replace("ndcg", "nDCG")


def per_query(
    run: Run, qrels: Mapping[str, Mapping[str, int]], queries: Sequence[str]
) -> dict[str, Values]:
    """Each measure of each query; a query without results counts as zero."""
    ir_measures = _ir_measures()
    names = {_named(name): name for name in MEASURES}
    # scores are places: equal scores would be ordered by the names of pages
    scored = {
        query: {page: float(-place) for place, page in enumerate(run[query])}
        for query in queries
        if run.get(query)
    }
    judged = {query: dict(qrels[query]) for query in queries}
    row = {query: number for number, query in enumerate(queries)}
    values = {name: np.zeros(len(queries)) for name in MEASURES}
    for metric in ir_measures.iter_calc(list(names), judged, scored):
        values[names[metric.measure]][row[metric.query_id]] = metric.value
    return values


def interval(values: Values, confidence: float = CONFIDENCE) -> Interval:
    """Of the mean, by resampling queries."""
    if len(values) < 2:
        return Interval(float(values.mean()), float(values.mean()))
    means = values[_resamples(len(values))].mean(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def p_value(values: Values, base: Values) -> float:
    """Of the paired differences being chance: how often random signs give as large a mean."""
    from scipy.stats import permutation_test

    differences = values - base
    if len(values) < 2 or not differences.any():
        return 1.0
    test = permutation_test(
        (values, base),
        lambda a, b, axis: (a - b).mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(SEED),
    )
    return float(test.pvalue)


@cache
def _resamples(count: int) -> npt.NDArray[np.int64]:
    """Rows of queries drawn with replacement: the same ones for every setting."""
    return np.random.default_rng(SEED).integers(0, count, (RESAMPLES, count))


@cache
def _named(name: str) -> Any:
    kind, _, cutoff = name.partition("@")
    measures = _ir_measures()
    measure = {"ndcg": measures.nDCG, "recall": measures.R, "mrr": measures.RR}[kind]
    return measure @ int(cutoff) if cutoff else measure


def _ir_measures() -> Any:
    try:
        import ir_measures
    except ImportError:
        raise MissingExtraError("measuring", "eval") from None
    return ir_measures

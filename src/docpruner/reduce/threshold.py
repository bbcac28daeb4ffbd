"""The adaptive threshold τ = μ + k·σ of a page's scores, and what is kept above it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from docpruner.errors import PruningWarning, ReductionError
from docpruner.reduce.strategy import Parameter
from docpruner.types import BoolArray, FloatArray, PageEmbedding, Signal

Scores = npt.NDArray[np.floating[Any]]
Statistics = Literal["paper", "robust"]

K_GRID = (-0.5, -0.25, 0.0, 0.25, 0.5, 1.0)

AdaptationFactor = Annotated[
    float, Parameter("deviations above the mean a patch must reach", grid=K_GRID)
]
Floor = Annotated[int, Parameter("patches that stay on every page, however few it has", low=0)]
SignalChoice = Annotated[
    Signal, Parameter("centrality: by the attention of all patches in the model's middle layers")
]
StatisticsChoice = Annotated[
    Statistics, Parameter("robust clips scores at Q3 + 3·IQR before taking μ and σ")
]


def importance_by(page: PageEmbedding, signal: Signal) -> FloatArray:
    """The importance of each patch, by one of the signals."""
    if signal == "global-token":
        return page.importance[page.patches]
    if page.centrality is None:
        raise ReductionError(
            f"page {page.name} has no centrality; encode it with importance=both, such as with "
            "vidore/colqwen2.5-v0.2:importance=both"
        )
    return page.centrality[page.patches]


def adaptive_tau(scores: Scores, k: float, statistics: Statistics = "paper") -> float:
    """μ + k·σ, with the population deviation.

    `robust` first clips the scores at Q3 + 3·IQR: where a few attention sinks carry most of the
    mass, σ exceeds μ and for k < 0 the paper's τ is negative, so nothing would be pruned.
    """
    values = scores.astype(np.float64)
    if statistics == "robust":
        q1, q3 = np.percentile(values, [25, 75])
        values = np.minimum(values, q3 + 3 * (q3 - q1))
    low, high = values.min(), values.max()
    if low == high:  # rounding in the mean must not decide whether equal scores stay or go
        return float(low)
    return float(values.mean() + k * values.std())


TRY_ROBUST = "if a few patches hold most of the attention, use statistics=robust"


def above(
    scores: Scores, tau: float, name: str, remedy: str = TRY_ROBUST, floor: int = 0
) -> BoolArray:
    """Which scores exceed `tau`; the best one (the first of equals) if none does.

    At least `floor` stay, the best of those below; a page of no more than that stays whole. Warns,
    naming the page, when the threshold separates nothing from nothing; `remedy` is what to do when
    nothing was pruned.
    """
    kept = scores.astype(np.float64) > tau
    if floor and kept.sum() < floor:
        kept[np.argsort(-scores, kind="stable")[:floor]] = True
        return kept
    if len(kept) > 1 and kept.all():
        message = f"prunes nothing: all {len(kept)} patches stay"
        _warn(name, tau, message, remedy)
    if not kept.any():
        kept[np.argmax(scores)] = True
        if len(kept) > 1:
            message = f"prunes everything: only the best of {len(kept)} patches stays"
            _warn(name, tau, message, "are the importances all equal, or the threshold too high?")
    return kept


_quiet = ContextVar("quiet", default=False)


@contextmanager
def unwarned() -> Iterator[None]:
    """Thresholds that fail are not warned of here: for who counts them.

    `warnings.catch_warnings` would do it for all threads, and undo what others do.
    """
    before = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(before)


def _warn(name: str, tau: float, what: str, remedy: str) -> None:
    if _quiet.get():
        return
    message = f"page {name}: the threshold {tau:.3g} {what}; {remedy}"
    warnings.warn(message, PruningWarning, stacklevel=4)

"""The strongest setting that still ranks well enough on one's own data, and how sure that is.

Queries are resampled with replacement: a setting passes if, in enough of the resamples, its mean of
the main measure stays above the target share of the base's. Of those that pass the smallest is
chosen. Choosing the best of many flatters it, so the whole choice is also made again and again on
one half of the queries and looked at on the other, which had no say in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from docpruner.errors import DataError
from docpruner.evaluate.measuring.measures import RESAMPLES, SEED, Values
from docpruner.evaluate.measuring.methods import BASE, Setting, read_setting
from docpruner.evaluate.measuring.results import SettingResult

KS = (-0.5, -0.25, 0, 0.25, 0.5)
FACTORS = (None, 2, 4)
CODECS = ("float16", "int8", "binary")
SPLITS, FEWER = 200, 400  # halvings of the queries, and resamples of each half
FEWEST_QUERIES = 20

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Choice:
    """What to use, and how much to trust it."""

    setting: SettingResult
    confidence: float  # share of resamples in which it stays above the target
    held_out: float  # share of splits in which the choice made on one half did so on the other
    held_out_relative: float  # score on the other half as a share of the base's, mean
    candidates: int
    passing: int


def candidates() -> list[Setting]:
    """Prune, then merge, then round: the base first."""
    settings = [BASE]
    for k, factor, codec in product((None, *KS), FACTORS, CODECS):
        stages = [] if k is None else [f"docpruner:k={k}"]
        stages += [] if factor is None else [f"sem-cluster:factor={factor}"]
        settings.append(read_setting(f"{'+'.join(stages) or 'none'}@{codec}"))
    return list(dict.fromkeys(settings))


def require_enough(queries: int) -> None:
    """DataError if so many queries with answers are too few: to be said before encoding pages."""
    if queries < FEWEST_QUERIES:
        raise DataError(
            f"{queries} queries with answers are too few to choose by; it takes at least "
            f"{FEWEST_QUERIES}, and hundreds are better"
        )


def choose(
    settings: Sequence[SettingResult],
    values: Sequence[Values],
    *,
    target: float,
    confidence: float,
) -> Choice:
    """`values` are the main measure of all queries under each setting; the first is the base."""
    of_queries: Matrix = np.array(values)  # (settings, queries)
    count = of_queries.shape[1]
    require_enough(count)
    if not of_queries[0].any():
        raise DataError("nothing is found even without pruning, so there is nothing to choose by")
    rng = np.random.default_rng(SEED)
    size = np.array([setting.stored_bytes for setting in settings])
    sure = _sureness(of_queries, rng, target, RESAMPLES)
    best = _smallest(sure >= confidence, size)
    held_out = []
    for _ in range(SPLITS):
        order = rng.permutation(count)
        mine, other = order[: count // 2], order[count // 2 :]
        chosen = _smallest(_sureness(of_queries[:, mine], rng, target, FEWER) >= confidence, size)
        held_out.append(_relative(of_queries[:, other])[chosen])
    return Choice(
        setting=settings[best],
        confidence=float(sure[best]),
        held_out=float(np.mean(np.array(held_out) >= target)),
        held_out_relative=float(np.mean(held_out)),
        candidates=len(settings),
        passing=int((sure >= confidence).sum()),
    )


def _sureness(
    of_queries: Matrix, rng: np.random.Generator, target: float, resamples: int
) -> Matrix:
    """Of each setting, the share of resamples in which it stays above the target."""
    count = of_queries.shape[1]
    times = rng.multinomial(count, np.full(count, 1 / count), resamples)  # (resamples, queries)
    means = of_queries @ times.T  # (settings, resamples)
    sure: Matrix = (means >= target * means[0]).mean(axis=1)
    return sure


def _relative(of_queries: Matrix) -> Matrix:
    means = of_queries.mean(axis=1)
    relative: Matrix = means / means[0] if means[0] else np.ones_like(means)
    return relative


def _smallest(passing: npt.NDArray[np.bool_], size: Matrix) -> int:
    """The base always passes."""
    places = np.flatnonzero(passing)
    return int(places[np.argmin(size[places])])

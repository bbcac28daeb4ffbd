"""Pivot-threshold: keep what is important, then drop what repeats it."""

from typing import Annotated

import numpy as np

from docpruner.reduce.keep import keep_patches
from docpruner.reduce.similarity import cosines
from docpruner.reduce.strategy import Parameter, strategy
from docpruner.reduce.threshold import (
    K_GRID,
    AdaptationFactor,
    StatisticsChoice,
    above,
    adaptive_tau,
)
from docpruner.types import PageEmbedding, Reduction


@strategy("pivot-threshold", "adaptive pruning")
def pivot_threshold(
    page: PageEmbedding,
    *,
    k: AdaptationFactor = -0.25,
    k_dup: Annotated[
        float, Parameter("deviations of likeness to a pivot a patch may reach", grid=K_GRID)
    ] = 1.0,
    num_pivots: Annotated[
        int, Parameter("most important patches, which always stay", grid=(5, 10, 15, 20), low=1)
    ] = 10,
    statistics: StatisticsChoice = "paper",
) -> Reduction:
    """Keep the important patches, then drop those too similar to the most important ones.

    The paper doesn't say which patches become pivots; here the `num_pivots` most important ones,
    the earlier of equals. Likeness is the largest cosine to a pivot; `statistics` applies to the
    importances only, since a cosine has no outliers to clip.
    """
    patches = page.patches
    importance = page.importance[patches]
    kept = above(importance, adaptive_tau(importance, k, statistics), page.name)
    ranked = np.flatnonzero(kept)
    ranked = ranked[np.argsort(-importance[ranked], kind="stable")]
    pivots, others = ranked[:num_pivots], ranked[num_pivots:]
    if len(others):
        vectors = page.vectors[patches]
        likeness = cosines(vectors[others], vectors[pivots]).max(axis=1)
        kept[others] = likeness <= adaptive_tau(likeness, k_dup)
    return keep_patches(page, kept)

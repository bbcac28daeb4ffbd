"""The two ends to compare with: keep everything, and drop at random."""

import zlib
from typing import Annotated

import numpy as np

from docpruner.reduce.keep import keep_patches
from docpruner.reduce.strategy import Parameter, strategy
from docpruner.types import PageEmbedding, Reduction

PruningRatio = Annotated[
    float,
    Parameter("fraction of the patches dropped", grid=(0.1, 0.3, 0.5, 0.7, 0.9), low=0, high=1),
]


def patches_left(count: int, ratio: float) -> int:
    """How many of `count` patches stay when a fraction is dropped; one always does.

    A ratio means its decimal value: 0.7 of 90 is 63, though 90 * 0.7 is just below it in binary.
    """
    return max(1, count - int(count * ratio + 1e-9))


@strategy("none", "base", sees_importance=False, sees_vectors=False)
def keep_all(page: PageEmbedding) -> Reduction:
    """Keep every patch: the unpruned model."""
    return keep_patches(page, np.ones(len(page.patches), np.bool_))


@strategy("random", "pruning", sees_importance=False, sees_vectors=False)
def random_pruning(
    page: PageEmbedding,
    *,
    ratio: PruningRatio = 0.5,
    seed: Annotated[int, Parameter("of the draw", low=0)] = 0,
) -> Reduction:
    """Drop a fixed fraction of the patches, drawn at random.

    The draw depends on the seed and on the page's name, not on the pages before it.
    """
    count = len(page.patches)
    draw = np.random.default_rng([seed, zlib.crc32(page.name.encode(errors="surrogateescape"))])
    kept = np.zeros(count, np.bool_)
    kept[draw.permutation(count)[: patches_left(count, ratio)]] = True
    return keep_patches(page, kept)

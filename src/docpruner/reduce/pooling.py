"""Merging by place: neighbours in reading order, or on the grid."""

import math
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from docpruner.reduce.cluster import MergingFactor
from docpruner.reduce.keep import merge_patches
from docpruner.reduce.strategy import Parameter, strategy
from docpruner.types import PageEmbedding, Reduction, readonly

SquareFactor = Annotated[
    int, Parameter("area of the window", grid=(4, 9, 16, 25), low=1, square=True)
]


@strategy("pool-1d", "merging", sees_importance=False)
def pool_1d(
    page: PageEmbedding,
    *,
    factor: MergingFactor = 4,
    padding: Annotated[
        Literal["none", "zero"], Parameter("zero pads a short last window, as the paper does")
    ] = "none",
) -> Reduction:
    """Replace each run of `factor` consecutive patches by its mean.

    The last window may be short. By default its mean is that of the patches it has; with
    `padding="zero"`, the paper's rule, zeros fill it up and shrink its vector.
    """
    count = len(page.patches)
    reduction = merge_patches(page, (np.arange(count) // min(factor, count)).astype(np.int32))
    left_over = count % factor
    if padding == "none" or left_over == 0:
        return reduction
    vectors = reduction.vectors.copy()
    vectors[np.flatnonzero(~reduction.special)[-1]] *= left_over / factor
    return replace(reduction, vectors=readonly(vectors))


@strategy("pool-2d", "merging", sees_importance=False)
def pool_2d(page: PageEmbedding, *, factor: SquareFactor = 4) -> Reduction:
    """Replace each √factor × √factor window of the grid by the mean of its patches.

    Windows at the edge, and windows with holes after pruning, average what they have.
    """
    side = min(math.isqrt(factor), max(page.grid))
    columns = page.grid[1]
    row, column = np.divmod(page.cells[page.patches], columns)
    windows_across = -(-columns // side)
    labels = (row // side) * windows_across + column // side
    return merge_patches(page, labels.astype(np.int32))

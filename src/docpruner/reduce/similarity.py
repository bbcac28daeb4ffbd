"""Attention plus similarity to the global token."""

from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from docpruner.errors import ReductionError
from docpruner.reduce.keep import keep_patches
from docpruner.reduce.strategy import Parameter, strategy
from docpruner.reduce.threshold import AdaptationFactor, StatisticsChoice, above, adaptive_tau
from docpruner.types import FloatArray, PageEmbedding, Reduction

Doubles = npt.NDArray[np.float64]


@strategy("attention-similarity", "adaptive pruning")
def attention_similarity(
    page: PageEmbedding,
    *,
    k: AdaptationFactor = 0.0,
    alpha: Annotated[
        float, Parameter("weight of attention", grid=(0.1, 0.3, 0.5, 0.7, 0.9), low=0, high=1)
    ] = 0.5,
    scale: Annotated[
        Literal["paper", "minmax"], Parameter("minmax brings both terms to 0..1 on each page")
    ] = "paper",
    statistics: StatisticsChoice = "paper",
) -> Reduction:
    """Keep the patches with much attention and a vector like the global token's.

    score = α·importance + (1-α)·cosine to the global token, cut at μ + k·σ of the page's scores.

    The two terms live on different scales: attention is about 1/patches, a cosine 0..1. With
    `scale="paper"` they are added as they are, as the paper writes it, so that on a real page the
    cosine decides nearly alone for any α < 1. With `scale="minmax"` each is first stretched to
    0..1 over the page's patches, and α means what it seems to.
    """
    if page.global_vector is None:
        raise ReductionError(
            f"page {page.name}: attention-similarity needs the vector of the global token; "
            "pass `global_vector` to the PageEmbedding"
        )
    patches = page.patches
    attention = page.importance[patches].astype(np.float64)
    cosine = cosines(page.vectors[patches], page.global_vector[None, :])[:, 0]
    if scale == "minmax":
        attention, cosine = _stretched(attention), _stretched(cosine)
    score = alpha * attention + (1 - alpha) * cosine
    return keep_patches(page, above(score, adaptive_tau(score, k, statistics), page.name))


def cosines(a: FloatArray, b: FloatArray) -> Doubles:
    """Cosine of every row of `a` with every row of `b`; 0 where a row is zero.

    In float64, rounded to nine decimals: a matrix product rounds equal rows differently, and that
    noise must not decide on which side of a threshold they fall.
    """
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    products: Doubles = a64 @ b64.T
    products /= lengths(a64)[:, None]
    products /= lengths(b64)
    return np.round(products, 9, out=products)


def lengths(vectors: Doubles) -> Doubles:
    """Euclidean lengths of the rows; 1 for zero rows, so that one can divide by them."""
    found: Doubles = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    found[found == 0] = 1
    return found


def _stretched(values: Doubles) -> Doubles:
    """`values` brought to 0..1; zeros where all are equal."""
    shifted: Doubles = values - values.min()
    if not shifted.any():
        return shifted
    stretched: Doubles = shifted / shifted.max()
    return stretched

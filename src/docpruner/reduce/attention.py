"""The paper's variants: the same importance, cut at a fixed share or at one constant."""

from typing import Annotated

import numpy as np

from docpruner.errors import ReductionError
from docpruner.reduce.baseline import PruningRatio, patches_left
from docpruner.reduce.keep import keep_patches
from docpruner.reduce.strategy import Parameter, strategy
from docpruner.reduce.threshold import SignalChoice, above, importance_by
from docpruner.types import PageEmbedding, Reduction

GlobalThreshold = Annotated[
    float, Parameter("one importance for every page, to be chosen for each model", low=0)
]


@strategy("attention-ratio", "pruning", sees_vectors=False)
def attention_ratio(
    page: PageEmbedding, *, ratio: PruningRatio = 0.5, signal: SignalChoice = "global-token"
) -> Reduction:
    """Drop a fixed fraction of the patches, the least important ones.

    Of patches that matter alike, the earlier stays.
    """
    importance = importance_by(page, signal)
    kept = np.zeros(len(importance), np.bool_)
    order = np.argsort(-importance, kind="stable")
    kept[order[: patches_left(len(importance), ratio)]] = True
    return keep_patches(page, kept)


@strategy("attention-threshold", "pruning", sees_vectors=False)
def attention_threshold(page: PageEmbedding, *, threshold: GlobalThreshold) -> Reduction:
    """Keep the patches whose importance exceeds one constant, the same for every page."""
    importance = page.importance[page.patches]
    return keep_patches(page, above(importance, threshold, page.name, "raise the threshold"))


@strategy("attention-threshold-nfp", "pruning", prompt="noise-filtering", sees_vectors=False)
def attention_threshold_nfp(page: PageEmbedding, *, threshold: GlobalThreshold) -> Reduction:
    """As attention-threshold, on pages encoded under the noise-filtering prompt.

    A page encoded under the default prompt is refused: the result would be attention-threshold
    under another name.
    """
    if page.prompt != "noise-filtering":
        raise ReductionError(
            f"page {page.name}: attention-threshold-nfp needs a page encoded under the "
            f"noise-filtering prompt, this one has the {page.prompt} prompt"
        )
    return attention_threshold(page, threshold=threshold)

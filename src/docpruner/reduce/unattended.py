"""For vectors that come without attention, from a server or an old store: what they say alone."""

from __future__ import annotations

import heapq
from typing import Annotated, Literal

import numpy as np

from docpruner.reduce.baseline import PruningRatio, patches_left
from docpruner.reduce.keep import keep_patches
from docpruner.reduce.similarity import cosines
from docpruner.reduce.strategy import Parameter, strategy
from docpruner.types import BoolArray, FloatArray, PageEmbedding, Reduction


@strategy("mean-similarity", "pruning", sees_importance=False, paper=False)
def mean_similarity(
    page: PageEmbedding,
    *,
    ratio: PruningRatio = 0.5,
    keep: Annotated[
        Literal["unlike", "like"], Parameter("those least or most like the page's mean vector")
    ] = "unlike",
) -> Reduction:
    """Drop a fixed fraction of the patches, by their cosine to the mean vector of the page.

    What is like the mean says what the page is about, what is unlike it tells it from others.
    """
    vectors = page.vectors[page.patches]
    likeness = cosines(vectors, vectors.mean(axis=0, keepdims=True))[:, 0]
    order = np.argsort(likeness if keep == "unlike" else -likeness, kind="stable")
    kept = np.zeros(len(vectors), np.bool_)
    kept[order[: patches_left(len(vectors), ratio)]] = True
    return keep_patches(page, kept)


@strategy("facility-location", "pruning", sees_importance=False, paper=False)
def facility_location(page: PageEmbedding, *, ratio: PruningRatio = 0.5) -> Reduction:
    """Drop a fixed fraction of the patches, so that those left stand for all of them.

    One after another the patch is taken that adds most to the sum, over all patches, of the cosine
    to the nearest one taken; never less than 1 - 1/e of the best sum there is.
    """
    vectors = page.vectors[page.patches]
    return keep_patches(page, most_covering(vectors, patches_left(len(vectors), ratio)))


def most_covering(vectors: FloatArray, count: int) -> BoolArray:
    """The greedy choice of `count` vectors; of equals the earlier.

    A patch can only add less as more are taken, so its last known gain is a bound: only those at
    the top of the queue are computed again.
    """
    likeness = np.maximum(cosines(vectors, vectors), 0.0)
    covered = np.zeros(len(vectors))
    queue = [(-gain, place) for place, gain in enumerate(likeness.sum(axis=0).round(9).tolist())]
    heapq.heapify(queue)
    taken = np.zeros(len(vectors), np.bool_)
    for _ in range(count):
        while True:
            _, place = queue[0]
            gain = round(float(np.maximum(likeness[place] - covered, 0.0).sum()), 9)
            heapq.heapreplace(queue, (-gain, place))
            if queue[0][1] == place:
                break
        heapq.heappop(queue)
        taken[place] = True
        np.maximum(covered, likeness[place], out=covered)
    return taken

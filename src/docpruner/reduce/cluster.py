"""Merging by meaning."""

from typing import Annotated

import numpy as np
import numpy.typing as npt

from docpruner.reduce.keep import merge_patches
from docpruner.reduce.similarity import lengths
from docpruner.reduce.strategy import Parameter, strategy
from docpruner.types import FloatArray, IntArray, PageEmbedding, Reduction

MergingFactor = Annotated[
    int, Parameter("patches merged into one, on average", grid=(2, 4, 9, 16, 25), low=1)
]


@strategy("sem-cluster", "merging", sees_importance=False)
def semantic_clusters(page: PageEmbedding, *, factor: MergingFactor = 4) -> Reduction:
    """Replace clusters of similar patches by their mean (Ward linkage on cosine distance).

    Leaves patches // factor vectors, at least one. As in the paper, 1 - cosine is taken for the
    distance that Ward's rule squares, though it is itself a squared distance (half of it).
    """
    vectors = page.vectors[page.patches]
    return merge_patches(page, ward_labels(vectors, max(1, len(vectors) // factor)))


def ward_labels(vectors: FloatArray, clusters: int) -> IntArray:
    """A cluster number for each vector: the tree's first merges, until `clusters` are left."""
    count = len(vectors)
    if clusters >= count:
        return np.arange(count, dtype=np.int32)
    import fastcluster  # here, for it loads SciPy where that is installed

    unit = (vectors / lengths(vectors.astype(np.float64))[:, None]).astype(np.float32)
    distances = np.maximum(0.0, 1.0 - unit @ unit.T).astype(np.float64)
    condensed = np.concatenate([distances[i, i + 1 :] for i in range(count - 1)])
    merges = fastcluster.linkage(condensed, method="ward", preserve_input=False)
    return _cut(merges[: count - clusters, :2].astype(np.int64), count)


def _cut(merges: npt.NDArray[np.int64], count: int) -> IntArray:
    """Labels after some merges; merge `i` joins two earlier clusters into number `count + i`."""
    parent = np.arange(count + len(merges))
    for number, (left, right) in enumerate(merges, start=count):
        parent[left] = parent[right] = number
    for node in range(count + len(merges) - 1, -1, -1):  # a parent's number is always higher
        parent[node] = parent[parent[node]]
    return parent[:count].astype(np.int32)

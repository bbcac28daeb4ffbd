"""Points that stand for the vectors near them: k-means in two levels.

The first level splits the vectors into cells, the second each cell into centroids, as many as its
share of the vectors. Training costs a fraction of one level of as many centroids, and a vector
finds its centroid by looking into the few cells nearest to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from docpruner.codecs import Encoded, encode
from docpruner.maxsim import score_pages
from docpruner.types import FloatArray

Labels = npt.NDArray[np.int64]

MOST = 65_536
VECTORS_EACH = 32  # of the sample, at least
ROUNDS = 8
PROBED_CELLS = 4  # in which a vector looks for its centroid
BLOCK = 65_536  # vectors at a time


@dataclass(frozen=True, eq=False)
class Centroids:
    """`points[edges[c]:edges[c + 1]]` are those of cell `c`."""

    cells: FloatArray  # (cells, dim)
    edges: Labels  # (cells + 1,)
    points: FloatArray  # (count, dim)
    rounded: Encoded  # the points in int8, to compare queries with
    error: float  # squared distance of a training vector to its centroid, of its squared length

    def __len__(self) -> int:
        return len(self.points)

    @property
    def dim(self) -> int:
        return int(self.points.shape[1])

    def scores(self, tokens: FloatArray) -> FloatArray:
        """Products of query tokens with every centroid, (tokens, centroids), to 8 bits."""
        each = np.arange(len(self) + 1, dtype=np.int64)
        return score_pages([token[None] for token in tokens], self.rounded, each)

    def nearest(self, vectors: FloatArray) -> tuple[Labels, float]:
        """The centroid of each vector, and their error as in `error`."""
        labels = np.empty(len(vectors), np.int64)
        missed = lengths = 0.0
        for first in range(0, len(vectors), BLOCK):
            block = vectors[first : first + BLOCK]
            labels[first : first + BLOCK], distances = self._nearest(block)
            missed += float(distances.sum())
            lengths += float(np.einsum("vd,vd->", block, block))
        return labels, missed / lengths if lengths else 0.0

    def _nearest(self, vectors: FloatArray) -> tuple[Labels, FloatArray]:
        probed = min(PROBED_CELLS, len(self.cells))
        towards = _closeness(vectors, self.cells)
        nearby = np.argpartition(-towards, probed - 1, axis=1)[:, :probed]
        order = np.argsort(nearby, axis=None, kind="stable")
        bounds = np.searchsorted(nearby.reshape(-1)[order], np.arange(len(self.cells) + 1))
        best = np.full(len(vectors), -np.inf, np.float32)
        labels = np.zeros(len(vectors), np.int64)
        for cell in np.flatnonzero(np.diff(bounds)).tolist():
            rows = order[bounds[cell] : bounds[cell + 1]] // probed
            first, last = self.edges[cell], self.edges[cell + 1]
            closeness = _closeness(vectors[rows], self.points[first:last])
            winners = np.argmax(closeness, axis=1)
            values = closeness[np.arange(len(rows)), winners]
            better = values > best[rows]
            best[rows[better]] = values[better]
            labels[rows[better]] = winners[better] + first
        squares = np.einsum("vd,vd->v", vectors, vectors)
        return labels, np.maximum(squares - 2 * best, 0)


def centroids_for(vectors: int) -> int:
    """How many for an index of so many vectors: PLAID's rule, a power of two near 16 √n."""
    wanted = 16 * np.sqrt(max(vectors, 1))
    count = 1 << int(np.floor(np.log2(wanted)))
    return int(min(MOST, count, max(1, vectors // VECTORS_EACH)))


def sample_size(count: int) -> int:
    """Vectors to train so many centroids on."""
    return count * VECTORS_EACH


def train(sample: FloatArray, count: int, seed: int = 0) -> Centroids:
    """`count` centroids of the vectors that a `sample` was drawn from."""
    rng = np.random.default_rng(seed)
    split = max(1, round(np.sqrt(count)))
    some = sample[rng.permutation(len(sample))[: split * 8 * VECTORS_EACH]]
    cells = _lloyd(some, min(split, len(some)), rng)
    labels = _labels(sample, cells)
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(len(cells) + 1))
    members = np.diff(bounds)
    shares = np.clip(np.rint(members * count / len(sample)), 1, np.maximum(members, 1))
    points = [
        _lloyd(sample[order[first:last]], int(share), rng)
        if last > first
        else cells[cell : cell + 1]
        for cell, (first, last, share) in enumerate(
            zip(bounds[:-1], bounds[1:], shares, strict=True)
        )
    ]
    edges = np.concatenate([[0], np.cumsum([len(part) for part in points])])
    together = np.concatenate(points)
    trained = Centroids(cells, edges, together, encode(together, "int8"), 0.0)
    _, error = trained.nearest(some)
    return replace(trained, error=error)


def _lloyd(vectors: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """k-means. A centroid that nothing is nearest to begins again at a vector chosen at random."""
    points = vectors[rng.permutation(len(vectors))[:count]].copy()
    if len(vectors) <= count:
        return points
    for _ in range(ROUNDS):
        labels = _labels(vectors, points)
        order = np.argsort(labels, kind="stable")
        used, starts = np.unique(labels[order], return_index=True)
        sums = np.add.reduceat(vectors[order], starts, axis=0)
        points[used] = sums / np.diff(starts, append=len(vectors))[:, None]
        unused = np.setdiff1d(np.arange(count), used)
        points[unused] = vectors[rng.integers(0, len(vectors), len(unused))]
    return points


def _labels(vectors: FloatArray, points: FloatArray) -> Labels:
    labels = np.empty(len(vectors), np.int64)
    for first in range(0, len(vectors), BLOCK):
        block = vectors[first : first + BLOCK]
        labels[first : first + BLOCK] = np.argmax(_closeness(block, points), axis=1)
    return labels


def _closeness(vectors: FloatArray, points: FloatArray) -> FloatArray:
    """Greater where a point is nearer: v·p − |p|²/2, which orders as the distance does."""
    closeness: FloatArray = vectors @ points.T
    closeness -= np.einsum("pd,pd->p", points, points) / 2
    return closeness

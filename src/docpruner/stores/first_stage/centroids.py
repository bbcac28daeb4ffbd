"""Points that stand for the vectors near them: k-means in two levels.

The first level splits the vectors into cells, the second each cell into centroids, as many as its
share of the vectors. Training costs a fraction of one level of as many centroids, and a vector
finds its centroid by looking into the few cells nearest to it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from docpruner.codecs import Encoded, encode
from docpruner.cores import usable_cores
from docpruner.similarities import as_rows, best, nearest, turned
from docpruner.types import FloatArray, IntArray

Labels = npt.NDArray[np.int64]

MOST = 65_536  # whose numbers 16 bits hold
VECTORS_EACH = 32  # of the sample, at least
ROUNDS = 8
PROBED_CELLS = 4  # in which a vector looks for its centroid
BLOCK = 1 << 18  # vectors at a time: some thousands for each cell, which its points are packed for
JUDGED = 65_536  # vectors that the error of many is judged by


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

    def best(self, tokens: FloatArray, each: int) -> tuple[IntArray, FloatArray]:
        """For each token the centroids most similar to it, the best first, to 8 bits."""
        return best(tokens, self.rounded, min(each, len(self)))

    def nearest(self, corpus: Encoded, picks: Labels | None = None) -> tuple[Labels, float]:
        """The centroid of each picked stored vector, and their error as in `error`.

        All cores are used. The error of many is that of some, taken evenly from all: neighbours
        are of the same few documents, which may be nothing like the others.
        """
        if picks is None:
            picks = np.arange(len(corpus), dtype=np.int64)
        cells, points = turned(self.cells, corpus), turned(self.points, corpus)

        def some(first: int) -> tuple[Labels, FloatArray]:
            return self._nearest(cells, points, corpus, picks[first : first + BLOCK])

        with ThreadPoolExecutor(usable_cores()) as pool:
            parts = list(pool.map(some, range(0, len(picks), BLOCK)))
        if not parts:
            return np.empty(0, np.int64), 0.0
        labels = np.concatenate([each for each, _ in parts])
        some_of_all = slice(None, None, -(-len(picks) // JUDGED))
        judged = Encoded(corpus.codec, corpus.dim, corpus.rows[picks[some_of_all]]).decode()
        nearness = np.concatenate([each for _, each in parts])[some_of_all]
        squares = np.einsum("vd,vd->v", judged, judged)
        missed = np.maximum(squares - 2 * nearness, 0)
        return labels, float(missed.sum() / squares.sum()) if squares.any() else 0.0

    def _nearest(
        self, cells: FloatArray, points: FloatArray, corpus: Encoded, picks: Labels
    ) -> tuple[Labels, FloatArray]:
        """By cells and points that are turned as the corpus; also how near each is."""
        probed = min(PROBED_CELLS, len(cells))
        nearby, _ = nearest(cells, corpus, picks, probed)
        by_cell = nearby.reshape(-1).astype(np.uint16)
        order = np.argsort(by_cell, kind="stable")
        bounds = np.searchsorted(by_cell[order], np.arange(len(cells) + 1))
        nearness = np.full(len(picks), -np.inf, np.float32)
        labels = np.zeros(len(picks), np.int64)
        for cell in np.flatnonzero(np.diff(bounds)).tolist():
            rows = order[bounds[cell] : bounds[cell + 1]] // probed
            first, last = self.edges[cell], self.edges[cell + 1]
            winners, values = nearest(points[first:last], corpus, picks[rows])
            better = values[:, 0] > nearness[rows]
            nearness[rows[better]] = values[better, 0]
            labels[rows[better]] = winners[better, 0] + first
        return labels, nearness


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
    shares = _shares(np.diff(bounds), count)

    def points_of(cell: int, chance: np.random.Generator) -> FloatArray:
        own = sample[order[bounds[cell] : bounds[cell + 1]]]
        return _lloyd(own, int(shares[cell]), chance) if len(own) else cells[cell : cell + 1]

    with ThreadPoolExecutor(usable_cores()) as pool:
        points = list(pool.map(points_of, range(len(cells)), rng.spawn(len(cells))))
    edges = np.concatenate([[0], np.cumsum([len(part) for part in points])])
    together = np.concatenate(points)
    trained = Centroids(cells, edges, together, encode(together, "int8"), 0.0)
    _, error = trained.nearest(as_rows(some))
    return replace(trained, error=error)


def _shares(members: Labels, count: int) -> Labels:
    """How many centroids each cell gets: by its members, at least one, together no more."""
    exact = members * count / max(1, members.sum())
    shares = np.maximum(exact.astype(np.int64), 1)
    left = count - int(shares.sum())
    if left > 0:
        shares[np.argsort(shares - exact, kind="stable")[:left]] += 1
    for _ in range(-left):  # few: those of cells that have next to no members
        shares[np.argmax(shares)] -= 1
    clipped: Labels = np.clip(shares, 1, np.maximum(members, 1))
    return clipped


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


def _labels(vectors: FloatArray, points: FloatArray) -> npt.NDArray[np.uint16]:
    """The nearest point of each vector; 16 bits are sorted in one go."""
    places, _ = nearest(points, as_rows(vectors), np.arange(len(vectors)))
    return places[:, 0].astype(np.uint16)

"""Stored vectors one by one, by how near they are to others.

For the first stage, which has to know the centroids nearest to a query, and the one that is nearest
to each stored vector. By the native kernel as `docpruner.maxsim`, and as exact as that; by
numpy where it is not built.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from docpruner.codecs import CODEC_NAMES, Encoded
from docpruner.cores import on_all_cores, usable_cores
from docpruner.maxsim import kernels
from docpruner.rotation import rotate
from docpruner.types import FloatArray, IntArray

try:
    from docpruner import _maxsim
except ImportError:  # no C compiler when the package was built
    _maxsim = None  # type: ignore[assignment]

Places = npt.NDArray[np.int64]

LEAST = 8192  # rows that are worth a thread's while
BLOCK = 8192  # rows at a time by numpy


def as_rows(vectors: FloatArray) -> Encoded:
    """Vectors as they are, where stored ones are expected."""
    floats = np.ascontiguousarray(vectors, np.float32)
    return Encoded("float32", floats.shape[1], floats.view(np.uint8))


def turned(vectors: FloatArray, corpus: Encoded) -> FloatArray:
    """Vectors rotated as those of the corpus are, if they are: products stay what they were."""
    return rotate(vectors) if corpus.is_rotated else np.ascontiguousarray(vectors, np.float32)


def best(tokens: FloatArray, corpus: Encoded, each: int) -> tuple[IntArray, FloatArray]:
    """For each token the stored vectors most similar to it, (tokens, each), the best first, and
    how similar they are. All cores are used.

    tokens: rotated as the corpus is (`turned`).
    """
    if _maxsim is None:
        return _highest(tokens @ turned(corpus.decode(), corpus).T, each)
    asked = np.ascontiguousarray(tokens, np.float32)
    rows, codec, isa = np.ascontiguousarray(corpus.rows), _codec(corpus), kernels().names[0]

    def part(bounds: tuple[int, int]) -> tuple[IntArray, FloatArray]:
        first, last = bounds
        places = np.empty((len(asked), min(each, last - first)), np.int32)
        values = np.empty(places.shape, np.float32)
        _maxsim.best(asked, rows, places, values, corpus.dim, codec, first, last, isa)
        return places, values

    shares = min(usable_cores(), -(-len(corpus) // LEAST))
    if shares < 2:
        return part((0, len(corpus)))
    bounds = np.linspace(0, len(corpus), shares + 1, dtype=int).tolist()
    parts = on_all_cores(part, pairwise(bounds))
    places, values = (np.concatenate(those, axis=1) for those in zip(*parts, strict=True))
    order, highest = _highest(values, each)
    return np.take_along_axis(places, order.astype(np.int64), 1), highest


def _highest(values: FloatArray, each: int) -> tuple[IntArray, FloatArray]:
    """The places of the highest of each row, the highest first, and they."""
    order = np.argsort(-values, axis=1, kind="stable")[:, :each]
    return order.astype(np.int32), np.take_along_axis(values, order, axis=1)


def nearest(
    points: FloatArray, corpus: Encoded, picks: Places, each: int = 1
) -> tuple[IntArray, FloatArray]:
    """For each picked stored vector the points nearest to it, (picks, each), the nearest first.

    points: rotated as the corpus is (`turned`).
    The values are v·p − |p|²/2, greater where a point is nearer: |v − p|² is |v|² less twice that.
    Runs on the calling thread, without the GIL.
    """
    half = (np.einsum("pd,pd->p", points, points) / 2).astype(np.float32)
    if _maxsim is None:
        return _nearest_by_numpy(points, half, corpus, picks, each)
    places = np.empty((len(picks), each), np.int32)
    values = np.empty((len(picks), each), np.float32)
    rows, isa = np.ascontiguousarray(corpus.rows), kernels().names[0]
    _maxsim.nearest(
        np.ascontiguousarray(points), half, rows, np.ascontiguousarray(picks, np.int64), places,
        values, corpus.dim, _codec(corpus), each, isa,
    )  # fmt: skip
    return places, values


def _nearest_by_numpy(
    points: FloatArray, half: FloatArray, corpus: Encoded, picks: Places, each: int
) -> tuple[IntArray, FloatArray]:
    places = np.empty((len(picks), each), np.int32)
    values = np.empty((len(picks), each), np.float32)
    for first in range(0, len(picks), BLOCK):
        some = slice(first, first + BLOCK)
        picked = Encoded(corpus.codec, corpus.dim, corpus.rows[picks[some]])
        closeness = turned(picked.decode(), corpus) @ points.T - half
        places[some], values[some] = _highest(closeness, each)
    return places, values


def _codec(corpus: Encoded) -> int:
    return CODEC_NAMES.index(corpus.codec)

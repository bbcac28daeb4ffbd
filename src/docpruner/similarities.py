"""Products of stored vectors with other vectors, one by one: what MaxSim takes the maximum of.

For the first stage, which has to know how near every centroid is to a query, and which centroid is
nearest to each stored vector. By the native kernel as `docpruner.maxsim`, and as exact as that; by
numpy where it is not built.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from docpruner.codecs import CODEC_NAMES, Encoded
from docpruner.cores import usable_cores
from docpruner.maxsim import kernels
from docpruner.rotation import rotation
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
    if not corpus.is_rotated:
        return np.ascontiguousarray(vectors)
    return np.ascontiguousarray(vectors @ rotation(corpus.dim).T)


def products(tokens: FloatArray, corpus: Encoded) -> FloatArray:
    """Of every token with every stored vector, (tokens, vectors). All cores are used."""
    asked = turned(tokens, corpus)
    if _maxsim is None:
        return np.asarray(tokens @ corpus.decode().T, np.float32)
    out = np.empty((len(asked), len(corpus)), np.float32)
    rows, codec, isa = np.ascontiguousarray(corpus.rows), _codec(corpus), kernels().names[0]

    def part(first: int, last: int) -> None:
        _maxsim.products(asked, rows, out, corpus.dim, codec, first, last, isa)

    shares = min(usable_cores(), -(-len(corpus) // LEAST))
    if shares < 2:
        part(0, len(corpus))
    else:
        bounds = np.linspace(0, len(corpus), shares + 1).astype(int).tolist()
        with ThreadPoolExecutor(shares) as pool:
            list(pool.map(part, bounds[:-1], bounds[1:]))
    return out


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
        places[some] = np.argsort(-closeness, axis=1, kind="stable")[:, :each]
        values[some] = np.take_along_axis(closeness, places[some].astype(np.int64), axis=1)
    return places, values


def _codec(corpus: Encoded) -> int:
    return CODEC_NAMES.index(corpus.codec)

"""Exact MaxSim: the sum over query tokens of the best matching vector of each page.

Pages are ragged and stay so: flat vectors and the offsets where each page begins. Nothing is
padded, so a page's score never depends on its neighbours.

For unit vectors the native kernel equals the numpy reference to 1e-6 a query token for float32 and
float16, and to 1e-4 for the codecs of integers, where it rounds query tokens to 16 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from docpruner.codecs import CODEC_NAMES, LEVELS, CodecName, Encoded
from docpruner.cores import usable_cores
from docpruner.errors import ScoringError
from docpruner.rotation import rotate
from docpruner.types import FloatArray

try:
    from docpruner import _maxsim

    _why_not_native = ""
except ImportError as error:  # no C compiler when the package was built, or another platform's
    _maxsim = None  # type: ignore[assignment]
    _why_not_native = str(error)

Offsets = npt.NDArray[np.int64]
Spans = npt.NDArray[np.int64]  # (pages, 2)

NUMPY_BLOCK = 8192  # vectors decoded at a time, small enough to stay in cache
TASKS_PER_THREAD = 4  # so that a thread that was slowed down leaves its share to the others
SMALL = 2_000_000  # products below which a thread costs more than it saves


@dataclass(frozen=True)
class Kernels:
    """What can score on this machine, best first, and why not better."""

    names: tuple[str, ...]
    reason: str


def kernels() -> Kernels:
    """The kernels this machine can run; the first is the default, `numpy` is always the last."""
    if _maxsim is None:
        return Kernels(("numpy",), f"the native extension is not built ({_why_not_native})")
    names = (*_maxsim.instruction_sets(), "numpy")
    reasons = {
        "avx512vnni": "this CPU has AVX-512 VNNI",
        "avx2": "this CPU has AVX2 but not AVX-512 VNNI",
        "portable": "this CPU has neither AVX-512 VNNI nor AVX2",
    }
    return Kernels(names, reasons[names[0]])


def maxsim(query: npt.ArrayLike, pages: Sequence[npt.ArrayLike]) -> FloatArray:
    """Scores of one query (tokens × dim) against pages (each vectors × dim)."""
    vectors = [np.asarray(page) for page in pages]
    for number, page in enumerate(vectors):
        if page.ndim != 2 or page.shape[1:] != vectors[0].shape[1:]:
            raise ScoringError(
                f"page {number} has shape {page.shape}, page 0 has {vectors[0].shape}; "
                "every page must be (vectors, dim)"
            )
    if not vectors:
        return np.empty(0, np.float32)
    offsets = np.concatenate([[0], np.cumsum([len(page) for page in vectors])])
    scores: FloatArray = score_pages([query], np.concatenate(vectors), offsets)[0]
    return scores


def score_pages(
    queries: Sequence[npt.ArrayLike],
    corpus: Encoded | npt.NDArray[Any],
    offsets: npt.ArrayLike,
    *,
    kernel: str | None = None,
    threads: int | None = None,
) -> FloatArray:
    """Scores of every query against every page, (queries, pages).

    Page `i` is `corpus[offsets[i]:offsets[i + 1]]`. Uses every core unless `threads` says not to.
    """
    encoded = _as_encoded(corpus)
    bounds = _checked_offsets(offsets, len(encoded))
    spans = np.stack([bounds[:-1], bounds[1:]], axis=1)
    asked = Asked.of(queries, encoded.codec, encoded.dim)
    return score_spans(asked, encoded, spans, kernel=kernel, threads=threads)


@dataclass(frozen=True, eq=False)
class Asked:
    """Queries as they are compared with stored vectors, made ready once for all of these."""

    tokens: FloatArray  # of all queries, one after another
    offsets: Offsets  # where each query begins, and the end
    turned: FloatArray  # the tokens, rotated as the stored vectors are

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, queries: Sequence[npt.ArrayLike], codec: CodecName, dim: int) -> Asked:
        """For vectors that are stored in a codec."""
        tokens, offsets = _flat_queries(queries, dim)
        if codec not in LEVELS:
            return cls(tokens, offsets, tokens)
        return cls(tokens, offsets, rotate(tokens))


@dataclass(frozen=True, eq=False)
class Selection:
    """Of the stored vectors, those that are worth comparing; a page is scored by these alone."""

    codes: npt.NDArray[np.uint16]  # of every stored vector
    wanted: npt.NDArray[np.uint8]  # for each of the 65,536 codes, 1 if its vectors are
    floors: FloatArray  # for each query token, what a page has at least


def score_spans(
    asked: Asked,
    corpus: Encoded,
    spans: Spans,
    *,
    only: Selection | None = None,
    kernel: str | None = None,
    threads: int | None = None,
) -> FloatArray:
    """As `score_pages`, of pages that lie anywhere: `corpus[first:last]` of each span."""
    names = kernels().names
    chosen = names[0] if kernel is None else kernel
    if chosen not in names:
        raise ScoringError(f"no kernel {chosen!r} on this machine; there are: {', '.join(names)}")
    workers = usable_cores() if threads is None else threads
    if workers < 1:
        raise ScoringError(f"threads={threads} must be at least 1")
    if not (len(asked) and len(spans)):
        return np.zeros((len(asked), len(spans)), np.float32)
    if chosen == "numpy":
        return _numpy_scores(asked, corpus, spans, only)
    return _native_scores(asked, corpus, spans, only, chosen, workers)


def _native_scores(
    asked: Asked,
    corpus: Encoded,
    spans: Spans,
    only: Selection | None,
    instruction_set: str,
    threads: int,
) -> FloatArray:
    pages = len(spans)
    scores = np.empty((len(asked), pages), np.float32)
    rows = np.ascontiguousarray(corpus.rows)
    spans = np.ascontiguousarray(spans)
    codec = CODEC_NAMES.index(corpus.codec)
    selected = (b"", b"", b"") if only is None else (only.codes, only.wanted, only.floors)

    def score(first: int, last: int) -> int:
        return _maxsim.score(
            asked.turned, asked.offsets, rows, spans, scores,
            corpus.dim, codec, first, last, instruction_set, *selected,
        )  # fmt: skip

    vectors = np.cumsum(spans[:, 1] - spans[:, 0])
    workers = threads if len(asked.tokens) * int(vectors[-1]) * corpus.dim > SMALL else 1
    if workers == 1:
        bad = [score(0, pages)]
    else:
        bounds = _equal_shares(vectors, workers * TASKS_PER_THREAD)
        with ThreadPoolExecutor(workers) as pool:
            bad = list(pool.map(score, bounds[:-1], bounds[1:]))
    for page in bad:
        if page >= 0:
            raise _not_finite(page)
    return scores


def _numpy_scores(
    asked: Asked, corpus: Encoded, spans: Spans, only: Selection | None
) -> FloatArray:
    """The reference: decode some pages, multiply, take the maximum of each page."""
    scores = np.empty((len(asked), len(spans)), np.float32)
    ends = np.cumsum(spans[:, 1] - spans[:, 0])
    first = 0
    while first < len(spans):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + NUMPY_BLOCK, side="right")))
        rows = np.concatenate([corpus.rows[start:stop] for start, stop in spans[first:last]])
        with np.errstate(invalid="ignore", over="ignore"):
            similarities = asked.tokens @ Encoded(corpus.codec, corpus.dim, rows).decode().T
        if not np.isfinite(similarities).all():
            vector = before + int(np.argmin(np.isfinite(similarities).all(axis=0)))
            raise _not_finite(int(np.searchsorted(ends, vector, side="right")))
        if only is not None:
            codes = np.concatenate([only.codes[start:stop] for start, stop in spans[first:last]])
            similarities[:, only.wanted[codes] == 0] = -np.inf
        starts = np.concatenate([[0], ends[first : last - 1] - before])
        best = np.maximum.reduceat(similarities, starts, axis=1)
        if only is not None:
            best = np.maximum(best, only.floors[:, None])
        sums = np.add.reduceat(best.astype(np.float64), asked.offsets[:-1], axis=0)
        scores[:, first:last] = sums
        first = last
    return scores


def _as_encoded(corpus: Encoded | npt.NDArray[Any]) -> Encoded:
    """Float arrays are scored where they lie; only float64 is copied, once, to float32."""
    if isinstance(corpus, Encoded):
        return corpus
    array = np.asarray(corpus)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ScoringError(f"corpus of shape {array.shape}; expected (vectors, dim)")
    names: dict[type, CodecName] = {np.float16: "float16", np.float32: "float32"}
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    if array.dtype.type not in names:
        raise ScoringError(
            f"corpus of type {array.dtype}; pass float32 or float16 vectors, or an Encoded "
            "from docpruner.codecs.encode"
        )
    rows = np.ascontiguousarray(array).view(np.uint8)
    return Encoded(names[array.dtype.type], array.shape[1], rows)


def _flat_queries(queries: Sequence[npt.ArrayLike], dim: int) -> tuple[FloatArray, Offsets]:
    arrays = []
    for number, query in enumerate(queries):
        array = np.asarray(query, dtype=np.float32)
        if array.ndim != 2 or array.shape[1] != dim or len(array) == 0:
            raise ScoringError(
                f"query {number} has shape {array.shape}, expected (tokens, {dim}) as the corpus"
            )
        if not np.isfinite(array).all():
            raise ScoringError(f"query {number} holds NaN or infinity")
        arrays.append(array)
    lengths = [len(array) for array in arrays]
    tokens = np.concatenate(arrays) if arrays else np.empty((0, dim), np.float32)
    return np.ascontiguousarray(tokens), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _checked_offsets(offsets: npt.ArrayLike, vectors: int) -> Offsets:
    array = np.asarray(offsets)
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0:
        raise ScoringError(
            f"offsets of shape {array.shape} and type {array.dtype}; expected a list of integers"
        )
    array = np.ascontiguousarray(array, dtype=np.int64)
    if array[0] != 0 or array[-1] != vectors:
        raise ScoringError(
            f"offsets run from {array[0]} to {array[-1]}; expected 0 to {vectors}, the vectors"
        )
    empty = np.diff(array) < 1
    if empty.any():
        raise ScoringError(f"page {int(np.argmax(empty))} has no vectors")
    return array


def _equal_shares(ends: Offsets, shares: int) -> list[int]:
    """Page numbers that cut pages, which end there, into about equal numbers of vectors."""
    targets = np.linspace(0, ends[-1], shares + 1)[1:]
    cuts = np.searchsorted(ends, targets) + 1
    return [0, *np.unique(np.minimum(cuts, len(ends))).tolist()]


def _not_finite(page: int) -> ScoringError:
    return ScoringError(f"page {page}: a similarity is NaN or infinite; its vectors are damaged")

"""MaxSim: every kernel gives the reference's scores, and pages don't know their neighbours."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docpruner import maxsim as maxsim_module
from docpruner.codecs import CODEC_NAMES, LEVELS, Encoded, encode
from docpruner.errors import ScoringError
from docpruner.maxsim import Asked, kernels, maxsim, score_pages, score_spans
from docpruner.rotation import rotation

NATIVE = [name for name in kernels().names if name != "numpy"]
TOLERANCE = dict.fromkeys(CODEC_NAMES, 0.0001) | {"float32": 1e-6, "float16": 1e-6}  # a query token


def unit_vectors(rng: np.random.Generator, count: int, dim: int) -> np.ndarray:
    drawn = rng.normal(size=(count, dim)).astype(np.float32) + np.float32(1e-3)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def ragged(rng: np.random.Generator, lengths: list[int], dim: int) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return unit_vectors(rng, int(offsets[-1]), dim), offsets


def naive(query: np.ndarray, page: np.ndarray) -> float:
    return sum(max(float(np.dot(token, patch)) for patch in page) for token in query)


def test_a_pages_score_ignores_its_neighbours():
    short, long = [[-0.2, 0.98]], [[0.5, 0.5], [0.1, 0.9]]
    assert maxsim([[1, 0]], [short, long])[0] == pytest.approx(-0.2)


def test_scores_are_sums_of_best_matches():
    query = [[1, 0], [0, 1]]
    pages = [[[1, 0]], [[1, 0], [0, 1]], [[0.5, 0.5], [-1, -1]]]
    assert maxsim(query, pages) == pytest.approx([1, 2, 1])


def test_the_extension_is_built_here():
    assert NATIVE, kernels().reason


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_the_reference_is_the_definition(codec):
    rng = np.random.default_rng(3)
    vectors, offsets = ragged(rng, [1, 7, 2, 30], 16)
    query = unit_vectors(rng, 5, 16)
    encoded = encode(vectors, codec)
    pages = np.split(encoded.decode(), offsets[1:-1])
    wanted = [naive(query, page) for page in pages]
    assert score_pages([query], encoded, offsets, kernel="numpy")[0] == pytest.approx(
        wanted, abs=1e-5
    )


@pytest.mark.parametrize("codec", CODEC_NAMES)
@pytest.mark.parametrize("kernel", NATIVE)
@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=12),
    tokens=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    dim=st.sampled_from([1, 2, 3, 8, 31, 64, 127, 128, 130]),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_kernel_equals_the_reference(kernel, codec, lengths, tokens, dim, seed):
    rng = np.random.default_rng(seed)
    vectors, offsets = ragged(rng, lengths, dim)
    queries = [unit_vectors(rng, count, dim) for count in tokens]
    encoded = encode(vectors, codec)
    wanted = score_pages(queries, encoded, offsets, kernel="numpy")
    got = score_pages(queries, encoded, offsets, kernel=kernel)
    room = TOLERANCE[codec] * np.array(tokens)[:, None]
    assert (np.abs(got - wanted) <= room).all()


@pytest.mark.parametrize("codec", CODEC_NAMES)
@pytest.mark.parametrize("kernel", NATIVE)
def test_a_page_alone_scores_as_among_others_to_the_bit(kernel, codec):
    rng = np.random.default_rng(5)
    vectors, offsets = ragged(rng, [1, 9, 33, 4, 1], 48)
    queries = [unit_vectors(rng, count, 48) for count in (20, 3)]
    together = score_pages(queries, encode(vectors, codec), offsets, kernel=kernel)
    for page, (start, stop) in enumerate(pairwise(offsets)):
        alone = score_pages(
            queries, encode(vectors[start:stop], codec), [0, stop - start], kernel=kernel
        )
        assert np.array_equal(alone[:, 0], together[:, page])


@pytest.mark.parametrize("kernel", kernels().names)
def test_a_vector_far_from_every_query_still_counts(kernel):
    """A padded kernel would say 0 here: all the page has is the opposite of the query."""
    query = np.array([[1.0, 0.0]], np.float32)
    assert score_pages([query], -query, [0, 1], kernel=kernel)[0, 0] == pytest.approx(-1)


@pytest.mark.parametrize("codec", ["int8", "binary", "int4", "int2", "int1"])
@pytest.mark.parametrize("kernel", NATIVE)
@pytest.mark.parametrize("dim", [128, 1024, 4096])
def test_integers_never_overflow(kernel, codec, dim):
    """The worst case: every number of query and page at its largest, with the same sign."""
    query = np.full((3, dim), 7.5, np.float32)
    encoded = encode(np.ones((2, dim)), codec)
    if encoded.is_rotated:  # where all numbers are largest before the rotation, they are not after
        levels = np.array(LEVELS[codec][-1:] * dim, np.float32)
        query = np.full((3, dim), 7.5, np.float32) @ rotation(dim)
        encoded = encode(levels[None] @ rotation(dim), codec)
        encoded = Encoded(codec, dim, np.repeat(encoded.rows, 2, axis=0))
    wanted = score_pages([query], encoded, [0, 2], kernel="numpy")
    assert score_pages([query], encoded, [0, 2], kernel=kernel) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("kernel", NATIVE)
def test_threads_change_nothing(kernel):
    rng = np.random.default_rng(11)
    vectors, offsets = ragged(rng, [300] * 60, 128)
    query = unit_vectors(rng, 20, 128)
    alone = score_pages([query], vectors, offsets, kernel=kernel, threads=1)
    for threads in (2, 3, 7, None):
        shared = score_pages([query], vectors, offsets, kernel=kernel, threads=threads)
        assert np.array_equal(shared, alone)


@pytest.mark.parametrize("kernel", kernels().names)
def test_rows_may_lie_at_any_address(kernel):
    rng = np.random.default_rng(2)
    vectors, offsets = ragged(rng, [5, 2], 16)
    query = unit_vectors(rng, 4, 16)
    wanted = score_pages([query], vectors, offsets, kernel=kernel)
    for codec in ("float32", "float16"):
        encoded = encode(vectors, codec)
        shifted = np.empty(encoded.nbytes + 1, np.uint8)[1:].reshape(encoded.rows.shape)
        shifted[:] = encoded.rows
        moved = score_pages([query], Encoded(codec, 16, shifted), offsets, kernel=kernel)
        assert moved == pytest.approx(wanted, abs=1e-2 if codec == "float16" else 1e-6)


@pytest.mark.parametrize("kernel", kernels().names)
@pytest.mark.parametrize("damage", [np.nan, np.inf, -np.inf])
def test_a_damaged_page_is_named(kernel, damage):
    vectors = np.ones((9, 4), np.float32)
    vectors[5, 1] = damage
    with pytest.raises(ScoringError, match=r"page 1: a similarity is NaN or infinite"):
        score_pages([np.ones((3, 4))], vectors, [0, 4, 6, 9], kernel=kernel)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_float_arrays_are_scored_as_they_are(dtype):
    corpus = np.eye(3, dtype=dtype)
    assert score_pages([np.eye(3)], corpus, [0, 1, 3])[0] == pytest.approx([1, 2])


def test_no_pages_and_no_queries_give_empty_scores():
    corpus = np.ones((2, 4), np.float32)
    assert score_pages([], corpus, [0, 1, 2]).shape == (0, 2)
    assert score_pages([np.ones((1, 4))], corpus[:0], [0]).shape == (1, 0)
    assert maxsim(np.ones((1, 4)), []).shape == (0,)


@pytest.mark.parametrize(
    ("queries", "corpus", "offsets", "message"),
    [
        ([np.ones((2, 3))], np.ones((2, 4)), [0, 2], r"query 0 has shape \(2, 3\).*\(tokens, 4\)"),
        ([np.ones((0, 4))], np.ones((2, 4)), [0, 2], r"query 0 has shape \(0, 4\)"),
        ([np.full((1, 4), np.nan)], np.ones((2, 4)), [0, 2], r"query 0 holds NaN"),
        ([np.ones((1, 4))], np.ones((2, 4), int), [0, 2], r"corpus of type int64; pass float32"),
        ([np.ones((1, 4))], np.ones(4), [0, 1], r"corpus of shape \(4,\)"),
        ([np.ones((1, 4))], np.ones((2, 4)), [0, 3], r"from 0 to 3; expected 0 to 2"),
        ([np.ones((1, 4))], np.ones((2, 4)), [0, 1, 1, 2], r"page 1 has no vectors"),
        ([np.ones((1, 4))], np.ones((2, 4)), [0, 2, 1, 2], r"page 1 has no vectors"),
        ([np.ones((1, 4))], np.ones((2, 4)), [0.0, 2.0], r"type float64; expected a list of int"),
    ],
)
def test_what_cannot_be_scored_is_said_clearly(queries, corpus, offsets, message):
    with pytest.raises(ScoringError, match=message):
        score_pages(queries, corpus, offsets)


def test_wrong_kernel_threads_and_ragged_dimensions_are_errors():
    corpus, query = np.ones((2, 4), np.float32), np.ones((1, 4))
    with pytest.raises(ScoringError, match=r"no kernel 'cuda' on this machine; there are: .*numpy"):
        score_pages([query], corpus, [0, 2], kernel="cuda")
    with pytest.raises(ScoringError, match=r"threads=0 must be at least 1"):
        score_pages([query], corpus, [0, 2], threads=0)
    with pytest.raises(ScoringError, match=r"page 1 has shape \(2, 3\), page 0 has \(2, 4\)"):
        maxsim(query, [np.ones((2, 4)), np.ones((2, 3))])


@pytest.mark.parametrize("kernel", kernels().names)
def test_pages_may_lie_anywhere_and_in_any_order(kernel):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 16)).astype(np.float32)
    queries = [rng.normal(size=(3, 16)), rng.normal(size=(5, 16))]
    spans = np.array([[40, 60], [0, 1], [10, 25], [12, 20]])
    corpus = encode(vectors, "float32")
    got = score_spans(Asked.of(queries, corpus.codec, 16), corpus, spans, kernel=kernel)
    wanted = [maxsim(query, [vectors[a:b] for a, b in spans]) for query in queries]
    assert got == pytest.approx(np.array(wanted), rel=1e-5)


@pytest.mark.skipif(not NATIVE, reason="the extension is not built")
def test_the_extension_refuses_offsets_outside_its_buffers():
    score = maxsim_module._maxsim.score
    tokens, rows = np.ones((1, 4), np.float32), np.ones((2, 4), np.float32)
    scores = np.zeros((1, 1), np.float32)
    good = np.array([0, 1]), np.array([0, 2])
    for query_offsets, spans in [
        (np.array([0, 2]), good[1]),
        (good[0], np.array([0, 3])),
        (good[0], np.array([2, 2])),
        (good[0], np.array([-1, 1])),
        (good[0], np.array([0])),
    ]:
        with pytest.raises(ValueError, match="offsets or spans don't fit"):
            score(tokens, query_offsets, rows, spans, scores, 4, 0, 0, 1, NATIVE[0])
    for first, last in [(0, 2), (1, 0), (-1, 1)]:
        with pytest.raises(ValueError, match="pages are out of range"):
            score(tokens, *[good[0], rows, good[1]], scores, 4, 0, first, last, NATIVE[0])


def test_without_the_extension_the_reference_serves():
    program = """
import sys
sys.modules["docpruner._maxsim"] = None  # what an installation without a C compiler looks like
from docpruner.maxsim import Asked, kernels, maxsim
from docpruner.doctor import examine
assert kernels().names == ("numpy",) and "not built" in kernels().reason, kernels()
assert maxsim([[1.0, 0.0]], [[[0.5, 0.5]]]).tolist() == [0.5]
assert "C compiler" in next(f.remedy for f in examine() if f.what == "MaxSim kernel")
"""
    subprocess.run([sys.executable, "-c", program], check=True)

"""Codecs: what goes in comes out, to the stated precision and in the stated bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from docpruner.codecs import CODEC_NAMES, Encoded, bytes_per_vector, encode
from docpruner.errors import CodecError

vectors = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 6), st.integers(1, 40)),
    elements=st.floats(-100, 100, width=32),
)


def unit_vectors(count: int, dim: int = 128, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("codec", "width"), [("float32", 512), ("float16", 256), ("int8", 130), ("binary", 16)]
)
def test_a_vector_of_128_numbers_takes_so_many_bytes(codec, width):
    encoded = encode(unit_vectors(3), codec)
    assert bytes_per_vector(codec, 128) == width
    assert encoded.rows.shape == (3, width)
    assert encoded.nbytes == 3 * width


def test_float32_is_exact():
    given_vectors = unit_vectors(5)
    assert np.array_equal(encode(given_vectors, "float32").decode(), given_vectors)


@given(vectors)
def test_float16_rounds_to_the_nearest_half(values):
    assert np.array_equal(encode(values, "float16").decode(), values.astype(np.float16))


@given(vectors)
def test_int8_is_off_by_at_most_half_a_step(values):
    decoded = encode(values, "int8").decode()
    step = np.abs(values).max(axis=1, keepdims=True) / 127
    # half a step, and as the float16 scale is rounded (2^-11), up to 127 × 2^-11 of a step more;
    # below 127 × 2^-24 a scale is too small for float16
    assert (np.abs(decoded - values) <= step * (0.5 + 127 / 2048) + 127 * 2.0**-24).all()


def test_int8_scales_each_vector_by_its_own_largest_number():
    decoded = encode([[127, -127, 1], [0.5, 0.25, 0.0]], "int8").decode()
    assert decoded[0].tolist() == [127, -127, 1]
    assert decoded[1] == pytest.approx([0.5, 0.25, 0.0], abs=0.5 / 127)


@given(vectors)
def test_binary_keeps_signs_and_gives_unit_vectors(values):
    decoded = encode(values, "binary").decode()
    assert np.array_equal(decoded > 0, values > 0)
    assert np.linalg.norm(decoded, axis=1) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_a_zero_vector_stays_finite(codec):
    assert np.isfinite(encode(np.zeros((1, 8)), codec).decode()).all()


@pytest.mark.parametrize(("codec", "error"), [("float32", 0), ("float16", 2e-4), ("int8", 5e-3)])
def test_similarities_of_unit_vectors_hardly_move(codec, error):
    pages, queries = unit_vectors(500), unit_vectors(20, seed=1)
    moved = np.abs(queries @ encode(pages, codec).decode().T - queries @ pages.T)
    assert moved.max() <= error


def test_errors_say_what_and_which():
    with pytest.raises(CodecError, match=r"no codec 'int4'; there are: float32, float16"):
        encode([[1.0]], "int4")
    with pytest.raises(CodecError, match=r"vector 1 holds NaN"):
        encode([[1.0], [np.nan]], "int8")
    with pytest.raises(CodecError, match=r"shape \(2,\); expected \(n, dim\)"):
        encode([1.0, 2.0], "int8")
    with pytest.raises(CodecError, match=r"65504; normalise"):
        encode([[1e6]], "float16")
    with pytest.raises(CodecError, match=r"int8 at 4 dimensions has rows of 6 bytes"):
        Encoded("int8", 4, np.zeros((2, 4), np.uint8))

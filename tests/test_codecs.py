"""Codecs: what goes in comes out, to the stated precision and in the stated bytes."""

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from docpruner.codecs import CODEC_NAMES, LEVELS, Encoded, bytes_per_vector, encode
from docpruner.errors import CodecError
from docpruner.rotation import rotate, rotation

vectors = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 6), st.integers(1, 40)),
    elements=st.floats(-100, 100, width=32),
)


def unit_vectors(count: int, dim: int = 128, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("codec", "width"),
    [
        *(("float32", 512), ("float16", 256), ("int8", 130), ("binary", 16)),
        *(("int4", 66), ("int2", 34), ("int1", 18)),
    ],
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
    with pytest.raises(CodecError, match=r"no codec 'int5'; there are: float32, float16"):
        encode([[1.0]], "int5")
    with pytest.raises(CodecError, match=r"vector 1 holds NaN"):
        encode([[1.0], [np.nan]], "int8")
    with pytest.raises(CodecError, match=r"shape \(2,\); expected \(n, dim\)"):
        encode([1.0, 2.0], "int8")
    with pytest.raises(CodecError, match=r"65504; normalise"):
        encode([[1e6]], "float16")
    with pytest.raises(CodecError, match=r"int8 at 4 dimensions has rows of 6 bytes"):
        Encoded("int8", 4, np.zeros((2, 4), np.uint8))


# ---------------------------------------------------------------------- rotated, a few bits

LOW = ("int4", "int2", "int1")
DEVIATION = {"int4": 0.0088, "int2": 0.033, "int1": 0.068}  # of a similarity of unit vectors


def uneven_vectors(count: int, dim: int) -> np.ndarray:
    """Some numbers are far larger than the others, and all of one sign, as models make them."""
    vectors = unit_vectors(count, dim, seed=1)
    vectors[:, :3] += 0.5
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("dim", [1, 2, 7, 100, 128, 320, 1024])
def test_a_rotation_keeps_lengths_and_is_the_same_on_every_machine(dim):
    turned = rotation(dim)
    assert np.abs(turned @ turned.T - np.eye(dim)).max() < 1e-5
    assert not turned.flags.writeable


@pytest.mark.parametrize("dim", [1, 6, 7, 96, 128, 256, 320])
def test_a_vector_is_rotated_the_same_whatever_stands_beside_it(dim):
    vectors = np.random.default_rng(0).normal(size=(600, dim)).astype(np.float32)
    all_at_once = rotate(vectors)
    assert all_at_once == pytest.approx(vectors @ rotation(dim).T, abs=1e-5)
    for start, end in ((0, 1), (1, 300), (590, 600)):
        assert np.array_equal(rotate(vectors[start:end]), all_at_once[start:end])
    assert rotate(vectors[:0]).shape == (0, dim)


def test_the_rotation_is_the_documented_one():
    """Signs of sha256, a Hadamard matrix, and cosines for what is odd; by hand, for 6 = 2 · 3."""
    stream = hashlib.sha256(b"docpruner rotation 0").digest()
    signs = [-1 if stream[i // 8] >> (i % 8) & 1 else 1 for i in range(6)]
    expected = np.empty((6, 6))
    for i, j in np.ndindex(6, 6):
        hadamard = (-1) ** ((i // 3) & (j // 3)) / math.sqrt(2)
        cosine = math.cos(math.pi * (2 * (j % 3) + 1) * (i % 3) / 6)
        expected[i, j] = hadamard * math.sqrt((2 if i % 3 else 1) / 3) * cosine * signs[j]
    assert np.abs(rotation(6) - expected).max() < 1e-6


@pytest.mark.parametrize("codec", LOW)
@pytest.mark.parametrize("dim", [128, 320])
def test_similarities_have_the_stated_error_and_no_bias(codec, dim):
    stored, asked = uneven_vectors(2000, dim), unit_vectors(300, dim, seed=2)
    decoded = encode(stored, codec).decode()
    errors = asked @ decoded.T - asked @ stored.T
    assert errors.std() < DEVIATION[codec] * math.sqrt(128 / dim)
    assert abs(errors.mean()) < 0.1 * errors.std()
    assert (decoded * stored).sum(axis=1) == pytest.approx(1, abs=1e-3)


def test_one_rotated_bit_ranks_better_than_signs_alone():
    """Which know nothing of lengths, and those of a page's vectors differ from another's."""
    lengths = np.random.default_rng(3).uniform(0.5, 1.5, (3000, 1)).astype(np.float32)
    stored, asked = uneven_vectors(3000, 128) * lengths, unit_vectors(200, 128, seed=4)
    exact = asked @ stored.T
    best = np.argsort(-exact, axis=1)[:, :10]
    kept = {}
    for codec in ("int1", "binary"):
        order = np.argsort(-(asked @ encode(stored, codec).decode().T), axis=1)[:, :10]
        kept[codec] = np.mean([len(set(a) & set(b)) for a, b in zip(best, order, strict=True)])
    assert kept["int1"] > kept["binary"]


@pytest.mark.parametrize("codec", LOW)
@given(values=vectors)
def test_the_product_with_the_original_is_its_squared_length(codec, values):
    decoded = encode(values, codec).decode().astype(np.float64)
    squares = (values.astype(np.float64) ** 2).sum(axis=1)
    # 2^-11 of it, as the factor is a float16; and where that is too small for one, no more
    slack = 2.0**-10 * squares + 104 * 2.0**-24 * np.sqrt(squares * values.shape[1]) + 1e-6
    assert (np.abs((decoded * values).sum(axis=1) - squares) <= slack).all()


@pytest.mark.parametrize("codec", LOW)
def test_zeros_stay_zeros_and_lengths_are_kept(codec):
    given_vectors = unit_vectors(3) * np.float32([[0], [1e-3], [1000]])
    decoded = encode(given_vectors, codec).decode()
    assert not decoded[0].any()
    for row, length in ((1, 1e-3), (2, 1000)):
        assert decoded[row] @ given_vectors[row] == pytest.approx(length**2, rel=2e-2)


@pytest.mark.parametrize("codec", LOW)
def test_vectors_that_no_factor_can_hold_are_refused(codec):
    with pytest.raises(CodecError, match="a factor is beyond float16's 65504"):
        encode(np.full((1, 4), 1e38), codec)
    with pytest.raises(CodecError, match="vector 1 holds NaN or infinity"):
        encode([[1.0, 0.0], [np.nan, 0.0]], codec)


def test_rows_can_be_read_by_another_program():
    """Numbers in planes: with 2 bits, byte j holds numbers j, j + B, j + 2B and j + 3B."""
    (row,) = encode(unit_vectors(1, 10, seed=5), "int2").rows
    width, factor = 3, row[3:].view("<f2")[0]
    codes = [row[i % width] >> (2 * (i // width)) & 3 for i in range(10)]
    numbers = [LEVELS["int2"][code] * float(factor) for code in codes]
    expected = encode(unit_vectors(1, 10, seed=5), "int2").decode()[0]
    assert np.array(numbers) @ rotation(10) == pytest.approx(expected, abs=1e-6)

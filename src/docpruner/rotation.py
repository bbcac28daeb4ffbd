"""A rotation that makes the numbers of any vector look Gaussian, for codecs of a few bits.

Signs, then a Hadamard matrix; where the dimension is not a power of two but 2ᵃ·m with m odd, the
Hadamard matrix of 2ᵃ times (Kronecker) the cosine matrix of m. Nothing is padded, whatever the
dimension. It is part of what the codecs mean, and the same on every machine:

    rotated = R @ vector,  R = (H ⊗ C) · diag(signs)
    H[i, j] = (-1)^popcount(i & j) / √2ᵃ                              for i, j < 2ᵃ
    C[i, j] = √((2 if i else 1) / m) · cos(π (2j + 1) i / 2m)         for i, j < m
    signs[i] = -1 where bit i % 8 of byte i // 8 of the stream is set, else 1
    stream = sha256("docpruner rotation 0") sha256("docpruner rotation 1") …
"""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np
import numpy.typing as npt

from docpruner.types import BoolArray, FloatArray, readonly

Matrix = npt.NDArray[np.float64]


AT_ONCE = 256  # vectors, so that a step of the transform stays in the cache


@cache
def rotation(dim: int) -> FloatArray:
    """R, (dim, dim): orthogonal, so that products of rotated vectors are those of the vectors."""
    size, odd = _factors(dim)
    matrix = np.kron(_hadamard(size), _cosines(odd)) * np.where(_signs(dim), -1.0, 1.0)
    rotated: FloatArray = np.ascontiguousarray(matrix, dtype=np.float32)
    return readonly(rotated)


def rotate(vectors: FloatArray) -> FloatArray:
    """`vectors` (n, dim) rotated, each to the same last digit whatever stands beside it.

    By a fast Walsh-Hadamard transform: a BLAS adds in an order that depends on how many vectors
    and threads there are, and then what is stored of a page would depend on its neighbours.
    """
    count, dim = vectors.shape
    size, odd = _factors(dim)
    rotated = np.empty((count, dim), np.float32)
    for start in range(0, count, AT_ONCE):
        some = np.array(vectors[start : start + AT_ONCE].T, np.float32, order="C")  # a copy
        some[_signs(dim)] *= -1
        blocks = _by_cosines(some.reshape(size, odd, -1))
        step = 1
        while step < size:
            pairs = blocks.reshape(size // (2 * step), 2, step, odd, -1)
            first, second = pairs[:, 0], pairs[:, 1]
            blocks = np.stack([first + second, first - second], axis=1)
            step *= 2
        rotated[start : start + AT_ONCE] = blocks.reshape(dim, -1).T
    rotated /= np.float32(np.sqrt(size))
    return rotated


def _by_cosines(blocks: FloatArray) -> FloatArray:
    """Each block of (blocks, odd, n) times the cosine matrix."""
    odd = blocks.shape[1]
    if odd == 1:
        return blocks
    cosines = _cosines(odd).astype(np.float32)
    turned = np.zeros_like(blocks)
    for column in range(odd):
        turned += cosines[:, column, None] * blocks[:, None, column]
    return turned


def _factors(dim: int) -> tuple[int, int]:
    """A power of two and an odd number whose product is `dim`."""
    size = dim & -dim
    return size, dim // size


def _hadamard(size: int) -> Matrix:
    matrix: Matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return np.divide(matrix, np.sqrt(size))


def _cosines(size: int) -> Matrix:
    row, column = np.arange(size)[:, None], np.arange(size)
    matrix: Matrix = np.cos(np.pi * (2 * column + 1) * row / (2 * size)) * np.sqrt(2 / size)
    matrix[0] /= np.sqrt(2)
    return matrix


def _signs(dim: int) -> BoolArray:
    blocks = -(-dim // 256)
    stream = b"".join(
        hashlib.sha256(f"docpruner rotation {block}".encode()).digest() for block in range(blocks)
    )
    bits = np.unpackbits(np.frombuffer(stream, np.uint8), bitorder="little", count=dim)
    return bits.astype(np.bool_)

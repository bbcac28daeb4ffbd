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


@cache
def rotation(dim: int) -> FloatArray:
    """R, (dim, dim): orthogonal, so that products of rotated vectors are those of the vectors."""
    odd = dim
    while odd % 2 == 0:
        odd //= 2
    matrix = np.kron(_hadamard(dim // odd), _cosines(odd)) * np.where(_signs(dim), -1.0, 1.0)
    rotated: FloatArray = np.ascontiguousarray(matrix, dtype=np.float32)
    return readonly(rotated)


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

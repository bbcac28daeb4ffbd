"""How vectors are stored: one row of bytes each.

| codec   | row                                              | bytes at 128 dimensions |
|---------|--------------------------------------------------|-------------------------|
| float32 | the numbers                                      | 512                     |
| float16 | the numbers, rounded                             | 256                     |
| int8    | one byte a number, then a float16 scale          | 130                     |
| int4    | four bits a rotated number, then a float16 factor | 66                     |
| int2    | two bits a rotated number, then a float16 factor | 34                      |
| int1    | one bit a rotated number, then a float16 factor  | 18                      |
| binary  | one bit a number, its sign                       | 16                      |

Rows are little-endian. `int8` is symmetric: number = byte × scale, with the scale of each vector
chosen so that its largest number is ±127. `binary` decodes to ±1/√dim, a unit vector; it is there
for indexes that have it, `int1` ranks far better for two bytes more.

`int4`, `int2` and `int1` are of one family. A vector is rotated (`docpruner.rotation`), which makes
its numbers look Gaussian whatever they were; each is rounded to the nearest of the best levels for
a Gaussian (Lloyd and Max's, as small integers: `LEVELS`), and the factor is chosen so that the
product of what is decoded with the original is exact: ⟨decoded, original⟩ = |original|². So
similarities have no bias. Number `i` of a row stands in byte `i % B`, B = ⌈dim · bits / 8⌉, as its
bits from `bits · (i // B)` on: a plane of numbers after another, which unpacks fast. `int1` has
eight numbers a byte, the first in its lowest bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from docpruner.errors import CodecError
from docpruner.rotation import rotate, rotation
from docpruner.types import FloatArray

Rows = npt.NDArray[np.uint8]
CodecName = Literal["float32", "float16", "int8", "binary", "int4", "int2", "int1"]

CODEC_NAMES: tuple[CodecName, ...] = get_args(CodecName)

LEVELS: dict[str, tuple[int, ...]] = {
    "int4": (-104, -79, -62, -48, -36, -25, -15, -5, 5, 15, 25, 36, 48, 62, 79, 104),
    "int2": (-10, -3, 3, 10),
    "int1": (-1, 1),
}
"""What each code stands for, times the factor of its vector."""

_DEVIATIONS = {"int4": 38.06, "int2": 6.621, "int1": 1.2533}
"""Of a Gaussian that is rounded to these levels, so that they are the best for it."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """Vectors as bytes, with what is needed to read them back."""

    codec: CodecName
    dim: int
    rows: Rows  # (n, bytes_per_vector(codec, dim))

    def __post_init__(self) -> None:
        width = bytes_per_vector(self.codec, self.dim)
        if self.rows.dtype != np.uint8 or self.rows.ndim != 2 or self.rows.shape[1] != width:
            raise CodecError(
                f"rows of shape {self.rows.shape} and type {self.rows.dtype}; {self.codec} at "
                f"{self.dim} dimensions has rows of {width} bytes"
            )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes

    @property
    def is_rotated(self) -> bool:
        """Whether the numbers of its rows are those of rotated vectors."""
        return self.codec in LEVELS

    def decode(self) -> FloatArray:
        """The vectors as float32, (n, dim)."""
        return _CODECS[self.codec].decode(np.ascontiguousarray(self.rows), self.dim)


def encode(vectors: npt.ArrayLike, codec: CodecName) -> Encoded:
    """`vectors` (n, dim) as rows of bytes."""
    array = np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or array.shape[1] == 0:
        raise CodecError(f"vectors of shape {array.shape}; expected (n, dim)")
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        raise CodecError(f"vector {int(np.argmin(finite))} holds NaN or infinity")
    chosen = _codec(codec)
    with np.errstate(over="ignore"):
        rows = chosen.encode(np.ascontiguousarray(array))
    return Encoded(codec, array.shape[1], rows)


def bytes_per_vector(codec: CodecName, dim: int) -> int:
    """Size of one stored vector; times the kept vectors, the size of an index."""
    return _codec(codec).width(dim)


@dataclass(frozen=True)
class _Codec:
    encode: Callable[[FloatArray], Rows]
    decode: Callable[[Rows, int], FloatArray]
    width: Callable[[int], int]


def _codec(name: str) -> _Codec:
    if name not in _CODECS:
        raise CodecError(f"no codec {name!r}; there are: {', '.join(_CODECS)}")
    return _CODECS[name]


def _bytes(array: npt.NDArray[Any]) -> Rows:
    return np.ascontiguousarray(array).view(np.uint8)


def _half(values: npt.NDArray[Any], what: str) -> npt.NDArray[np.float16]:
    half = values.astype("<f2")
    if np.isinf(half).any():
        raise CodecError(f"{what} is beyond float16's 65504; normalise the vectors first")
    return half


def _encode_int8(vectors: FloatArray) -> Rows:
    scales = _half(np.abs(vectors).max(axis=1, keepdims=True, initial=0) / 127, "an int8 scale")
    steps = scales.astype(np.float32)  # as it will be read back, so that rounding is undone
    codes = np.divide(vectors, steps, out=np.zeros_like(vectors), where=steps > 0)
    codes = np.clip(np.rint(codes), -127, 127).astype(np.int8)
    return np.concatenate([_bytes(codes), _bytes(scales)], axis=1)


def _decode_int8(rows: Rows, dim: int) -> FloatArray:
    scales = np.ascontiguousarray(rows[:, dim:]).view("<f2").astype(np.float32)
    return rows[:, :dim].view(np.int8).astype(np.float32) * scales


def _decode_binary(rows: Rows, dim: int) -> FloatArray:
    bits = np.unpackbits(rows, axis=1, count=dim, bitorder="little")
    return (bits.astype(np.float32) * 2 - 1) / np.float32(math.sqrt(dim))


def _bits(codec: str) -> int:
    return len(LEVELS[codec]).bit_length() - 1


def _low_width(codec: str, dim: int) -> int:
    return -(-dim * _bits(codec) // 8) + 2


def _encode_low(codec: str, vectors: FloatArray) -> Rows:
    dim = vectors.shape[1]
    levels = np.array(LEVELS[codec], np.float32)
    rotated = rotate(vectors)
    lengths = np.linalg.norm(rotated.astype(np.float64), axis=1, keepdims=True)
    units = np.divide(np.sqrt(dim), lengths, out=np.zeros_like(lengths), where=lengths > 0)
    scaled = rotated * units * _DEVIATIONS[codec]
    codes = np.searchsorted((levels[1:] + levels[:-1]) / 2, scaled).astype(np.uint8)
    products = (levels[codes] * rotated.astype(np.float64)).sum(axis=1, keepdims=True)
    factors = np.divide(lengths**2, products, out=np.zeros_like(lengths), where=products > 0)
    return np.concatenate(
        [_packed(codes, _bits(codec)), _bytes(_half(factors, "a factor"))], axis=1
    )


def _packed(codes: Rows, bits: int) -> Rows:
    if bits == 1:
        return np.packbits(codes, axis=1, bitorder="little")
    dim, planes = codes.shape[1], 8 // bits
    width = -(-dim // planes)
    full = np.zeros((len(codes), planes * width), np.uint8)
    full[:, :dim] = codes
    packed = np.zeros((len(codes), width), np.uint8)
    for plane in range(planes):
        packed |= full[:, plane * width : (plane + 1) * width] << (bits * plane)
    return packed


def _unpacked(rows: Rows, dim: int, bits: int) -> Rows:
    if bits == 1:
        return np.unpackbits(rows, axis=1, count=dim, bitorder="little")
    planes = [(rows >> (bits * plane)) & ((1 << bits) - 1) for plane in range(8 // bits)]
    return np.concatenate(planes, axis=1)[:, :dim]


def _decode_low(codec: str, rows: Rows, dim: int) -> FloatArray:
    factors = np.ascontiguousarray(rows[:, -2:]).view("<f2").astype(np.float32)
    levels = np.array(LEVELS[codec], np.float32)[_unpacked(rows[:, :-2], dim, _bits(codec))]
    decoded: FloatArray = np.matmul(levels * factors, rotation(dim))
    return decoded


def _low(codec: str) -> _Codec:
    return _Codec(
        encode=partial(_encode_low, codec),
        decode=partial(_decode_low, codec),
        width=partial(_low_width, codec),
    )


_CODECS: dict[str, _Codec] = {
    "float32": _Codec(
        encode=lambda vectors: _bytes(vectors.astype("<f4", copy=False)),
        decode=lambda rows, _: rows.view("<f4").astype(np.float32, copy=False),
        width=lambda dim: 4 * dim,
    ),
    "float16": _Codec(
        encode=lambda vectors: _bytes(_half(vectors, "a number")),
        decode=lambda rows, _: rows.view("<f2").astype(np.float32),
        width=lambda dim: 2 * dim,
    ),
    "int8": _Codec(_encode_int8, _decode_int8, width=lambda dim: dim + 2),
    "binary": _Codec(
        encode=lambda vectors: np.packbits(vectors > 0, axis=1, bitorder="little"),
        decode=_decode_binary,
        width=lambda dim: -(-dim // 8),
    ),
    **{codec: _low(codec) for codec in LEVELS},
}

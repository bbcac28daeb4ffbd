"""How vectors are stored: one row of bytes each.

| codec   | row                                        | bytes at 128 dimensions |
|---------|--------------------------------------------|-------------------------|
| float32 | the numbers                                | 512                     |
| float16 | the numbers, rounded                       | 256                     |
| int8    | one byte a number, then a float16 scale    | 130                     |
| binary  | one bit a number, its sign                 | 16                      |

Rows are little-endian. `int8` is symmetric: number = byte × scale, with the scale of each vector
chosen so that its largest number is ±127. `binary` decodes to ±1/√dim, a unit vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from docpruner.errors import CodecError
from docpruner.types import FloatArray

Rows = npt.NDArray[np.uint8]
CodecName = Literal["float32", "float16", "int8", "binary"]

CODEC_NAMES: tuple[CodecName, ...] = get_args(CodecName)


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
}

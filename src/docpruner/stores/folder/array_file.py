"""A file of arrays, written whole, memory-mapped by readers, with a checksum for each array.

eight bytes         "DPARRAY1"
eight bytes         the length of the header, then its CRC-32
the header          JSON: `values` of the writer, and for each array its name, type, shape,
                    place in the file and CRC-32
the arrays          little-endian, each at a multiple of 64
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from docpruner.errors import DamagedIndexError
from docpruner.stores.folder.segments import sync_folder

Array = npt.NDArray[Any]

MAGIC = b"DPARRAY1"
ALIGNED = 64


@dataclass(frozen=True, eq=False)
class ArrayFile:
    path: Path
    values: Mapping[str, Any]
    arrays: Mapping[str, Array]  # mapped, read only
    checksums: Mapping[str, int]

    def check(self, names: Iterable[str] | None = None) -> None:
        """DamagedIndexError if these arrays, or any, are not what was written."""
        for name in self.arrays if names is None else names:
            if zlib.crc32(self.arrays[name].data) != self.checksums[name]:
                raise _damaged(self.path)


def write_arrays(path: Path, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """It appears whole or not at all, and in the place of what was there."""
    listed, place = [], 0
    parts = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in parts.items():
        place = -(-place // ALIGNED) * ALIGNED
        checksum = zlib.crc32(array.data)
        listed.append([name, array.dtype.str, list(array.shape), place, checksum])
        place += array.nbytes
    header = json.dumps({"values": dict(values), "arrays": listed}).encode()
    draft = path.with_name(f"{path.name}.new")
    with draft.open("wb") as file:
        start = MAGIC + _two(len(header), zlib.crc32(header)) + header
        file.write(start.ljust(_first(len(header)), b"\0"))
        for array in parts.values():
            file.write(b"\0" * (-file.tell() % ALIGNED))
            file.write(array.data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def read_arrays(path: Path) -> ArrayFile:
    """The arrays as they lie in the file. Only the header's checksum is compared."""
    with path.open("rb") as file:
        start = file.read(16)
        length, checksum = np.frombuffer(start[8:].ljust(8), "<u4").tolist()
        header = file.read(length) if start[:8] == MAGIC else b""
        size = os.fstat(file.fileno()).st_size
    if not header or zlib.crc32(header) != checksum:
        raise _damaged(path)
    read = json.loads(header)
    raw = np.memmap(path, np.uint8, "r")
    arrays, checksums = {}, {}
    for name, kind, shape, place, crc in read["arrays"]:
        begin = _first(length) + place
        end = begin + int(np.dtype(kind).itemsize * np.prod(shape, dtype=np.int64))
        if end > size:
            raise _damaged(path)
        arrays[name] = np.asarray(raw[begin:end]).view(kind).reshape(shape)
        checksums[name] = crc
    return ArrayFile(path, read["values"], arrays, checksums)


def _first(header: int) -> int:
    return -(-(16 + header) // ALIGNED) * ALIGNED


def _two(*numbers: int) -> bytes:
    return np.array(numbers, "<u4").tobytes()


def _damaged(path: Path) -> DamagedIndexError:
    return DamagedIndexError(f"{path} is damaged")

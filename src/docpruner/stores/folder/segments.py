"""Segment files: rows of bytes, appended by one writer, memory-mapped by readers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import numpy as np

from docpruner.codecs import Rows

SEGMENT_BYTES = 256 << 20  # after which another file is begun, so that compaction moves little


def segment_path(folder: Path, segment: int) -> Path:
    return folder / "segments" / f"{segment:08d}.rows"


def rows_there(folder: Path, segment: int, rows: int, width: int) -> int:
    """How many of the committed `rows` the file still has."""
    try:
        return min(rows, segment_path(folder, segment).stat().st_size // width)
    except FileNotFoundError:
        return 0


def mapped_rows(folder: Path, segment: int, rows: int, width: int) -> Rows:
    """The first `rows` rows of a segment, or as many whole rows as its file still has.

    Only committed rows are mapped: what lies past them may be cut off at any moment.
    """
    path = segment_path(folder, segment)
    there = min(rows, path.stat().st_size // width) if rows else 0
    if there == 0:
        return np.empty((0, width), np.uint8)
    return np.memmap(path, np.uint8, "r", shape=(there, width))


class SegmentWriter:
    """Appends to a segment file after its committed rows; what lay past them is cut off."""

    def __init__(self, folder: Path, segment: int, committed: int, width: int) -> None:
        self.segment, self.rows, self._width = segment, committed, width
        path = segment_path(folder, segment)
        new = not path.exists()
        self._file: BinaryIO = path.open("ab", buffering=0)
        self._file.truncate(committed * width)
        if new:
            sync_folder(path.parent)

    @property
    def full(self) -> bool:
        return self.rows * self._width >= SEGMENT_BYTES

    def append(self, rows: Rows) -> int:
        """Write rows and return the place of the first. Nothing is durable before `sync`."""
        start = self.rows
        left = np.ascontiguousarray(rows).data.cast("B")
        while left:  # a raw file may take a part only
            left = left[self._file.write(left) :]
        self.rows += len(rows)
        return start

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def sync_folder(folder: Path) -> None:
    """Make a new or renamed file of the folder durable (not needed, nor possible, on Windows)."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

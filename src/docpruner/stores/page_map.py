"""Where the vectors of a page stand, how important each patch was, and which were kept.

Stored beside the vectors of a page in about two bytes a patch and three more a box: importances as
float16 shares of the largest, boxes in steps of 1/4095 of the page, kept patches as bits. The words
of a scan, recognised when it was indexed, are stored too: its file can't tell them.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from docpruner.errors import DamagedIndexError
from docpruner.types import (
    SPECIAL,
    BoolArray,
    Box,
    FloatArray,
    IntArray,
    PageEmbedding,
    Reduction,
    cell_boxes,
)

STEPS = 4095
HEADER = struct.Struct("<BBIIIIf")  # version, flags, rows, columns, vectors before, after, scale
VERSION = 1
IMPORTANCES, OWN_BOXES, OWN_CELLS, MERGED, GLOBAL, WORDS = 1, 2, 4, 8, 16, 32
LEVEL = 6  # of zlib; 9 takes three times as long for 1 % less


@dataclass(frozen=True, eq=False)
class PageMap:
    """The vectors of a page before reduction, and what each stored one came from.

    Stored vector `i` came from `sources[offsets[i]:offsets[i + 1]]`, rows of the page as encoded.
    """

    grid: tuple[int, int]
    cells: IntArray  # (n,)
    boxes: FloatArray  # (n, 4)
    importance: FloatArray | None  # (n,), 0 for special tokens
    sources: IntArray
    offsets: IntArray
    global_vector: FloatArray | None = None  # (dim,), of a page of which all vectors are kept
    words: tuple[str, ...] = ()  # (n,) of a page read by OCR: what each vector stands for

    @property
    def patches(self) -> IntArray:
        return np.flatnonzero(self.cells != SPECIAL).astype(np.int32)

    @property
    def kept(self) -> BoolArray:
        """Of each vector of the page: whether a stored one came from it."""
        kept = np.zeros(len(self.cells), np.bool_)
        kept[self.sources] = True
        return kept

    @property
    def special(self) -> BoolArray:
        """Of each stored vector: whether it is a special token's."""
        special: BoolArray = self.cells[self.sources[self.offsets[:-1]]] == SPECIAL
        return special

    def words_of(self, vector: int) -> tuple[str, ...]:
        """Of the patches that a stored vector came from, if they were recognised by OCR."""
        rows = self.sources[self.offsets[vector] : self.offsets[vector + 1]]
        return tuple(self.words[row] for row in rows.tolist()) if self.words else ()

    def boxes_of(self, vector: int) -> tuple[Box, ...]:
        """Of the patches that a stored vector came from; none for a special token."""
        rows = self.sources[self.offsets[vector] : self.offsets[vector + 1]]
        found = self.boxes[rows[self.cells[rows] != SPECIAL]]
        return tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in found)


def rounded(page: PageEmbedding) -> PageEmbedding:
    """The page with what a map keeps of it as it will be read back.

    Pages are reduced as this, so that a stricter threshold on what is stored keeps exactly the
    patches that encoding the page again would keep.
    """
    vector = page.global_vector
    return replace(
        page,
        importance=rounded_importance(page),
        global_vector=None if vector is None else vector.astype(np.float16).astype(np.float32),
    )


def rounded_importance(page: PageEmbedding) -> FloatArray:
    """The importances as they are read back from an index."""
    scale, shares = _shares(page.importance, page.cells)
    return _importance(scale, shares)


def map_of(
    page: PageEmbedding,
    reduction: Reduction,
    *,
    importances: bool = True,
    words: tuple[str, ...] = (),
) -> PageMap:
    return PageMap(
        grid=page.grid,
        cells=page.cells,
        boxes=page.boxes,
        importance=page.importance if importances else None,
        sources=reduction.sources,
        offsets=reduction.offsets,
        global_vector=page.global_vector if len(reduction.vectors) == len(page.vectors) else None,
        words=words,
    )


def pack(page: PageMap) -> bytes:
    count, stored = len(page.cells), len(page.offsets) - 1
    flags, scale, parts = 0, 0.0, []
    if page.importance is not None:
        flags |= IMPORTANCES
        scale, shares = _shares(page.importance, page.cells)
        parts.append(_planes(shares.view(np.uint16)))
    if not np.array_equal(page.cells, np.arange(count)):
        flags |= OWN_CELLS
        parts.append(_planes(_steps(page.cells).view(np.uint32)))
    if not np.array_equal(page.boxes, cell_boxes(page.cells, page.grid)):
        flags |= OWN_BOXES
        corners = np.rint(page.boxes * STEPS).astype(np.int16)
        x, y = corners[:, 0], corners[:, 1]
        sides = (_steps(x), _steps(y), corners[:, 2] - x, corners[:, 3] - y)
        parts.extend(_planes(side.astype(np.int16).view(np.uint16)) for side in sides)
    counts = np.diff(page.offsets)
    if (counts == 1).all() and (np.diff(page.sources) > 0).all():
        parts.append(np.packbits(page.kept).tobytes())
    else:
        flags |= MERGED
        parts.append(_planes(counts.astype(np.uint32)))
        parts.append(_planes(_steps(page.sources).view(np.uint32)))
    if page.words:
        flags |= WORDS
        text = "\n".join(word.replace("\n", " ") for word in page.words)
        data = text.encode(errors="surrogatepass")
        parts += [_planes(np.array([len(data)], np.uint32)), data]
    if page.global_vector is not None:
        flags |= GLOBAL
        parts.append(page.global_vector.astype("<f2").tobytes())
    header = HEADER.pack(VERSION, flags, *page.grid, count, stored, scale)
    return header + zlib.compress(b"".join(parts), LEVEL)


def unpack(blob: bytes) -> PageMap:
    try:
        version, flags, rows, columns, count, stored, scale = HEADER.unpack_from(blob)
        if version != VERSION:
            raise ValueError(f"version {version}")
        read = _Reader(zlib.decompress(blob[HEADER.size :]))
        grid = (rows, columns)
        few = flags & OWN_CELLS or count <= rows * columns  # else count may be of any size
        if not (rows and columns and few and (flags & MERGED or stored <= count)):
            raise ValueError(f"{stored} of {count} vectors on a grid of {rows}×{columns}")
        importance = None
        if flags & IMPORTANCES:
            importance = _importance(scale, read.planes(count, np.uint16).view(np.float16))
        if flags & OWN_CELLS:
            cells = np.cumsum(read.planes(count, np.uint32).view(np.int32), dtype=np.int32)
        else:
            cells = np.arange(count, dtype=np.int32)
        boxes = _boxes(read, count) if flags & OWN_BOXES else cell_boxes(cells, grid)
        if flags & MERGED:
            counts = read.planes(stored, np.uint32)
            steps = read.planes(int(counts.sum()), np.uint32).view(np.int32)
            sources = np.cumsum(steps, dtype=np.int32)
        else:
            counts = np.ones(stored, np.uint32)
            sources = np.flatnonzero(read.bits(count)).astype(np.int32)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        words = read.words(count) if flags & WORDS else ()
        global_vector = read.rest().astype(np.float32) if flags & GLOBAL else None
        read.end()
        found = PageMap(grid, cells, boxes, importance, sources, offsets, global_vector, words)
        if not _fits_together(found):
            raise ValueError("its parts don't fit together")
        return found
    except (ValueError, struct.error, zlib.error) as error:
        raise DamagedIndexError(f"the map of a page is damaged ({error})") from error


def _fits_together(page: PageMap) -> bool:
    ranges = (
        (page.cells, SPECIAL, page.grid[0] * page.grid[1]),
        (page.sources, 0, len(page.cells)),
        (np.diff(page.offsets), 1, len(page.sources) + 1),
    )
    inside = all(((low <= values) & (values < high)).all() for values, low, high in ranges)
    return bool(inside) and int(page.offsets[-1]) == len(page.sources)


def _shares(importance: FloatArray, cells: IntArray) -> tuple[float, npt.NDArray[np.float16]]:
    on_page = np.where(cells == SPECIAL, np.float32(0), importance)
    scale = np.float32(on_page.max())
    return float(scale), (on_page / (scale if scale > 0 else 1)).astype("<f2")


def _importance(scale: float, shares: npt.NDArray[np.float16]) -> FloatArray:
    return shares.astype(np.float32) * np.float32(scale)


def _boxes(read: _Reader, count: int) -> FloatArray:
    x, y, width, height = (read.planes(count, np.uint16).view(np.int16) for _ in range(4))
    x0, y0 = np.cumsum(x, dtype=np.int16), np.cumsum(y, dtype=np.int16)
    corners = np.stack([x0, y0, x0 + width, y0 + height], axis=1)
    return corners.astype(np.float32) / np.float32(STEPS)


def _steps(values: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
    """From one value to the next: small where neighbours are alike, so that they compress."""
    return np.diff(values, prepend=values.dtype.type(0))


def _planes(values: npt.NDArray[np.unsignedinteger]) -> bytes:
    """All first bytes, then all second bytes …: high bytes are mostly equal and compress away."""
    width = values.dtype.itemsize
    little = values.astype(values.dtype.newbyteorder("<"))
    return little.view(np.uint8).reshape(-1, width).T.tobytes()


class _Reader:
    """Takes arrays off a run of bytes, one after another."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def _take(self, size: int) -> npt.NDArray[np.uint8]:
        if self._at + size > len(self._data):
            raise ValueError(f"{len(self._data)} bytes, more were expected")
        taken = np.frombuffer(self._data, np.uint8, size, self._at)
        self._at += size
        return taken

    def words(self, count: int) -> tuple[str, ...]:
        (size,) = self.planes(1, np.uint32)
        words = self._take(int(size)).tobytes().decode(errors="surrogatepass").split("\n")
        if len(words) != count:
            raise ValueError(f"{len(words)} words for {count} vectors")
        return tuple(words)

    def rest(self) -> npt.NDArray[np.float16]:
        return self._take(len(self._data) - self._at).view("<f2")

    def end(self) -> None:
        if self._at < len(self._data):
            raise ValueError(f"{len(self._data)} bytes, fewer were expected")

    def planes(self, count: int, dtype: type[np.unsignedinteger]) -> npt.NDArray[np.integer]:
        width = np.dtype(dtype).itemsize
        raw = np.ascontiguousarray(self._take(count * width).reshape(width, count).T)
        return raw.reshape(-1).view(np.dtype(dtype).newbyteorder("<")).astype(dtype)

    def bits(self, count: int) -> npt.NDArray[np.uint8]:
        return np.unpackbits(self._take(-(-count // 8)), count=count)

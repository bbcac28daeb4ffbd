"""A page map as bytes: about three bytes a word, or five bits a patch of a grid.

    header      version, flags, rows and columns of the grid, vectors before and after, scale
    the rest    deflated (raw), one after another, each there if its flag says so:
      importances   a byte each (`page_map.importance_codes`); where they are finer than that, as in
                    an index of version 1, float16 shares of the largest
      boxes         in reading order, in steps of 1/1023 of the page across and 1/511 down: the gap
                    to the word before, width, steps of the upper and of the lower edge
      cells         nothing where they are the grid's own; else those that the middles of the boxes
                    don't lie in, if they are few
      kept          one code where all patches of at least that importance are kept, else a bit
                    each; of merged vectors how many patches each came from, and which
      words         of a scan
      centrality    in version 3: the largest, and a byte each
      global vector of a page of which all is kept

Numbers of more than a byte lie in planes: all low bytes, then all high ones, which compress away.
Maps of version 1 are read, not written; those of version 3 are like 2, with centrality.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

from docpruner.errors import DamagedIndexError
from docpruner.stores.page_map import PageMap, importance_codes, importance_of
from docpruner.types import SPECIAL, FloatArray, IntArray, cell_boxes

HEADER = struct.Struct("<BBIIIIf")  # version, flags, rows, columns, vectors before, after, scale
VERSION = 2
WITH_CENTRALITY = 3
IMPORTANCES, OWN_BOXES, OWN_CELLS, MERGED, GLOBAL, WORDS, FINE, BY_CODE = (
    1, 2, 4, 8, 16, 32, 64, 128,
)  # fmt: skip
STEPS = {1: (4095, 4095), 2: (1023, 511), 3: (1023, 511)}  # of a box, across and down, by version
MOST_EXCEPTIONS = 8  # in a hundred cells
WORTH_A_BLOCK = 100  # bytes


def pack(page: PageMap) -> bytes:
    count, stored = len(page.cells), len(page.offsets) - 1
    flags, scale, parts = 0, 0.0, []
    codes = None
    if page.importance is not None:
        flags |= IMPORTANCES
        scale, codes = importance_codes(page.importance, page.cells)
        if np.array_equal(importance_of(scale, codes), _on_page(page)):
            parts.append(codes.tobytes())
        else:
            flags |= FINE
            codes = None
            scale, shares = _shares(page)
            parts.append(_planes(shares.view(np.uint16)))
    boxes = page.boxes
    if not np.array_equal(page.boxes, cell_boxes(page.cells, page.grid)):
        flags |= OWN_BOXES
        packed, boxes = _packed_boxes(page.boxes)
        parts.append(packed)
    if not np.array_equal(page.cells, np.arange(count)):
        flags |= OWN_CELLS
        by_boxes = boxes if flags & OWN_BOXES else None
        parts.append(_packed_cells(page.cells, by_boxes, page.grid))
    counts = np.diff(page.offsets)
    if (counts == 1).all() and (np.diff(page.sources) > 0).all():
        least = None if codes is None else _least_code(page, codes)
        flags |= 0 if least is None else BY_CODE
        parts.append(np.packbits(page.kept).tobytes() if least is None else bytes([least]))
    else:
        flags |= MERGED
        parts.append(_planes(counts.astype(np.uint32)))
        parts.append(_planes(_steps(page.sources).view(np.uint32)))
    if page.words:
        flags |= WORDS
        text = "\n".join(word.replace("\n", " ") for word in page.words)
        data = text.encode(errors="surrogatepass")
        parts += [_planes(np.array([len(data)], np.uint32)), data]
    if page.centrality is not None:
        largest, central = importance_codes(page.centrality, page.cells)
        parts += [np.array([largest], "<f4").tobytes(), central.tobytes()]
    if page.global_vector is not None:
        flags |= GLOBAL
        parts.append(page.global_vector.astype("<f2").tobytes())
    version = VERSION if page.centrality is None else WITH_CENTRALITY
    header = HEADER.pack(version, flags, *page.grid, count, stored, scale)
    return header + _deflated(parts)


def unpack(blob: bytes) -> PageMap:
    try:
        version, flags, rows, columns, count, stored, scale = HEADER.unpack_from(blob)
        if version not in STEPS:
            raise ValueError(f"version {version}")
        window = -15 if version > 1 else 15
        read = _Reader(zlib.decompress(blob[HEADER.size :], window), STEPS[version])
        grid = (rows, columns)
        few = flags & OWN_CELLS or count <= rows * columns  # else count may be of any size
        if not (rows and columns and few and (flags & MERGED or stored <= count)):
            raise ValueError(f"{stored} of {count} vectors on a grid of {rows}×{columns}")
        fine = version == 1 or flags & FINE
        importance, codes = None, None
        if flags & IMPORTANCES and fine:
            importance = _fine_importance(scale, read.planes(count, np.uint16).view(np.float16))
        elif flags & IMPORTANCES:
            codes = read.bytes(count)
            importance = importance_of(scale, codes)
        if version == 1:
            cells, boxes = read.places_of_version_1(flags, count, grid)
        else:
            own = read.boxes(count) if flags & OWN_BOXES else None
            cells = read.cells(count, own, grid) if flags & OWN_CELLS else _all_cells(count)
            boxes = cell_boxes(cells, grid) if own is None else own
        if flags & MERGED:
            counts = read.planes(stored, np.uint32)
            steps = read.planes(int(counts.sum()), np.uint32).view(np.int32)
            sources = np.cumsum(steps, dtype=np.int32)
        else:
            counts = np.ones(stored, np.uint32)
            sources = _sources(read, flags, count, cells, codes)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        words = read.words(count) if flags & WORDS else ()
        centrality = None
        if version == WITH_CENTRALITY:
            largest = float(read.bytes(4).view("<f4")[0])
            centrality = importance_of(largest, read.bytes(count))
        global_vector = read.rest().astype(np.float32) if flags & GLOBAL else None
        read.end()
        page = PageMap(
            grid, cells, boxes, importance, sources, offsets, global_vector, words, centrality
        )
        if not _fits_together(page):
            raise ValueError("its parts don't fit together")
        return page
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


# ---------------------------------------------------------------------- importances


def _on_page(page: PageMap) -> FloatArray:
    assert page.importance is not None
    return np.where(page.cells == SPECIAL, np.float32(0), page.importance)


def _shares(page: PageMap) -> tuple[float, npt.NDArray[np.float16]]:
    on_page = _on_page(page)
    scale = np.float32(on_page.max())
    return float(scale), (on_page / (scale if scale > 0 else 1)).astype("<f2")


def _fine_importance(scale: float, shares: npt.NDArray[np.float16]) -> FloatArray:
    return shares.astype(np.float32) * np.float32(scale)


def _least_code(page: PageMap, codes: npt.NDArray[np.uint8]) -> int | None:
    """The code from which on all patches are kept, and below which none is."""
    on_page, kept = page.cells != SPECIAL, page.kept
    if not kept[~on_page].all() or not kept[on_page].any():
        return None
    least = int(codes[on_page & kept].min())
    dropped = codes[on_page & ~kept]
    return least if not len(dropped) or int(dropped.max()) < least else None


def _sources(
    read: _Reader,
    flags: int,
    count: int,
    cells: IntArray,
    codes: npt.NDArray[np.uint8] | None,
) -> IntArray:
    if not flags & BY_CODE:
        return np.flatnonzero(read.bits(count)).astype(np.int32)
    if codes is None:
        raise ValueError("patches kept by importances that are not there")
    (least,) = read.bytes(1)
    return np.flatnonzero((cells == SPECIAL) | (codes >= least)).astype(np.int32)


# ---------------------------------------------------------------------- places


def _packed_boxes(boxes: FloatArray) -> tuple[bytes, FloatArray]:
    """As bytes, and as they will be read back."""
    steps = np.array(STEPS[VERSION] * 2, np.float32)
    left, top, right, bottom = np.rint(boxes * steps).astype(np.int32).T
    columns = (
        left - np.concatenate([[0], right[:-1]]),
        right - left,
        _steps(top),
        _steps(bottom),
    )
    rounded = np.stack([left, top, right, bottom], axis=1) / steps
    return b"".join(_planes(_unsigned(column)) for column in columns), rounded.astype(np.float32)


def _unsigned(values: npt.NDArray[np.integer]) -> npt.NDArray[np.uint16]:
    """0, -1, 1, -2 … as 0, 1, 2, 3 …: small numbers of either sign stay small."""
    return ((values << 1) ^ (values >> 31)).astype(np.uint16)


def _signed(values: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
    wide = values.astype(np.int32)
    return (wide >> 1) ^ -(wide & 1)


def _cells_of(boxes: FloatArray, grid: tuple[int, int]) -> IntArray:
    """The cell that the middle of each box lies in; none for an empty box in the corner."""
    rows, columns = grid
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    row = np.clip((y * rows).astype(np.int32), 0, rows - 1)
    column = np.clip((x * columns).astype(np.int32), 0, columns - 1)
    cells: IntArray = np.where(boxes.any(axis=1), row * columns + column, SPECIAL).astype(np.int32)
    return cells


def _packed_cells(cells: IntArray, boxes: FloatArray | None, grid: tuple[int, int]) -> bytes:
    """Those that the boxes don't tell, if they are few: how many, where, and which."""
    told = np.full(len(cells), SPECIAL - 1) if boxes is None else _cells_of(boxes, grid)
    wrong = np.flatnonzero(told != cells)
    if 100 * len(wrong) > MOST_EXCEPTIONS * len(cells):
        return b"\xff\xff\xff\xff" + _planes(_steps(cells).view(np.uint32))
    places = _planes(_steps(wrong.astype(np.uint32)).astype(np.uint32))
    count = _planes(np.array([len(wrong)], np.uint32))
    return count + places + _planes(cells[wrong].astype(np.int32).view(np.uint32))


def _all_cells(count: int) -> IntArray:
    return np.arange(count, dtype=np.int32)


# ---------------------------------------------------------------------- bytes


def _deflated(parts: list[bytes]) -> bytes:
    """One stream; long parts have blocks of their own, as other numbers are frequent in each."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = []
    for part in parts:
        packed.append(deflate.compress(part))
        if len(part) >= WORTH_A_BLOCK:
            packed.append(deflate.flush(zlib.Z_PARTIAL_FLUSH))
    return b"".join([*packed, deflate.flush()])


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

    def __init__(self, data: bytes, box_steps: tuple[int, int]) -> None:
        self._data, self._at = data, 0
        self._box_steps = np.array(box_steps * 2, np.float32)

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

    def bytes(self, count: int) -> npt.NDArray[np.uint8]:
        return self._take(count)

    def boxes(self, count: int) -> FloatArray:
        gap, width, *edges = (_signed(self.planes(count, np.uint16)) for _ in range(4))
        right = np.cumsum(gap + width, dtype=np.int32)
        top, bottom = (np.cumsum(edge, dtype=np.int32) for edge in edges)
        corners = np.stack([right - width, top, right, bottom], axis=1)
        return (corners / self._box_steps).astype(np.float32)

    def cells(self, count: int, boxes: FloatArray | None, grid: tuple[int, int]) -> IntArray:
        (exceptions,) = self.planes(1, np.uint32)
        if exceptions == 0xFFFFFFFF:
            return np.cumsum(self.planes(count, np.uint32).view(np.int32), dtype=np.int32)
        places = np.cumsum(self.planes(int(exceptions), np.uint32).astype(np.int64))
        own = self.planes(int(exceptions), np.uint32).view(np.int32)
        if boxes is None or (places >= count).any():
            raise ValueError("cells by boxes that are not there")
        cells = _cells_of(boxes, grid)
        cells[places] = own
        return cells

    def places_of_version_1(
        self, flags: int, count: int, grid: tuple[int, int]
    ) -> tuple[IntArray, FloatArray]:
        cells = _all_cells(count)
        if flags & OWN_CELLS:
            cells = np.cumsum(self.planes(count, np.uint32).view(np.int32), dtype=np.int32)
        if not flags & OWN_BOXES:
            return cells, cell_boxes(cells, grid)
        x, y, width, height = (self.planes(count, np.uint16).view(np.int16) for _ in range(4))
        left, top = np.cumsum(x, dtype=np.int16), np.cumsum(y, dtype=np.int16)
        corners = np.stack([left, top, left + width, top + height], axis=1)
        return cells, corners.astype(np.float32) / self._box_steps

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

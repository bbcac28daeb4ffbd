"""What flows from stage to stage. Frozen, numpy only, read-only arrays."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from operator import index
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from docpruner.errors import InvalidPageError

if TYPE_CHECKING:
    from PIL.Image import Image

Array = TypeVar("Array", bound=npt.NDArray[Any])
FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]

Prompt = Literal["default", "noise-filtering"]
Signal = Literal["global-token", "centrality"]
"""By what a patch is important: the global token's attention in the last layer, or that of all
patches in the middle of the model."""

JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | None"
Metadata: TypeAlias = Mapping[str, JsonValue]
"""What is known of a document besides its pages: text, numbers, true or false, or lists of them."""

SPECIAL = -1
"""The cell of a vector that stands for no place on the page (prompt text around the image)."""


Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 as fractions of the page, from its top left corner."""

WordsFrom = Literal["text layer", "ocr", "nowhere"]

Ocr = bool | str
"""Whether the words of pages without any are recognised; a text is True with tesseract, in these
languages of it: `rus+eng`."""

Mode = Literal["vectors", "text", "hybrid"]
"""What a search goes by: the vectors of pages, their words, or both."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word that stands on a page, and where."""

    text: str
    box: Box


@dataclass(frozen=True, eq=False)
class Page:
    """A page to encode. It is drawn only when an encoder asks for its picture."""

    name: str  # as people would say it: report.pdf#3
    render: Callable[[], Image]
    words: tuple[Word, ...] = ()  # in reading order
    number: int = 1  # in its document, from 1
    size: tuple[float, float] = (0.0, 0.0)  # width and height: points of a PDF, pixels of an image
    content_hash: bytes = b""  # of what an encoder sees of it, empty if unknown
    words_from: WordsFrom = "nowhere"
    embedding: PageEmbedding | None = None  # if it was computed elsewhere: then it is not encoded
    title_page: tuple[Word, ...] = ()  # words of its document's first page, if this is another


@dataclass(frozen=True, eq=False)
class PageEmbedding:
    """One page as its encoder sees it: a vector per patch and how much the page's own global
    token looks at it.

    Vectors are addressed by their row. `cells` gives each vector's place as `row * columns +
    column` of `grid`; several vectors may share a cell, and special tokens have none (`SPECIAL`).
    Special tokens are stored and scored like any vector, but never pruned, merged or counted.
    """

    name: str
    vectors: FloatArray  # (n, dim)
    importance: FloatArray  # (n,), attention of the global token, ≥ 0; ignored on special tokens
    grid: tuple[int, int]  # rows, columns
    cells: IntArray = field(default=None)  # type: ignore[arg-type]  # (n,); row-major by default
    boxes: FloatArray = field(default=None)  # type: ignore[arg-type]  # (n, 4) x0 y0 x1 y1, 0..1;
    # the rectangles of the cells by default
    global_vector: FloatArray | None = None  # (dim,)
    prompt: Prompt = "default"
    centrality: FloatArray | None = None  # (n,), ≥ 0: a second importance, if the encoder gives it

    def __post_init__(self) -> None:
        vectors = _floats(self.name, "vectors", self.vectors, ("n", "dim"))
        count = len(vectors)
        grid = _checked_grid(self.name, self.grid)
        cells = _checked_cells(self.name, self.cells, count, grid)
        on_page = cells != SPECIAL
        if not on_page.any():
            raise InvalidPageError(f"page {self.name}: no patch on the grid, only special tokens")
        importance = _weights(self.name, "importance", self.importance, on_page)
        boxes = _checked_boxes(self.name, self.boxes, cells, grid)
        if self.prompt not in get_args(Prompt):
            known = " or ".join(get_args(Prompt))
            raise InvalidPageError(f"page {self.name}: prompt {self.prompt!r} is not {known}")
        set_field = object.__setattr__
        set_field(self, "vectors", vectors)
        set_field(self, "importance", importance)
        set_field(self, "grid", grid)
        set_field(self, "cells", cells)
        set_field(self, "boxes", boxes)
        if self.global_vector is not None:
            shape = (vectors.shape[1],)
            vector = _floats(self.name, "global_vector", self.global_vector, shape)
            set_field(self, "global_vector", vector)
        if self.centrality is not None:
            centrality = _weights(self.name, "centrality", self.centrality, on_page)
            set_field(self, "centrality", centrality)

    @property
    def dim(self) -> int:
        return int(self.vectors.shape[1])

    @property
    def patches(self) -> IntArray:
        """Rows of the vectors that stand on the page, in order; the rest are special tokens."""
        return np.flatnonzero(self.cells != SPECIAL).astype(np.int32)

    @property
    def entropy(self) -> float:
        """Shannon entropy (nats) of the importances of the patches, as a distribution.

        An all-zero page says nothing about where to look, which is the uniform distribution.
        """
        weights = self.importance[self.patches].astype(np.float64)
        total = weights.sum()
        if total == 0:
            return float(np.log(len(weights)))
        p = weights[weights > 0] / total
        return float(-(p * np.log(p)).sum())


@dataclass(frozen=True, eq=False)
class Reduction:
    """What is left of a page: fewer vectors, and for each the rows of the page it came from.

    Stored vector `i` came from `sources[offsets[i]:offsets[i + 1]]`: one row for pruning, several
    for merging. `special` marks the special tokens, which pass through every reduction.
    """

    name: str
    vectors: FloatArray  # (m, dim)
    sources: IntArray  # (number of rows used,)
    offsets: IntArray  # (m + 1,)
    special: BoolArray  # (m,)
    page_patches: int  # patches of the page before reduction

    @property
    def patches(self) -> int:
        """Stored vectors that are not special tokens."""
        return int(len(self.special) - self.special.sum())

    @property
    def pruned(self) -> float:
        """Fraction of the page's patch vectors that no longer need storing, 0..1."""
        return 1.0 - self.patches / self.page_patches

    def sources_of(self, vector: int) -> IntArray:
        return self.sources[self.offsets[vector] : self.offsets[vector + 1]]


@dataclass(frozen=True)
class Filter:
    """Which pages to search: those that every given part allows."""

    documents: tuple[str, ...] = ()  # globs: of the name, the last parts, or the whole path
    pages: tuple[int, int | None] | None = None  # first and last number; None is the end
    metadata: Metadata | None = None  # a list of the document's fits if one of its values does

    def allows(self, document: str, metadata: Metadata) -> bool:
        if self.documents and not any(fits(document, glob) for glob in self.documents):
            return False
        asked = (self.metadata or {}).items()
        return all(key in metadata and _same(metadata[key], value) for key, value in asked)

    def allows_page(self, number: int) -> bool:
        first, last = self.pages or (1, None)
        return first <= number and (last is None or number <= last)


def fits(document: str, glob: str) -> bool:
    """Whether a name, or its last parts, fit a glob; `*` goes across folders too.

    A name fits itself, whatever its signs mean in a glob. Letters with accents are the same however
    they are encoded (file systems differ in that).
    """
    if is_named(document, glob):
        return True
    document, glob = normalize("NFC", document), normalize("NFC", glob)
    return fnmatchcase(document, glob) or fnmatchcase(document, f"*/{glob}")


def is_named(document: str, name: str) -> bool:
    """Whether this is its whole name, or the last parts of it."""
    document, name = normalize("NFC", document), normalize("NFC", name)
    return document == name or document.endswith(f"/{name}")


def _same(own: JsonValue, asked: JsonValue) -> bool:
    """Compared as text: 2024 is "2024", as what is typed in a shell has no type."""
    if isinstance(own, Sequence) and not isinstance(own, str):
        return own == asked or any(_same(each, asked) for each in own)
    return as_text(own) == as_text(asked)


def as_text(value: JsonValue) -> str:
    """What values of metadata are compared by."""
    return value if isinstance(value, str) else json.dumps(value)


def cell_boxes(cells: IntArray, grid: tuple[int, int]) -> FloatArray:
    """The rectangle of each cell as fractions of the page; special tokens get an empty one."""
    rows, columns = grid
    row, column = np.divmod(cells, columns)
    corners = np.stack([column, row, column + 1, row + 1], axis=1)
    boxes: FloatArray = (corners / [columns, rows, columns, rows]).astype(np.float32)
    boxes[cells == SPECIAL] = 0.0
    return boxes


def readonly(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _floats(page: str, what: str, value: Any, shape: tuple[int | str, ...]) -> FloatArray:
    """`value` as a finite, read-only float32 array of `shape`.

    A word in `shape` stands for any size of at least one.
    """
    given = _array(page, what, value, "biuf")
    with np.errstate(over="ignore"):  # to infinity, which is refused below
        array = np.ascontiguousarray(given, dtype=np.float32)
    fits = array.ndim == len(shape) and all(
        got >= 1 if isinstance(want, str) else got == want
        for got, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join(map(str, shape))
        by_vector = what in ("importance", "centrality")
        raise InvalidPageError(
            f"page {page}: {what} has shape {array.shape}, expected ({wanted})"
            + ("; one for each vector, special tokens included" if by_vector else "")
        )
    finite = np.isfinite(array)
    if not finite.all():
        row = int(np.argwhere(~finite)[0][0])
        raise InvalidPageError(f"page {page}: {what} holds NaN or infinity at row {row}")
    return _frozen(array, given)


def _weights(page: str, what: str, value: Any, on_page: BoolArray) -> FloatArray:
    """One for each vector; on special tokens they may be anything."""
    weights = _floats(page, what, value, (len(on_page),))
    negative = on_page & (weights < 0)
    if negative.any():
        row = int(np.argmax(negative))
        raise InvalidPageError(
            f"page {page}: {what} {weights[row]:g} at vector {row}; attention is never negative, "
            "shift or clip other scores before building a PageEmbedding"
        )
    return weights


def _array(page: str, what: str, value: Any, kinds: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise InvalidPageError(f"page {page}: {what} is not an array of numbers: {error}") from None
    if array.dtype.kind not in kinds:
        raise InvalidPageError(f"page {page}: {what} is not an array of numbers but {array.dtype}")
    return array


def _frozen(array: Array, given: npt.NDArray[Any]) -> Array:
    """`array` read-only, and copied if someone else could still write into it."""
    if given.flags.writeable and np.shares_memory(array, given):
        array = array.copy()
    return readonly(array)


def _checked_grid(page: str, grid: Any) -> tuple[int, int]:
    try:
        rows, columns = (index(size) for size in grid)
    except (TypeError, ValueError):
        rows = columns = 0
    if rows < 1 or columns < 1 or rows * columns > np.iinfo(np.int32).max:
        raise InvalidPageError(f"page {page}: grid {grid!r} is not (rows, columns), each ≥ 1")
    return rows, columns


def _checked_boxes(page: str, boxes: Any, cells: IntArray, grid: tuple[int, int]) -> FloatArray:
    if boxes is None:
        return readonly(cell_boxes(cells, grid))
    array = _floats(page, "boxes", boxes, (len(cells), 4))
    wrong = (array < 0).any(1) | (array > 1).any(1) | (array[:, :2] > array[:, 2:]).any(1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidPageError(
            f"page {page}: box {array[row].tolist()} at vector {row} is not x0, y0, x1, y1 as "
            "fractions of the page, 0 to 1"
        )
    return array


def _checked_cells(page: str, cells: Any, count: int, grid: tuple[int, int]) -> IntArray:
    size = grid[0] * grid[1]
    if cells is None:
        if count != size:
            raise InvalidPageError(
                f"page {page}: {count} vectors for a grid of {grid[0]}×{grid[1]} = {size} cells; "
                f"pass `cells`, with {SPECIAL} for special tokens"
            )
        return readonly(np.arange(count, dtype=np.int32))
    array = _array(page, "cells", cells, "iuf")
    if array.dtype.kind not in "iu" or array.shape != (count,):
        raise InvalidPageError(
            f"page {page}: cells has shape {array.shape} and type {array.dtype}, "
            f"expected {count} integers, one for each vector"
        )
    outside = (array < SPECIAL) | (array >= size)
    if outside.any():
        row = int(np.argmax(outside))
        raise InvalidPageError(
            f"page {page}: cell {array[row]} at vector {row} is outside the grid of "
            f"{grid[0]}×{grid[1]} = {size} cells (special tokens have cell {SPECIAL})"
        )
    return readonly(array.astype(np.int32, order="C"))

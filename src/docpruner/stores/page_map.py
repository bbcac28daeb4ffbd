"""Where the vectors of a page stand, how important each patch was, and which were kept.

Importances are kept as shares of the page's largest, on a logarithmic scale of one byte: they are
compared with thresholds, so it is their order and rough size that counts. What is read back is off
by at most 7.2 % (a tenth of an octave), and nothing below 2^-50 of the largest is told apart. An
index that was made before texts were stored has the words of scans here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from docpruner.types import (
    SPECIAL,
    BoolArray,
    Box,
    FloatArray,
    IntArray,
    PageEmbedding,
    Reduction,
    Word,
)

Codes = npt.NDArray[np.uint8]

OCTAVE = 5  # codes an octave
LARGEST = 255  # the code of a page's largest importance; 0 is none at all


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
    words: tuple[str, ...] = ()  # (n,) of a page read by OCR before texts were stored
    centrality: FloatArray | None = None  # (n,) like importance, if the encoder gave both

    @property
    def patches(self) -> IntArray:
        return np.flatnonzero(self.cells != SPECIAL).astype(np.int32)

    @property
    def patch_boxes(self) -> FloatArray:
        """Of all vectors of the page but the special tokens'."""
        boxes: FloatArray = self.boxes[self.cells != SPECIAL]
        return boxes

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

    @property
    def placed_words(self) -> tuple[Word, ...]:
        """The words of a scan, in an index that was made before texts were stored."""
        if not self.words:
            return ()
        return tuple(
            Word(text, (box[0], box[1], box[2], box[3]))
            for text, box, cell in zip(
                self.words, self.boxes.tolist(), self.cells.tolist(), strict=True
            )
            if cell != SPECIAL
        )

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
    vector, centrality = page.global_vector, page.centrality
    if centrality is not None:
        centrality = importance_of(*importance_codes(centrality, page.cells))
    return replace(
        page,
        importance=rounded_importance(page),
        centrality=centrality,
        global_vector=None if vector is None else vector.astype(np.float16).astype(np.float32),
    )


def rounded_importance(page: PageEmbedding) -> FloatArray:
    """The importances as they are read back from an index."""
    return importance_of(*importance_codes(page.importance, page.cells))


def importance_codes(importance: FloatArray, cells: IntArray) -> tuple[float, Codes]:
    """The largest importance, and for each patch how many steps it lies below it."""
    on_page = np.where(cells == SPECIAL, np.float32(0), importance).astype(np.float64)
    scale = float(np.float32(on_page.max()))
    codes = np.zeros(len(on_page), np.uint8)
    some = on_page > 0
    steps = np.rint(OCTAVE * np.log2(on_page[some] / scale)) if scale > 0 else on_page[some]
    codes[some] = np.clip(LARGEST + steps, 1, LARGEST)
    return scale, codes


def importance_of(scale: float, codes: Codes) -> FloatArray:
    values = np.exp2((np.arange(LARGEST + 1) - LARGEST) / OCTAVE)
    values[0] = 0.0
    return (values.astype(np.float32) * np.float32(scale))[codes]


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
        centrality=page.centrality if importances else None,
    )

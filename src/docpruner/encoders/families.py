"""What differs between the families of colpali-engine, in one table.

A family is known by the `model_type` in a checkpoint's configuration. In all of them the patches
are the tokens whose id is the configuration's `image_token_id`, and the global token is the last
token of the page's prompt, whatever the padding (docs/encoders.md says which token that is).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from docpruner.errors import EncoderError
from docpruner.types import FloatArray, IntArray, cell_boxes

TILE_TAG = re.compile(r"<row_(\d+)_col_(\d+)>")


@dataclass(frozen=True)
class Layout:
    """Where the patches of one page stand."""

    grid: tuple[int, int]
    cells: IntArray  # (patches,)
    boxes: FloatArray  # (patches, 4)


@dataclass(frozen=True)
class PageTokens:
    """What the processor made of one page."""

    ids: Any  # its real token ids, in order
    patches: int  # how many of them are patches
    image_grid: tuple[int, int] | None  # rows, columns of the vision tower's patches, if it says
    processor: Any


@dataclass(frozen=True)
class QueryForm:
    """What stands around a query: words before it, and as many augmentation tokens after it.

    A family's own form is what its checkpoints were trained with; docs/encoders.md has the sources.
    """

    prefix: str
    tokens: int = 10

    def around(self, text: str, token: str) -> str:
        return self.prefix + text + token * self.tokens


TRAINED_WITH_PREFIX = QueryForm("Query: ")
TRAINED_WITHOUT_PREFIX = QueryForm("")


@dataclass(frozen=True)
class Family:
    """Names of classes in a library, and how a page is laid out."""

    model: str
    processor: str
    layout: Callable[[PageTokens], Layout]
    pixels: Callable[[Any], int]  # of a page that the processor makes use of
    query: QueryForm | None = TRAINED_WITH_PREFIX  # None: the processor writes a form of its own
    projection: str = "custom_text_proj"
    page_options: Mapping[str, Any] = field(default_factory=dict)  # for the model's call
    library: str = "colpali_engine.models"
    token_types: bool = False  # queries need token types, or their attention depends on the batch


def dynamic_grid(page: PageTokens) -> Layout:
    """Qwen: as many patches as the page's shape asks for; a few are merged into each vector."""
    if page.image_grid is None:
        raise ValueError("the processor gave no image_grid_thw")
    merge = page.processor.image_processor.merge_size
    return _rows_and_columns(page.image_grid[0] // merge, page.image_grid[1] // merge)


def square_grid(page: PageTokens) -> Layout:
    """PaliGemma and Gemma 3: every page is squeezed into one square."""
    side = math.isqrt(page.patches)
    return _rows_and_columns(side, side)


def tiled_grid(page: PageTokens) -> Layout:
    """Idefics 3 and ModernVBERT: square tiles of the page, then the whole page once more, small.

    Tiles tell their row and column by tags in the prompt; they cover the page without overlap. A
    vector of the whole-page view shares the cell at its centre with the tile's vector there.
    """
    side = math.isqrt(page.processor.image_seq_len)  # vectors along a tile
    tokens = page.processor.tokenizer.convert_ids_to_tokens(page.ids)
    tags = [tuple(map(int, tag.groups())) for token in tokens if (tag := TILE_TAG.match(token))]
    if not tags:
        return _rows_and_columns(side, side)
    rows, columns = max(row for row, _ in tags) * side, max(column for _, column in tags) * side
    i, j = np.divmod(np.arange(side * side), side)  # a vector's place in its tile
    tiles = [((r - 1) * side + i) * columns + (c - 1) * side + j for r, c in tags]
    centre = (2 * i + 1) * rows // (2 * side) * columns + (2 * j + 1) * columns // (2 * side)
    cells = np.concatenate([*tiles, centre]).astype(np.int32)
    whole = cell_boxes(np.arange(side * side, dtype=np.int32), (side, side))
    boxes = np.concatenate([cell_boxes(cells[: -side * side], (rows, columns)), whole])
    return Layout((rows, columns), cells, boxes)


def _rows_and_columns(rows: int, columns: int) -> Layout:
    cells = np.arange(rows * columns, dtype=np.int32)
    return Layout((rows, columns), cells, cell_boxes(cells, (rows, columns)))


def area_pixels(processor: Any) -> int:
    """Qwen: what its size calls the longest edge is an area."""
    return int(processor.image_processor.size["longest_edge"])


def edge_pixels(processor: Any) -> int:
    """Idefics 3 and ModernVBERT: a longest edge, before the page is cut into tiles."""
    return int(processor.image_processor.size["longest_edge"]) ** 2


def square_pixels(processor: Any) -> int:
    size = processor.image_processor.size
    return int(size["height"]) * int(size["width"])


FAMILIES: dict[str, Family] = {
    "paligemma": Family(
        "ColPali",
        "ColPaliProcessor",
        square_grid,
        square_pixels,
        page_options={"logits_to_keep": 1},  # else it computes the whole vocabulary for each patch
        token_types=True,
    ),
    "qwen2_vl": Family("ColQwen2", "ColQwen2Processor", dynamic_grid, area_pixels),
    "qwen2_5_vl": Family("ColQwen2_5", "ColQwen2_5_Processor", dynamic_grid, area_pixels),
    "qwen3_vl": Family(
        "ColQwen3", "ColQwen3Processor", dynamic_grid, area_pixels, TRAINED_WITHOUT_PREFIX
    ),
    "qwen3_5": Family(
        "ColQwen3_5", "ColQwen3_5Processor", dynamic_grid, area_pixels, TRAINED_WITHOUT_PREFIX
    ),
    "idefics3": Family(
        "ColIdefics3", "ColIdefics3Processor", tiled_grid, edge_pixels, projection="linear"
    ),
    "modernvbert": Family(
        "ColModernVBert",
        "ColModernVBertProcessor",
        tiled_grid,
        edge_pixels,
        TRAINED_WITHOUT_PREFIX,
    ),
    "gemma3": Family("ColGemma3", "ColGemmaProcessor3", square_grid, square_pixels, query=None),
    # Exports that transformers runs by itself (…-hf): their processors write prompt and query.
    "colpali": Family(
        "ColPaliForRetrieval",
        "ColPaliProcessor",
        square_grid,
        square_pixels,
        query=None,
        projection="embedding_proj_layer",
        library="transformers",
        token_types=True,
    ),
    "colqwen2": Family(
        "ColQwen2ForRetrieval",
        "ColQwen2Processor",
        dynamic_grid,
        area_pixels,
        query=None,
        projection="embedding_proj_layer",
        library="transformers",
    ),
    "colmodernvbert": Family(
        "ColModernVBertForRetrieval",
        "ColModernVBertProcessor",
        tiled_grid,
        edge_pixels,
        query=None,
        projection="embedding_proj_layer",
        library="transformers",
    ),
}

REFUSED = {
    "qwen2_5_omni_thinker": "can't be constructed by colpali-engine 0.3.18 with transformers 5",
}


def image_token(config: Any) -> int:
    """The id of the tokens that patches stand for; transformers' exports wrap the model's own."""
    return int(getattr(config, "vlm_config", config).image_token_id)


def query_form(family: Family, prefix: str | None, tokens: int | None) -> QueryForm | None:
    """The family's own form, changed by what is given; None if the processor writes its own."""
    if family.query is None:
        if prefix is not None or tokens is not None:
            raise EncoderError(
                f"{family.processor} writes queries in a form of its own; query_prefix and "
                "query_tokens can't be set"
            )
        return None
    return QueryForm(
        family.query.prefix if prefix is None else prefix,
        family.query.tokens if tokens is None else tokens,
    )


def family_of(config: dict[str, Any], name: str = "the model") -> Family:
    """The family, by the configuration's `model_type`."""
    kind = config.get("model_type")
    if kind in REFUSED:
        raise EncoderError(f"{name} {REFUSED[kind]}")
    if kind not in FAMILIES:
        known = ", ".join(f"{family.model} ({kind})" for kind, family in FAMILIES.items())
        own = "It runs code of its own (auto_map). " if "auto_map" in config else ""
        raise EncoderError(
            f"{name} has model_type {kind!r}, which is none of: {known}. {own}It could be used if "
            "it were published for sentence-transformers' MultiVectorEncoder (with a modules.json),"
            " or through an encoder of your own (docs/encoders.md says how)"
        )
    return FAMILIES[str(kind)]

"""A cap on the vectors of a page, by the processor's own settings."""

from __future__ import annotations

import math
from typing import Any

from docpruner.encoders.families import Family, dynamic_grid, tiled_grid
from docpruner.errors import EncoderError


def limit_visual_tokens(processor: Any, family: Family, most: int | None) -> None:
    """Let the processor make at most `most` vectors of a page; it never makes more than before."""
    if most is None:
        return
    if family.layout is dynamic_grid:
        _limit_area(processor.image_processor, most)
    elif family.layout is tiled_grid:
        _limit_tiles(processor, most)
    else:
        raise EncoderError(
            f"{family.model} makes the same number of vectors of every page; max_visual_tokens "
            "can't be set"
        )


def _limit_area(images: Any, most: int) -> None:
    """Qwen: a vector stands for a square of pixels, and the size is an area."""
    square = (images.patch_size * images.merge_size) ** 2
    least = -(-int(images.size["shortest_edge"]) // square)
    if most < least:
        raise EncoderError(f"max_visual_tokens {most}: this processor makes at least {least}")
    largest = min(int(images.size["longest_edge"]), most * square)
    images.size = {"shortest_edge": images.size["shortest_edge"], "longest_edge": largest}


def _limit_tiles(processor: Any, most: int) -> None:
    """Idefics 3 and ModernVBERT: a page has so many tiles along its longer edge, and one more that
    shows all of it; a square page has most."""
    images, per_tile = processor.image_processor, int(processor.image_seq_len)
    along = math.isqrt(max(0, most // per_tile - 1))
    if along < 1:
        raise EncoderError(
            f"max_visual_tokens {most}: this processor makes at least {2 * per_tile}, {per_tile} "
            "for a tile and as many for the whole page"
        )
    tile = int(images.max_image_size["longest_edge"])
    edge = min(int(images.size["longest_edge"]), along * tile)
    images.size = {"longest_edge": edge}

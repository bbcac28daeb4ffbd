"""What a reduction kept of a page, and how important it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image

from docpruner.errors import InvalidPageError
from docpruner.pictures.colours import MUTED, PRUNED, STRONG, WHITE, heat, mixed
from docpruner.pictures.legend import Entry, Ink, heat_bar, pairs, swatch, with_legend
from docpruner.pictures.lettering import text_size
from docpruner.pictures.page_pixels import (
    as_rgb,
    checked_boxes,
    grey,
    in_bands,
    on_page,
    overview,
    padding,
    paint,
    pixels,
    tinted,
)
from docpruner.types import BoolArray, FloatArray

BARE_LEVEL, PRUNED_LEVEL, FIRST_KEPT = 0, 1, 2  # and up to 255 by importance
BARE_ALPHA, PRUNED_ALPHA = 0.3, 0.8
TINT_ALPHA = (0.35, 0.54)  # of the least and the most important kept patch
TAILS = (2, 98)  # percentiles: one dominant patch must not turn all others pale

STRENGTHS = np.linspace(0, 1, 256 - FIRST_KEPT)
TINT_ALPHAS = TINT_ALPHA[0] + (TINT_ALPHA[1] - TINT_ALPHA[0]) * STRENGTHS
TINT_BYTES = [0, 0, *np.rint(255 * TINT_ALPHAS).astype(int).tolist()]
IS_PRUNED = [255 * (level == PRUNED_LEVEL) for level in range(256)]
IS_KEPT = [255 * (level >= FIRST_KEPT) for level in range(256)]
PALETTE = np.concatenate([np.array([WHITE, PRUNED], np.uint8), heat(STRENGTHS)])


def kept_picture(
    image: Image.Image,
    boxes: FloatArray,
    importance: FloatArray | None,
    kept: BoolArray,
    *,
    legend: Sequence[tuple[str, str]] = (),
    key: bool = True,
) -> Image.Image:
    """A page whose kept patches are clear, tinted by importance, and whose pruned ones are faint.

    Where patches overlap, a kept one wins over a pruned one, and the more important of two kept
    ones. What lies under no patch is only faded a little, as it was neither kept nor pruned.
    Equal importances say nothing, so they give no tint.

    Some encoders see the whole page once more, small: how much of that view was kept is only said,
    or it would cover the rest. Without a `key` to the colours it is a picture for a sheet of many.
    """
    page = as_rgb(image)
    boxes, weights, kept = _checked(boxes, importance, kept)
    behind = overview(boxes)
    seen = kept & ~behind
    strength = _strength(weights[seen])
    ordered = bool(strength.any())
    levels = _levels(page.size, boxes[~behind], kept[~behind], strength)
    painted = in_bands(page, levels, _tinted_by_level if ordered else _clear)
    size = text_size(page.size)
    colours = kept_key(size, page.width, ordered) if key else []
    if key and behind.any():
        small = f"{kept[behind].sum():,} of {behind.sum():,} kept"
        colours.append((Ink("whole-page view"), Ink(small, STRONG)))
    return with_legend(painted, size, [*pairs(legend), *colours])


def _checked(
    boxes: FloatArray, importance: FloatArray | None, kept: BoolArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """The arrays without special tokens, which are nowhere on the page."""
    boxes, kept = checked_boxes(boxes), np.asarray(kept, np.bool_)
    weights = np.asarray(np.ones(len(boxes)) if importance is None else importance, np.float32)
    for what, array in (("kept", kept), ("importance", weights)):
        if array.shape != (len(boxes),):
            raise InvalidPageError(
                f"{what} has shape {array.shape} for {len(boxes)} boxes; give one for each patch"
            )
    rows = on_page(boxes)
    return boxes[rows], weights[rows], kept[rows]


def _strength(importance: FloatArray) -> npt.NDArray[np.float64]:
    """Importances of the kept patches from 0 to 1, or all 0 if they are equal."""
    weights = importance.astype(np.float64)
    if not len(weights) or weights.min() == weights.max():
        return np.zeros(len(weights))
    low, high = np.percentile(weights, TAILS)
    if low == high:
        low, high = weights.min(), weights.max()
    strength: npt.NDArray[np.float64] = np.clip((weights - low) / (high - low), 0, 1)
    return strength


def _levels(
    size: tuple[int, int], boxes: FloatArray, kept: BoolArray, strength: npt.NDArray[np.float64]
) -> Image.Image:
    """For each pixel what it belongs to, as one byte."""
    order = np.argsort(strength, kind="stable")
    places = pixels(boxes, size, padding(boxes, size))
    sheet = np.full((size[1], size[0]), BARE_LEVEL, np.uint8)
    paint(sheet, places[~kept], np.full(int((~kept).sum()), PRUNED_LEVEL, np.uint8))
    levels = np.rint(FIRST_KEPT + strength * (255 - FIRST_KEPT)).astype(np.uint8)
    paint(sheet, places[kept][order], levels[order])
    return Image.fromarray(sheet)


def _clear(page: Image.Image, levels: Image.Image) -> Image.Image:
    return _faded(page, levels, page)


def _tinted_by_level(page: Image.Image, levels: Image.Image) -> Image.Image:
    drained = Image.blend(page, grey(page), 0.6)  # the page's own colours would shift the tints
    colours = levels.copy()
    colours.putpalette(PALETTE.tobytes())
    tint = tinted(drained, colours.convert("RGB"), levels.point(TINT_BYTES))
    return _faded(page, levels, tint)


def _faded(page: Image.Image, levels: Image.Image, kept: Image.Image) -> Image.Image:
    painted = Image.blend(page, Image.new("RGB", page.size, WHITE), BARE_ALPHA)
    dim = Image.blend(grey(page), Image.new("RGB", page.size, PRUNED), PRUNED_ALPHA)
    painted.paste(dim, mask=levels.point(IS_PRUNED))
    painted.paste(kept, mask=levels.point(IS_KEPT))
    return painted


def kept_key(size: int, width: int, ordered: bool = True) -> list[Entry]:
    """What the colours mean; they are `ordered` where importances differ."""
    pruned = (swatch(size, mixed(WHITE, PRUNED, PRUNED_ALPHA)), Ink("pruned", STRONG))
    if not ordered:
        return [(swatch(size, WHITE, MUTED), Ink("kept", STRONG)), pruned]
    bar = heat_bar((min(6 * size, width // 3), size), TINT_ALPHAS)
    return [(Ink("kept, by importance:"), Ink("low", STRONG), bar, Ink("high", STRONG)), pruned]

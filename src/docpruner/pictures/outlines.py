"""Lines around the places of a word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image

from docpruner.pictures.colours import WHITE, Colour
from docpruner.pictures.page_pixels import Pixels, paint

MOST_LINES = 2  # around a place


def outline(picture: Image.Image, words: Sequence[tuple[Pixels, Colour]], thick: int) -> None:
    """Draw a line around the places of each word; places that touch are lined as one.

    Words that share a place get one line around the other, up to `MOST_LINES`: more would hide what
    stands beside it. White around each line sets it off from any background.
    """
    halo = thick // 2
    rings = []
    for number, (places, colour) in enumerate(words):
        before = np.zeros(len(places), np.intp)  # words that have each place too
        for others, _ in words[:number]:
            before += (places[:, None] == others[None]).all(axis=-1).any(axis=1)
        free = before < MOST_LINES
        if free.any():
            start = (thick + halo) * int(before[free].max())
            rings.append((places[free], colour, start))
    for places, _, start in rings:
        _ring(picture, places, (start + thick, start + thick + halo), WHITE)
    for places, colour, start in rings:
        _ring(picture, places, (start, start + thick), colour)


def _ring(picture: Image.Image, places: Pixels, between: tuple[int, int], colour: Colour) -> None:
    """Colour what lies between these two distances around the places together."""
    start, end = between
    inner = _grown(places, start, picture.size, inset=end - start)
    outer = _grown(places, end, picture.size, inset=0)
    (x0, y0), (x1, y1) = outer[:, :2].min(axis=0).tolist(), outer[:, 2:].max(axis=0).tolist()
    mask = np.zeros((y1 - y0, x1 - x0), np.uint8)
    corner = np.array([x0, y0, x0, y0])
    paint(mask, outer - corner, np.full(len(outer), 255, np.uint8))
    paint(mask, inner - corner, np.zeros(len(inner), np.uint8))
    for left, top, right, bottom in outer.tolist():
        part = mask[top - y0 : bottom - y0, left - x0 : right - x0]
        picture.paste(colour, (left, top), Image.fromarray(part))


def _grown(places: Pixels, by: int, size: tuple[int, int], inset: int) -> Pixels:
    """Places grown by some pixels, but within the page and `inset` pixels off its edges, so that
    a line runs along an edge rather than beyond it.
    """
    low = np.array([inset, inset])
    high = np.maximum(np.array(size) - inset, low)
    grown = places + np.array([-by, -by, by, by])
    return np.concatenate([np.maximum(grown[:, :2], low), np.minimum(grown[:, 2:], high)], axis=1)

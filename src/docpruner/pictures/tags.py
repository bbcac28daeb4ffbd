"""Small labels near places of a page: off each other and, where possible, off the places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from PIL import ImageDraw

from docpruner.pictures.colours import Colour, ink_on
from docpruner.pictures.lettering import fitted, font, width_of
from docpruner.pictures.paper import Pixels

Rect = tuple[int, int, int, int]  # x0, y0, x1, y1 in pixels, the last two exclusive
Size = tuple[int, int]


def tag_size(text: str, size: int) -> Size:
    return width_of(text, size) + 2 * _margin(size), round(1.35 * size)


def fitted_tag(text: str, size: int, width: int) -> str:
    """The text of a tag of at most `width` pixels."""
    return fitted(text, size, width - 2 * _margin(size))


def place_tags(
    page: Size, tags: Sequence[tuple[Size, Rect]], places: Pixels, gap: int
) -> list[Rect | None]:
    """Where each tag goes, given its size and the place it belongs to; None if no room is left.

    Of the spots that no earlier tag takes, the one that hides least of `places` wins, then the
    nearest.
    """
    taken: list[Rect] = []
    spots: list[Rect | None] = []
    for (wide, high), place in tags:
        best: tuple[int, int] | None = None
        spot: Rect | None = None
        for order, (x, y) in enumerate(_corners((wide, high), place, gap)):
            x, y = max(0, min(x, page[0] - wide)), max(0, min(y, page[1] - high))
            rect = (x, y, x + wide, y + high)
            if wide > page[0] or high > page[1] or _shared(rect, np.array(taken)):
                continue
            cost = _shared(rect, places), order
            if best is None or cost < best:
                best, spot = cost, rect
        if spot is not None:
            taken.append(spot)
        spots.append(spot)
    return spots


def draw_tag(draw: ImageDraw.ImageDraw, text: str, size: int, spot: Rect, colour: Colour) -> None:
    x0, y0, x1, y1 = spot
    draw.rounded_rectangle((x0, y0, x1 - 1, y1 - 1), radius=max(1, size // 5), fill=colour)
    baseline = y0 + round(1.02 * size)
    draw.text((x0 + _margin(size), baseline), text, ink_on(colour), font(size), anchor="ls")


def _margin(size: int) -> int:
    return max(2, round(0.35 * size))


def _corners(tag: Size, place: Rect, gap: int) -> Iterator[tuple[int, int]]:
    """Top left corners around a place, from the best to ever more distant ones."""
    (wide, high), (x0, y0, x1, y1) = tag, place
    middle = (y0 + y1 - high) // 2
    for step in range(5):
        above, below = y0 - gap - high - step * (high + gap), y1 + gap + step * (high + gap)
        for y in (above, below):
            for x in (x0, x1 - wide):
                yield x, y
        yield x1 + gap + step * wide, middle
        yield x0 - gap - (step + 1) * wide, middle


def _shared(rect: Rect, others: Pixels) -> int:
    """The pixels a rectangle has in common with others."""
    if not len(others):
        return 0
    sides = np.minimum(rect[2:], others[:, 2:]) - np.maximum(rect[:2], others[:, :2])
    return int(np.maximum(sides, 0).prod(axis=1).sum())

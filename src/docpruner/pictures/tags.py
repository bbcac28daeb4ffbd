"""Small labels near places of a page: off each other and, where possible, off what is printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from docpruner.pictures.colours import WHITE, Colour, ink_on
from docpruner.pictures.lettering import fitted, font, width_of
from docpruner.pictures.page_pixels import Pixels

Rect = tuple[int, int, int, int]  # x0, y0, x1, y1 in pixels, the last two exclusive
Size = tuple[int, int]

RINGS = 6  # of spots around a place
LIT_COSTS, PRINT_COSTS = 4.0, 2.0  # to hide a tag's area of either, in heights of tags off it
FAR = 0.12  # what each height away costs
CONTRAST = 48  # grey levels within a few pixels: something is printed there


@dataclass(frozen=True, eq=False)
class Print:
    """Where on a page something is printed, in squares of `step` pixels."""

    step: int
    sums: npt.NDArray[np.int64]  # (rows + 1, columns + 1): of the squares above and to the left

    @classmethod
    def of(cls, page: Image.Image, step: int) -> Print:
        """By contrast, not darkness: a coloured field is as empty as white paper."""
        grey = np.asarray(page.convert("L"))
        rows, columns = -(-grey.shape[0] // step), -(-grey.shape[1] // step)
        spare = ((0, rows * step - grey.shape[0]), (0, columns * step - grey.shape[1]))
        squares = np.pad(grey, spare, mode="edge").reshape(rows, step, columns, step)
        low, high = squares.min(axis=(1, 3)).astype(int), squares.max(axis=(1, 3)).astype(int)
        sums = (high - low > CONTRAST).cumsum(axis=0).cumsum(axis=1)
        return cls(step, np.pad(sums, ((1, 0), (1, 0))))

    def within(self, rect: Rect) -> float:
        """The part of a rectangle that holds print, 0 to 1."""
        x0, y0 = rect[0] // self.step, rect[1] // self.step
        x1, y1 = -(-rect[2] // self.step), -(-rect[3] // self.step)
        sums = self.sums
        there = sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0]
        return float(there) / ((x1 - x0) * (y1 - y0))


def tag_size(text: str, size: int) -> Size:
    return width_of(text, size) + 2 * _margin(size), round(1.35 * size)


def fitted_tag(text: str, size: int, width: int) -> str:
    """The text of a tag of at most `width` pixels."""
    return fitted(text, size, width - 2 * _margin(size))


def place_tags(
    page: Size,
    tags: Sequence[tuple[Size, Rect]],
    places: Pixels,
    gap: int,
    under: Print | None = None,
) -> list[Rect | None]:
    """Where each tag goes, given its size and the place it belongs to; None if no room is left.

    Of the spots that no earlier tag takes, the best one hides little of `places` and of what is
    printed `under` it, and is near.
    """
    taken: list[Rect] = []
    spots: list[Rect | None] = []
    for (wide, high), place in tags:
        best = float("inf")
        spot: Rect | None = None
        for far, (x, y) in _corners((wide, high), place, gap):
            x, y = max(0, min(x, page[0] - wide)), max(0, min(y, page[1] - high))
            rect = (x, y, x + wide, y + high)
            if wide > page[0] or high > page[1] or _shared(rect, np.array(taken)):
                continue
            cost = LIT_COSTS * _shared(rect, places) / (wide * high) + FAR * far
            cost += PRINT_COSTS * under.within(rect) if under is not None else 0.0
            if cost < best - 1e-9:
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


def draw_leader(
    draw: ImageDraw.ImageDraw, spot: Rect, place: Rect, colour: Colour, gap: int
) -> None:
    """A line from a tag to its place, if they are not side by side."""
    ends = [_nearest(spot[axis::2], place[axis::2]) for axis in (0, 1)]
    (x0, x1), (y0, y1) = ends
    if max(abs(x1 - x0), abs(y1 - y0)) <= 2 * gap:
        return
    thick = max(1, gap // 2)
    draw.line((x0, y0, x1, y1), WHITE, thick + 2)
    draw.line((x0, y0, x1, y1), colour, thick)


def _nearest(ours: Sequence[int], theirs: Sequence[int]) -> tuple[int, int]:
    """Of two spans the two nearest points; of spans that overlap the middle of what they share."""
    low, high = max(ours[0], theirs[0]), min(ours[1], theirs[1])
    if low <= high:
        return (low + high) // 2, (low + high) // 2
    return (ours[1], theirs[0]) if ours[1] < theirs[0] else (ours[0], theirs[1])


def _margin(size: int) -> int:
    return max(2, round(0.35 * size))


def _corners(tag: Size, place: Rect, gap: int) -> Iterator[tuple[float, tuple[int, int]]]:
    """Top left corners around a place, each with its distance in heights of the tag."""
    (wide, high), (x0, y0, x1, y1) = tag, place
    middle = (y0 + y1 - high) // 2
    for ring in np.arange(0, RINGS, 0.25).tolist():
        off = round(ring * high)
        for y in (y0 - gap - high - off, y1 + gap + off):
            for x in (x0, x1 - wide, (x0 + x1 - wide) // 2, x0 - wide // 2, x1 - wide // 2):
                yield ring, (x, y)
        for x in (x1 + gap + off, x0 - gap - wide - off):
            yield ring, (x, middle)


def _shared(rect: Rect, others: Pixels) -> int:
    """The pixels a rectangle has in common with others."""
    if not len(others):
        return 0
    sides = np.minimum(rect[2:], others[:, 2:]) - np.maximum(rect[:2], others[:, :2])
    return int(np.maximum(sides, 0).prod(axis=1).sum())

"""Many pictures on one sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from PIL import Image, ImageDraw

from docpruner.errors import DocPrunerError
from docpruner.pictures.colours import RULE, STRONG, Colour
from docpruner.pictures.lettering import LEAST_SIZE, drawable, fitted, font, width_of
from docpruner.pictures.page_pixels import as_rgb

BACKGROUND: Colour = (246, 247, 249)
MOST_COLUMNS = 6
CAPTION_LINES = 2


def contact_sheet(
    pictures: Sequence[Image.Image],
    captions: Sequence[str],
    *,
    columns: int | None = None,
    width: int = 1600,
) -> Image.Image:
    """Thumbnails in rows, each with its caption below; `width` pixels wide.

    Captions have two lines, and end in an ellipsis where that is too little. A picture smaller
    than its place is not enlarged.
    """
    _check(pictures, captions, columns)
    count = columns or columns_for(len(pictures))
    gap, side = _sides(count, width)
    size = max(LEAST_SIZE, min(width // 90, side // 16))
    thumbs = [_thumbnail(picture, side) for picture in pictures]
    texts = [_caption(caption, size, side) for caption in captions]
    rows = [slice(start, start + count) for start in range(0, len(thumbs), count)]
    heights = [_row_height(thumbs[row], texts[row], size) + gap for row in rows]
    sheet = Image.new("RGB", (width, gap + sum(heights)), BACKGROUND)
    for row, top in zip(rows, accumulate(heights, initial=gap), strict=False):
        floor = top + max(thumb.height for thumb in thumbs[row])
        for column, (thumb, lines) in enumerate(zip(thumbs[row], texts[row], strict=True)):
            left = gap + column * (side + gap) + (side - thumb.width) // 2
            _place(sheet, thumb, lines, (left, floor - thumb.height), size)
    return sheet


def columns_for(count: int) -> int:
    """A sheet somewhat wider than high, up to a number of columns that can still be read."""
    return min(MOST_COLUMNS, count, math.ceil(math.sqrt(1.3 * count)))


def thumbnail_side(columns: int, width: int) -> int:
    """How wide a thumbnail can be; a larger picture of a page is a waste."""
    return _sides(columns, width)[1]


def _sides(columns: int, width: int) -> tuple[int, int]:
    gap = max(1, width // 80)
    return gap, max(1, (width - gap * (columns + 1)) // columns)


def _check(pictures: Sequence[Image.Image], captions: Sequence[str], columns: int | None) -> None:
    if not pictures:
        raise DocPrunerError("a contact sheet of no pictures; give it at least one")
    if len(pictures) != len(captions):
        raise DocPrunerError(
            f"{len(captions)} captions for {len(pictures)} pictures; give one for each"
        )
    if columns is not None and columns < 1:
        raise DocPrunerError(f"a contact sheet of {columns} columns; give at least 1")


def _thumbnail(picture: Image.Image, side: int) -> Image.Image:
    scale = min(1.0, side / picture.width, 1.6 * side / picture.height)
    wide, high = (max(1, round(length * scale)) for length in picture.size)
    return as_rgb(picture).resize((wide, high), Image.Resampling.LANCZOS, reducing_gap=3.0)


def _caption(text: str, size: int, room: int) -> list[str]:
    """At most `CAPTION_LINES` lines, broken at spaces, or within a word wider than a line."""
    lines: list[str] = []
    rest = drawable(text).strip()
    while rest and len(lines) < CAPTION_LINES - 1:
        end = len(rest)
        while end > 1 and width_of(rest[:end], size) > room:
            space = rest.rfind(" ", 0, end)
            end = space if space > 0 else end - 1
        lines.append(rest[:end])
        rest = rest[end:].strip()
    return [*lines, fitted(rest, size, room)] if rest else lines


def _pitch(size: int) -> int:
    return round(1.35 * size)


def _row_height(thumbs: list[Image.Image], texts: list[list[str]], size: int) -> int:
    return max(thumb.height for thumb in thumbs) + _pitch(size) * max(map(len, texts)) + size // 2


def _place(
    sheet: Image.Image, thumb: Image.Image, lines: list[str], place: tuple[int, int], size: int
) -> None:
    left, top = place
    sheet.paste(thumb, place)
    draw = ImageDraw.Draw(sheet)
    draw.rectangle((left - 1, top - 1, left + thumb.width, top + thumb.height), outline=RULE)
    middle, baseline = left + thumb.width / 2, top + thumb.height + round(1.4 * size)
    for line in lines:
        draw.text((middle, baseline), line, STRONG, font(size), anchor="ms")
        baseline += _pitch(size)

"""The strip below a picture that says what its colours mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from docpruner.pictures.colours import MUTED, RULE, STRONG, WHITE, Colour, heat
from docpruner.pictures.lettering import drawable, fitted, font, width_of


@dataclass(frozen=True, slots=True)
class Ink:
    """A few words in one colour."""

    text: str
    colour: Colour = MUTED


Entry = tuple[Ink | Image.Image, ...]
"""What stays together on a line: words and small pictures, from left to right."""


def pairs(legend: Sequence[tuple[str, str]]) -> list[Entry]:
    return [(Ink(label), Ink(value, STRONG)) for label, value in legend]


def _side(size: int) -> int:
    return max(5, round(0.8 * size))


def swatch(size: int, fill: Colour, edge: Colour = RULE) -> Image.Image:
    side = _side(size)
    picture = Image.new("RGB", (side, side), edge)
    thick = max(1, side // 8)
    picture.paste(fill, (thick, thick, side - thick, side - thick))
    return picture


def heat_bar(size: tuple[int, int], alphas: npt.NDArray[np.float64]) -> Image.Image:
    """The colours as they look on white paper, for the opacities of rising strengths."""
    place = np.linspace(0, 1, max(1, size[0]))
    alpha = np.interp(place, np.linspace(0, 1, len(alphas)), alphas)[:, None]
    colours = np.rint(255 * (1 - alpha) + heat(place) * alpha).astype(np.uint8)
    return Image.fromarray(np.repeat(colours[None], _side(size[1]), axis=0))


def with_legend(picture: Image.Image, size: int, entries: Sequence[Entry]) -> Image.Image:
    """A picture with its legend below it, in letters of `size` pixels."""
    if not entries:
        return picture
    strip = legend_strip(picture.width, size, entries)
    sheet = Image.new("RGB", (picture.width, picture.height + strip.height), WHITE)
    sheet.paste(picture, (0, 0))
    sheet.paste(strip, (0, picture.height))
    return sheet


def legend_strip(width: int, size: int, entries: Sequence[Entry]) -> Image.Image:
    margin = min(size, width // 20)
    room = max(1, width - 2 * margin)
    parts = [part for entry in entries for part in _broken(entry, size, room)]
    lines = _lines(parts, size, room)
    pitch = round(1.6 * size)
    strip = Image.new("RGB", (width, pitch * len(lines) + size), WHITE)
    draw = ImageDraw.Draw(strip)
    draw.rectangle((0, 0, width, max(0, size // 16)), fill=RULE)
    for number, line in enumerate(lines):
        x, baseline = margin, round(0.5 * size) + pitch * number + round(1.15 * size)
        for entry in line:
            _draw(draw, strip, entry, (x, baseline), size)
            x += _width(entry, size) + _gap(size)
    return strip


def _gap(size: int) -> int:
    return round(1.5 * size)


def _lines(entries: Sequence[Entry], size: int, room: int) -> list[list[Entry]]:
    lines: list[list[Entry]] = [[]]
    used = 0
    for entry in entries:
        wide = _width(entry, size)
        if lines[-1] and used + wide > room:
            lines.append([])
            used = 0
        lines[-1].append(entry)
        used += wide + _gap(size)
    return lines


def _broken(entry: Entry, size: int, room: int) -> list[Entry]:
    """An entry in drawable signs; one too wide for a whole line in two, after its first words."""
    spelled = tuple(
        Ink(drawable(part.text), part.colour) if isinstance(part, Ink) else part for part in entry
    )
    if _width(spelled, size) <= room:
        return [spelled]
    after = 1 + next((i for i, part in enumerate(spelled) if isinstance(part, Ink)), 0)
    halves = (spelled[:after], spelled[after:])
    return [_shortened(half, size, room) for half in halves if half]


def _shortened(spelled: Entry, size: int, room: int) -> Entry:
    """An entry still too wide for a line loses the end of its words."""
    inks = [part for part in spelled if isinstance(part, Ink)]
    over = _width(spelled, size) - room
    if over <= 0 or not inks:
        return spelled
    longest = max(inks, key=lambda ink: width_of(ink.text, size))
    space = max(0, width_of(longest.text, size) - over)
    short = Ink(fitted(longest.text, size, space), longest.colour)
    shortened = [short if part is longest else part for part in spelled]
    return tuple(part for part in shortened if not isinstance(part, Ink) or part.text)


def _part_width(part: Ink | Image.Image, size: int) -> int:
    return width_of(part.text, size) if isinstance(part, Ink) else part.width


def _space(size: int) -> int:
    return round(0.4 * size)


def _width(entry: Entry, size: int) -> int:
    spaces = _space(size) * max(0, len(entry) - 1)
    return sum(_part_width(part, size) for part in entry) + spaces


def _draw(
    draw: ImageDraw.ImageDraw, strip: Image.Image, entry: Entry, place: tuple[int, int], size: int
) -> None:
    x, baseline = place
    for part in entry:
        if isinstance(part, Ink):
            draw.text((x, baseline), part.text, part.colour, font(size), anchor="ls")
        else:
            strip.paste(part, (x, baseline - round(0.36 * size) - part.height // 2))
        x += _part_width(part, size) + _space(size)

"""site-plan.png: a poster of a community garden, its words drawn as pixels."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw

from samples.scan import bold, font
from samples.sheet import INK, MUTED, WHITE, Colour

SIZE = (1200, 900)
PAPER: Colour = (247, 244, 236)
GRASS: Colour = (205, 222, 181)
SOIL: Colour = (193, 163, 128)
WATER: Colour = (166, 205, 222)
STONE: Colour = (226, 219, 204)
ROOF: Colour = (201, 104, 77)
GLASS: Colour = (196, 228, 226)
TREE: Colour = (112, 153, 96)
HONEY: Colour = (233, 187, 82)
COLOURS = 96

Box = tuple[int, int, int, int]

BUILDINGS: tuple[tuple[Box, Colour, str], ...] = (
    ((90, 190, 250, 290), ROOF, "Clubhouse"),
    ((90, 330, 200, 400), ROOF, "Tool shed"),
    ((600, 180, 820, 260), GLASS, "Greenhouse"),
    ((90, 640, 250, 710), SOIL, "Compost bays"),
    ((700, 660, 820, 720), HONEY, "Beehives"),
)
BEDS: tuple[Box, ...] = tuple(
    (330 + column * 130, 320 + row * 80, 440 + column * 130, 380 + row * 80)
    for row in range(3)
    for column in range(4)
)
FENCE: Box = (50, 150, 870, 750)
POND: Box = (330, 590, 560, 720)
TREES = (
    (300, 200),
    (345, 215),
    (390, 195),
    (440, 210),
    (490, 200),
    (540, 212),
    (610, 620),
    (640, 700),
)
TAPS = ((285, 350), (575, 285), (600, 560))
LEGEND = (
    ("Opening hours", ("April to October: 7 am to 9 pm", "November to March: 9 am to 4 pm")),
    ("Plots", ("1 to 12, 45 square metres each", "Waiting list: ask at the clubhouse")),
    ("Water", ("Three taps, marked T", "Off from 15 November to 15 March")),
    (
        "In an emergency",
        ("Meet at the green flag by Gate B", "First aid: clubhouse, left of the door"),
    ),
    ("Please", ("Dogs on the lead, no bonfires", "Keep 5 m away from the hives")),
)


def write(path: Path) -> None:
    plan = Image.new("RGB", SIZE, PAPER)
    pen = ImageDraw.Draw(plan)
    _title(pen)
    _ground(pen)
    _beds(pen)
    _things(pen)
    _gates(pen)
    _legend(pen)
    _scale_and_north(pen)
    plan.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def _label(
    pen: ImageDraw.ImageDraw,
    place: tuple[float, float],
    text: str,
    size: int = 19,
    colour: Colour = INK,
) -> None:
    pen.text(place, text, colour, font(size), anchor="mm")


def _title(pen: ImageDraw.ImageDraw) -> None:
    bold(pen, (50, 36), "Larkrise Community Garden", 44, INK)
    pen.text((52, 96), "Site plan for members and visitors", MUTED, font(24))


def _ground(pen: ImageDraw.ImageDraw) -> None:
    pen.rounded_rectangle(FENCE, 18, GRASS)
    pen.line((50, 445, 285, 445), STONE, 34)  # paths, from the gates past the beds
    pen.line((285, 300, 285, 750), STONE, 26)
    pen.line((272, 300, 870, 300), STONE, 26)
    pen.rounded_rectangle(FENCE, 18, outline=INK, width=3)
    pen.ellipse(POND, WATER, (96, 146, 170), 2)
    _label(pen, (445, 655), "Pond")
    pen.text((640, 576), "Picnic lawn", INK, font(19))
    for x, y in TREES:
        pen.ellipse((x - 20, y - 20, x + 20, y + 20), TREE)
        pen.ellipse((x - 4, y - 4, x + 4, y + 4), (80, 112, 68))
    _label(pen, (420, 248), "Orchard")


def _beds(pen: ImageDraw.ImageDraw) -> None:
    for number, bed in enumerate(BEDS, 1):
        left, top, right, bottom = bed
        pen.rectangle(bed, SOIL, (140, 112, 82), 2)
        for row in range(top + 12, bottom - 4, 12):
            pen.line((left + 6, row, right - 6, row), (178, 146, 110), 2)
        x, y = (left + right) / 2, (top + bottom) / 2
        pen.ellipse((x - 17, y - 17, x + 17, y + 17), WHITE)
        _label(pen, (x, y), str(number))


def _things(pen: ImageDraw.ImageDraw) -> None:
    for box, colour, name in BUILDINGS:
        pen.rectangle(box, colour, INK, 2)
        middle = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        _label(pen, middle, name, colour=WHITE if colour == ROOF else INK)
    for x, y in TAPS:
        pen.ellipse((x - 13, y - 13, x + 13, y + 13), (52, 112, 152))
        _label(pen, (x, y), "T", 17, WHITE)


def _gates(pen: ImageDraw.ImageDraw) -> None:
    pen.rectangle((44, 425, 56, 465), WHITE, INK, 2)
    pen.text((68, 445), "Gate A (car park)", INK, font(19), anchor="lm")
    pen.rectangle((864, 280, 876, 320), WHITE, INK, 2)
    pen.text((852, 300), "Gate B", INK, font(19), anchor="rm")
    pen.line((848, 262, 848, 215), INK, 3)
    pen.polygon(((850, 215), (850, 237), (866, 226)), (40, 140, 80))


def _legend(pen: ImageDraw.ImageDraw) -> None:
    x, y = 900, 152
    for heading, lines in LEGEND:
        bold(pen, (x, y), heading, 21, INK)
        pen.line((x, y + 30, 1160, y + 30), HONEY, 3)
        for number, line in enumerate(lines):
            pen.text((x, y + 40 + number * 25), line, INK, font(16))
        y += 122


def _scale_and_north(pen: ImageDraw.ImageDraw) -> None:
    for step in range(4):
        pen.rectangle(
            (60 + step * 60, 800, 120 + step * 60, 810), INK if step % 2 == 0 else WHITE, INK, 1
        )
        _label(pen, (60 + step * 60, 826), str(step * 5), 16, MUTED)
    _label(pen, (318, 826), "20 metres", 16, MUTED)
    pen.polygon(((820, 780), (804, 830), (820, 818)), INK)
    pen.polygon(((820, 780), (836, 830), (820, 818)), WHITE, INK)
    _label(pen, (820, 848), "N", 20)

"""landlord-letter-scan.tiff: two sheets of a letter as a scanner in an office sees them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

SIZE = (1240, 1754)  # A4 at 150 dots an inch
MARGIN = 150
TEXT, LINE = 28, 43
SEED = 20
TURNS = (0.9, -0.6)  # degrees, one a sheet

Part = tuple[str, str]  # how it is set, and what it says

FIRST: Sequence[Part] = (
    ("head", "Tarn & Hollis Lettings"),
    ("small", "17 Cooper's Yard, Brennholt   -   Office hours Monday to Thursday, 9 to 4"),
    ("rule", ""),
    ("text", "Ms Edda Quarrington\n8 Weavers Lane, second floor left\nBrennholt"),
    ("right", "3 February"),
    ("strong", "Your flat at 8 Weavers Lane: rent, heating and the stairwell"),
    ("text", "Dear Ms Quarrington,"),
    (
        "text",
        "Thank you for your patience over the winter. There are three matters we would like to "
        "tell you about in good time.",
    ),
    (
        "text",
        "First, the rent. It has been the same for four years. From 1 May it will rise from 740 to "
        "775 euros a month. The advance for heating and water stays at 120 euros, so that your new "
        "monthly payment is 895 euros. Please change your standing order accordingly.",
    ),
    (
        "text",
        "Second, the boiler. The one in the cellar is 27 years old and will be replaced by a heat "
        "pump between 10 and 14 March. During these five days there will be no central heating, "
        "and hot water only in the evenings from 6 to 9. We will lend every flat two electric "
        "heaters; the caretaker brings them round on the Saturday before. You may deduct 60 euros "
        "from the rent for March for the trouble.",
    ),
    ("right", "Please turn over"),
)
SECOND: Sequence[Part] = (
    ("small", "Tarn & Hollis Lettings   -   page 2"),
    ("rule", ""),
    (
        "text",
        "Third, the stairwell. It will be painted in the week after Easter. Please take in "
        "pictures, plants, shoes and above all the bicycle that stands on the second landing. "
        "What is still there on the Monday morning will be carried to the yard.",
    ),
    (
        "text",
        "The fitters need to get into your kitchen once, for about an hour, to bleed the "
        "radiators. Please tick the time that suits you best and return this page by 20 February:",
    ),
    ("box", "Thursday 13 March, 8 to 10"),
    ("ticked", "Thursday 13 March, 4 to 6"),
    ("box", "Friday 14 March, 8 to 10"),
    ("box", "I leave the key with the caretaker, Mr Plessow"),
    ("gap", ""),
    (
        "text",
        "If the heating fails at another time, or if water comes through the ceiling, do not wait "
        "for office hours. Ring the caretaker on 0555 0142; at night and on Sundays the emergency "
        "plumber on 0555 0190.",
    ),
    (
        "text",
        "Your deposit of 2,100 euros has earned 31.50 euros in interest, which remains on the "
        "deposit account.",
    ),
    ("text", "Yours sincerely,"),
    ("sign", "R. Hollis"),
    ("text", "Rosalind Hollis"),
)


def write(path: Path) -> None:
    rng = np.random.default_rng(SEED)
    sheets = [
        _scanned(_typed(parts), turn, rng)
        for parts, turn in zip((FIRST, SECOND), TURNS, strict=True)
    ]
    first, *others = sheets
    first.save(path, save_all=True, append_images=others, compression="group4", dpi=(150, 150))


def font(size: int) -> ImageFont.FreeTypeFont:
    """Pillow's own font, set plainly: not every build of Pillow can shape text."""
    loaded = ImageFont.load_default(size)
    if not isinstance(loaded, ImageFont.FreeTypeFont):
        raise SystemExit("this Pillow was built without FreeType; install Pillow from PyPI")
    return loaded.font_variant(layout_engine=ImageFont.Layout.BASIC)


def bold(
    pen: ImageDraw.ImageDraw,
    place: tuple[int, int],
    text: str,
    size: int,
    colour: tuple[int, int, int] | int,
) -> None:
    """Struck twice, as on a typewriter: Pillow's font has no bold face."""
    for shift in (0, 1):
        pen.text((place[0] + shift, place[1]), text, colour, font(size))


def _typed(parts: Sequence[Part]) -> Image.Image:
    sheet = Image.new("L", SIZE, 255)
    pen = ImageDraw.Draw(sheet)
    y = 130
    for kind, text in parts:
        y = _part(pen, y, kind, text)
    return sheet


def _part(pen: ImageDraw.ImageDraw, y: int, kind: str, text: str) -> int:
    """Set a part of the letter; the y below it."""
    right = SIZE[0] - MARGIN
    if kind == "head":
        bold(pen, (MARGIN, y), text, 46, 0)
        return y + 66
    if kind == "small":
        pen.text((MARGIN, y), text, 40, font(20))
        return y + 40
    if kind == "rule":
        pen.line((MARGIN, y, right, y), 0, 3)
        return y + 60
    if kind == "gap":
        return y + LINE // 2
    if kind == "right":
        pen.text((right, y), text, 0, font(TEXT), anchor="ra")
        return y + 2 * LINE
    if kind == "sign":
        return _signed(pen, y, text)
    if kind in ("box", "ticked"):
        return _check(pen, y, text, kind == "ticked")
    for line in _wrapped(pen, text, right - MARGIN):
        pen.text((MARGIN, y), line, 0, font(TEXT))
        y += LINE
    if kind == "strong":
        pen.line((MARGIN, y - 6, MARGIN + pen.textlength(text, font(TEXT)), y - 6), 0, 2)
    return y + LINE * 3 // 4


def _check(pen: ImageDraw.ImageDraw, y: int, text: str, ticked: bool) -> int:
    x = MARGIN + 30
    pen.rectangle((x, y, x + 28, y + 28), outline=0, width=2)
    if ticked:
        pen.line((x - 4, y + 10, x + 12, y + 26, x + 46, y - 16), 0, 5, joint="curve")
    pen.text((x + 56, y), text, 0, font(TEXT))
    return y + LINE + 18


def _signed(pen: ImageDraw.ImageDraw, y: int, text: str) -> int:
    """The name, and a scrawl that runs out behind it."""
    pen.text((MARGIN + 20, y), text, 0, font(44))
    end = MARGIN + 30 + pen.textlength(text, font(44))
    scrawl = [
        (end + 3 * step, y + 30 - math.sin(step / 4) * 20 * math.exp(-step / 40))
        for step in range(70)
    ]
    pen.line(scrawl, 0, 4, joint="curve")
    return y + 95


def _wrapped(pen: ImageDraw.ImageDraw, text: str, width: int) -> list[str]:
    lines = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}".strip()
            if line and pen.textlength(longer, font(TEXT)) > width:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return lines


def _scanned(sheet: Image.Image, turn: float, rng: np.random.Generator) -> Image.Image:
    """Turned a little, blurred, with grain, dust, two punched holes and a dark edge; then 1 bit."""
    _holes(sheet)
    turned = sheet.rotate(turn, Image.Resampling.BICUBIC, fillcolor=255)
    grey = np.asarray(turned.filter(ImageFilter.GaussianBlur(0.7)), dtype=np.float64)
    grey = grey + rng.normal(0, 26, grey.shape)
    grey[:, :4] -= 160 * rng.random((SIZE[1], 1))
    dust = rng.integers(0, (SIZE[1], SIZE[0]), (160, 2))
    grey[dust[:, 0], dust[:, 1]] -= 200
    return Image.fromarray(np.where(grey < 140, 0, 255).astype(np.uint8)).convert(
        "1", dither=Image.Dither.NONE
    )


def _holes(sheet: Image.Image) -> None:
    pen = ImageDraw.Draw(sheet)
    for y in (SIZE[1] // 2 - 236, SIZE[1] // 2 + 236):
        pen.ellipse((55, y - 18, 91, y + 18), fill=0)

"""PDF pages with a typographic scale: what all the sample documents are drawn with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from fpdf import FPDF
from fpdf.enums import XPos, YPos

Colour = tuple[int, int, int]

INK: Colour = (29, 39, 51)
MUTED: Colour = (101, 113, 127)
RULE: Colour = (211, 217, 223)
WASH: Colour = (243, 245, 247)
WHITE: Colour = (255, 255, 255)
TEAL: Colour = (15, 104, 114)
SEA: Colour = (96, 163, 168)
MIST: Colour = (176, 206, 208)
AMBER: Colour = (217, 138, 41)
SLATE: Colour = (104, 122, 146)

A4 = (210.0, 297.0)
WIDE = (254.0, 142.875)  # 16:9
MM_OF_POINT = 25.4 / 72


@dataclass(frozen=True)
class Face:
    """A font in use: family, style, size in points, colour and the height of a line."""

    size: float
    style: str = ""
    colour: Colour = INK
    family: str = "helvetica"
    leading: float = 1.35

    @property
    def line(self) -> float:
        return self.size * self.leading * MM_OF_POINT

    def but(
        self, *, size: float | None = None, style: str | None = None, colour: Colour | None = None
    ) -> Face:
        return replace(
            self,
            size=self.size if size is None else size,
            style=self.style if style is None else style,
            colour=self.colour if colour is None else colour,
        )


BODY = Face(10)
STRONG = BODY.but(style="B")
SMALL = Face(8, colour=MUTED)
HEADING = Face(12.5, "B", TEAL)
TITLE = Face(22, "B", leading=1.15)


class Sheet(FPDF):
    """A document with a fixed date and no id, so that the same drawing gives the same bytes."""

    def __init__(self, title: str, size: tuple[float, float] = A4, margin: float = 22) -> None:
        super().__init__(unit="mm", format=size)
        self.core_fonts_encoding = "cp1252"  # as the viewer reads core fonts: dashes and quotes
        self.c_margin = 0
        self.set_margins(margin, margin, margin)
        self.set_auto_page_break(False)
        self.set_title(title)
        self.set_producer("docpruner examples/make_samples.py")
        self.set_creation_date(datetime(2000, 1, 1, tzinfo=UTC))

    def file_id(self) -> None:
        return None

    def save(self, path: Path) -> None:
        path.write_bytes(self.output())

    def use(self, face: Face) -> None:
        self.set_font(face.family, face.style, face.size)
        self.set_text_color(*face.colour)

    def say(
        self, x: float, y: float, text: str, face: Face = BODY, width: float = 0, align: str = "L"
    ) -> None:
        """One line, its top at `y`, aligned within `width`."""
        self.use(face)
        self.set_xy(x, y)
        self.cell(width or self.get_string_width(text), face.line, text, align=align)

    def flow(
        self,
        text: str,
        face: Face = BODY,
        *,
        width: float | None = None,
        gap: float = 0.5,
        align: str = "L",
    ) -> None:
        """A paragraph at the current place; `gap` lines of space follow. Markdown's ** is bold."""
        self.use(face)
        self.multi_cell(
            self.epw if width is None else width,
            face.line,
            text,
            align=align,
            markdown="**" in text,
            new_x=XPos.LEFT,
            new_y=YPos.NEXT,
        )
        self.y += gap * face.line

    def block(
        self, x: float, y: float, text: str, face: Face, width: float, align: str = "L"
    ) -> float:
        """A paragraph at a place; the y below it."""
        self.set_xy(x, y)
        self.flow(text, face, width=width, gap=0, align=align)
        return float(self.y)

    def fill_box(self, x: float, y: float, w: float, h: float, colour: Colour) -> None:
        self.set_fill_color(*colour)
        self.rect(x, y, w, h, style="F")

    def frame(
        self, x: float, y: float, w: float, h: float, colour: Colour = RULE, width: float = 0.25
    ) -> None:
        self.set_draw_color(*colour)
        self.set_line_width(width)
        self.rect(x, y, w, h)

    def rule(
        self, x0: float, y0: float, x1: float, y1: float, colour: Colour = RULE, width: float = 0.25
    ) -> None:
        self.set_draw_color(*colour)
        self.set_line_width(width)
        self.line(x0, y0, x1, y1)

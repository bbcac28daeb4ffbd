"""Tables: the first column to the left, figures to the right, sums in bold above a line."""

from __future__ import annotations

from collections.abc import Sequence

from samples.sheet import BODY, INK, RULE, TEAL, WHITE, Colour, Face, Sheet

Row = Sequence[str]


def table(
    sheet: Sheet,
    x: float,
    y: float,
    widths: Sequence[float],
    head: Row,
    rows: Sequence[Row],
    *,
    face: Face = BODY,
    height: float = 7.0,
    align: str = "R",
    accent: Colour = TEAL,
) -> float:
    """Draw a table; the y below it. A row whose name begins with * is a sum; a row with nothing
    but a name is a heading inside the table."""
    width = sum(widths)
    sheet.fill_box(x, y, width, height, accent)
    _cells(sheet, x, y, widths, head, face.but(style="B", colour=WHITE), height, align)
    y += height
    for row in rows:
        is_sum, heading = row[0].startswith("*"), not any(row[1:])
        if is_sum:
            sheet.rule(x, y, x + width, y, INK, 0.3)
        style = "B" if is_sum or heading else ""
        shown = (row[0].removeprefix("*"), *row[1:])
        colour = accent if heading else face.colour
        _cells(sheet, x, y, widths, shown, face.but(style=style, colour=colour), height, align)
        y += height
        sheet.rule(x, y, x + width, y, RULE, 0.2)
    return y


def _cells(
    sheet: Sheet,
    x: float,
    y: float,
    widths: Sequence[float],
    row: Row,
    face: Face,
    height: float,
    align: str,
) -> None:
    pad = 2.0
    for column, (text, width) in enumerate(zip(row, widths, strict=True)):
        side = "L" if column == 0 else align
        sheet.say(x + pad, y + (height - face.line) / 2, text, face, width - 2 * pad, side)
        x += width

"""Bars and lines, drawn as vectors inside a box of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from samples.sheet import AMBER, INK, MIST, MUTED, RULE, SEA, SLATE, TEAL, Colour, Face, Sheet

SERIES: tuple[Colour, ...] = (TEAL, AMBER, SEA, SLATE, MIST)
TICK = Face(8, colour=MUTED)
VALUE = Face(8, "B")


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    w: float
    h: float


@dataclass(frozen=True)
class Chart:
    """What is drawn: a row of values for each series, one value for each label."""

    labels: Sequence[str]
    series: dict[str, Sequence[float]]
    top: float  # of the axis
    step: float
    unit: str
    form: str = "{:.1f}"  # of a value
    colours: tuple[Colour, ...] = SERIES


def _axis(sheet: Sheet, box: Box, chart: Chart) -> None:
    sheet.say(box.x, box.y - 2.2 * TICK.line, chart.unit, TICK)
    for tick in range(int(chart.top / chart.step) + 1):
        value = tick * chart.step
        y = box.y + box.h * (1 - value / chart.top)
        sheet.rule(box.x, y, box.x + box.w, y, MUTED if tick == 0 else RULE, 0.2)
        sheet.say(box.x - 12, y - TICK.line / 2, f"{value:,g}", TICK, 10, "R")


def _labels(sheet: Sheet, box: Box, chart: Chart, face: Face = TICK) -> float:
    """Names under the axis; the width that each has."""
    slot = box.w / len(chart.labels)
    for number, label in enumerate(chart.labels):
        sheet.say(box.x + number * slot, box.y + box.h + 1.5, label, face, slot, "C")
    return slot


def legend(sheet: Sheet, x: float, y: float, chart: Chart, face: Face = TICK) -> None:
    for name, colour in zip(chart.series, chart.colours, strict=False):
        sheet.fill_box(x, y + face.line / 2 - 1.3, 2.6, 2.6, colour)
        sheet.say(x + 4, y, name, face)
        x += sheet.get_string_width(name) + 11


def bars(sheet: Sheet, box: Box, chart: Chart, value: Face = VALUE, label: Face = TICK) -> None:
    """Grouped bars, each with its value on top."""
    _axis(sheet, box, chart)
    slot = _labels(sheet, box, chart, label)
    width = slot * 0.74 / len(chart.series)
    for row, (values, colour) in enumerate(zip(chart.series.values(), chart.colours, strict=False)):
        for column, amount in enumerate(values):
            height = box.h * amount / chart.top
            x = box.x + column * slot + slot * 0.13 + row * width
            sheet.fill_box(x, box.y + box.h - height, width * 0.92, height, colour)
            y = box.y + box.h - height - value.line
            sheet.say(x - 5, y, chart.form.format(amount), value, width * 0.92 + 10, "C")


def stacked_bars(sheet: Sheet, box: Box, chart: Chart) -> None:
    """One bar a label, the series on top of each other, the sum above."""
    _axis(sheet, box, chart)
    slot = _labels(sheet, box, chart)
    width = slot * 0.5
    for column in range(len(chart.labels)):
        x, y = box.x + column * slot + slot * 0.25, box.y + box.h
        for values, colour in zip(chart.series.values(), chart.colours, strict=False):
            height = box.h * values[column] / chart.top
            y -= height
            sheet.fill_box(x, y, width, height, colour)
            dark = sum(colour) < 420
            face = VALUE.but(colour=(255, 255, 255) if dark else INK)
            middle = y + (height - face.line) / 2
            sheet.say(x, middle, chart.form.format(values[column]), face, width, "C")
        total = sum(values[column] for values in chart.series.values())
        sheet.say(x, y - VALUE.line - 0.5, chart.form.format(total), VALUE, width, "C")


def lines(sheet: Sheet, box: Box, chart: Chart) -> None:
    """A line a series; the values of the first are written beside its points."""
    _axis(sheet, box, chart)
    slot = _labels(sheet, box, chart)
    for row, (values, colour) in enumerate(zip(chart.series.values(), chart.colours, strict=False)):
        points = [
            (box.x + (column + 0.5) * slot, box.y + box.h * (1 - value / chart.top))
            for column, value in enumerate(values)
        ]
        sheet.set_draw_color(*colour)
        sheet.set_line_width(0.7)
        sheet.polyline(points)
        for (x, y), amount in zip(points, values, strict=True):
            sheet.set_fill_color(*colour)
            sheet.circle(x, y, 1.1, style="F")
            if row == 0:
                text = chart.form.format(amount)
                sheet.say(x - slot / 2, y - VALUE.line - 2, text, VALUE, slot, "C")

"""travel-expense-form.pdf: a form with labelled boxes and check boxes, filled in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from samples.sheet import INK, MUTED, SLATE, WASH, WHITE, Colour, Face, Sheet

MARGIN = 18.0
WIDTH = 210 - 2 * MARGIN
PEN: Colour = (28, 58, 140)

LABEL = Face(7.5, colour=MUTED)
ENTRY = Face(10.5, colour=PEN, family="courier")
PRINT = Face(9)
TITLE = Face(19, "B", leading=1.15)


@dataclass(frozen=True)
class Field:
    label: str
    entry: str
    share: float  # of the width


CLAIMANT = (
    (Field("Name", "Dr Maren Achterberg", 0.5), Field("Staff number", "20417", 0.2)),
    (
        Field("Department", "Peat and Wetland Soils", 0.5),
        Field("Cost centre", "4410-07", 0.2),
        Field("Extension", "338", 0.3),
    ),
    (Field("Account to be credited", "Harbour Savings Bank 0032 7719 45", 0.7),),
)
TRIP = (
    (Field("Purpose", "Field course and sampling, Lake Orrin bog", 1.0),),
    (Field("From", "Fernhollow", 0.35), Field("To", "Skellby, Lake Orrin", 0.65)),
    (
        Field("Departure", "Mon 9 June, 07:15", 0.35),
        Field("Return", "Thu 12 June, 19:40", 0.35),
        Field("Nights away", "3", 0.3),
    ),
)
TRANSPORT = (
    ("Train", False),
    ("Bus", False),
    ("Own car", True),
    ("Pool car", False),
    ("Ferry", True),
    ("Aircraft", False),
)
EXPENSES = (
    ("1", "9 June", "Waders for the course, 2 pairs", "64.80"),
    ("2", "9 June", "Ferry to Skellby, passenger and car", "38.50"),
    ("3", "9-12 June", "Guest house Alderwick, 3 nights", "237.00"),
    ("4", "10 June", "Hire of a flat-bottomed boat, one day", "55.00"),
    ("5", "11 June", "Dry ice for 24 peat cores", "31.20"),
    ("6", "12 June", "Parcel of samples to the laboratory", "18.90"),
    ("", "", "", ""),
    ("", "", "", ""),
)
EXPENSES_SUM = "445.40"

MILEAGE = (
    ("9 June", "Fernhollow - ferry - guest house", "46"),
    ("10 June", "Guest house - bog, there and back", "28"),
    ("11 June", "Guest house - bog, there and back", "28"),
    ("12 June", "Guest house - ferry - Fernhollow", "46"),
)
DAILY = (
    ("Days of departure and return", "2 x 14.00", "28.00"),
    ("Full days", "2 x 28.00", "56.00"),
    ("Less breakfasts provided", "3 x 5.60", "-16.80"),
)
SUMS = (
    ("A  Expenses with receipts (page 1)", "445.40"),
    ("B  Own car: 148 km at 0.30", "44.40"),
    ("C  Daily allowance", "67.20"),
    ("Less advance paid on 2 June", "-150.00"),
)
TO_PAY = "407.00"
DECLARATIONS = (
    ("The expenses were necessary for the work stated overleaf.", True),
    ("Original receipts are attached (number: 6).", True),
    ("No part of the costs has been claimed elsewhere.", True),
    ("Private days were added to the trip. If so, give dates.", False),
)


class Form(Sheet):
    def __init__(self) -> None:
        super().__init__("Travel expense claim", margin=MARGIN)

    def header(self) -> None:
        self.say(MARGIN, 13, "Fernhollow Institute for Soil Research", PRINT.but(style="B"))
        self.say(MARGIN, 13, "Form TE-3", PRINT, WIDTH, "R")

    def footer(self) -> None:
        text = "Hand in within 30 days of your return at the travel office, room 1.12"
        self.say(MARGIN, 284, text, LABEL)
        self.say(MARGIN, 284, f"Page {self.page_no()} of 2", LABEL, WIDTH, "R")

    def part(self, y: float, title: str) -> float:
        self.fill_box(MARGIN, y, WIDTH, 6.6, SLATE)
        self.say(MARGIN + 2.5, y + 1.1, title, PRINT.but(style="B", colour=WHITE))
        return y + 6.6

    def fields(self, y: float, rows: Sequence[Sequence[Field]]) -> float:
        """Rows of boxes, the label small in the corner, the entry in pen below."""
        height = 12.0
        for row in rows:
            x = MARGIN
            for number, field in enumerate(row):
                last = number == len(row) - 1
                width = MARGIN + WIDTH - x if last else WIDTH * field.share
                self.frame(x, y, width, height, SLATE)
                self.say(x + 2, y + 1, field.label, LABEL)
                self.say(x + 2, y + 5.8, field.entry, ENTRY)
                x += width
            y += height
        return y

    def check(self, x: float, y: float, text: str, ticked: bool) -> None:
        self.frame(x, y, 4, 4, INK, 0.3)
        if ticked:
            for x0, y0, x1, y1 in ((0.5, 0.4, 3.6, 3.7), (3.7, 0.3, 0.4, 3.6)):
                self.rule(x + x0, y + y0, x + x1, y + y1, PEN, 0.6)
        self.say(x + 6, y - 0.1, text, PRINT)

    def grid(
        self,
        y: float,
        widths: Sequence[float],
        head: Sequence[str],
        rows: Sequence[Sequence[str]],
        height: float = 8.0,
    ) -> float:
        """A ruled grid; entries in pen, the last column to the right."""
        for number, row in enumerate([head, *rows]):
            x, is_head = MARGIN, number == 0
            face = LABEL if is_head else ENTRY
            for column, (text, width) in enumerate(zip(row, widths, strict=True)):
                if is_head:
                    self.fill_box(x, y, width, height, WASH)
                self.frame(x, y, width, height, SLATE)
                side = "R" if column == len(row) - 1 else "L"
                self.say(x + 2, y + (height - face.line) / 2, text, face, width - 4, side)
                x += width
            y += height
        return y

    def total(self, y: float, label: str, amount: str, height: float = 9.0) -> float:
        self.frame(MARGIN + WIDTH - 100, y, 70, height, SLATE)
        self.frame(MARGIN + WIDTH - 30, y, 30, height, SLATE)
        middle = y + (height - ENTRY.line) / 2
        self.say(MARGIN + WIDTH - 98, middle, label, PRINT.but(style="B"))
        self.say(MARGIN + WIDTH - 28, middle, amount, ENTRY.but(style="B"), 26, "R")
        return y + height


def write(path: Path) -> None:
    form = Form()
    _first_page(form)
    _second_page(form)
    form.save(path)


def _first_page(form: Form) -> None:
    form.add_page()
    form.say(MARGIN, 22, "Travel expense claim", TITLE)
    note = "Please write clearly. Amounts in euros. Keep a copy for yourself."
    form.say(MARGIN, 32, note, PRINT.but(colour=MUTED))
    y = form.fields(form.part(41, "1  Claimant"), CLAIMANT)
    y = form.fields(form.part(y + 6, "2  Journey"), TRIP)
    y = form.part(y + 6, "3  Means of transport")
    form.frame(MARGIN, y, WIDTH, 11, SLATE)
    for number, (name, ticked) in enumerate(TRANSPORT):
        form.check(MARGIN + 4 + number * WIDTH / len(TRANSPORT), y + 3.5, name, ticked)
    y = form.part(y + 17, "4  Expenses with receipts")
    head = ("No.", "Date", "What for", "Amount")
    y = form.grid(y, (12, 28, WIDTH - 70, 30), head, EXPENSES)
    form.total(y, "A  Sum", EXPENSES_SUM)


def _second_page(form: Form) -> None:
    form.add_page()
    y = form.part(24, "5  Own car (0.30 a kilometre)")
    widths = (28, WIDTH - 58, 30)
    y = form.grid(y, widths, ("Date", "Route", "Kilometres"), MILEAGE)
    y = form.total(y, "B  148 km", "44.40")
    y = form.part(y + 6, "6  Daily allowance")
    widths = (WIDTH - 70, 40, 30)
    y = form.grid(y, widths, ("Kind", "Rate", "Amount"), DAILY)
    y = form.total(y, "C  Sum", "67.20")
    y = form.part(y + 6, "7  Total")
    y = form.grid(y, (WIDTH - 30, 30), ("Item", "Amount"), SUMS)
    y = form.total(y, "To be paid to claimant", TO_PAY)
    y = form.part(y + 6, "8  Declaration")
    form.frame(MARGIN, y, WIDTH, 31, SLATE)
    for number, (text, ticked) in enumerate(DECLARATIONS):
        form.check(MARGIN + 4, y + 3.5 + number * 7, text, ticked)
    y += 37
    _signature(form, MARGIN, y, "Claimant, 16 June", "M. Achterberg")
    _signature(form, MARGIN + WIDTH / 2 + 3, y, "Approved by head of department", "J. Falkenrath")


def _signature(form: Form, x: float, y: float, label: str, name: str) -> None:
    width = WIDTH / 2 - 3
    form.frame(x, y, width, 22, SLATE)
    form.say(x + 2, y + 1, label, LABEL)
    form.say(x + 8, y + 8, name, Face(18, "I", PEN, "times"))

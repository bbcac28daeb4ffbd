"""product-launch-slides.pdf: few words, big numbers, a table, a chart and a timeline."""

from __future__ import annotations

from pathlib import Path

from samples.charts import Box, Chart, bars
from samples.sheet import AMBER, INK, MUTED, RULE, WASH, WHITE, WIDE, Colour, Face, Sheet
from samples.tables import table

NIGHT: Colour = (24, 36, 58)
PALE: Colour = (190, 200, 216)
GREEN: Colour = (46, 125, 91)
GREY: Colour = (160, 170, 184)

WIDTH, HEIGHT = WIDE
MARGIN = 20.0
INNER = WIDTH - 2 * MARGIN

TITLE = Face(28, "B", leading=1.1)
TEXT = Face(14)
NOTE = Face(10, colour=MUTED)
HUGE = Face(76, "B", AMBER, leading=1.0)

NUMBERS = (
    ("120 km", "on one charge", "with a full box, in town, at 5\xa0°C"),
    ("200 kg", "payload", "as much as eight crates of drinks"),
    ("38 min", "to 80 percent", "from an ordinary wall socket"),
)
NEW_PARTS = (
    (
        "Battery",
        "Two packs under the saddle. One key, ten seconds, and you ride on with fresh ones.",
    ),
    (
        "Cold box",
        "Keeps 4 °C for six hours without drawing power. Bakers and pharmacists asked for it.",
    ),
    ("Canopy", "Rain stays out, the view stays clear. Folds flat in one movement."),
)
COMPARISON_HEAD = ("", "Haulier 2", "Haulier 1", "Small van")
COMPARISON = (
    ("Payload", "200 kg", "150 kg", "650 kg"),
    ("Range", "120 km", "70 km", "310 km"),
    ("Energy for 100 km", "€0.90", "€1.10", "€8.40"),
    ("Room to park", "2.1 m²", "2.0 m²", "9.5 m²"),
    ("Driving licence", "none", "none", "car"),
    ("List price", "€6,490", "€5,290", "€24,900"),
)
COST = Chart(
    ("Diesel van", "Electric van", "Haulier 1", "Haulier 2"),
    {"Cost": (2.95, 2.40, 1.60, 1.25)},
    3.5,
    0.5,
    "Euros a parcel",
    "€{:.2f}",
    (AMBER,),
)
TIMELINE = (
    ("October", "First prototype", "12 bikes built by hand"),
    ("January", "Pilot", "3 cities, 40 riders"),
    ("April", "Orders open", "for existing customers"),
    ("June", "Launch", "at the Brennholt cargo fair"),
    ("September", "Second shift", "600 bikes a month"),
)
OFFERS = (
    ("Buy", "€6,490", "once", "Three years of guarantee, first service free"),
    ("Lease", "€149", "a month", "36 months, insurance and repairs included"),
    ("Fleet", "€129", "a month and bike", "From ten bikes, with a spare bike on site"),
)
STEPS = (
    ("Sales", "Call the 85 customers on the waiting list before the end of April"),
    ("Service", "Train two mechanics in each of our 14 workshops"),
    ("Marketing", "Film one working day with a pilot rider in Lowmere"),
)


def write(path: Path) -> None:
    deck = Sheet("Haulier 2: launch briefing", WIDE, MARGIN)
    for slide in (
        _opening,
        _problem,
        _numbers,
        _new_parts,
        _comparison,
        _cost,
        _timeline,
        _offers,
        _steps,
    ):
        slide(deck)
    deck.save(path)


def _slide(deck: Sheet, title: str) -> None:
    deck.add_page()
    deck.say(MARGIN, 15, title, TITLE)
    _foot(deck, NOTE)


def _foot(deck: Sheet, face: Face) -> None:
    deck.say(MARGIN, HEIGHT - 11, "Fennimore Cycles  |  Haulier 2", face)
    deck.say(MARGIN, HEIGHT - 11, str(deck.page_no()), face, INNER, "R")


def _opening(deck: Sheet) -> None:
    deck.add_page()
    deck.fill_box(0, 0, WIDTH, HEIGHT, NIGHT)
    deck.fill_box(0, 112, WIDTH, HEIGHT - 112, AMBER)
    deck.say(MARGIN, 28, "Haulier 2", Face(60, "B", WHITE, leading=1.0))
    deck.say(MARGIN, 56, "The delivery van that fits in a bike lane", Face(22, "", PALE))
    deck.say(MARGIN, 120, "Launch briefing for sales and service", Face(14, "B", NIGHT))
    deck.say(MARGIN, 120, "Fennimore Cycles", Face(14, "", NIGHT), INNER, "R")


def _problem(deck: Sheet) -> None:
    deck.add_page()
    deck.fill_box(0, 0, WIDTH, HEIGHT, NIGHT)
    deck.say(MARGIN, 30, "41 minutes", HUGE)
    text = "is what a van driver spends looking for a parking space. Every shift."
    deck.block(MARGIN, 66, text, Face(24, "", WHITE), INNER - 30)
    note = "Our survey of 312 drivers in Lowmere, Brennholt and Saint Orme"
    deck.say(MARGIN, 104, note, NOTE.but(size=12, colour=PALE))
    _foot(deck, NOTE.but(colour=PALE))


def _numbers(deck: Sheet) -> None:
    _slide(deck, "Further, stronger, sooner")
    width = INNER / 3
    for number, (figure, what, note) in enumerate(NUMBERS):
        x = MARGIN + number * width
        deck.fill_box(x, 46, 12, 1.4, AMBER)
        deck.say(x, 52, figure, Face(40, "B", NIGHT, leading=1.1))
        deck.say(x, 71, what, Face(18, "B"))
        deck.block(x, 83, note, TEXT.but(colour=MUTED), width - 12)


def _new_parts(deck: Sheet) -> None:
    _slide(deck, "Three things that are new")
    width, gap = (INNER - 16) / 3, 8.0
    for number, (name, text) in enumerate(NEW_PARTS):
        x = MARGIN + number * (width + gap)
        deck.fill_box(x, 42, width, 76, WASH)
        deck.set_fill_color(*NIGHT)
        deck.circle(x + 14, 56, 6.5, style="F")
        deck.say(x + 7.5, 52.6, str(number + 1), Face(15, "B", WHITE), 13, "C")
        deck.say(x + 8, 68, name, Face(18, "B", NIGHT))
        deck.block(x + 8, 80, text, Face(13), width - 14)


def _comparison(deck: Sheet) -> None:
    _slide(deck, "How it compares")
    widths = (INNER - 132, 44, 44, 44)
    deck.fill_box(MARGIN + widths[0], 50, 44, 69, (251, 240, 225))
    table(
        deck,
        MARGIN,
        38.5,
        widths,
        COMPARISON_HEAD,
        COMPARISON,
        face=TEXT,
        height=11.5,
        align="C",
        accent=NIGHT,
    )


def _cost(deck: Sheet) -> None:
    _slide(deck, "A parcel for €1.25")
    label = Face(12)
    box = Box(MARGIN + 10, 50, 128, 62)
    bars(deck, box, COST, value=Face(13, "B"), label=label)
    x, width = 172.0, WIDTH - MARGIN - 172
    deck.say(x, 48, "–58%", Face(40, "B", GREEN, leading=1.1))
    text = "against a diesel van, with wages, energy, insurance and upkeep counted."
    deck.block(x, 66, text, TEXT, width)
    deck.block(x, 96, "Inner city, 90 parcels a day, average of the pilot", NOTE, width)


def _timeline(deck: Sheet) -> None:
    _slide(deck, "From prototype to full production")
    y, slot = 72.0, INNER / len(TIMELINE)
    deck.rule(MARGIN, y, WIDTH - MARGIN, y, GREY, 1.0)
    for number, (month, step, note) in enumerate(TIMELINE):
        x = MARGIN + number * slot
        is_launch = step == "Launch"
        deck.set_fill_color(*(AMBER if is_launch else NIGHT))
        deck.circle(x + 4, y, 4.2 if is_launch else 3, style="F")
        deck.say(x, y - 17, month, Face(14, "B", AMBER if is_launch else MUTED))
        deck.say(x, y + 9, step, Face(15, "B"))
        deck.block(x, y + 18, note, Face(12, colour=MUTED), slot - 6)


def _offers(deck: Sheet) -> None:
    _slide(deck, "Three ways to get one")
    width, gap = (INNER - 16) / 3, 8.0
    for number, (name, price, period, text) in enumerate(OFFERS):
        x = MARGIN + number * (width + gap)
        preferred = name == "Lease"
        deck.frame(x, 42, width, 76, AMBER if preferred else RULE, 1.0 if preferred else 0.4)
        deck.say(x + 8, 50, name, Face(16, "B", MUTED))
        deck.say(x + 8, 62, price, Face(36, "B", NIGHT, leading=1.1))
        deck.say(x + 8, 78, period, Face(13, colour=MUTED))
        deck.block(x + 8, 93, text, Face(13, colour=INK), width - 14)


def _steps(deck: Sheet) -> None:
    _slide(deck, "What we need from you")
    for number, (team, task) in enumerate(STEPS):
        y = 44 + number * 22
        deck.fill_box(MARGIN, y, 44, 14, NIGHT)
        deck.say(MARGIN, y + 3.6, team, Face(14, "B", WHITE), 44, "C")
        deck.say(MARGIN + 52, y + 3.6, task, TEXT)
    deck.say(MARGIN, 112, "Questions? Petra Olmstead, extension 417", TEXT.but(style="B"))

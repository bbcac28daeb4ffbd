"""annual-report.pdf: text, tables and charts of a company's year."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from samples import report_content as content
from samples.charts import Box, Chart, bars, legend, lines, stacked_bars
from samples.sheet import (
    AMBER,
    HEADING,
    INK,
    MIST,
    RULE,
    SEA,
    SLATE,
    SMALL,
    TEAL,
    TITLE,
    WASH,
    WHITE,
    Face,
    Sheet,
)
from samples.tables import table

MARGIN = 24.0
WIDTH = 210 - 2 * MARGIN
TOP = 34.0
BODY = Face(11, leading=1.42)
STRONG = BODY.but(style="B")
LEVELS = {"High": AMBER, "Medium": SLATE, "Low": SEA}


class Report(Sheet):
    def __init__(self) -> None:
        super().__init__(f"{content.COMPANY}: Annual Report 2024", margin=MARGIN)

    def header(self) -> None:
        if self.page_no() > 1:
            self.say(MARGIN, 14, content.COMPANY, SMALL)
            self.say(MARGIN, 14, "Annual Report 2024", SMALL, WIDTH, "R")
            self.rule(MARGIN, 20, 210 - MARGIN, 20)

    def footer(self) -> None:
        if self.page_no() > 1:
            self.say(MARGIN, 281, str(self.page_no()), SMALL, WIDTH, "R")

    def chapter(self, title: str) -> None:
        self.add_page()
        self.say(MARGIN, TOP, title, TITLE)
        self.fill_box(MARGIN, TOP + 11.5, 18, 1.2, AMBER)
        self.set_xy(MARGIN, TOP + 20)

    def paragraphs(self, texts: Sequence[str], gap: float = 0.6) -> None:
        self.x = MARGIN
        for text in texts:
            self.flow(text, BODY, gap=gap)

    def sections(self, pairs: Sequence[tuple[str, str]]) -> None:
        for heading, text in pairs:
            self.flow(heading, HEADING.but(size=11.5), gap=0.25)
            self.flow(text, BODY, gap=1.0)


def write(path: Path) -> None:
    report = Report()
    for page in (
        _cover,
        _glance,
        _letter,
        _key_figures,
        _revenue,
        _costs,
        _people,
        _risks,
        _cash_flow,
        _notes,
        _late_notes,
        _outlook,
        _glossary,
    ):
        page(report)
    report.save(path)


def _cover(report: Report) -> None:
    report.add_page()
    report.fill_box(0, 0, 210, 297, TEAL)
    for number in range(9):  # waves, each a row of arcs
        y = 206 + number * 10
        report.set_draw_color(*(SEA if number % 3 else MIST))
        report.set_line_width(0.5 + number * 0.14)
        for wave in range(-1, 8):
            x = wave * 30 + (number % 2) * 15
            report.bezier([(x, y), (x + 8, y - 7), (x + 22, y - 7), (x + 30, y)])
    report.fill_box(MARGIN, 60, 18, 1.4, AMBER)
    report.say(MARGIN, 68, "Annual Report", Face(40, "B", WHITE, leading=1.1))
    report.say(MARGIN, 85, "2024", Face(40, "", MIST, leading=1.1))
    report.say(MARGIN, 112, "Knowing what is in the water", Face(15, "", WHITE))
    report.say(MARGIN, 24, content.COMPANY, Face(14, "B", WHITE))


def _glance(report: Report) -> None:
    report.chapter("Quillmere at a glance")
    report.paragraphs(content.GLANCE)
    y, gap = report.y + 5, 5.0
    width = (WIDTH - 2 * gap) / 3
    for number, (figure, meaning) in enumerate(content.BIG_NUMBERS):
        x = MARGIN + number * (width + gap)
        report.fill_box(x, y, width, 30, WASH)
        report.say(x + 5, y + 6, figure, Face(22, "B", TEAL))
        report.say(x + 5, y + 19, meaning, SMALL.but(size=8.5))
    report.set_xy(MARGIN, y + 46)
    report.flow("Contents", HEADING, gap=0.6)
    for name, page in content.SECTIONS:
        y = report.y
        report.say(MARGIN, y, name, BODY)
        report.say(MARGIN, y, str(page), BODY, WIDTH, "R")
        report.rule(MARGIN, y + 6.2, MARGIN + WIDTH, y + 6.2, RULE, 0.2)
        report.set_xy(MARGIN, y + 7.6)


def _letter(report: Report) -> None:
    report.chapter("Letter to shareholders")
    report.paragraphs(content.LETTER, gap=0.8)
    report.y += 8
    name, role = content.SIGNATURE
    report.flow(name, Face(17, "I", TEAL, "times"), gap=0.2)
    report.flow(role, SMALL)


def _key_figures(report: Report) -> None:
    report.chapter("Key figures")
    widths = (WIDTH - 66, 22, 22, 22)
    y = table(
        report,
        MARGIN,
        report.y,
        widths,
        ("Millions of euros", *content.YEARS),
        content.KEY_FIGURES,
        height=8,
    )
    report.block(MARGIN, y + 5, content.KEY_FIGURES_NOTE, SMALL, WIDTH)


def _revenue(report: Report) -> None:
    report.chapter("Revenue by region")
    unit, colours = "Millions of euros", (MIST, SEA, TEAL)
    chart = Chart(content.REGIONS, content.REVENUE, 80, 20, unit, colours=colours)
    box = Box(MARGIN + 8, report.y + 12, WIDTH - 8, 88)
    legend(report, MARGIN + WIDTH - 60, box.y - 10, chart)
    bars(report, box, chart, value=Face(7, "B", INK))
    report.y = box.y + box.h + 16
    report.paragraphs(content.REVENUE_TEXT)


def _costs(report: Report) -> None:
    report.chapter("Costs")
    colours = (TEAL, SEA, AMBER, MIST, SLATE)
    chart = Chart(content.YEARS, content.COSTS, 200, 50, "Millions of euros", colours=colours)
    box = Box(MARGIN + 8, report.y + 20, WIDTH - 8, 96)
    legend(report, MARGIN, report.y, chart)
    stacked_bars(report, box, chart)
    report.y = box.y + box.h + 16
    report.paragraphs(content.COSTS_TEXT)


def _people(report: Report) -> None:
    report.chapter("People")
    series = {"Employees": content.HEADCOUNT}
    chart = Chart(content.HEADCOUNT_YEARS, series, 1200, 300, "Employees at year end", "{:,}")
    box = Box(MARGIN + 8, report.y + 10, WIDTH - 8, 66)
    lines(report, box, chart)
    report.y = box.y + box.h + 14
    report.paragraphs(content.PEOPLE_TEXT)
    head = ("Employees by function, end of 2024", "People", "Share")
    table(report, MARGIN, report.y + 4, (WIDTH - 50, 25, 25), head, content.FUNCTIONS)


def _risks(report: Report) -> None:
    report.chapter("Risks")
    report.paragraphs([content.RISKS_TEXT])
    report.y += 3
    for name, level, text in content.RISKS:
        y, right = report.y, MARGIN + WIDTH
        report.say(MARGIN + 6, y, name, HEADING.but(size=11.5))
        report.fill_box(right - 20, y, 20, 5.6, LEVELS[level])
        report.say(right - 20, y + 0.9, level, Face(8, "B", WHITE), 20, "C")
        end = report.block(MARGIN + 6, y + 8, text, BODY, WIDTH - 6)
        report.fill_box(MARGIN, y, 1.2, end - y, LEVELS[level])
        report.set_xy(MARGIN, end + 10)


def _cash_flow(report: Report) -> None:
    report.chapter("Cash flow")
    head = ("Millions of euros", *content.YEARS[1:])
    widths = (WIDTH - 52, 26, 26)
    y = table(report, MARGIN, report.y, widths, head, content.CASH_FLOW, height=7.6)
    report.set_xy(MARGIN, y + 7)
    report.paragraphs([content.CASH_FLOW_TEXT])


def _notes(report: Report) -> None:
    report.chapter("Notes to the accounts")
    report.sections(content.NOTES)


def _late_notes(report: Report) -> None:
    report.chapter("Notes to the accounts, continued")
    report.sections([content.LOANS_TEXT])
    head = ("Loan", "Rate", "Due", "€ million")
    y = table(report, MARGIN, report.y - 1, (WIDTH - 66, 20, 20, 26), head, content.LOANS)
    report.set_xy(MARGIN, y + 9)
    report.sections(content.LATE_NOTES)


def _outlook(report: Report) -> None:
    report.chapter("Outlook")
    report.paragraphs(content.OUTLOOK)
    report.y += 4
    report.flow("Where we want to be", HEADING, gap=0.6)
    head = ("", "2024", "2025", "2028")
    y = table(report, MARGIN, report.y, (WIDTH - 84, 26, 32, 26), head, content.TARGETS, height=8)
    report.set_xy(MARGIN, y + 12)
    report.flow("Dates to note", HEADING, gap=0.6)
    for date, event in content.CALENDAR:
        y = report.y
        report.say(MARGIN, y, date, STRONG)
        report.say(MARGIN + 40, y, event, BODY)
        report.set_xy(MARGIN, y + 7.5)


def _glossary(report: Report) -> None:
    report.chapter("Glossary")
    for term, meaning in content.GLOSSARY:
        y = report.y
        report.say(MARGIN, y, term, STRONG)
        y = report.block(MARGIN + 40, y, meaning, BODY, WIDTH - 40)
        report.rule(MARGIN, y + 2, MARGIN + WIDTH, y + 2, RULE, 0.2)
        report.set_xy(MARGIN, y + 5)
    report.block(MARGIN, 262, content.CONTACT, SMALL, WIDTH)

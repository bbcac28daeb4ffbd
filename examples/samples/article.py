"""tidal-energy-article.pdf: an article in two columns, with figures, tables and references."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from samples import article_content as content
from samples.charts import Box
from samples.sheet import AMBER, INK, MUTED, RULE, SLATE, TEAL, WASH, Face, Sheet
from samples.tables import table

MARGIN = 19.0
GUTTER = 7.0
COLUMN = (210 - 2 * MARGIN - GUTTER) / 2
TOP = 27.0

TEXT = Face(11.5, family="times", leading=1.32)
SECTION = Face(11, "B", leading=1.25)
SUBSECTION = Face(10, "BI", leading=1.25)
CAPTION = Face(8.2, colour=MUTED, leading=1.25)
TICK = Face(7.5, colour=MUTED)


class Article(Sheet):
    """Text runs down the left column, then the right one, then on to the next page."""

    def __init__(self) -> None:
        super().__init__(content.TITLE, margin=MARGIN)
        self.set_auto_page_break(True, 24)
        self.column = 0
        self.column_top = TOP

    @property
    def accept_page_break(self) -> bool:
        if self.column == 0:
            self.column = 1
            self.x, self.y = MARGIN + COLUMN + GUTTER, self.column_top
            return False
        self.column, self.column_top = 0, TOP
        self.x = MARGIN
        return True

    def header(self) -> None:
        self.say(MARGIN, 13, content.JOURNAL, CAPTION)
        if self.page_no() > 1:
            self.say(MARGIN, 13, "Lindqvar et al.", CAPTION, 210 - 2 * MARGIN, "R")
        self.rule(MARGIN, 19, 210 - MARGIN, 19)
        self.set_xy(MARGIN, TOP)

    def footer(self) -> None:
        self.say(MARGIN, 281, str(200 + self.page_no()), CAPTION, 210 - 2 * MARGIN, "C")

    def room_for(self, height: float) -> None:
        """Go on to the next column if `height` does not fit into this one."""
        if self.will_page_break(height):
            self.add_page()

    def paragraph(self, text: str, face: Face = TEXT, gap: float = 0.0, align: str = "J") -> None:
        self.room_for(2 * face.line)
        self.flow(text, face, width=COLUMN, gap=gap, align=align)

    def heading(self, text: str, face: Face = SECTION) -> None:
        at_top = self.y <= self.column_top + 0.1
        self.room_for(5 * TEXT.line)
        if not at_top and self.y > self.column_top + 0.1:
            self.y += 0.6 * TEXT.line
        self.flow(text, face, width=COLUMN, gap=0.25)


def write(path: Path) -> None:
    article = Article()
    article.add_page()
    _opening(article)
    for heading, paragraphs in content.SECTIONS:
        article.heading(heading)
        _section(article, paragraphs)
    heading, text = content.CLOSING
    article.heading(heading, SUBSECTION)
    article.paragraph(text)
    article.room_for(article.h)  # a new column
    article.heading("References")
    for number, reference in enumerate(content.REFERENCES, 1):
        face = TEXT.but(size=10)
        article.paragraph(f"[{number}]  {reference}", face, gap=0.2, align="L")
    article.save(path)


def _opening(article: Article) -> None:
    width = 210 - 2 * MARGIN
    y = article.block(MARGIN, 29, content.TITLE, Face(21, "B", leading=1.18), width - 10)
    y = article.block(MARGIN, y + 4, content.AUTHORS, Face(11), width)
    y = article.block(MARGIN, y + 0.8, content.PLACE, Face(9.5, "I", MUTED), width)
    article.rule(MARGIN, y + 5, 210 - MARGIN, y + 5, INK, 0.3)
    article.say(MARGIN, y + 8.5, "Abstract", SECTION)
    y = article.block(MARGIN + 24, y + 8.4, content.ABSTRACT, TEXT.but(style="I"), width - 24, "J")
    article.rule(MARGIN, y + 4, 210 - MARGIN, y + 4, INK, 0.3)
    article.column_top = y + 10
    article.set_xy(MARGIN, article.column_top)


def _section(article: Article, paragraphs: tuple[str, ...]) -> None:
    for text in paragraphs:
        if text in FLOATS:
            FLOATS[text](article)
        elif text[0].isdigit() and len(text) < 40:
            article.heading(text, SUBSECTION)
        else:
            article.paragraph(text, gap=0.35)


def _framed(article: Article, height: float, caption: str, draw: Callable[[Box], None]) -> None:
    """A figure of the column's width, and its caption below; both stay together."""
    article.room_for(height + 4 * CAPTION.line + 8)
    if article.y > article.column_top + 0.1:
        article.y += 4
    x, y = article.x, article.y
    draw(Box(x, y, COLUMN, height))
    article.block(x, y + height + 2, caption, CAPTION, COLUMN)
    article.set_xy(x, article.y + 5)


def _figure_1(article: Article) -> None:
    def draw(frame: Box) -> None:
        middle, y = frame.x + frame.w / 2, frame.y + 18
        article.fill_box(frame.x, frame.y, frame.w, 36, WASH)
        article.set_fill_color(*RULE)
        for ridge in range(9):  # rough ground in the north
            x = frame.x + 3 + ridge * 3.6
            base, peak = frame.y + 34, frame.y + 30
            article.polygon([(x, base), (x + 1.8, peak), (x + 3.6, base)], style="F")
        article.say(frame.x + 2, frame.y + 1.5, "North: rock", TICK)
        article.say(frame.x, frame.y + 1.5, "South: gravel", TICK, frame.w - 2, "R")
        article.rule(frame.x, y, frame.x + frame.w, y, RULE, 0.3)
        article.rule(middle, y - 7, middle, y + 7, INK, 1.0)
        article.say(middle - 10, y + 8, "rotor", TICK.but(colour=INK), 20, "C")
        article.set_fill_color(*TEAL)
        article.circle(middle, y - 12, 1.3, style="F")
        article.say(middle + 2.5, y - 13.6, "reference", TICK)
        for side in (-1, 1):
            for distance in content.DISTANCES:
                _profiler(article, middle + side * distance * 2.35, y, side, distance)

    _framed(article, 36, content.FIGURE_1_CAPTION, draw)


def _profiler(article: Article, x: float, y: float, side: int, distance: int) -> None:
    lost = side < 0 and distance == 16
    if lost:
        article.rule(x - 1.3, y - 1.3, x + 1.3, y + 1.3, AMBER, 0.6)
        article.rule(x - 1.3, y + 1.3, x + 1.3, y - 1.3, AMBER, 0.6)
    else:
        article.set_fill_color(*TEAL)
        article.circle(x, y, 1.3, style="F")
    article.say(x - 4, y + 2, str(distance), TICK, 8, "C")


def _figure_2(article: Article) -> None:
    def draw(frame: Box) -> None:
        box = Box(frame.x + 9, frame.y + 6, frame.w - 11, frame.h - 16)
        _decay(article, box)

    _framed(article, 62, content.FIGURE_2_CAPTION, draw)


def _decay(article: Article, box: Box) -> None:
    top, end = 50.0, 18.0

    def place(distance: float, deficit: float) -> tuple[float, float]:
        return box.x + box.w * distance / end, box.y + box.h * (1 - deficit / top)

    article.say(box.x - 8, box.y - 6, "Loss of speed, percent", TICK)
    for deficit in range(0, 51, 10):
        y = place(0, deficit)[1]
        article.rule(box.x, y, box.x + box.w, y, MUTED if deficit == 0 else RULE, 0.2)
        article.say(box.x - 8, y - TICK.line / 2, str(deficit), TICK, 6, "R")
    for distance in content.DISTANCES:
        x = place(distance, 0)[0]
        article.say(x - 5, box.y + box.h + 1, str(distance), TICK, 10, "C")
    label_y = box.y + box.h + 5
    article.say(box.x, label_y, "Distance behind the rotor, diameters", TICK, box.w, "C")
    article.set_dash_pattern(1.2, 1)
    article.rule(*place(0, 10), *place(end, 10), INK, 0.3)
    article.set_dash_pattern()
    for (name, deficits), colour in zip(content.DEFICIT.items(), (TEAL, AMBER), strict=True):
        points = [place(*pair) for pair in zip(content.DISTANCES, deficits, strict=True)]
        article.set_draw_color(*colour)
        article.set_fill_color(*colour)
        article.set_line_width(0.5)
        article.polyline(points)
        for x, y in points:
            article.circle(x, y, 0.9, style="F")
        row = list(content.DEFICIT).index(name)
        y = box.y + 2 + row * 4.5
        article.rule(box.x + box.w - 27, y + 1.8, box.x + box.w - 21, y + 1.8, colour, 0.7)
        article.say(box.x + box.w - 19, y, name, TICK.but(colour=INK))


def _figure_3(article: Article) -> None:
    def draw(frame: Box) -> None:
        scale = (frame.w - 32) / 15
        for row, (name, length) in enumerate(content.RECOVERY.items()):
            y = frame.y + 2 + row * 10
            colour = TEAL if row == 0 else SLATE
            article.say(frame.x, y + 1.6, name, TICK.but(colour=INK))
            article.fill_box(frame.x + 27, y, length * scale, 7, colour)
            figure = f"{length:.1f}"
            article.say(frame.x + 28.5 + length * scale, y + 1.4, figure, Face(8, "B"))

    _framed(article, 22, content.FIGURE_3_CAPTION, draw)


def _table(
    article: Article,
    caption: str,
    widths: tuple[float, ...],
    head: tuple[str, ...],
    rows: tuple[tuple[str, ...], ...],
) -> None:
    height = 5.4
    article.room_for(height * (len(rows) + 1) + 2 * CAPTION.line + 10)
    if article.y > article.column_top + 0.1:
        article.y += 4
    x = article.x
    y = article.block(x, article.y, caption, CAPTION, COLUMN) + 1.5
    shares = tuple(COLUMN * width for width in widths)
    y = table(article, x, y, shares, head, rows, face=Face(8.5), height=height, accent=SLATE)
    article.set_xy(x, y + 5)


def _table_1(article: Article) -> None:
    head, rows = content.TABLE_1_HEAD, content.TABLE_1
    _table(article, content.TABLE_1_CAPTION, (0.6, 0.4), head, rows)


def _table_2(article: Article) -> None:
    head, rows = content.TABLE_2_HEAD, content.TABLE_2
    _table(article, content.TABLE_2_CAPTION, (0.28, 0.24, 0.24, 0.24), head, rows)


def _table_3(article: Article) -> None:
    head, rows = content.TABLE_3_HEAD, content.TABLE_3
    _table(article, content.TABLE_3_CAPTION, (0.42, 0.32, 0.26), head, rows)


FLOATS: dict[str, Callable[[Article], None]] = {
    "FIGURE_1": _figure_1,
    "FIGURE_2": _figure_2,
    "FIGURE_3": _figure_3,
    "TABLE_1": _table_1,
    "TABLE_2": _table_2,
    "TABLE_3": _table_3,
}

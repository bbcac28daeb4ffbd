"""Tables that stay readable on a narrow terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from docpruner.cli.output import console

EDGES = 3  # characters around a column


def headed_table() -> Table:
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1))


def plain_table() -> Table:
    """Names in the first column, in the second what they stand for."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    return table


def print_table(table: Table) -> None:
    """A table; where it would break words to fit, its rows one below the other instead."""
    to = console()
    if _least_width(table, to) <= to.width:
        to.print(table)
        return
    for row in zip(*(column.cells for column in table.columns), strict=True):
        cells = [_text(cell, to) for cell in row]
        if not table.show_header and not table.show_lines:
            to.print(Text(" ").join(cells))
            continue
        for title, cell in zip(_titles(table), cells, strict=True):
            if cell.plain.strip():
                to.print(Text.assemble((title, "dim"), cell))
        to.print()


def _titles(table: Table) -> list[str]:
    """Of the columns; what a row is about needs none."""
    headers = [str(column.header) for column in table.columns]
    subject = next((header for header in headers if header), "")
    return [f"{header} " if header not in ("", subject) else "" for header in headers]


def _least_width(table: Table, to: Console) -> int:
    wide = to.options.update(width=10_000)
    least = 0
    for column in table.columns:
        cells = [_text(cell, to) for cell in (column.header, *column.cells)]
        sizes = [to.measure(cell, options=wide) for cell in cells]
        least += EDGES + max(size.maximum if column.no_wrap else size.minimum for size in sizes)
    return least


def _text(cell: RenderableType, to: Console) -> Text:
    return cell if isinstance(cell, Text) else to.render_str(str(cell))

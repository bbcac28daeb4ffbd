"""The results for the terminal: a table, and a small one of what encoding costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from docpruner.evaluate.measuring.latency import Latency
from docpruner.evaluate.measuring.methods import BASE_CODEC
from docpruner.evaluate.measuring.results import Results, SettingResult
from docpruner.evaluate.measuring.text_baseline import TextResult
from docpruner.evaluate.report.efficiency_tables import encoding
from docpruner.evaluate.report.findings import by_method, storage_front
from docpruner.reduce import Stage, reducer

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

BEST = "*"


def results_table(results: Results) -> Table:
    """The base, then each method under its name, the least pruned first. Fits 80 columns."""
    from rich.text import Text

    table = _table(
        f"{results.data}, {results.encoder}: {results.pages:,} pages, {results.queries:,} queries",
        f"{BEST} nothing smaller ranks as well; ± is half the 95 % interval;\n"
        "parameters not named are at their defaults",
    )
    table.add_column("setting", overflow="fold")
    for name in (results.measure_name, "±", "of base", "p", "pruned", "kB/page", "search"):
        table.add_column(name, justify="right", no_wrap=True)
    best = {id(setting) for setting in storage_front(results)}
    for method, settings in by_method(results.settings).items():
        if method != results.base.method:
            table.add_row(Text(method, "bold"))
        for setting in settings:
            style = "bold" if setting is results.base else "green" if id(setting) in best else ""
            table.add_row(*_row(results, setting, id(setting) in best), style=style)
            if setting is results.base:
                for by_text in results.text:
                    table.add_row(*_text_row(by_text))
    return table


def latency_table(latency: Latency) -> Table:
    """What encoding costs, beside the paper. Fits 80 columns."""
    from rich.text import Text

    timed = f"{latency.pages} pages timed, {latency.ocr_pages} by OCR"
    table = _table(f"Encoding a page ({timed})", None)
    table.add_column("")
    for name in ("here", "compared", "paper, per document"):
        table.add_column(name, justify="right")
    for way, (here, against, _, papers) in encoding(latency):
        table.add_row(*map(Text, (way.replace("`", ""), here, against, papers)))
    return table


def _table(title: str, caption: str | None) -> Table:
    from rich.table import Table
    from rich.text import Text

    return Table(
        title=Text(title),
        caption=caption,
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        header_style="dim",
        title_justify="left",
        caption_justify="left",
    )


def _name(results: Results, setting: SettingResult) -> str:
    """Only the parameters that are not at their defaults: its method is named above."""
    codec = "" if setting.codec == BASE_CODEC else f" @{setting.codec}"
    if setting.method == results.base.method:
        return f"base{codec}"
    stages = filter(None, map(_changed, reducer(setting.spec).stages))
    return f"{' + '.join(stages) or setting.spec}{codec}"


def _changed(stage: Stage) -> str:
    """Of a stage whose parameters are all at their defaults, the first, which is the paper's."""
    known = stage.strategy.parameters
    changed = tuple((name, value) for name, value in stage.values if value != known[name].default)
    shorter = replace(stage, values=changed or stage.values[:1])
    return str(shorter).partition(":")[2].replace(",", " ")


def _text_row(result: TextResult) -> list[RenderableType]:
    """Full-text search, which stores words, and nothing that could be pruned."""
    from rich.text import Text

    stored = f"{result.text_bytes_per_page / 1000:.1f}" if result.name == "bm25" else ""
    return [*map(Text, (result.name, *_measured(result), "", stored, ""))]


def _measured(result: SettingResult | TextResult) -> tuple[str, str, str, str]:
    low, high = result.ci
    return (
        f"{result.score:.3f}",
        f"{(high - low) / 2:.3f}",
        "–" if result.relative is None else f"{result.relative:.1%}",
        f"{result.p:.3f}" if result.p >= 0.001 else "<.001",
    )


def _row(results: Results, setting: SettingResult, marked: bool) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    name = Text(_name(results, setting) + (f" {BEST}" if marked else ""))
    indent = 0 if setting.method == results.base.method else 2
    values = (
        *_measured(setting),
        f"{setting.pruned:.1%}",
        f"{setting.stored_bytes / 1000:.1f}",
        f"{setting.search_time:.0%}",
    )
    return [Padding(name, (0, 0, 0, indent)), *map(Text, values)]

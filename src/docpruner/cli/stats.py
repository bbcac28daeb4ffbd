"""`docpruner stats`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.table import Table

from docpruner.cli.arguments import IndexArgument
from docpruner.cli.output import (
    JsonOption,
    console,
    counted,
    plain,
    print_json,
    saving,
    shown_bytes,
    shown_path,
    styled,
)
from docpruner.cli.tables import plain_table, print_table
from docpruner.cli.tune import describe

if TYPE_CHECKING:
    from docpruner.stores.records import FirstStageState, Stats

BAR = 30  # characters of the longest
LABELS = 25  # characters before a bar


def show(index: IndexArgument, json: JsonOption = False) -> None:
    """Show what an index holds, and how much smaller pruning made it.

    Example: `docpruner stats reports.idx`
    """
    from docpruner.facade import Index

    with Index.open(index) as opened:
        stats, first_stage = opened.stats(), opened.first_stage()
    if json:
        staged = None if first_stage is None else asdict(first_stage)
        print_json({**asdict(stats), "first_stage": staged})
        return
    show_stats(opened.location, stats, first_stage)


def show_stats(location: str, stats: Stats, first_stage: FirstStageState | None = None) -> None:
    settings = stats.settings
    table = plain_table()
    table.add_row("index", plain(shown_path(location), "bold"))
    table.add_row("encoder", styled(f"{{}}, {settings.dim} dimensions", settings.encoder))
    table.add_row("reduction", plain(settings.spec))
    kept = "" if settings.importances else "; without the importances of pruned patches"
    table.add_row("codec", f"{settings.codec}, {settings.row_bytes} bytes a vector{kept}")
    missing = f", [yellow]{stats.missing_pages:,} missing[/]" if stats.missing_pages else ""
    table.add_row("documents", f"{stats.documents:,}")
    table.add_row("pages", f"{stats.pages:,}{missing}")
    share = f" ({stats.vectors / stats.vectors_unpruned:.1%})" if stats.vectors_unpruned else ""
    table.add_row("vectors", f"{stats.vectors:,} of {stats.vectors_unpruned:,}{share}")
    table.add_row("on disk", _on_disk(stats))
    if settings.budget:
        table.add_row("budget", settings.budget)
    table.add_row("unpruned", f"{shown_bytes(stats.bytes_unpruned_float16)} in float16")
    if first_stage is not None:
        table.add_row("first stage", _first_stage(first_stage))
    print_table(table)
    if stats.pages:
        to = console()
        block = "#" if to.options.ascii_only else "█"
        print_table(_distribution(stats, block, max(1, min(BAR, to.width - LABELS))))


def _first_stage(state: FirstStageState) -> str:
    text = f"{state.centroids:,} centroids, {shown_bytes(state.bytes_on_disk)}; "
    if state.pages_outside:
        text += f"{counted(state.pages_outside, 'page')} not in it yet, always scored; "
    if state.tuning is None:
        return f"{text}{state.candidates:,} candidates, [yellow]not measured[/]: docpruner tune"
    return text + describe(state.tuning)


def _on_disk(stats: Stats) -> str:
    text = f"{shown_bytes(stats.bytes_on_disk)}, {shown_bytes(stats.bytes_of_vectors)} of vectors"
    if stats.bytes_unpruned_float16:
        text += f": {saving(stats.bytes_on_disk, stats.bytes_unpruned_float16)}"
    if stats.bytes_reclaimable:
        text += f"; docpruner compact frees [yellow]{shown_bytes(stats.bytes_reclaimable)}[/]"
    return text


def _distribution(stats: Stats, block: str, width: int) -> Table:
    """How much was pruned of how many pages."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="cyan", no_wrap=True)
    most = max(stats.pruned_histogram)
    there = [step for step, pages in enumerate(stats.pruned_histogram) if pages]
    for step in range(there[0], there[-1] + 1):
        pages = stats.pruned_histogram[step]
        what = f"pruned {step * 10}–{step * 10 + 10}%"
        table.add_row(what, f"{pages:,}", block * -(-pages * width // most))
    return table

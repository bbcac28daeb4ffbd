"""The settings that a budget is met by, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docpruner.cli.output import console, shown_bytes
from docpruner.cli.tables import headed_table, print_table
from docpruner.pipeline.measured_front import MEASURED_ON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from docpruner.pipeline.budget import Choice


def show_choices(choices: Sequence[Choice], budget: str | None) -> None:
    """What an index can still be given, the mildest first, and which of it a budget chooses."""
    chosen = None if budget is None else next((each for each in choices if each.fits), None)
    table = headed_table()
    table.add_column("")
    for title in ("spec", "codec"):
        table.add_column(title, no_wrap=True)
    for title in ("vectors", "on disk", "nDCG@5"):
        table.add_column(title, justify="right", no_wrap=True)
    for place, choice in enumerate(choices):
        mark = "→" if choice is chosen else "now" if place == 0 else ""
        table.add_row(
            mark,
            choice.spec,
            choice.codec,
            f"{choice.vectors:,}",
            shown_bytes(choice.bytes),
            "not measured" if choice.ndcg_kept is None else f"{choice.ndcg_kept:.1%}",
            style="bold" if choice is chosen else None,
        )
    print_table(table)
    console().print(
        f"[dim]nDCG@5: share kept on {MEASURED_ON}; yours may differ: docpruner calibrate[/]"
    )


def told_cost(ndcg_kept: float | None) -> str:
    return "nDCG@5 not measured" if ndcg_kept is None else f"nDCG@5 as measured: {ndcg_kept:.1%}"

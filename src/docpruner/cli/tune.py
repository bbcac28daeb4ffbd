"""`docpruner tune`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docpruner.cli.arguments import DeviceOption, IndexArgument, TrustOption, WaitOption
from docpruner.cli.output import JsonOption, console, counted, counting, print_json, shown_path
from docpruner.errors import DataError

if TYPE_CHECKING:
    from docpruner.stores.records import Tuning


def run(
    index: IndexArgument,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries", metavar="FILE", help="Real queries to measure with, one a line of text."
        ),
    ] = None,
    target: Annotated[
        float,
        typer.Option(min=0.5, max=0.9999, help="Share of the exact ten best pages to find."),
    ] = 0.99,
    renew: Annotated[
        bool, typer.Option("--renew", help="Train the first stage anew before.")
    ] = False,
    device: DeviceOption = None,
    trust_remote_code: TrustOption = False,
    wait: WaitOption = 10.0,
    json: JsonOption = False,
) -> None:
    """Measure what the quick search of a large index misses, and set how far it looks.

    Large indexes are searched in two stages: lists of centroids choose candidates, which are then
    scored exactly. This compares that with scoring every page, on queries made from pages of the
    index and on any that you give, and chooses the fewest candidates that find the TARGET share of
    the ten best. Real queries tell more than made ones.

    Example: `docpruner tune archive.idx --queries questions.txt`
    """
    from docpruner.facade import Index

    asked = [] if queries is None else _read(queries)
    with Index.open(index, device=device, trust_remote_code=trust_remote_code) as opened:
        if renew:
            with counting("training", quiet=json) as progress:
                opened.renew_first_stage(wait=wait, progress=progress)
        with counting("measuring", quiet=json) as progress:
            tuning = opened.tune(asked, target=target, wait=wait, progress=progress)
    if json:
        print_json({"target": target, **asdict(tuning)})
        return
    console().print(describe(tuning))
    if tuning.recall < target:
        console().print(f"[yellow]No number of candidates finds {target:.1%}[/]; use --exact")


def describe(tuning: Tuning) -> str:
    low, high = tuning.interval
    made = tuning.queries - tuning.asked
    sources = [f"{made} made from pages"] if made else []
    sources += [f"{tuning.asked} given"] if tuning.asked else []
    return (
        f"{counted(tuning.candidates, 'candidate')}: recall@10 [green]{tuning.recall:.1%}[/] "
        f"({low:.1%} to {high:.1%}, {tuning.queries:,} queries: "
        f"{' and '.join(sources)}), {tuning.milliseconds:,.0f} ms a search instead of "
        f"{tuning.exact_milliseconds:,.0f} ms"
    )


def _read(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{shown_path(str(path))} can't be read as text ({error})") from None
    queries = [line.strip() for line in lines if line.strip()]
    if not queries:
        raise DataError(f"{shown_path(str(path))} holds no queries; write one on each line")
    return queries

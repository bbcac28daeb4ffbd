"""`docpruner reproduce`."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from docpruner.cli.arguments import DeviceOption, TrustOption
from docpruner.cli.evaluate import CacheOption, LatencyOption, OcrOption, make_study, measure
from docpruner.cli.output import JsonOption, console, print_json

if TYPE_CHECKING:
    from docpruner.evaluate.results import Results


class Benchmark(StrEnum):
    VIDORE_V2 = "vidore-v2"
    JINAVDR = "jinavdr"


def run(
    benchmark: Annotated[Benchmark, typer.Argument(help="Of the paper.", show_default=False)],
    encoder: Annotated[
        str, typer.Option("--encoder", help="A Hugging Face repository or a folder.")
    ] = "vidore/colqwen2.5-v0.2",
    methods: Annotated[
        str, typer.Option(help="paper, or settings with commas between them.")
    ] = "paper",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for tables, figures and reports.")
    ] = Path("reproduction"),
    cache: CacheOption = None,
    ocr: OcrOption = False,
    latency: LatencyOption = 0,
    device: DeviceOption = None,
    trust_remote_code: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Run the paper's experiment and print our figures beside its own.

    Data sets are downloaded, or taken from copies below the current folder (vidore/…, jinaai/…).

    Example: `docpruner reproduce vidore-v2 --encoder vidore/colqwen2.5-v0.2`
    """
    from docpruner.evaluate.console import latency_table
    from docpruner.evaluate.hub import load_benchmark
    from docpruner.evaluate.reproduction import compared
    from docpruner.evaluate.study import write_all

    sets = load_benchmark(benchmark.value)
    study = make_study(encoder, methods, cache, ocr, device, trust_remote_code, latency)
    done: list[Results] = []
    for data in sets:
        encoded, measured = measure(study, data, quiet=json)
        write_all(encoded, measured.results, output / data.name.replace("/", "_"))
        done.append(measured.results)
    rows = compared(benchmark.value, done)
    timed = {results.data: results.latency for results in done if results.latency is not None}
    if json:
        told = {"benchmark": benchmark.value, "encoder": done[0].encoder}
        seconds = {name: asdict(found) for name, found in timed.items()}
        print_json({**told, "measure": done[0].measure, "settings": rows, "latency": seconds})
        return
    title = f"{benchmark.value}, {done[0].encoder}, mean of {len(done)}"
    console().print(table(title, done[0].measure_name, rows))
    for name, found in timed.items():
        console().print(name, style="bold", markup=False)
        console().print(latency_table(found))


def table(title: str, measure: str, rows: list[dict[str, Any]]) -> Table:
    shown = Table(title=title, box=box.SIMPLE_HEAD)
    shown.add_column("setting", style="cyan", no_wrap=True)
    for column in (measure, "paper", "±", "pruned", "paper", "±"):
        shown.add_column(column, justify="right")
    for row in rows:
        known = "paper_score" in row
        shown.add_row(
            row["spec"],
            f"{row['score']:.4f}",
            f"{row['paper_score']:.4f}" if known else "",
            f"{row['difference']:+.4f}" if known else "",
            f"{row['pruned']:.1%}",
            f"{row['paper_pruned']:.1%}" if known else "",
            f"{100 * row['pruned_difference']:+.1f}" if known else "",
            style="bold" if known else None,
        )
    return shown

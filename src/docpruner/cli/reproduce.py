"""`docpruner reproduce`."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from docpruner.cli.arguments import (
    AttentionOption,
    BatchSizeOption,
    DeviceOption,
    DevicesOption,
    DtypeOption,
    OcrLanguageOption,
    TrustOption,
    VisualTokensOption,
    read_model_options,
    read_ocr,
)
from docpruner.cli.evaluate import (
    CacheOption,
    ForceOption,
    LatencyOption,
    OcrOption,
    folder_of,
    load_data,
    make_study,
    measure,
    refuse_to_replace,
)
from docpruner.cli.output import JsonOption, console, print_json

if TYPE_CHECKING:
    from docpruner.evaluate.measuring.results import Results


class Benchmark(StrEnum):
    VIDORE_V2 = "vidore-v2"
    JINAVDR = "jinavdr"


def run(
    benchmark: Annotated[
        Benchmark, typer.Argument(help="One of the paper's benchmarks.", show_default=False)
    ],
    encoder: Annotated[
        str, typer.Option("--encoder", help="A Hugging Face repository, or a folder.")
    ] = "vidore/colqwen2.5-v0.2",
    methods: Annotated[
        str, typer.Option(help="paper, or settings with commas between them.")
    ] = "paper",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for tables, figures and reports.")
    ] = Path("reproduction"),
    cache: CacheOption = None,
    ocr: OcrOption = None,
    ocr_language: OcrLanguageOption = None,
    latency: LatencyOption = 0,
    force: ForceOption = False,
    device: DeviceOption = None,
    devices: DevicesOption = None,
    dtype: DtypeOption = None,
    batch_size: BatchSizeOption = None,
    attention: AttentionOption = None,
    max_visual_tokens: VisualTokensOption = None,
    trust_remote_code: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Run the paper's experiment and print our figures beside its own.

    Data sets are downloaded, or taken from copies in the current folder (vidore/…, jinaai/…).

    Example: `docpruner reproduce vidore-v2 --encoder vidore/colqwen2.5-v0.2`
    """
    from docpruner.evaluate.report.console import latency_table
    from docpruner.evaluate.report.paper_figures import compared
    from docpruner.evaluate.report.written_files import write_all

    sets = load_data(benchmark.value)
    folders = [folder_of(data, output) for data in sets]
    refuse_to_replace(folders, force=force)
    options = read_model_options(
        device, devices, dtype, batch_size, attention, max_visual_tokens, trust_remote_code
    )
    study = make_study(encoder, methods, cache, read_ocr(ocr, ocr_language), options, latency)
    done: list[Results] = []
    for data, folder in zip(sets, folders, strict=True):
        encoded, evaluation = measure(study, data, quiet=json)
        write_all(encoded, evaluation.results, folder)
        done.append(evaluation.results)
    rows = compared(benchmark.value, done)
    timed = {results.data: results.latency for results in done if results.latency is not None}
    if json:
        head = {"benchmark": benchmark.value, "encoder": done[0].encoder}
        seconds = {name: asdict(times) for name, times in timed.items()}
        print_json({**head, "measure": done[0].measure, "settings": rows, "latency": seconds})
        return
    title = f"{benchmark.value}, {done[0].encoder}, mean of {len(done)} data sets"
    console().print(table(title, done[0].measure_name, rows))
    for name, times in timed.items():
        console().print(name, style="bold", markup=False)
        console().print(latency_table(times))


def table(title: str, measure: str, rows: list[dict[str, Any]]) -> Table:
    compared = Table(title=title, box=box.SIMPLE_HEAD)
    compared.add_column("setting", style="cyan", no_wrap=True)
    for column in (measure, "paper", "±", "pruned", "paper", "±"):
        compared.add_column(column, justify="right")
    for row in rows:
        known = "paper_score" in row
        compared.add_row(
            row["spec"],
            f"{row['score']:.4f}",
            f"{row['paper_score']:.4f}" if known else "",
            f"{row['difference']:+.4f}" if known else "",
            f"{row['pruned']:.1%}",
            f"{row['paper_pruned']:.1%}" if known else "",
            f"{100 * row['pruned_difference']:+.1f}" if known else "",
            style="bold" if known else None,
        )
    return compared

"""`docpruner evaluate`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

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
from docpruner.cli.encoding_bar import EncodingBar
from docpruner.cli.output import JsonOption, console, counting, print_json, shown_path
from docpruner.encoders.registry import EncoderName
from docpruner.errors import DataError

if TYPE_CHECKING:
    from docpruner.encoders.model_options import ModelOptions
    from docpruner.evaluate.data.data_sets import DataSet
    from docpruner.evaluate.measuring.encoded import EncodedData
    from docpruner.evaluate.measuring.evaluation import Evaluation
    from docpruner.evaluate.measuring.study import Study
    from docpruner.types import Ocr

EncoderOption = Annotated[
    str, typer.Option("--encoder", help="builtin, a Hugging Face repository, or a folder.")
]
CacheOption = Annotated[
    Path | None,
    typer.Option(
        "--cache", help="Folder that keeps encoded pages. [default: ~/.cache/docpruner/evaluate]"
    ),
]
OcrOption = Annotated[
    bool | None,
    typer.Option(
        "--ocr/--no-ocr",
        help="Recognise the words of pages that have none. [default: if the extra ocr is there]",
    ),
]
LatencyOption = Annotated[
    int,
    typer.Option(
        metavar="PAGES", min=0, help="Also time encoding on this many pages: plain, pruned, OCR."
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace results that are already in the output folder.")
]
DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A folder with pdfs/, queries.jsonl and qrels.jsonl; or a benchmark: vidore-v1, "
        "vidore-v2, vidore-v3, jinavdr, or one of their data sets.",
        show_default=False,
    ),
]


def run(
    data: DataArgument,
    encoder: EncoderOption = "builtin",
    methods: Annotated[
        str,
        typer.Option(
            help="paper (its strategies and grids), all (every combination), front (pruning, "
            "merging and codecs together), signals (the global token's attention against "
            "centrality), or settings like docpruner:k=0,docpruner:k=0@int8."
        ),
    ] = "paper",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for tables, figures and the report.")
    ] = Path("evaluation"),
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
    """Measure what every strategy costs and saves, on a benchmark or on your own pages.

    Pages are encoded once and kept; after that, measuring takes minutes. Writes results.json,
    results.csv, figures and report.html.

    Example: `docpruner evaluate my-data --methods paper --output evaluation`
    """
    from docpruner.evaluate.report.console import latency_table, results_table
    from docpruner.evaluate.report.written_files import write_all

    sets = load_data(data)
    folders = [output] if len(sets) == 1 else [folder_of(one, output) for one in sets]
    refuse_to_replace(folders, force=force)
    options = read_model_options(
        device, devices, dtype, batch_size, attention, max_visual_tokens, trust_remote_code
    )
    study = make_study(encoder, methods, cache, read_ocr(ocr, ocr_language), options, latency)
    for one, folder in zip(sets, folders, strict=True):
        encoded, evaluation = measure(study, one, quiet=json)
        results = evaluation.results
        report = write_all(encoded, results, folder)
        if json:
            print_json({"report": str(report), "results": str(folder / "results.json")})
            continue
        console().print(results_table(results))
        for note in results.notes:
            console().print(f"Note: {note}", markup=False)
        if results.latency is not None:
            console().print()
            console().print(latency_table(results.latency))
        console().print(f"Report: {escape(shown_path(str(report)))}")


def load_data(name: str) -> list[DataSet]:
    from docpruner.evaluate.data.hub import load_benchmark
    from docpruner.evaluate.data.own_folder import load_folder
    from docpruner.evaluate.measuring.study import require_libraries

    require_libraries()
    folder = Path(name)
    return [load_folder(folder)] if (folder / "queries.jsonl").exists() else load_benchmark(name)


def folder_of(data: DataSet, output: Path) -> Path:
    """For the results of one data set among several."""
    return output / data.name.replace("/", "_")


def refuse_to_replace(folders: Iterable[Path], *, force: bool) -> None:
    """Before anything is measured: results may have taken hours."""
    taken = next((folder for folder in folders if (folder / "results.json").exists()), None)
    if taken is not None and not force:
        raise DataError(
            f"{taken} holds results already; choose another folder with --output, or replace them "
            "with --force"
        )


def make_study(
    encoder: str,
    methods: str,
    cache: Path | None,
    ocr: Ocr | None,
    options: ModelOptions,
    latency: int = 0,
) -> Study:
    from docpruner.evaluate.measuring.study import Study, read_settings
    from docpruner.pipeline.importance_check import named_for, require_importance

    settings = read_settings(methods)  # what is wrong is said before a model is loaded
    for setting in settings:
        encoder = named_for(encoder, setting.reducer)
    load = partial(options.load, encoder)
    takes_prompt = EncoderName.read(encoder).reads == "pixels"
    filtering = partial(load, prompt="noise-filtering") if takes_prompt else None
    loaded = load()
    for setting in settings:
        require_importance(loaded, setting.reducer)
    return Study(loaded, methods, cache, ocr, filtering=filtering, latency=latency)


def measure(study: Study, data: DataSet, *, quiet: bool) -> tuple[EncodedData, Evaluation]:
    """With a bar for the pages to encode, and another for the sweep over them."""
    with EncodingBar(quiet=quiet) as bar:
        encoded = study.encode(data, bar.update)
    with counting("measuring", quiet=quiet) as progress:
        return encoded, study.measure(encoded, progress)

"""`docpruner calibrate`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from docpruner.cli.arguments import DeviceOption, OcrLanguageOption, TrustOption, read_ocr
from docpruner.cli.config import write_config
from docpruner.cli.evaluate import (
    CacheOption,
    DataArgument,
    EncoderOption,
    OcrOption,
    load_data,
    make_study,
    measure,
)
from docpruner.cli.output import JsonOption, console, print_json, shown_bytes, shown_path
from docpruner.encoders.model_options import ModelOptions
from docpruner.errors import DataError

if TYPE_CHECKING:
    from docpruner.evaluate.measuring.calibration import Choice
    from docpruner.evaluate.measuring.results import Results


def run(
    data: DataArgument,
    target: Annotated[
        float,
        typer.Option(
            min=0.5, max=1.0, help="Share of the unpruned nDCG@5 to keep (ViDoRe V3: nDCG@10)."
        ),
    ] = 0.99,
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="How certain that should be.")
    ] = 0.95,
    encoder: EncoderOption = "builtin",
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="FILE", help="Save the choice for `index --config`."),
    ] = None,
    cache: CacheOption = None,
    ocr: OcrOption = None,
    ocr_language: OcrLanguageOption = None,
    device: DeviceOption = None,
    trust_remote_code: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Choose the strongest pruning that still ranks well enough on your data.

    Tries DocPruner with several k, with and without merging, in each codec. Takes the smallest
    setting that keeps the TARGET share of the unpruned score in a CONFIDENCE share of resamples of
    the queries, and reports how often a choice made on half of the queries held on the other half.

    Example: `docpruner calibrate my-data --target 0.99 --write pruning.toml`
    """
    from docpruner.evaluate.measuring.calibration import choose, require_enough

    sets = load_data(data)
    if len(sets) > 1:
        names = ", ".join(one.name for one in sets[:3])
        raise DataError(f"{data} has {len(sets)} data sets; choose one of them, such as {names}")
    require_enough(len(sets[0].judged))
    options = ModelOptions(device=device, trust_remote_code=trust_remote_code)
    study = make_study(encoder, "front", cache, read_ocr(ocr, ocr_language), options)
    _, evaluation = measure(study, sets[0], quiet=json)
    results = evaluation.results
    choice = choose(results.settings, evaluation.values, target=target, confidence=confidence)
    setting, base = choice.setting, results.base
    kept = setting.score / base.score
    if write is not None:
        why = f"{kept:.1%} of {results.measure_name}, {setting.stored_bytes:.0f} bytes"
        values = {"encoder": results.encoder, "spec": setting.spec, "codec": setting.codec}
        write_config(write, values, f"chosen on {results.data}: {why} per page")
    if json:
        print_json(_described(results, choice, target))
        return
    to = console()
    share = setting.stored_bytes / base.stored_bytes
    to.print(f"[bold green]{escape(setting.name)}[/]")
    to.print(
        f"{shown_bytes(setting.stored_bytes)} per page instead of {shown_bytes(base.stored_bytes)} "
        f"([green]{share:.1%}[/]), {results.measure_name} {setting.score:.4f} instead of "
        f"{base.score:.4f} ({kept:.1%})"
    )
    to.print(
        f"It keeps {target:.0%} in {choice.confidence:.1%} of the resamples of the "
        f"{results.queries:,} queries; {choice.passing} of {choice.candidates} settings pass."
    )
    to.print(
        f"Choices made on one half of the queries kept {target:.0%} on the other half in "
        f"{choice.held_out:.0%} of the splits ({choice.held_out_relative:.1%} on average)."
    )
    if write is not None:
        to.print(f"Use it: docpruner index --config {shown_path(str(write))} …", markup=False)


def _described(results: Results, choice: Choice, target: float) -> dict[str, Any]:
    measured_on = {"data": results.data, "encoder": results.encoder, "measure": results.measure}
    chosen = asdict(choice) | {"setting": choice.setting.as_json()}
    return {**measured_on, "target": target, **chosen}

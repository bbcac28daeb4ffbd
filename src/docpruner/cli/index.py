"""`docpruner index`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docpruner.cli.adding import Bar, JsonLines, Newer
from docpruner.cli.arguments import (
    INTERRUPTED,
    NOTHING,
    SOME,
    AttentionOption,
    BatchSizeOption,
    BudgetOption,
    BytesPerPageOption,
    DeviceOption,
    DevicesOption,
    DtypeOption,
    IndexArgument,
    NewMetadataOption,
    OcrLanguageOption,
    TrustOption,
    VisualTokensOption,
    WaitOption,
    read_budget,
    read_changes,
    read_model_options,
    read_ocr,
)
from docpruner.cli.config import read_config
from docpruner.cli.metadata_file import MetadataFile
from docpruner.codecs import CODEC_NAMES
from docpruner.encoders.builtin_editions import newer_edition
from docpruner.errors import AddError, DocPrunerError

if TYPE_CHECKING:
    from docpruner.pipeline.add_report import AddReport
    from docpruner.pipeline.page_workers import PageWorkers

EXIT_STATUS = {"all": 0, "some": SOME, "none": NOTHING}

Codec = Enum("Codec", {name: name for name in CODEC_NAMES}, type=str)  # type: ignore[misc]


def run(
    index: IndexArgument,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="PDF, PNG, JPEG, TIFF or WebP files, and folders of them.",
            show_default=False,
        ),
    ],
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="builtin, a Hugging Face repository or a folder. [default: builtin]",
        ),
    ] = None,
    spec: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="How to reduce pages; see `docpruner strategies`. [default: docpruner:k=-0.25]",
        ),
    ] = None,
    codec: Annotated[
        Codec | None,
        typer.Option(
            metavar="CODEC",
            help=f"How to store vectors: {', '.join(CODEC_NAMES)}. [default: int4; builtin: int2]",
        ),
    ] = None,
    budget: BudgetOption = None,
    bytes_per_page: BytesPerPageOption = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Take encoder, spec and codec from `docpruner calibrate --write`."
        ),
    ] = None,
    no_importances: Annotated[
        bool,
        typer.Option("--no-importances", help="Don't store the importances of pruned patches."),
    ] = False,
    no_text: Annotated[
        bool,
        typer.Option("--no-text", help="Don't store the words of pages, nor search by them."),
    ] = False,
    root: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Name documents by their paths below FOLDER, to move them with the index.",
        ),
    ] = None,
    ocr: Annotated[
        bool | None,
        typer.Option(
            "--ocr/--no-ocr",
            help="Recognise the words of scans (extra ocr); --ocr also of those in the index. "
            "[default: if it is installed and the encoder reads words]",
        ),
    ] = None,
    ocr_language: OcrLanguageOption = None,
    metadata: NewMetadataOption = None,
    metadata_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="Metadata by document; the first column is the path."
        ),
    ] = None,
    delete_missing: Annotated[
        bool,
        typer.Option("--delete-missing", help="Remove documents below FILES that no longer exist."),
    ] = False,
    device: DeviceOption = None,
    devices: DevicesOption = None,
    dtype: DtypeOption = None,
    batch_size: BatchSizeOption = None,
    attention: AttentionOption = None,
    max_visual_tokens: VisualTokensOption = None,
    trust_remote_code: TrustOption = False,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="[ADDRESS]",
            help="Work on a Ray cluster: that of this machine or a new one, host:6379, or "
            "ray://host:10001 (extra ray).",
        ),
    ] = None,
    ray_workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Workers at most. [default: one for each processor or GPU]"
        ),
    ] = None,
    ray_gpus: Annotated[
        float,
        typer.Option(metavar="N", min=0, help="GPUs that a worker takes, such as 1 or 0.5."),
    ] = 0.0,
    wait: WaitOption = 10.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print problems only.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON for programs, a line for each event.")
    ] = False,
) -> None:
    """Index PDFs and images: make INDEX, or bring it up to date with FILES.

    Unchanged documents are skipped, changed ones replaced, moved ones recognised. You can stop it
    at any time: run the same command again and it goes on where it was. Encoder, spec and codec are
    chosen when the index is made; with a budget, spec and codec change as it fills up.

    Exit status: 0 if everything went in, 3 if some of it did, 4 if nothing did, 130 after Ctrl-C.

    Example: `docpruner index reports.idx ~/Documents/reports`

    Example: `docpruner index reports.idx ~/Documents/reports --budget 2GB`

    Example: `docpruner index letters.idx ~/Documents/letters --ocr-language rus+eng`

    Example: `docpruner index reports.idx /shared/reports --ray ray://head:10001 --ray-gpus 1`
    """
    from docpruner.facade import Index
    from docpruner.pages.ocr import ocr_installed

    if ray is not None and devices is not None:
        raise DocPrunerError("give one of --ray and --devices")
    recognise = read_ocr(ocr, ocr_language)
    options = read_model_options(
        device, devices, dtype, batch_size, attention, max_visual_tokens, trust_remote_code
    )
    changes = read_changes(metadata)
    table = None if metadata_file is None else MetadataFile.read(metadata_file)
    chosen = read_config(config) if config is not None else {}
    view: JsonLines | Bar = JsonLines() if json else Bar(quiet=quiet)
    try:
        with (
            _workers(ray, ray_workers, ray_gpus) as workers,  # first: it may not be there
            Index.open_or_create(
                index,
                encoder=encoder or chosen.get("encoder"),
                spec=spec or chosen.get("spec"),
                codec=chosen.get("codec") if codec is None else codec.value,  # type: ignore[arg-type]
                importances=False if no_importances else None,
                text=False if no_text else None,
                root=root,
                budget=read_budget(budget, bytes_per_page),
                model_options=options,
            ) as opened,
            view,
        ):
            report = _added(
                lambda: opened.add(
                    files,
                    ocr=recognise,
                    metadata=changes if table is None else table.with_all(changes),
                    delete_missing=delete_missing,
                    wait=wait,
                    progress=view.watch,
                    workers=workers,
                )
            )
            documents = [] if table is None else opened.documents()
            newest = newer_edition(opened.settings.encoder)
            newer = Newer(newest, len(opened)) if newest else None
    except KeyboardInterrupt:
        view.interrupted()
        sys.exit(INTERRUPTED)
    if table is not None:
        table.warn_of_unknown(entry.name for entry in documents)
    recognised = ocr_installed() if recognise is None else bool(recognise)
    # The location is not as typed, which may hold a password.
    view.done(report, opened.location, ocr=recognised, newer=newer)
    raise typer.Exit(EXIT_STATUS[report.outcome])


def _workers(
    address: str | None, workers: int | None, gpus: float
) -> AbstractContextManager[PageWorkers | None]:
    if address is None:
        if workers is not None or gpus:
            raise DocPrunerError("--ray-workers and --ray-gpus are for --ray; give that too")
        return nullcontext()
    from docpruner.integrations.ray_workers import RayWorkers

    return RayWorkers(address, workers=workers, gpus=gpus)


def _added(add: Callable[[], AddReport]) -> AddReport:
    """The report, also if nothing went in: it says why."""
    try:
        return add()
    except AddError as error:
        report: AddReport = error.report
        return report

"""`docpruner index`."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docpruner.cli.adding import Bar, JsonLines
from docpruner.cli.arguments import (
    INTERRUPTED,
    NOTHING,
    SOME,
    DeviceOption,
    IndexArgument,
    MetadataOption,
    TrustOption,
    WaitOption,
    open_index,
)
from docpruner.cli.config import read_config
from docpruner.codecs import CODEC_NAMES
from docpruner.encoders.registry import EncoderName, load_encoder
from docpruner.errors import IndexStateError
from docpruner.reduce import reducer
from docpruner.search.filters import read_metadata

if TYPE_CHECKING:
    from docpruner.facade import Index

EXIT_STATUS = {"all": 0, "some": SOME, "none": NOTHING}

Codec = Enum("Codec", {name: name for name in CODEC_NAMES}, type=str)  # type: ignore[misc]


def run(
    index: IndexArgument,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES...",
            help="PDF, PNG, JPEG, TIFF or WebP files, and folders of them.",
            show_default=False,
        ),
    ],
    encoder: Annotated[
        str | None,
        typer.Option(help="builtin, a Hugging Face repository or a folder. [default: builtin]"),
    ] = None,
    spec: Annotated[
        str | None,
        typer.Option(
            help="How to reduce pages; see `docpruner strategies`. [default: docpruner:k=-0.25]"
        ),
    ] = None,
    codec: Annotated[
        Codec | None, typer.Option(help="How vectors are stored. [default: int8]")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Encoder, spec and codec from a file of `docpruner calibrate`."
        ),
    ] = None,
    no_importances: Annotated[
        bool,
        typer.Option("--no-importances", help="Forget the importances of pruned patches."),
    ] = False,
    ocr: Annotated[
        bool, typer.Option("--ocr", help="Recognise the words of pages without any (extra ocr).")
    ] = False,
    metadata: MetadataOption = None,
    device: DeviceOption = None,
    trust_remote_code: TrustOption = False,
    wait: WaitOption = 10.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print problems only.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON for programs, a line for each event.")
    ] = False,
) -> None:
    """Index PDFs and images: make INDEX, or bring it up to date with FILES.

    Unchanged documents are skipped, changed ones replaced. Ctrl-C, or worse, loses nothing that was
    committed: run the same command again and it goes on. Encoder, spec and codec are chosen when
    the index is made and remembered.

    Exit status: 0 if all went in, 3 if some did, 4 if none, 130 after Ctrl-C.

    Example: `docpruner index reports.idx ~/Documents/reports`
    """
    told = read_metadata(metadata)
    chosen = read_config(config) if config is not None else {}
    opened = _opened(
        index,
        encoder=encoder or chosen.get("encoder"),
        spec=spec or chosen.get("spec"),
        codec=chosen.get("codec") if codec is None else str(codec.value),
        importances=False if no_importances else None,
        device=device,
        trust_remote_code=trust_remote_code,
    )
    shown: JsonLines | Bar = JsonLines() if json else Bar(quiet=quiet)
    try:
        with opened, shown:
            report = opened.add(files, ocr=ocr, metadata=told, wait=wait, watch=shown.watch)
    except KeyboardInterrupt:
        shown.interrupted()
        sys.exit(INTERRUPTED)
    shown.done(report, opened.folder)
    raise typer.Exit(EXIT_STATUS[report.outcome])


def _opened(
    folder: Path,
    *,
    encoder: str | None,
    spec: str | None,
    codec: str | None,
    importances: bool | None,
    device: str | None,
    trust_remote_code: bool,
) -> Index:
    """The index as it is, if it is as asked for; a new one where there is none."""
    from docpruner.facade import DEFAULT_SPEC, Index
    from docpruner.index.catalogue import NAME

    if not (folder / NAME).exists():
        reduce = reducer(spec or DEFAULT_SPEC)
        return Index.create(
            folder,
            encoder=load_encoder(
                encoder or "builtin",
                device=device,
                trust_remote_code=trust_remote_code,
                prompt="noise-filtering" if reduce.prompt == "noise-filtering" else None,
            ),
            spec=str(reduce),
            codec=codec or "int8",  # type: ignore[arg-type]  # typer has checked it
            importances=importances is not False,
        )
    with Index.open(folder) as opened:
        settings = opened.settings
    named = encoder is not None and _names(encoder, settings.encoder)
    for what, wanted, own in (
        ("encoder", encoder, encoder if named else settings.encoder),
        ("spec", spec and str(reducer(spec)), settings.spec),
        ("codec", codec, settings.codec),
        ("importances", importances, settings.importances),
    ):
        if wanted is not None and wanted != own:
            stricter = f"; docpruner prune {folder} {spec} makes it stricter"
            raise IndexStateError(
                f"{folder} has {what} {own}, not {wanted}: leave the option out, or make another "
                f"index{stricter if what == 'spec' else ''}"
            )
    return open_index(folder, device=device, trust_remote_code=trust_remote_code)


def _names(given: str, own: str) -> bool:
    """Whether an index's encoder goes by this name, which may leave out the version."""
    wanted, there = EncoderName.read(given), EncoderName.read(own)
    if wanted.checkpoint == "builtin":
        return there.checkpoint.startswith("builtin")
    return wanted == (there if wanted.revision else replace(there, revision=None))

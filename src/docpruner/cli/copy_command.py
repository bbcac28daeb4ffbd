"""`docpruner copy`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, cast

import typer

from docpruner.cli.arguments import INTERRUPTED, IndexArgument, WaitOption
from docpruner.cli.output import (
    JsonOption,
    console,
    counted,
    counting,
    print_json,
    shown_bytes,
    shown_path,
    styled,
)
from docpruner.codecs import CODEC_NAMES

if TYPE_CHECKING:
    from docpruner.codecs import CodecName
    from docpruner.pipeline.copying import CopyReport

LISTED = 20  # documents that the source lacks


def run(
    source: IndexArgument,
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="A folder, or scheme://… of another store; made if it is not there.",
            show_default=False,
        ),
    ],
    spec: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Give the copy a stricter spec, as `docpruner prune`."),
    ] = None,
    codec: Annotated[
        str | None,
        typer.Option(metavar="CODEC", help=f"Give it another codec: {', '.join(CODEC_NAMES)}."),
    ] = None,
    delete_missing: Annotated[
        bool,
        typer.Option("--delete-missing", help="Remove documents from TARGET that INDEX lacks."),
    ] = False,
    wait: WaitOption = 10.0,
    json: JsonOption = False,
) -> None:
    """Copy an index into another store, or bring an earlier copy up to date.

    Every page is read back from TARGET and its checksum compared with what was written. You can
    stop it at any time: run the same command again and it goes on where it was. Documents with
    their words and metadata come along, INDEX stays as it is; what only TARGET has stays there
    without --delete-missing, so several indexes can be copied into one.

    Example: `docpruner copy reports.idx postgresql://me@db/reports`

    Example: `docpruner copy reports.idx small.idx --spec docpruner:k=0.25 --codec int2`
    """
    from docpruner.facade import Index

    try:
        with Index.open(source) as opened, counting("copying", quiet=json) as progress:
            report = opened.copy_to(
                target,
                spec=spec,
                codec=cast("CodecName | None", codec),  # one that there isn't is refused
                delete_missing=delete_missing,
                wait=wait,
                progress=progress,
            )
    except KeyboardInterrupt:
        console(stderr=True).print(
            "[yellow]stopped[/]; run the same command again to go on from here"
        )
        sys.exit(INTERRUPTED)
    if json:
        told = {**asdict(report), "seconds": round(report.seconds, 3)}
        print_json({"source": source, "target": target, **told})
    else:
        _say(report, target)


def _say(report: CopyReport, target: str) -> None:
    documents = f"{counted(report.documents, 'document')} copied"
    if report.unchanged:
        documents += f", {report.unchanged:,} unchanged"
    console().print(styled(f"[bold]{{}}[/]: {documents}", shown_path(target)))
    if report.pages:
        console().print(
            f"{counted(report.pages, 'page')} in {report.seconds:.1f} s, {_vectors(report)}, "
            f"{shown_bytes(report.bytes)}; {report.compared:,} read back, [green]all the same[/]"
        )
    if report.metadata_changed:
        console().print(f"metadata of {counted(report.metadata_changed, 'document')} changed")
    _say_missing(report)


def _vectors(report: CopyReport) -> str:
    if report.vectors == report.vectors_before:
        return f"{report.vectors:,} vectors"
    return f"{report.vectors:,} of {report.vectors_before:,} vectors"


def _say_missing(report: CopyReport) -> None:
    if not report.missing:
        return
    word = "removed" if report.deleted else "only there"
    for name in report.missing[:LISTED]:
        console().print(styled(f"[yellow]{word}[/] [bold]{{}}[/]", shown_path(name)))
    if len(report.missing) > LISTED:
        console().print(f"… and {len(report.missing) - LISTED:,} more")
    if not report.deleted:
        documents = counted(len(report.missing), "document")
        console().print(f"{documents} that the source lacks; --delete-missing removes them")

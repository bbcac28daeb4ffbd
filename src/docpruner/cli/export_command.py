"""`docpruner export`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from docpruner.cli.arguments import INTERRUPTED, IndexArgument
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


class Format(StrEnum):
    PARQUET = "parquet"
    JSONL = "jsonl"
    VESPA = "vespa"


class Numbers(StrEnum):
    FLOAT32 = "float32"
    INT8 = "int8"
    BITS = "bits"


def run(
    index: IndexArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Where to.", show_default=False),
    ],
    format: Annotated[  # noqa: A002  # the option's name
        Format,
        typer.Option(
            metavar="FORMAT",
            help="parquet (extra lance), jsonl, or vespa: what Vespa is fed with.",
            show_default=False,
        ),
    ],
    vectors: Annotated[
        Numbers,
        typer.Option(
            metavar="KIND",
            help="float32, int8 with one scale for all pages, or bits: signs, eight to a byte.",
        ),
    ] = Numbers.FLOAT32,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
    json: JsonOption = False,
) -> None:
    """Write all pages of an index to a file, for other search engines.

    A record for each page: id, document, page, width, height, metadata, text and vectors. The
    documentation of stores has the schema and the query for Milvus, Vespa, Weaviate, Elasticsearch
    and OpenSearch. FILE is there when it is whole.

    Example: `docpruner export reports.idx --format jsonl -o reports.jsonl`

    Example: `docpruner export reports.idx --format vespa --vectors int8 -o feed.jsonl`
    """
    from docpruner.facade import Index

    try:
        with Index.open(index) as opened, counting("exporting", quiet=json) as progress:
            written = opened.export(
                output, format=format.value, vectors=vectors.value, force=force, progress=progress
            )
    except KeyboardInterrupt:
        console(stderr=True).print(styled("[yellow]stopped[/]; {} was not written", str(output)))
        sys.exit(INTERRUPTED)
    if json:
        print_json({"format": format.value, "numbers": vectors.value, **asdict(written)})
        return
    scale = "" if written.scale is None else f", number = byte × {written.scale:.6g}"
    console().print(
        styled(
            f"[bold]{{}}[/]: {counted(written.pages, 'page')}, {written.vectors:,} vectors of "
            f"{written.dim} numbers{scale}; {shown_bytes(written.bytes)}",
            shown_path(str(output)),
        ),
        soft_wrap=True,
    )

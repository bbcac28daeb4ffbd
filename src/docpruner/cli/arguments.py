"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from docpruner.errors import DocPrunerError

SOME, NOTHING, INTERRUPTED = 3, 4, 130
"""Exit statuses besides 0, 1 for an error and 2 for wrong usage: a part was done, nothing was,
Ctrl-C."""

QUERY_LENGTH = 1000  # characters

IndexArgument = Annotated[
    str,
    typer.Argument(
        metavar="INDEX", help="A folder, or scheme://… of another store.", show_default=False
    ),
]
GlobsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="GLOB",
        help="Documents, by name or path; * and ? stand for any characters.",
        show_default=False,
    ),
]
WaitOption = Annotated[
    float, typer.Option("--wait", metavar="SECONDS", help="How long to wait for another writer.")
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device", metavar="NAME", help="Where the model runs: cuda, mps or cpu. [default: best]"
    ),
]
TrustOption = Annotated[
    bool,
    typer.Option("--trust-remote-code", help="Let the model run its own code (Jina v4)."),
]
MetadataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metadata",
        "-m",
        metavar="KEY=VALUE",
        help="Only documents with this metadata. Can be repeated.",
    ),
]
NewMetadataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metadata",
        "-m",
        metavar="KEY=VALUE",
        help="Metadata for these documents; KEY= removes a key. Can be repeated.",
    ),
]


def read_query(text: str) -> str:
    """A query that is not empty, without the end of one that is far too long."""
    if not text.strip():
        raise DocPrunerError("the query is empty; say what to look for")
    if len(text) <= QUERY_LENGTH:
        return text
    from docpruner.cli.output import print_warning

    start = text[:QUERY_LENGTH]
    start = start[: max(start.rfind(" "), QUERY_LENGTH // 2)]
    print_warning(f"the query has {len(text):,} characters; only the first {len(start):,} are used")
    return start


def read_changes(given: list[str] | None) -> dict[str, str | None] | None:
    """Metadata to set; a key without a value is to go."""
    from docpruner.search.filters import read_metadata

    changes = read_metadata(given)
    return None if changes is None else {key: value or None for key, value in changes.items()}

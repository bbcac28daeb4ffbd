"""`docpruner list` and `docpruner metadata`."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docpruner.cli.arguments import (
    NOTHING,
    GlobsArgument,
    IndexArgument,
    NewMetadataOption,
    WaitOption,
    read_changes,
)
from docpruner.cli.output import (
    JsonOption,
    console,
    counted,
    plain,
    print_json,
    shown_path,
    styled,
)
from docpruner.cli.tables import headed_table, print_table
from docpruner.types import JsonValue, Metadata

if TYPE_CHECKING:
    from rich.text import Text

    from docpruner.facade import Index
    from docpruner.stores.records import DocumentEntry


def list_(
    index: IndexArgument,
    globs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="GLOB",
            help="Only documents of these names or paths; * and ? stand for any characters.",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the documents of an index.

    With their pages and metadata, and where the file no longer exists. Exit status 4 if there is
    none.

    Example: `docpruner list reports.idx "2024/*"`
    """
    from docpruner.facade import Index

    with Index.open(index) as opened:
        entries = chosen_documents(opened, globs)
    if json:
        print_json([_values(opened, entry) for entry in entries])
    else:
        show_documents(opened, entries, globs or [])
    raise typer.Exit(0 if entries else NOTHING)


def metadata(
    index: IndexArgument,
    globs: GlobsArgument,
    changes: NewMetadataOption = None,
    wait: WaitOption = 10.0,
    json: JsonOption = False,
) -> None:
    """Show or change the metadata of documents.

    Nothing is encoded again. What a document has under other keys stays. Exit status 4 if no
    document fits.

    Example: `docpruner metadata reports.idx "annual*" -m year=2024 -m draft=`
    """
    from docpruner.facade import Index

    given = read_changes(changes)
    with Index.open(index) as opened:
        changed = [] if given is None else opened.update_metadata(globs, given, wait=wait)
        entries = chosen_documents(opened, globs)
    if json:
        print_json({"changed": changed, "documents": [_values(opened, entry) for entry in entries]})
    else:
        show_documents(opened, entries, globs)
        if entries and given is not None:
            console().print(f"{counted(len(changed), 'document')} changed")
    raise typer.Exit(0 if entries else NOTHING)


def chosen_documents(index: Index, globs: Sequence[str] | None) -> list[DocumentEntry]:
    """Those meant by globs, or all."""
    from docpruner.search.filters import matching

    entries = index.documents()
    if not globs:
        return entries
    names = set(matching([entry.name for entry in entries], globs))
    return [entry for entry in entries if entry.name in names]


def show_documents(index: Index, entries: Sequence[DocumentEntry], globs: Sequence[str]) -> None:
    if not entries:
        console().print(no_document(globs) if globs else "The index is empty")
        return
    table = headed_table()
    table.add_column("document", style="bold", no_wrap=True)
    table.add_column("pages", justify="right", no_wrap=True)
    table.add_column("metadata")
    for entry in entries:
        gone = " [yellow](gone)[/]" if index.file_is_gone(entry.name) else ""
        name = styled(f"{{}}{gone}", shown_path(entry.name))
        table.add_row(name, f"{entry.pages:,}", plain(metadata_line(entry.metadata)))
    print_table(table)


def no_document(globs: Sequence[str]) -> Text:
    return styled("No document fits {}", " ".join(globs))


def metadata_line(values: Metadata) -> str:
    return ", ".join(f"{key}={_text(value)}" for key, value in values.items())


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else jsonlib.dumps(value, ensure_ascii=False)


def _values(index: Index, entry: DocumentEntry) -> dict[str, Any]:
    return {
        "document": entry.name,
        "pages": entry.pages,
        "metadata": dict(entry.metadata),
        "file_is_gone": index.file_is_gone(entry.name),
    }

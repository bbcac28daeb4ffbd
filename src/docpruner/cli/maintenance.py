"""`docpruner delete`, `compact` and `verify`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from docpruner.cli.arguments import NOTHING, GlobsArgument, IndexArgument, WaitOption
from docpruner.cli.documents import no_document
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

if TYPE_CHECKING:
    from docpruner.stores.records import Damage

DAMAGED = 1  # exit status
LISTED = 3  # documents in a command to run


def delete(
    index: IndexArgument,
    globs: GlobsArgument,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    wait: WaitOption = 10.0,
    json: JsonOption = False,
) -> None:
    """Remove documents from an index, not from the disk.

    `docpruner compact` frees their space. Exit status 4 if no document fits.

    Example: `docpruner delete reports.idx "drafts/*.pdf"`
    """
    from docpruner.facade import Index

    with Index.open(index) as opened:
        names = opened.delete(globs, dry_run=dry_run, wait=wait)
    if json:
        print_json({"deleted": names, "dry_run": dry_run})
    else:
        for name in names:
            console().print(
                styled(f"{'would remove' if dry_run else 'removed'} {{}}", shown_path(name)),
                soft_wrap=True,
            )
        if not names:
            console().print(no_document(globs))
    raise typer.Exit(0 if names else NOTHING)


def compact(index: IndexArgument, wait: WaitOption = 10.0, json: JsonOption = False) -> None:
    """Free the space of deleted and replaced documents.

    The index can be searched meanwhile. Needs space for a copy of what is kept of the files it
    rewrites.

    Example: `docpruner compact reports.idx`
    """
    from docpruner.facade import Index

    with Index.open(index) as opened, counting("compacting", quiet=json) as progress:
        freed = opened.compact(wait=wait, progress=progress)
        left = opened.stats().bytes_on_disk
    if json:
        print_json({"bytes_freed": freed, "bytes_on_disk": left})
    else:
        console().print(f"{shown_bytes(freed)} freed, {shown_bytes(left)} on disk")


def verify(
    index: IndexArgument,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Leave damaged pages in the index.")
    ] = False,
    wait: WaitOption = 10.0,
    json: JsonOption = False,
) -> None:
    """Check every byte of an index, and take damaged pages out of it.

    `docpruner index` on their documents puts them back. Exit status 1 if anything is damaged.

    Example: `docpruner verify reports.idx`
    """
    from docpruner.facade import Index

    with Index.open(index) as opened, counting("verifying", quiet=json) as progress:
        damages = opened.verify(isolate=not report_only, wait=wait, progress=progress)
        pages = opened.stats().pages
    if json:
        entries = [asdict(damage) for damage in damages]
        print_json({"damaged": entries, "isolated": bool(entries) and not report_only})
    elif not damages:
        console().print(f"[green]no damage[/] in {counted(pages, 'page')}")
    else:
        _show_damages(damages, opened.location, report_only=report_only)
    raise typer.Exit(DAMAGED if damages else 0)


def _show_damages(damages: Sequence[Damage], index: str, *, report_only: bool) -> None:
    for damage in damages:
        where = f"{shown_path(damage.document)}#{damage.page}"
        console().print(styled("[red]damaged[/] [bold]{}[/]: {}", where, damage.reason))
    documents = sorted({shown_path(damage.document) for damage in damages})
    some = " ".join(documents[:LISTED]) + (" …" if len(documents) > LISTED else "")
    done = "left in the index" if report_only else "taken out"
    again = f"docpruner index {index} {some}"
    console().print(
        styled(f"{counted(len(damages), 'damaged page')} {done}; encode again with: {{}}", again),
        soft_wrap=True,
    )

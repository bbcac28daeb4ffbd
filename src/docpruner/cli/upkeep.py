"""`docpruner delete`, `compact`, `verify` and `prune`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape

from docpruner.cli.arguments import NOTHING, IndexArgument, WaitOption
from docpruner.cli.output import (
    JsonOption,
    console,
    counting,
    print_json,
    shown_bytes,
    shown_path,
)

DAMAGED = 1  # exit status


def delete(
    index: IndexArgument,
    globs: Annotated[
        list[str],
        typer.Argument(
            metavar="GLOB...",
            help="Names or paths of documents, with * and ? for any characters.",
            show_default=False,
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    wait: WaitOption = 10.0,
    json: JsonOption = False,
) -> None:
    """Remove documents from an index. The files themselves are left alone.

    Their room on disk is given back by `docpruner compact`. Exit status 4 if no document fits.

    Example: `docpruner delete reports.idx "drafts/*.pdf"`
    """
    from docpruner.facade import Index

    with Index.open(index) as opened:
        gone = opened.delete(globs, dry_run=dry_run, wait=wait)
    if json:
        print_json({"deleted": gone, "dry_run": dry_run})
    else:
        for path in gone:
            console().print(
                f"{'would remove' if dry_run else 'removed'} {escape(shown_path(path))}"
            )
        if not gone:
            console().print(f"No document fits {escape(' '.join(globs))}")
    raise typer.Exit(0 if gone else NOTHING)


def compact(index: IndexArgument, wait: WaitOption = 10.0, json: JsonOption = False) -> None:
    """Give back the room of documents that were deleted or replaced.

    Searches go on meanwhile. Needs room for a copy of what is kept of the files concerned.

    Example: `docpruner compact reports.idx`
    """
    from docpruner.facade import Index

    with Index.open(index) as opened, counting("compacting", quiet=json) as progress:
        freed = opened.compact(wait=wait, progress=progress)
        left = opened.stats().bytes_on_disk
    if json:
        print_json({"bytes_freed": freed, "bytes_on_disk": left})
    else:
        console().print(f"{shown_bytes(freed)} given back, {shown_bytes(left)} on disk")


def verify(
    index: IndexArgument,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Leave damaged pages in the index.")
    ] = False,
    wait: WaitOption = 10.0,
    json: JsonOption = False,
) -> None:
    """Compare every byte of an index with its checksum, and take damaged pages out of it.

    Run `docpruner index` on the documents again to put them back in. Exit status 1 if anything is
    damaged.

    Example: `docpruner verify reports.idx`
    """
    from docpruner.facade import Index

    with Index.open(index) as opened, counting("verifying", quiet=json) as progress:
        damages = opened.verify(isolate=not report_only, wait=wait, progress=progress)
        stats = opened.stats()
    if json:
        found = [asdict(damage) for damage in damages]
        print_json({"damaged": found, "isolated": bool(found) and not report_only})
    elif not damages:
        console().print(f"[green]no damage[/] in {stats.pages:,} pages")
    for damage in [] if json else damages:
        where = escape(f"{shown_path(damage.document)}#{damage.page}")
        console().print(f"[red]damaged[/] [bold]{where}[/]: {escape(damage.reason)}")
    if damages and not json:
        documents = sorted({shown_path(damage.document) for damage in damages})
        console().print(
            f"{len(damages):,} damaged pages "
            + ("left in the index" if report_only else "taken out")
            + f"; encode them again with: docpruner index {index} {' '.join(documents[:3])}"
            + (" …" if len(documents) > 3 else ""),
            markup=False,
            soft_wrap=True,
        )
    raise typer.Exit(DAMAGED if damages else 0)


def prune(
    index: IndexArgument,
    spec: Annotated[str, typer.Argument(help="See `docpruner strategies`.", show_default=False)],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be left.")
    ] = False,
    wait: WaitOption = 10.0,
    json: JsonOption = False,
) -> None:
    """Reduce what an index stores by a stricter spec, without encoding anything again.

    Larger k, or more stages after those of the index: the outcome is that of indexing with SPEC.
    All pages are changed at once, or none.

    Example: `docpruner prune reports.idx docpruner:k=0.25 --dry-run`
    """
    from docpruner.facade import Index

    with Index.open(index) as opened, counting("pruning", quiet=json) as progress:
        pruned = opened.prune(spec, dry_run=dry_run, wait=wait, progress=progress)
        width = opened.settings.row_bytes
    freed = (pruned.before - pruned.after) * width
    if json:
        told = {"vectors_before": pruned.before, "vectors": pruned.after, "bytes_freed": freed}
        print_json({"spec": spec, "dry_run": dry_run, **told})
        return
    share = pruned.after / pruned.before if pruned.before else 1.0
    console().print(
        f"{pruned.after:,} of {pruned.before:,} vectors {'would stay' if dry_run else 'stay'} "
        f"([green]{share:.1%}[/]), {shown_bytes(freed)} "
        + ("would be given back" if dry_run else "given back")
    )

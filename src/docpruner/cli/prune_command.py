"""`docpruner prune`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from docpruner.cli.arguments import (
    NOTHING,
    BudgetOption,
    BytesPerPageOption,
    IndexArgument,
    WaitOption,
    read_budget,
)
from docpruner.cli.budget_table import show_choices, told_cost
from docpruner.cli.output import JsonOption, console, counting, print_json, shown_bytes
from docpruner.codecs import CODEC_NAMES
from docpruner.errors import DocPrunerError
from docpruner.pipeline.measured_front import ndcg_kept

if TYPE_CHECKING:
    from docpruner.codecs import CodecName
    from docpruner.facade import Index
    from docpruner.pipeline.prune import Pruned


def run(
    index: IndexArgument,
    spec: Annotated[
        str | None,
        typer.Argument(metavar="[SPEC]", help="See `docpruner strategies`.", show_default=False),
    ] = None,
    codec: Annotated[
        str | None,
        typer.Option(metavar="CODEC", help=f"Store vectors as {', '.join(CODEC_NAMES)}."),
    ] = None,
    budget: BudgetOption = None,
    bytes_per_page: BytesPerPageOption = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only say what would be left; of a budget, show all choices."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    wait: WaitOption = 10.0,
    json: JsonOption = False,
) -> None:
    """Make an index smaller by a stricter spec, another codec or a budget, without encoding again.

    SPEC is a larger k, or has more stages after those of the index; the result is the same as
    indexing with it, except that strategies that look at vectors see them as they are stored.
    A budget chooses spec and codec: the mildest that fit, and `docpruner index` keeps to it from
    then on; `--budget none` lifts it. Either all pages are changed or none. It can't be undone, so
    it asks first; scripts say --yes.

    Example: `docpruner prune reports.idx docpruner:k=0.25 --dry-run`

    Example: `docpruner prune reports.idx --codec int4 --yes`

    Example: `docpruner prune reports.idx --budget 500MB --dry-run`
    """
    from docpruner.facade import NO_BUDGET, Index

    limit = read_budget(budget, bytes_per_page)
    if spec is None and codec is None and limit is None and not dry_run:
        raise DocPrunerError(
            "say how: a SPEC such as docpruner:k=0.25, --codec int4 or --budget 500MB"
        )
    asks = not (dry_run or yes or limit == NO_BUDGET)
    if asks and (json or not sys.stdin.isatty()):
        raise DocPrunerError(
            "pruning can't be undone, and there is nobody to ask; add --yes to prune, or --dry-run "
            "to see what would be left"
        )
    with Index.open(index) as opened:
        if spec is None and codec is None:
            change = partial(_fitted, opened, limit, wait=wait, json=json)
        else:
            change = partial(_pruned, opened, spec, codec, limit, wait=wait, json=json)
        if dry_run or asks:
            change(dry_run=True)
        if asks and not typer.confirm("This can't be undone. Prune?", err=True):
            console().print("Nothing was changed")
            raise typer.Exit(NOTHING)
        if not dry_run:
            change(dry_run=False)


def _pruned(
    index: Index,
    spec: str | None,
    codec: str | None,
    budget: str | None,
    *,
    dry_run: bool,
    wait: float,
    json: bool,
) -> None:
    """Prune, or only try it, and say what that leaves."""
    with counting("pruning", quiet=json) as progress:
        pruned = index.prune(
            spec,
            codec=cast("CodecName | None", codec),  # one that there isn't is refused
            budget=budget,
            dry_run=dry_run,
            wait=wait,
            progress=progress,
        )
    if json:
        print_json({"spec": spec, "codec": codec, "dry_run": dry_run, **_values(pruned)})
    else:
        _say(pruned, dry_run=dry_run)


def _fitted(index: Index, budget: str | None, *, dry_run: bool, wait: float, json: bool) -> None:
    """Keep to a budget, or only show the choices, of which the first that fits is taken."""
    from docpruner.facade import NO_BUDGET

    if dry_run:
        choices = index.budget_choices(None if budget == NO_BUDGET else budget)
        if json:
            entries = [asdict(choice) for choice in choices]
            print_json({"budget": budget, "dry_run": True, "choices": entries})
        else:
            show_choices(choices, None if budget == NO_BUDGET else budget)
        if not any(choice.fits for choice in choices):
            index.prune(budget=budget, dry_run=True)  # says why
        return
    with counting("pruning", quiet=json) as progress:
        pruned = index.prune(budget=budget, wait=wait, progress=progress)
    stats = index.stats()
    settings = stats.settings
    cost = ndcg_kept(settings.spec, settings.codec)
    if json:
        now = {"budget": settings.budget, "spec": settings.spec, "codec": settings.codec}
        size = {"bytes_on_disk": stats.bytes_on_disk, "ndcg_kept": cost}
        print_json({**now, "dry_run": False, **_values(pruned), **size})
        return
    if settings.budget:
        _say(pruned, dry_run=False)
    within = f"within {settings.budget}" if settings.budget else "without a budget now"
    console().print(
        f"{settings.spec} in {settings.codec} ({told_cost(cost)}): "
        f"{shown_bytes(stats.bytes_on_disk)} on disk, {within}"
    )


def _values(pruned: Pruned) -> dict[str, Any]:
    freed = pruned.bytes_before - pruned.bytes_after
    return {"vectors_before": pruned.before, "vectors": pruned.after, "bytes_freed": freed}


def _say(pruned: Pruned, *, dry_run: bool) -> None:
    share = pruned.after / pruned.before if pruned.before else 1.0
    freed = pruned.bytes_before - pruned.bytes_after
    console().print(
        f"{pruned.after:,} of {pruned.before:,} vectors {'would be kept' if dry_run else 'kept'} "
        f"([green]{share:.1%}[/]), {shown_bytes(freed)} {'would be freed' if dry_run else 'freed'}"
    )

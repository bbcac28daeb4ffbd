"""How commands print: JSON for programs, tables for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_json_line(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False))


def console(*, stderr: bool = False) -> Console:
    return Console(stderr=stderr, highlight=False)


def print_error(text: str) -> None:
    console(stderr=True).print(f"[bold red]error:[/] {escape(text)}", soft_wrap=True)


def print_warning(text: str) -> None:
    console(stderr=True).print(f"[yellow]warning:[/] {escape(text)}", soft_wrap=True)


def shown_bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def shown_path(path: str) -> str:
    """Relative where that is shorter, and without bytes that a terminal can't show."""
    try:
        relative = str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        relative = path
    return relative.encode(errors="backslashreplace").decode()


def counted(count: int, thing: str) -> str:
    """`1 page`, `2 pages`."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


@contextmanager
def counting(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A progress bar for work that knows how much it is."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    to = console(stderr=True)
    with Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=to,
        transient=True,
        disable=quiet or not to.is_terminal,
    ) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)

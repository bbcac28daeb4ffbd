"""The command line and what all commands share: `--version`, `--debug`, errors in one line."""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from docpruner.cli import (
    calibrate,
    demo,
    doctor,
    evaluate,
    explain,
    index,
    reproduce,
    search,
    serve,
    stats,
    strategies,
    upkeep,
)
from docpruner.errors import DocPrunerError

app = typer.Typer(
    name="docpruner",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Each command has an example: docpruner index --help",
)
app.command("index")(index.run)
app.command("search")(search.run)
app.command("stats")(stats.show)
app.command("delete")(upkeep.delete)
app.command("compact")(upkeep.compact)
app.command("verify")(upkeep.verify)
app.command("prune")(upkeep.prune)
app.command("explain")(explain.run)
app.command("serve")(serve.run)
app.command("evaluate")(evaluate.run)
app.command("calibrate")(calibrate.run)
app.command("reproduce")(reproduce.run)
app.command("strategies")(strategies.show)
app.command("doctor")(doctor.show)
app.command("demo")(demo.run)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"docpruner {version('docpruner')}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
    _debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Halve the index of ColPali-style document search, by the model's own attention."""


def _in_one_line(message: Warning | str, *_where: object) -> str:
    """Where in the code it was raised is of no use to who runs a command."""
    return f"warning: {message}\n"


def main() -> None:
    """Run the command; an error is one line on standard error and exit status 1."""
    warnings.formatwarning = _in_one_line  # type: ignore[assignment]  # called by position
    try:
        app()
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        text = str(error)
        if not isinstance(error, DocPrunerError):
            text = f"{type(error).__name__}: {error}; docpruner --debug … shows where it came from"
        Console(stderr=True).print(
            f"[bold red]error:[/] {escape(text)}", highlight=False, soft_wrap=True
        )
        sys.exit(1)

"""The command line and what all commands share: `--version`, `--debug`, errors in one line."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from docpruner.cli import doctor, strategies
from docpruner.errors import DocPrunerError

app = typer.Typer(
    name="docpruner",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Each command has an example: docpruner strategies --help",
)
app.command("strategies")(strategies.show)
app.command("doctor")(doctor.show)


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


def main() -> None:
    """Run the command; a docpruner error is one line on standard error and exit status 1."""
    try:
        app()
    except DocPrunerError as error:
        if "--debug" in sys.argv:
            raise
        Console(stderr=True).print(f"[bold red]error:[/] {escape(str(error))}", highlight=False)
        sys.exit(1)

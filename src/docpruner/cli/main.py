"""The command line and what all commands share: `--version`, `--debug`, errors in one line."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer

from docpruner.cli.lazy_commands import MARKUP, Commands
from docpruner.errors import DocPrunerError

app = typer.Typer(
    name="docpruner",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Every command has an example: docpruner index --help",
)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"docpruner {version('docpruner')}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
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
        app(prog_name="docpruner")
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        from docpruner.cli.output import print_error

        text = str(error)
        if not isinstance(error, DocPrunerError):
            text = f"{type(error).__name__}: {error}; docpruner --debug … shows where it came from"
        print_error(text)
        sys.exit(1)

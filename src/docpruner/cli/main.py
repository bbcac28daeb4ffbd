"""The command line and what all commands share: `--version`, `--debug`, errors in one line."""

from __future__ import annotations

import io
import sys
import traceback
import warnings
from typing import Annotated

import typer

from docpruner.cli.arguments import INTERRUPTED
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
    from docpruner.cli.output import visible

    return f"warning: {visible(str(message))}\n"


def main() -> None:
    """Run the command; an error is one line on standard error.

    Exit status 2 after wrong usage, 1 after any other error.
    """
    warnings.formatwarning = _in_one_line  # type: ignore[assignment]  # called by position
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # what it can't hold becomes a question mark
    try:
        status = app(prog_name="docpruner", standalone_mode=False)
    except typer.Abort:  # Ctrl-C, where a question was asked
        status = INTERRUPTED
    except Exception as error:
        status = _failed(error)
    sys.exit(status)


def _failed(error: Exception) -> int:
    from docpruner.cli.output import print_error, visible

    if _is_wrong_usage(error):
        context = getattr(error, "ctx", None)
        command = "docpruner" if context is None else context.command_path
        message = error.format_message().rstrip(".")  # type: ignore[attr-defined]
        if message:  # else the help was printed
            print_error(f"{message} (see {command} --help)")
        return 2
    if "--debug" in sys.argv:
        sys.stderr.write(visible(traceback.format_exc(), lines=True))
    elif isinstance(error, DocPrunerError):
        print_error(str(error))
    else:
        name = type(error).__name__
        print_error(f"{name}: {error}; docpruner --debug … shows where it came from")
    return 1


def _is_wrong_usage(error: Exception) -> bool:
    """Typer brings the classes of these errors along, or takes them from Click."""
    return hasattr(error, "format_message") and getattr(error, "exit_code", None) == 2

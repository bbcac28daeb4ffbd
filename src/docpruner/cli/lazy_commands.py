"""The commands by their names. Each is loaded when it is called, so that `docpruner --help` is
quick: what it says of them stands here, and a test holds it to what they say themselves."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Literal, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

ADDRESS = re.compile(r"auto|(ray://)?(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}")
"""Of a Ray cluster, rather than a file: `auto`, `host:6379`, `ray://host:10001`."""

MARKUP: Literal["markdown"] = "markdown"


class Source(NamedTuple):
    """Where a command is, and the first line of its help."""

    where: str  # module:function, in docpruner.cli
    summary: str


COMMANDS = {
    "index": Source(
        "index:run", "Index PDFs and images: make INDEX, or bring it up to date with FILES."
    ),
    "search": Source("search:run", "Search an index: the best pages, and what matches on them."),
    "list": Source("documents:list_", "List the documents of an index."),
    "metadata": Source("documents:metadata", "Show or change the metadata of documents."),
    "stats": Source(
        "stats:show", "Show what an index holds, and how much smaller pruning made it."
    ),
    "delete": Source("maintenance:delete", "Remove documents from an index, not from the disk."),
    "compact": Source("maintenance:compact", "Free the space of deleted and replaced documents."),
    "verify": Source(
        "maintenance:verify", "Check every byte of an index, and take damaged pages out of it."
    ),
    "prune": Source(
        "prune_command:run",
        "Make an index smaller by a stricter spec, another codec or a budget, without encoding "
        "again.",
    ),
    "copy": Source(
        "copy_command:run",
        "Copy an index into another store, or bring an earlier copy up to date.",
    ),
    "export": Source(
        "export_command:run", "Write all pages of an index to a file, for other search engines."
    ),
    "tune": Source(
        "tune:run",
        "Measure what the quick search of a large index misses, and set how far it looks.",
    ),
    "explain": Source(
        "explain.explain_command:run",
        "Draw what pruning keeps of a page, or what on it answers a query.",
    ),
    "serve": Source(
        "serve:run", "Search an index in the browser, and look at what was kept of its pages."
    ),
    "mcp": Source(
        "mcp_command:run", "Let agents search an index and look at its pages (MCP server)."
    ),
    "evaluate": Source(
        "evaluate:run",
        "Measure what every strategy costs and saves, on a benchmark or on your own pages.",
    ),
    "calibrate": Source(
        "calibrate:run", "Choose the strongest pruning that still ranks well enough on your data."
    ),
    "reproduce": Source(
        "reproduce:run", "Run the paper's experiment and print our figures beside its own."
    ),
    "strategies": Source("strategies:show", "List the reduction strategies and their parameters."),
    "doctor": Source(
        "doctor_command:show", "Show what this installation can do, and what it lacks."
    ),
    "demo": Source("demo:run", "Try it on sample documents: index, search, and draw two pages."),
}


class Command(TyperCommand):
    """A command whose help shows no types of Python."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _with_address(args))


class Commands(TyperGroup):
    """All commands; in a list of them they are but names and summaries."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, source in COMMANDS.items():
            self.commands[name] = Command(name, help=source.summary, rich_markup_mode=MARKUP)

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else load(name), rest


def load(name: str) -> Any:
    """The command itself."""
    module, _, function = COMMANDS[name].where.partition(":")
    app = typer.Typer(add_completion=False, rich_markup_mode=MARKUP)
    app.command(name, cls=Command)(getattr(import_module(f"docpruner.cli.{module}"), function))
    return get_command(app)


def _with_address(args: list[str]) -> list[str]:
    """`--ray` may stand without an address, which Typer has no way to say."""
    given: list[str] = []
    for place, argument in enumerate(args):
        if argument == "--":
            return [*given, *args[place:]]
        given.append(argument)
        following = args[place + 1] if place + 1 < len(args) else ""
        if argument == "--ray" and not ADDRESS.fullmatch(following):
            given.append("auto")
    return given


def _without_types(parameters: list[Any]) -> list[Any]:
    """Parameters, without the `<bool>` and `<list[Path]>` that Typer puts beside them."""
    for parameter in parameters:
        if parameter.param_type_name == "argument" or getattr(parameter, "is_flag", False):
            parameter.display_type_rich = _no_type
        elif parameter.metavar is None:
            parameter.metavar = parameter.name.upper()
    return parameters


def _no_type(ctx: object) -> None:  # noqa: ARG001  # as Typer calls it
    return None

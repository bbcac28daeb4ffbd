"""How commands print: JSON for programs, tables for people."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def console() -> Console:
    return Console(highlight=False)

"""The `docpruner` command: parse, call, show. No logic of its own."""

from docpruner.cli.main import main

__all__ = ["main"]

"""How commands print: tables for people, JSON for programs.

Names of files, text of pages and messages about them come from outside: they may hold codes that
steer a terminal or turn its text around. All that is printed goes through here, where such codes
are shown instead of obeyed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Span, Text

WORD_LENGTH = 40  # characters, in a table

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

# Control codes, line and paragraph separators, marks that turn text around, halves of characters.
_CODES = r"\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_CODE, _CODE_OR_NEW_LINE = re.compile(f"[{_CODES}]"), re.compile(f"[{_CODES}\n]")


# ------------------------------------------------------------------ text from outside


def visible(text: str, *, lines: bool = False) -> str:
    """Text without codes that a terminal obeys; `\\x1b` and `\\u202e` stand for them.

    With `lines`, line breaks stay what they are.
    """
    return (_CODE if lines else _CODE_OR_NEW_LINE).sub(_shown_code, text)


def _shown_code(sign: re.Match[str]) -> str:
    code = ord(sign[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def plain(text: str, style: str = "") -> Text:
    """Text from outside to print, whatever it looks like: no markup, no emoji codes."""
    return Text(visible(text), style)


def styled(template: str, *values: str) -> Text:
    """A template in rich's markup, each `{}` of it filled with a text from outside."""
    markup = Text.from_markup(template, emoji=False)
    places = [match.span() for match in re.finditer(r"\{\}", markup.plain)]
    pieces = list(markup.divide(chain.from_iterable(places)))
    for piece, value in zip(range(1, len(pieces), 2), values, strict=True):
        text = visible(value)
        spans = [Span(0, len(text), span.style) for span in pieces[piece].spans]
        pieces[piece] = Text(text, spans=spans)
    return Text().join(pieces)


def shortened(text: str, length: int = WORD_LENGTH) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


# ------------------------------------------------------------------ for people


class SafeConsole(Console):
    """Shows codes in strings too, wherever they come from."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text, lines=True), **options)


def console(*, stderr: bool = False) -> Console:
    return SafeConsole(stderr=stderr, highlight=False, emoji=False)


def print_error(text: str) -> None:
    console(stderr=True).print(styled("[bold red]error:[/] {}", text), soft_wrap=True)


def print_warning(text: str) -> None:
    console(stderr=True).print(styled("[yellow]warning:[/] {}", text), soft_wrap=True)


def shown_bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def saving(used: int, unpruned: int) -> str:
    """How much smaller something is than without pruning, in markup."""
    if used > unpruned:
        return f"[yellow]{shown_bytes(used - unpruned)} larger than unpruned[/]"
    return f"[green]{1 - used / unpruned:.1%} saved[/]"


def shown_path(path: str) -> str:
    """Relative where that is shorter, and without what a terminal can't show."""
    try:
        relative = str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        relative = path
    return visible(relative)


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


# ------------------------------------------------------------------ for programs


def print_json(value: Any) -> None:
    typer.echo(_json(value, indent=2))


def print_json_line(value: Any) -> None:
    typer.echo(_json(value))


def _json(value: Any, indent: int | None = None) -> str:
    """Without a sign that the output can't hold, and with codes as JSON's escapes."""
    utf8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not utf8, indent=indent)
    return _CODE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)

"""What `docpruner explain` is asked for, where its pictures go, and what it tells."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape

from docpruner.cli.output import console, print_json, shown_path
from docpruner.errors import DocPrunerError, PageError

if TYPE_CHECKING:
    from PIL.Image import Image
    from rich.console import RenderableType

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")


@dataclass(frozen=True)
class Wish:
    """The options, as given."""

    what: Path
    page: str | None
    span: tuple[int, int | None] | None
    hit: str | None
    best: int | None
    word: str | None
    spec: str | None
    factor: float | None
    encoder: str | None
    ocr: bool
    output: Path | None
    device: str | None
    trust_remote_code: bool
    quiet: bool


@dataclass
class Outcome:
    """What was drawn: for programs, and for people to read below the names of the pictures."""

    pictures: list[Path]
    told: dict[str, Any]
    shown: list[RenderableType]
    problems: list[PageError] = field(default_factory=list)
    status: int = 0


def tell(outcome: Outcome, *, open_: bool, json: bool) -> None:
    for problem in outcome.problems:
        typer.echo(f"left out {problem}", err=True)
    if json:
        print_json({"pictures": [str(picture) for picture in outcome.pictures], **outcome.told})
    else:
        to = console()
        for picture in outcome.pictures:
            to.print(f"[bold]{escape(shown_path(str(picture)))}[/]", soft_wrap=True)
        for part in outcome.shown:
            to.print(part)
    if open_ and outcome.pictures:
        typer.launch(str(outcome.pictures[0]))
    raise typer.Exit(outcome.status)


def check_output(output: Path | None) -> None:
    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise DocPrunerError(f"--output {output} is no name of a picture; end it in .png")


def save(
    picture: Image, wish: Wish, document: str, part: str, number: int = 1, of: int = 1
) -> Path:
    """Save one `of` several pictures of a document: where asked for, else in this folder under
    the name of the document and of the `part` of it."""
    path = wish.output or Path(f"{Path(document).stem[:100]}-{part}.png")
    if of > 1:
        path = path.with_name(f"{path.stem}-{number}{path.suffix}")
    try:
        if path.exists() and os.path.exists(document) and path.samefile(document):
            raise DocPrunerError(f"{path} is the document itself; choose another --output")
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(path)
    except OSError as error:
        reason = error.strerror or error
        raise DocPrunerError(
            f"{path} can't be written ({reason}); choose another --output"
        ) from error
    return path

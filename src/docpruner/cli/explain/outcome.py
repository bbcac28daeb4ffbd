"""What `docpruner explain` has drawn: where the pictures go, and what is printed of them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from docpruner.cli.output import console, plain, print_json, shown_path, styled
from docpruner.cli.picture_files import file_stem, free_name, open_picture, save_picture
from docpruner.cli.tables import print_table
from docpruner.errors import DocPrunerError, PageError

if TYPE_CHECKING:
    from PIL.Image import Image
    from rich.text import Text

    from docpruner.cli.explain.request import ExplainRequest


@dataclass
class Outcome:
    """What was drawn: values for programs, and parts for people to read below the pictures."""

    pictures: list[Path]
    values: dict[str, Any]
    parts: list[Table | Text | str]
    problems: list[PageError] = field(default_factory=list)
    status: int = 0

    def show(self, *, open_: bool, json: bool) -> None:
        for problem in self.problems:
            console(stderr=True).print(styled("left out {}", str(problem)), soft_wrap=True)
        if json:
            print_json({"pictures": [str(picture) for picture in self.pictures], **self.values})
        else:
            for picture in self.pictures:
                console().print(plain(shown_path(str(picture)), "bold"), soft_wrap=True)
            for part in self.parts:
                print_table(part) if isinstance(part, Table) else console().print(part)
        if open_ and self.pictures:
            open_picture(self.pictures[0], told=True)
        raise typer.Exit(self.status)


def save(
    picture: Image,
    request: ExplainRequest,
    document: str,
    part: str,
    number: int = 1,
    of: int = 1,
) -> Path:
    """Save one `of` several pictures of a document.

    Where asked for, and it is said if another file was there; else in this folder, under the name
    of the document and of the `part` of it, with a number if that is taken.
    """
    path = request.output or Path(f"{file_stem(document)}-{part}.png")
    if of > 1:
        path = path.with_name(f"{path.stem}-{number}{path.suffix}")
    if request.output is None:
        path = free_name(path)
    replaces = path.exists()
    try:
        if path.exists() and os.path.exists(document) and path.samefile(document):
            raise DocPrunerError(f"{path} is the document itself; choose another --output")
        save_picture(picture, path)
    except OSError as error:
        reason = error.strerror or error
        raise DocPrunerError(
            f"{path} can't be written ({reason}); choose another --output"
        ) from error
    if replaces and not request.quiet:
        console(stderr=True).print(styled("replaced {}", shown_path(str(path))), soft_wrap=True)
    return path

"""Pictures as files."""

from __future__ import annotations

import os
import re
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from docpruner.cli.output import console, plain, print_warning, visible

if TYPE_CHECKING:
    from PIL.Image import Image

NAME_BYTES = 150


def file_stem(document: str) -> str:
    """A document's name without its ending, short and plain enough to name a file after it."""
    stem = re.sub(r"[\\/:*?\"<>|]", "_", visible(Path(document).stem))
    return stem.encode(errors="replace")[:NAME_BYTES].decode(errors="ignore") or "page"


def free_name(path: Path) -> Path:
    """The path, or with the first number that makes it one where no file is."""
    names = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(2))
    return next(name for name in chain([path], names) if not name.exists())


def open_picture(path: Path, *, told: bool) -> None:
    """Open a picture, and say where it is unless that was `told`."""
    if not told:
        console().print(plain(str(path)), soft_wrap=True)
    if typer.launch(str(path)) != 0:
        print_warning(f"there is no program here to open pictures with; it is {path}")


def save_picture(picture: Image, path: Path) -> None:
    """Save a picture whole, or not at all; OSError if there is no room or no permission."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.stem}.part{path.suffix}")
    try:
        picture.save(part)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise

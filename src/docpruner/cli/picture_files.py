"""Pictures as files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from docpruner.cli.output import visible

if TYPE_CHECKING:
    from PIL.Image import Image

NAME_BYTES = 150


def file_stem(document: str) -> str:
    """A document's name without its ending, short and plain enough to name a file after it."""
    stem = re.sub(r"[\\/:*?\"<>|]", "_", visible(Path(document).stem))
    return stem.encode(errors="replace")[:NAME_BYTES].decode(errors="ignore") or "page"


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

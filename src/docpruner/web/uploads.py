"""Files that are sent in: kept in one folder, under names that can do no harm."""

from __future__ import annotations

import logging
import re
import shutil
import unicodedata
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import BinaryIO

from docpruner.pages.files import SUFFIXES
from docpruner.web.error_responses import Refused

log = logging.getLogger(__name__)

CANT_SAVE = "the files can't be saved on the server; its disk may be full or read-only"
LONGEST, LONGEST_BYTES = 80, 200  # of a name without its ending; file systems allow 255 bytes
LONGEST_GIVEN = 1000
BLOCK = 1 << 20


def safe_name(given: str) -> str:
    """A name for a file, made from what a client calls it: no folders, no odd signs."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", given))[-1]
    stem, dot, ending = last.rpartition(".")
    suffix = f".{ending.strip().lower()}"
    if not dot or suffix not in SUFFIXES:
        kinds = " ".join(sorted(SUFFIXES))
        raise Refused(422, f"{_printable(last)} is not a PDF or an image; send one of {kinds}")
    plain = re.sub(r"[^\w .,()+-]", "_", stem)[:LONGEST]
    short = plain.encode()[:LONGEST_BYTES].decode(errors="ignore").strip(" .")
    return (short or "document") + suffix


def save(files: Sequence[tuple[str, BinaryIO]], folder: Path) -> list[Path]:
    """All of the files, each under its own name, or numbered if that is taken by another."""
    names = [safe_name(name[:LONGEST_GIVEN]) for name, _ in files]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [
            _saved(file, folder, Path(name)) for name, (_, file) in zip(names, files, strict=True)
        ]
    except OSError as error:
        log.error("%s", error)
        raise Refused(507, CANT_SAVE) from None


def _saved(file: BinaryIO, folder: Path, name: Path) -> Path:
    for number in count(1):
        target = folder / (name if number == 1 else f"{name.stem} ({number}){name.suffix}")
        file.seek(0)
        try:
            with target.open("xb") as new:  # never over another file
                _copy(file, new, target)
            break
        except FileExistsError:
            if _is_same(file, target):
                break
    return target


def _copy(file: BinaryIO, new: BinaryIO, target: Path) -> None:
    try:
        shutil.copyfileobj(file, new)
    except BaseException:
        target.unlink()
        raise


def _is_same(file: BinaryIO, target: Path) -> bool:
    if target.is_symlink() or not target.is_file():
        return False
    with target.open("rb") as other:
        while part := file.read(BLOCK):
            if part != other.read(len(part)):
                return False
        return not other.read(1)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)[:LONGEST]

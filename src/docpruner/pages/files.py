"""The files to read: those given by name, and those of the right kinds in folders."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from docpruner.errors import PageError
from docpruner.pages.problems import bad_name, printable_path, special_file, unreachable

PDF_SUFFIXES = frozenset({".pdf"})
IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp"})
SUFFIXES = PDF_SUFFIXES | IMAGE_SUFFIXES
PICTURE_SUFFIXES = IMAGE_SUFFIXES - {".tif", ".tiff"}  # of one page, while a TIFF may have many

Identity = tuple[int, int]  # device and inode of a folder


def find_files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Path | PageError]:
    """The files among `paths` and below them, sorted within each folder, each of them once.

    Links are followed and files come under their real, absolute path. Hidden files and other
    kinds of files are passed over in folders. What can't be used is an entry of its own.
    """
    seen: set[Path | str] = set()
    finished: set[Identity] = set()
    for path in paths:
        for entry in _below(os.path.abspath(path), finished):
            key = str(entry) if isinstance(entry, PageError) else _real(entry)
            if key not in seen:
                seen.add(key)
                yield entry


def supported(path: str | os.PathLike[str]) -> bool:
    return os.path.splitext(path)[1].lower() in SUFFIXES


def pictures_after(files: Sequence[Path | PageError], place: int) -> Iterator[Path]:
    """The pictures of one page that directly follow the one at `place`, if that is one too."""
    for file in islice(files, place, None):
        if isinstance(file, PageError) or file.suffix.lower() not in PICTURE_SUFFIXES:
            return
        if file is not files[place]:
            yield file


def _below(start: str, finished: set[Identity]) -> Iterator[Path | PageError]:
    """Depth first, with a list of its own: folders may lie deeper than Python may recurse."""
    waiting: list[tuple[str, frozenset[Identity]]] = [(start, frozenset())]
    while waiting:
        path, above = waiting.pop()
        try:
            status = os.stat(path)
        except (OSError, ValueError) as error:
            yield _lost(path, error)
            continue
        if not stat.S_ISDIR(status.st_mode):
            entry = _file(path, os.path.realpath(path), status.st_mode, named=path == start)
            if entry is not None:
                yield entry
            continue
        identity = status.st_dev, status.st_ino
        if identity in above:
            yield PageError(
                printable_path(path), "is a link back to a folder above it", "remove the link"
            )
            continue
        if identity in finished:
            continue
        finished.add(identity)
        try:
            names = _names(path)
        except PageError as problem:
            yield problem
            continue
        inside = above | {identity}
        waiting.extend((os.path.join(path, name), inside) for name in reversed(names))


def _names(path: str) -> list[str]:
    """What to look at in a folder, sorted."""
    problem = bad_name(path)
    if problem is not None:
        raise problem
    try:
        with os.scandir(path) as entries:
            return sorted(
                entry.name
                for entry in entries
                if not entry.name.startswith(".")
                and (supported(entry.name) or not entry.is_file(follow_symlinks=False))
            )
    except OSError as error:
        raise unreachable(path, error) from None


def _file(path: str, target: str, mode: int, *, named: bool) -> Path | PageError | None:
    """None for what a folder holds besides pages. A link counts by its name or its target's."""
    if not (supported(path) or supported(target)):
        if not named:
            return None
        if stat.S_ISREG(mode):
            ending = os.path.splitext(path)[1]
            return PageError(
                printable_path(path),
                f"is a {ending} file, not a PDF or an image" if ending else "has no file ending",
                f"save it as a PDF or an image ({' '.join(sorted(SUFFIXES))})",
            )
    if not stat.S_ISREG(mode):
        return special_file(path, mode)
    # the target of a link may lack the ending that says what it is
    file = target if supported(target) else os.path.join(_parent(path), os.path.basename(path))
    return bad_name(file) or Path(file)


def _parent(path: str) -> str:
    return os.path.realpath(os.path.dirname(path))


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _lost(path: str, error: OSError | ValueError) -> PageError:
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return PageError(
            printable_path(path), "is a link that leads back to itself", "remove the link"
        )
    return bad_name(path) or unreachable(path, error)

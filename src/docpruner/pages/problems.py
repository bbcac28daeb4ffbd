"""What can be wrong with a file, said as an entry of the report."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from docpruner.errors import PageError
from docpruner.pages.memory_limit import readable_size

BEGINNINGS = (
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a WebP image"),
    (b"PK\x03\x04", "an Office file or a ZIP archive"),
    (b"\xd0\xcf\x11\xe0", "an old Office file"),
    (b"{\\rtf", "an RTF file"),
    (b"%!PS", "a PostScript file"),
    (b"<", "a web page"),
    (b"version https://git-lfs", "a Git LFS pointer"),
)


def printable_path(path: str | os.PathLike[str]) -> str:
    """The path as text; bytes of it that are not UTF-8 as backslash escapes."""
    text = os.fspath(path)
    try:
        return os.fsencode(text).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        return text.encode("utf-8", "backslashreplace").decode()


def bad_name(path: str | os.PathLike[str]) -> PageError | None:
    """The problem of a name that can't be stored or printed, if it is one."""
    try:
        os.fspath(path).encode("utf-8")
    except UnicodeEncodeError:
        return PageError(printable_path(path), "has a name that is not valid UTF-8", "rename it")
    return None


def unreachable(path: str | os.PathLike[str], error: OSError | ValueError) -> PageError:
    where = printable_path(path)
    if isinstance(error, FileNotFoundError):
        if os.path.islink(path):
            return PageError(where, "is a broken link", "remove it or restore its target")
        return PageError(where, "does not exist", "check the path")
    if isinstance(error, PermissionError):
        return PageError(
            where, "can't be read (permission denied)", "give yourself permission to read it"
        )
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return PageError(where, f"can't be read ({reason})", "check the path and the disk")


def special_file(path: str | os.PathLike[str], mode: int) -> PageError:
    kind = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}.get(stat.S_IFMT(mode))
    return PageError(
        printable_path(path), f"is {kind or 'a device'}", "give a regular file instead"
    )


def read_beginning(path: Path) -> bytes:
    """The first bytes of a regular file that is not empty; anything else is a PageError.

    Pipes and devices are never opened, for that could block.
    """
    problem = bad_name(path)
    if problem is not None:
        raise problem
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise PageError(printable_path(path), "is a folder", "give a file instead")
        if not stat.S_ISREG(mode):
            raise special_file(path, mode)
        with path.open("rb") as file:
            beginning = file.read(1024)
    except OSError as error:
        raise unreachable(path, error) from None
    if not beginning:
        raise PageError(printable_path(path), "is empty", "get a fresh copy")
    return beginning


def another_kind(path: Path, expected: str, beginning: bytes) -> PageError:
    """A file that is not what its ending says."""
    text = beginning.lstrip()
    kind = next((kind for magic, kind in BEGINNINGS if text.startswith(magic)), None)
    if kind is None:
        start = ascii(beginning[:12].decode("latin-1"))
        return PageError(
            printable_path(path), f"is not {expected}: it starts with {start}", "get a fresh copy"
        )
    return PageError(
        printable_path(path),
        f"is not {expected}: it looks like {kind}",
        "correct its ending, or save it as a PDF",
    )


def too_much_memory(path: Path, limit: int, page: int | None = None) -> PageError:
    reason = f"needs more than {readable_size(limit)} of memory"
    return PageError(printable_path(path), reason, "make it smaller or simpler", page)


def stopped(path: Path, page: int | None) -> PageError:
    reason = "wasn't read because reading was stopped"
    return PageError(printable_path(path), reason, "read it again", page)


def given_up(path: Path, page: int) -> PageError:
    reason = "wasn't tried because too many pages before it took too much time or memory"
    return PageError(printable_path(path), reason, "simplify the file", page)


def on_page(problem: PageError, page: int) -> PageError:
    return PageError(problem.path, problem.reason, problem.remedy, page)

"""The words on a picture of a page, recognised by tesseract: a program that is installed apart from
docpruner, with a model for each of its languages."""

from __future__ import annotations

import ctypes
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from docpruner.errors import OcrError
from docpruner.types import Word

if TYPE_CHECKING:
    from PIL.Image import Image

LANGUAGE = r"\w[\w-]*(/\w[\w-]*)?"  # chi_sim, script/Cyrillic
LANGUAGES = re.compile(rf"{LANGUAGE}(\+{LANGUAGE})*", re.ASCII)
NOT_LANGUAGES = {"osd", "equ"}  # models for something else that are listed too
INSTALL = (
    "Debian, Ubuntu: apt-get install tesseract-ocr tesseract-ocr-{}; "
    "macOS: brew install tesseract tesseract-lang"
)
MOST_PIXELS = 4_000_000
LINES, SCATTERED = "3", "11"  # what to look for: its "page segmentation mode"
WORD = "5"  # the level of a row; others are pages, blocks, paragraphs and lines
PR_SET_PDEATHSIG = 1  # of Linux's prctl

_before_exec: Callable[[], object] | None = None


def require(languages: str) -> None:
    """That tesseract can recognise these languages, such as `rus+eng`; else an OcrError."""
    if not LANGUAGES.fullmatch(languages):
        raise OcrError(
            f"{languages!r} is no language of tesseract; give its code, such as rus, or several "
            "with + between them, such as rus+eng"
        )
    there = installed_languages()
    for language in languages.split("+"):
        install = INSTALL.format(language.replace("_", "-").lower())  # as Debian names packages
        if there is None:
            raise OcrError(f"recognising {languages} needs the program tesseract ({install})")
        if language not in there:
            raise OcrError(
                f"tesseract has no language {language}, only {', '.join(there) or 'none'}; give "
                f"one of these, or install it ({install})"
            )


def installed_languages() -> list[str] | None:
    """None if tesseract is not installed."""
    if _program() is None:
        return None
    names = _output("--list-langs").split("\n")[1:]
    return sorted({name.strip() for name in names} - NOT_LANGUAGES - {""})


def version() -> str:
    """Such as `tesseract 5.3.0`."""
    return _output("--version").partition("\n")[0].strip()


def words_on(image: Image, languages: str) -> tuple[Word, ...]:
    """Words with their boxes, line by line; where no lines are found, those that stand alone."""
    picture = BytesIO()
    _reduced(image).save(picture, "PPM")
    read = partial(_read, picture.getvalue(), languages)
    return read(LINES) or read(SCATTERED)


def end_with_this_process() -> None:
    """From now on a tesseract that is running ends when this process does, however that happens.

    On Linux. A process of many threads should not ask for it, as it forks then.
    """
    global _before_exec
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        _before_exec = partial(prctl, PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))


def _read(picture: bytes, languages: str, mode: str) -> tuple[Word, ...]:
    options = ("-l", languages, "--psm", mode, "-c", "tessedit_create_tsv=1")
    return tuple(_words(_output("-", "-", *options, given=picture)))


def _words(table: str) -> Iterator[Word]:
    rows = [line.split("\t") for line in table.split("\n")[1:] if line]
    width = height = 1.0
    for level, *_, left, top, wide, high, confidence, text in rows:
        x0, y0, x1, y1 = (
            float(left),
            float(top),
            float(left) + float(wide),
            float(top) + float(high),
        )
        if level == "1":  # the page
            width, height = x1, y1
        elif level == WORD and float(confidence) >= 0 and text.strip():
            yield Word(text.strip(), (x0 / width, y0 / height, x1 / width, y1 / height))


def _reduced(image: Image) -> Image:
    scale = math.sqrt(MOST_PIXELS / (image.width * image.height))
    if scale >= 1:
        return image
    return image.resize((max(1, int(image.width * scale)), max(1, int(image.height * scale))))


def _program() -> str | None:
    return shutil.which("tesseract")


def _output(*arguments: str, given: bytes = b"") -> str:
    try:
        done = subprocess.run(
            [_program() or "tesseract", *arguments],
            input=given,
            capture_output=True,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},  # pages are read at the same time instead
            preexec_fn=_before_exec,
        )
    except OSError as error:
        raise OcrError(f"tesseract won't start ({error.strerror})") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        how = (
            f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        )
        raise OcrError(f"tesseract failed ({how}{': ' + said[-1] if said else ''})")
    return done.stdout.decode(errors="replace")

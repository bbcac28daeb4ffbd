"""What a `PageReader` and its child say to each other: a line of JSON, then the bytes of a picture.

No pickle: a child taken over by a hostile file must not get to run code in its parent. For the
same reason the parent believes nothing of what it is told without a look.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, get_args

from docpruner.errors import PageError
from docpruner.pages.parsed_page import ParsedPage, Picture
from docpruner.pages.problems import printable_path
from docpruner.types import Word, WordsFrom

LONGEST_HEADER = 1 << 28  # bytes
LARGEST_PICTURE = 1 << 30

Message = dict[str, Any]


class GarbledError(Exception):
    """An answer that makes no sense."""


def write(stream: BinaryIO, header: Message, picture: bytes = b"") -> None:
    line = json.dumps(header | {"bytes": len(picture)}, separators=(",", ":"))
    stream.write(line.encode() + b"\n")
    stream.write(picture)
    stream.flush()


def read(stream: BinaryIO) -> tuple[Message, bytes] | None:
    """The next message, None at the end; ValueError for what is no message."""
    line = stream.readline(LONGEST_HEADER)
    if not line:
        return None
    header = json.loads(line)
    if not isinstance(header, dict):
        raise ValueError("a message is an object")
    size = header.get("bytes")
    if not isinstance(size, int) or not 0 <= size <= LARGEST_PICTURE:
        raise ValueError(f"a picture of {size} bytes")
    picture = stream.read(size)
    if len(picture) < size:
        return None
    return header, picture


def parsed_page_header(page: ParsedPage) -> Message:
    return {
        "number": page.number,
        "size": page.size,
        "words": [(word.text, *word.box) for word in page.words],
        "words_from": page.words_from,
        "content_hash": page.content_hash.hex(),
        "picture": page.picture and (page.picture.width, page.picture.height),
    }


@contextmanager
def believed() -> Iterator[None]:
    """Where an answer is taken apart: it may be nothing of the sort."""
    try:
        yield
    except Exception as error:
        raise GarbledError(str(error)) from None


@believed()
def count_of(header: Message) -> int:
    return int(header["count"])


@believed()
def parsed_page_of(header: Message, picture: bytes) -> ParsedPage:
    if header["words_from"] not in get_args(WordsFrom):
        raise ValueError(f"words from {header['words_from']}")
    words = tuple(
        Word(str(text), (float(x0), float(y0), float(x1), float(y1)))
        for text, x0, y0, x1, y1 in header["words"]
    )
    width, height = header["size"]
    drawn = None
    if header["picture"] is not None:
        columns, rows = (int(edge) for edge in header["picture"])
        if min(columns, rows) < 1 or columns * rows * 3 != len(picture):
            raise ValueError(f"{len(picture)} bytes for {columns}×{rows} pixels")
        drawn = Picture(columns, rows, picture)
    return ParsedPage(
        int(header["number"]),
        (float(width), float(height)),
        words,
        header["words_from"],
        bytes.fromhex(header["content_hash"]),
        drawn,
    )


def problem_header(problem: PageError) -> Message:
    return {"problem": [problem.reason, problem.remedy, problem.page]}


@believed()
def problem_in(header: Message, path: Path) -> PageError | None:
    if "problem" not in header:
        return None
    reason, remedy, page = header["problem"]
    number = None if page is None else int(page)
    return PageError(printable_path(path), str(reason), str(remedy), number)

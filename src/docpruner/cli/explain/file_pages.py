"""Pages of a file as an encoder and as a person sees them; files are read in a child process."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from PIL.Image import Image

from docpruner.encoders.registry import Encoder
from docpruner.errors import EncoderError, InvalidPageError, NoWordsWarning, PageError
from docpruner.pages.ocr import uses_ocr
from docpruner.pages.problems import printable_path
from docpruner.pages.reader import PageReader
from docpruner.types import Ocr, Page, PageEmbedding


def page_count(path: Path) -> int:
    with PageReader(pixels=None) as reader:
        return reader.open(path)


def page_numbers(path: Path, count: int, asked: tuple[int, int | None]) -> list[int]:
    """The numbers from the first to the last one asked for that a document has; at least one."""
    first, last = asked
    numbers = range(max(1, first), (count if last is None else min(last, count)) + 1)
    if not numbers:
        pages = "1 page" if count == 1 else f"{count} pages"
        raise PageError(
            printable_path(path), f"has only {pages}", f"ask for one from 1 to {count}", first
        )
    return list(numbers)


def drawn_pages(path: Path, numbers: Iterable[int], pixels: int) -> Iterator[Image | PageError]:
    """Pictures of pages, in their order."""
    with PageReader(pixels=pixels) as reader:
        reader.open(path)
        for page in reader.pages(numbers):
            yield page if isinstance(page, PageError) else page.render()


def encoded_pages(
    path: Path, numbers: Iterable[int], encoder: Encoder, *, ocr: Ocr | None = None
) -> Iterator[PageEmbedding | PageError]:
    """Pages as an encoder sees them. One without words is a problem if it sees nothing else."""
    ocr = uses_ocr(ocr, reads_words=encoder.reads == "words")
    with PageReader(pixels=encoder.pixels, ocr=ocr, title_page=True) as reader:
        reader.open(path)
        for page in reader.pages(numbers):
            if isinstance(page, PageError):
                yield page
            elif encoder.reads == "words" and not page.words:
                yield _silent(path, page.number, encoder.name, ocr=bool(ocr))
            else:
                yield _encoded(path, page, encoder)


def _encoded(path: Path, page: Page, encoder: Encoder) -> PageEmbedding | PageError:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoWordsWarning)
            return encoder.encode_pages([page])[0]
    except (EncoderError, InvalidPageError) as error:
        remedy = "use another encoder"
        return PageError(printable_path(path), f"can't be encoded ({error})", remedy, page.number)


def _silent(path: Path, number: int, encoder: str, *, ocr: bool) -> PageError:
    if ocr:
        reason, remedy = "no words were recognised on it", "use an encoder that sees pictures"
        return PageError(printable_path(path), reason, remedy, number)
    return PageError(
        printable_path(path),
        f"has no words, and {encoder} reads nothing else",
        "add --ocr to recognise them, or use an encoder that sees pictures",
        number,
    )

"""PDF files as pages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pypdfium2
from PIL.Image import Image

from docpruner.errors import PageError
from docpruner.pages.ocr import recognised_words
from docpruner.pages.text_layer import words_of_page
from docpruner.types import Page

LONGEST_EDGE = 1600  # pixels of a drawn page


def pdf_pages(path: Path, *, ocr: bool = False) -> Iterator[Page]:
    """The pages of a PDF one after another, with the words of their text layers.

    With `ocr`, words of pages that have no text layer are recognised from their picture. A page is
    drawn only when its `render` is called, also after the file was closed.
    """
    with _open(path) as document:
        for index in range(len(document)):
            words = words_of_page(document[index])
            draw = partial(drawn_page, path, index)
            if ocr and not words:
                words = recognised_words(draw())
            yield Page(f"{path.name}#{index + 1}", draw, words)


def drawn_page(path: Path, index: int) -> Image:
    """A page as a picture of `LONGEST_EDGE` pixels along its longer edge."""
    with _open(path) as document:
        page = document[index]
        image: Image = page.render(scale=LONGEST_EDGE / max(page.get_size())).to_pil()
        return image


def _open(path: Path) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise PageError(f"{path} can't be read as a PDF: {error}") from error
    except FileNotFoundError:
        raise PageError(f"{path} does not exist") from None

"""PDF files, read by pdfium: not thread-safe, and open to crashes on hostile files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium

from docpruner.errors import PageError
from docpruner.pages.parsed_page import Picture
from docpruner.pages.problems import another_kind, printable_path, read_beginning, unreachable
from docpruner.pages.text_layer import words_of_page
from docpruner.types import Word

LONGEST_EDGE = 20_000  # pixels of a drawn page
GET_AGAIN = "get a fresh copy, or print it to a new PDF"


class PdfFile:
    """An open PDF. Its pages are loaded one at a time and let go at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pdf = _opened(path)
        self.count = len(self._pdf)

    @contextmanager
    def open_page(self, number: int) -> Iterator[OpenPdfPage]:
        try:
            page = self._pdf[number - 1]
            try:
                yield OpenPdfPage(page)
            finally:
                page.close()
        except pypdfium2.PdfiumError:
            raise PageError(printable_path(self._path), "is damaged", GET_AGAIN, number) from None

    def close(self) -> None:
        self._pdf.close()


class OpenPdfPage:
    """A loaded page of a PDF."""

    def __init__(self, page: pypdfium2.PdfPage) -> None:
        self._page = page
        self.size = _size(page)

    def words(self) -> tuple[Word, ...]:
        return words_of_page(self._page)

    def draw(self, pixels: int) -> Picture:
        """The page on white paper, forms filled in, with about `pixels` pixels in all."""
        width, height = drawn_size(self.size, pixels)
        bitmap = pypdfium2.PdfBitmap.new_native(
            width, height, pdfium.FPDFBitmap_BGR, rev_byteorder=True
        )
        try:
            bitmap.fill_rect((255, 255, 255, 255), 0, 0, width, height)
            flags = pdfium.FPDF_ANNOT | pdfium.FPDF_REVERSE_BYTE_ORDER
            arguments = (bitmap, self._page, 0, 0, width, height, 0, flags)
            pdfium.FPDF_RenderPageBitmap(*arguments)
            if self._page.formenv:
                pdfium.FPDF_FFLDraw(self._page.formenv, *arguments)
            return Picture(width, height, bytes(bitmap.buffer))
        finally:
            bitmap.close()


def drawn_size(size: tuple[float, float], pixels: int) -> tuple[int, int]:
    """Width and height in pixels: the shape of the page, and about that area.

    A page of absurd shape gets fewer pixels, for its longer edge is limited.
    """
    width, height = size
    scale = min(math.sqrt(pixels / width / height), LONGEST_EDGE / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))


def _size(page: pypdfium2.PdfPage) -> tuple[float, float]:
    """In points, as the page is shown; damaged files claim any number."""
    width, height = (
        min(max(float(edge), 1e-3), 1e9) if math.isfinite(edge) else 1.0 for edge in page.get_size()
    )
    return width, height


def _opened(path: Path) -> pypdfium2.PdfDocument:
    beginning = read_beginning(path)
    if b"%PDF" not in beginning:
        raise another_kind(path, "a PDF", beginning)
    try:
        size = path.stat().st_size
        pdfium.FPDF_LoadDocument(b"", None)  # leaves FPDF_ERR_FILE where an old error may stand
        pdf = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise _problem(path, error.err_code) from None
    except OSError as error:  # it was there a moment ago
        raise unreachable(path, error) from None
    if len(pdf) > size:  # more pages than bytes
        pdf.close()
        raise PageError(
            printable_path(path), "is damaged: its page count can't be right", GET_AGAIN
        )
    with suppress(pypdfium2.PdfiumError):
        pdf.init_forms()  # what was filled into forms is drawn only then
    return pdf


def _problem(path: Path, code: int | None) -> PageError:
    where = printable_path(path)
    if code == pdfium.FPDF_ERR_PASSWORD:
        return PageError(where, "needs a password", "save a copy without one")
    if code == pdfium.FPDF_ERR_SECURITY:
        return PageError(
            where, "is protected in a way that isn't supported", "save an unprotected copy"
        )
    if code == pdfium.FPDF_ERR_FILE:  # pdfium gives a file without pages no error of its own
        return PageError(where, "has no pages", "check where it came from")
    return PageError(where, "is damaged or cut off", GET_AGAIN)

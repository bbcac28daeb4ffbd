"""Files to read: made here, down to the byte where they have to be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fpdf import FPDF
from PIL import Image, ImageDraw, ImageFont

from docpruner.pages.document import open_document
from docpruner.pages.parsed_page import ParsedPage

LINE = "Quarterly report of the harbour"


def scan() -> Image.Image:
    image = Image.new("RGB", (1000, 500), "white")
    ImageDraw.Draw(image).text((100, 250), LINE, "black", ImageFont.load_default(size=36))
    return image


def write_pdf(path: Path, pages: int, size: tuple[float, float] = (400, 200)) -> Path:
    """Pages of 400×200 points, each with its own line of text."""
    document = FPDF(unit="pt", format=size)
    document.set_font("helvetica", size=12)
    for number in range(1, pages + 1):
        document.add_page()
        document.text(40, 100, f"{LINE} {number}")
    document.output(str(path))
    return path


def crafted_pdf(*objects: bytes, root: int = 1, extra: bytes = b"") -> bytes:
    """The objects numbered from 1, with a correct table of their places."""
    body, places = b"%PDF-1.7\n", []
    for number, item in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return (
        body
        + b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
        + b"trailer\n<</Size %d/Root %d 0 R%s>>\nstartxref\n%d\n%%%%EOF\n"
        % (size, root, extra, len(body))
    )


def one_page_pdf(page: bytes, *more: bytes, catalog: bytes = b"") -> bytes:
    """A PDF of one page with these entries; further objects are numbered from 4."""
    return crafted_pdf(
        b"<</Type/Catalog/Pages 2 0 R%s>>" % catalog,
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R%s>>" % page,
        *more,
    )


def bomb(path: Path, loops: int = 12) -> Path:
    """Three pages; the second paints a form that paints a form … ten times each.

    pdfium builds all of them when it loads the page: hundreds of megabytes a second, without end.
    """
    forms = [
        b"<</Type/XObject/Subtype/Form/BBox[0 0 99 99]/Resources<</XObject<</F %d 0 R>>>>"
        b"/Length 60>>stream\n%s\nendstream" % (number + 1, b"/F Do ".ljust(6) * 10)
        for number in range(6, 6 + loops)
    ]
    last = b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Length 12>>stream\n0 0 9 9 re f\nendstream"
    content = crafted_pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R 4 0 R 3 0 R]/Count 3>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 5 0 R"
        b"/Resources<</XObject<</F 6 0 R>>>>>>",
        b"<</Length 6>>stream\n/F Do \nendstream",
        *forms,
        last,
    )
    path.write_bytes(content)
    return path


def parsed_pages(
    path: Path, *, pixels: int | None = None, ocr: bool = False
) -> Iterator[ParsedPage]:
    """What a child reads of a file, read in this process: quicker, and no harm from our files."""
    with open_document(path) as document:
        for number in range(1, document.count + 1):
            yield document.parsed_page(number, pixels=pixels, ocr=ocr)

"""Files to read: made here, down to the byte where they have to be wrong."""

from __future__ import annotations

from pathlib import Path

from fpdf import FPDF
from PIL import Image, ImageDraw, ImageFont

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

"""PDF files as pages: words from the text layer, or recognised where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fpdf import FPDF
from PIL import Image, ImageDraw, ImageFont

from docpruner.errors import PageError
from docpruner.pages.ocr import recognised_words
from docpruner.pages.pdf import LONGEST_EDGE, pdf_pages

LINE = "Quarterly report of the harbour"


def scan() -> Image.Image:
    image = Image.new("RGB", (1000, 500), "white")
    ImageDraw.Draw(image).text((100, 250), LINE, "black", ImageFont.load_default(size=36))
    return image


@pytest.fixture
def file(tmp_path) -> Path:
    """A page with a text layer, then a scan without one."""
    document = FPDF(unit="pt", format=(400, 200))
    document.set_font("helvetica", size=12)
    document.add_page()
    document.text(40, 100, LINE)
    document.add_page()
    document.image(scan(), x=0, y=0, w=400, h=200)
    document.output(str(tmp_path / "report.pdf"))
    return tmp_path / "report.pdf"


def test_pages_have_names_words_and_pictures(file):
    first, second = pdf_pages(file)
    assert (first.name, second.name) == ("report.pdf#1", "report.pdf#2")
    assert [word.text for word in first.words] == LINE.split()
    assert second.words == ()
    assert first.render().size == (LONGEST_EDGE, LONGEST_EDGE // 2)


def test_scans_are_recognised_on_request(file):
    _, second = pdf_pages(file, ocr=True)
    assert [word.text for word in second.words] == LINE.split()
    x0, y0, x1, y1 = second.words[0].box
    assert 0.08 < x0 < x1 < 0.27  # it begins at 100 of 1000 pixels
    assert 0.45 < y0 < y1 < 0.65


def test_a_blank_page_has_no_words():
    assert recognised_words(Image.new("RGB", (300, 200), "white")) == ()


def test_files_that_are_no_pdfs_are_named(tmp_path):
    (tmp_path / "a.pdf").write_bytes(b"not a PDF")
    with pytest.raises(PageError, match=r"a\.pdf can't be read as a PDF"):
        list(pdf_pages(tmp_path / "a.pdf"))
    with pytest.raises(PageError, match=r"b\.pdf does not exist"):
        list(pdf_pages(tmp_path / "b.pdf"))


def test_without_the_extra_the_error_is_the_command(file, monkeypatch):
    from docpruner.pages import ocr

    ocr._engine.cache_clear()
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    with pytest.raises(ImportError, match=r'pip install "docpruner\[ocr\]"'):
        list(pdf_pages(file, ocr=True))

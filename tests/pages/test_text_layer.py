"""Words and boxes of real PDFs, made here with fpdf2."""

from __future__ import annotations

import pytest

pytest.importorskip("pypdfium2", reason="needs pypdfium2")
pytest.importorskip("fpdf", reason="needs fpdf2 (dev)")

import fpdf
import pypdfium2

from docpruner.pages.text_layer import words_of_page
from docpruner.types import Word

WIDTH, HEIGHT = 200.0, 400.0  # points


def blank() -> fpdf.FPDF:
    pdf = fpdf.FPDF(unit="pt", format=(WIDTH, HEIGHT))
    pdf.set_auto_page_break(False)
    pdf.set_font("Helvetica", size=10)
    pdf.add_page()
    return pdf


def words(pdf: fpdf.FPDF, rotation: int = 0) -> tuple[Word, ...]:
    document = pypdfium2.PdfDocument(bytes(pdf.output()))
    page = document[0]
    page.set_rotation(rotation)
    return words_of_page(page)


def texts(pdf: fpdf.FPDF) -> list[str]:
    return [word.text for word in words(pdf)]


def middle(word: Word) -> tuple[float, float]:
    x0, y0, x1, y1 = word.box
    return (x0 + x1) / 2, (y0 + y1) / 2


def test_words_come_in_reading_order_with_their_signs():
    pdf = blank()
    pdf.text(20, 40, "Net revenue, in millions:")
    pdf.text(20, 60, "42.5")
    assert texts(pdf) == ["Net", "revenue,", "in", "millions:", "42.5"]


def test_a_box_is_a_fraction_of_the_page_from_its_top_left_corner():
    pdf = blank()
    pdf.text(100, 100, "H")  # baseline at a quarter of the height, left edge at half the width
    ((x0, y0, x1, y1),) = [word.box for word in words(pdf)]
    assert y1 == pytest.approx(100 / HEIGHT, abs=0.005)
    assert x0 == pytest.approx(100 / WIDTH, abs=0.01)
    assert 0 < x1 - x0 < 10 / WIDTH
    assert 0 < y1 - y0 < 10 / HEIGHT


@pytest.mark.parametrize(
    ("rotation", "expected"),
    [(0, (0.1, 0.2)), (90, (0.8, 0.1)), (180, (0.9, 0.8)), (270, (0.2, 0.9))],
)
def test_boxes_follow_a_turned_page(rotation, expected):
    """Turned clockwise by 90°, what was 0.2 from the top is 0.2 from the right."""
    pdf = blank()
    pdf.text(0.1 * WIDTH - 3, 0.2 * HEIGHT + 3, "x")
    (word,) = words(pdf, rotation)
    assert middle(word) == pytest.approx(expected, abs=0.02)


def test_text_written_upwards_is_one_word_in_a_tall_box():
    pdf = blank()
    with pdf.rotation(90, 100, 200):
        pdf.text(100, 200, "Temperature")
    (word,) = words(pdf)
    x0, y0, x1, y1 = word.box
    assert word.text == "Temperature"
    assert (y1 - y0) * HEIGHT > 3 * (x1 - x0) * WIDTH


def test_a_word_hyphenated_at_a_lines_end_is_whole_again_and_stands_where_it_begins():
    pdf = blank()
    pdf.text(20, 40, "the infor-")
    pdf.text(20, 52, "mation desk")
    joined = words(pdf)
    assert [word.text for word in joined] == ["the", "information", "desk"]
    assert joined[1].box[3] == pytest.approx(40 / HEIGHT, abs=0.01)


def test_a_hyphen_inside_a_line_stays():
    pdf = blank()
    pdf.text(20, 40, "well-known state-of-the-art")
    assert texts(pdf) == ["well-known", "state-of-the-art"]


def test_columns_are_read_one_after_the_other():
    pdf = blank()
    for x, column in ((20, ("left one", "left two")), (120, ("right one", "right two"))):
        for line, text in enumerate(column):
            pdf.text(x, 40 + 12 * line, text)
    assert " ".join(texts(pdf)) == "left one left two right one right two"


def test_a_page_without_text_has_no_words():
    pdf = blank()
    pdf.rect(20, 20, 100, 100)
    assert words(pdf) == ()


def test_text_outside_the_page_is_left_out():
    pdf = blank()
    pdf.text(20, 40, "seen")
    pdf.text(20, HEIGHT + 60, "unseen")
    assert texts(pdf) == ["seen"]

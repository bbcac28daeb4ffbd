"""Files as pages, in this process: what a page knows, how it is drawn, how bad files are told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pypdfium2
import pytest
from fpdf import FPDF
from PIL import Image

from docpruner.errors import PageError
from docpruner.pages.document import open_document
from docpruner.pages.ocr import recognised_words
from pages.made import LINE, crafted_pdf, one_page_pdf, parsed_pages, write_pdf


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def reason(path: Path) -> str:
    with pytest.raises(PageError, match=path.name) as caught:
        list(parsed_pages(path))
    return caught.value.reason


def test_a_page_says_what_it_is(report):
    first, second = parsed_pages(report)
    assert (first.number, first.size) == (1, (400, 200))
    assert [word.text for word in first.words] == LINE.split()
    assert (second.number, second.words) == (2, ())
    assert (first.words_from, second.words_from) == ("text layer", "nowhere")


def test_a_turned_page_is_as_it_is_shown(tmp_path):
    page = b"/MediaBox[0 0 100 200]/Rotate 90"
    (page,) = parsed_pages(written(tmp_path / "a.pdf", one_page_pdf(page)), pixels=20_000)
    assert page.size == page.picture.image().size == (200, 100)


def test_content_is_that_of_words_and_picture(report, tmp_path):
    words, drawn, larger = (
        next(parsed_pages(report, pixels=pixels)).content_hash for pixels in (None, 10_000, 20_000)
    )
    assert len(words) == 16
    assert len({words, drawn, larger}) == 3
    copy = written(tmp_path / "copy.pdf", report.read_bytes())
    assert next(parsed_pages(copy, pixels=10_000)).content_hash == drawn


def test_words_that_nobody_asked_for_are_not_looked_for(report, monkeypatch):
    loaded = []
    load = pypdfium2.PdfPage.get_textpage
    monkeypatch.setattr(
        pypdfium2.PdfPage, "get_textpage", lambda page: loaded.append(page) or load(page)
    )
    with open_document(report) as document:
        page = document.parsed_page(1, pixels=10_000, words=False)
        assert (page.words, page.words_from, loaded) == ((), "nowhere", [])
        assert document.parsed_page(1, pixels=10_000).words
        assert len(loaded) == 1


def test_what_was_filled_into_a_form_is_drawn(tmp_path):
    red = b"1 0 0 rg 0 0 100 50 re f"
    content = one_page_pdf(
        b"/MediaBox[0 0 200 100]/Annots[4 0 R]",
        b"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/F 4/Rect[10 10 110 60]/AP<</N 5 0 R>>>>",
        b"<</Type/XObject/Subtype/Form/BBox[0 0 100 50]/Length %d>>stream\n%s\nendstream"
        % (len(red), red),
        catalog=b"/AcroForm<</Fields[4 0 R]>>",
    )
    (page,) = parsed_pages(written(tmp_path / "form.pdf", content), pixels=20_000)
    assert page.picture.image().getpixel((50, 60)) == (255, 0, 0)


def test_scans_are_recognised_on_request(report):
    _, second = parsed_pages(report, ocr=True)
    assert [word.text for word in second.words] == LINE.split()
    assert second.words_from == "ocr"
    x0, y0, x1, y1 = second.words[0].box
    assert 0.08 < x0 < x1 < 0.27  # it begins at 100 of 1000 pixels
    assert 0.45 < y0 < y1 < 0.65


def test_a_page_where_nothing_was_recognised_says_that_it_was_tried(tmp_path):
    Image.new("L", (300, 200), 255).save(tmp_path / "blank.png")
    (page,) = parsed_pages(tmp_path / "blank.png", ocr=True)
    assert (page.words, page.words_from) == ((), "ocr")


def test_a_blank_page_has_no_words():
    assert recognised_words(Image.new("RGB", (300, 200), "white")) == ()


def test_without_the_extra_the_error_is_the_command(report, monkeypatch):
    from docpruner.pages import ocr

    ocr._engine.cache_clear()
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    with pytest.raises(ImportError, match=r'pip install "docpruner\[ocr\]"'):
        list(parsed_pages(report, ocr=True))


def test_a_page_that_is_not_there_is_an_error(report):
    with (
        open_document(report) as document,
        pytest.raises(PageError, match=r"report\.pdf#3: has only 2 pages; ask for one from 1 to 2"),
    ):
        document.parsed_page(3, pixels=None)


def test_a_file_of_one_page_has_no_second(tmp_path):
    with (
        open_document(write_pdf(tmp_path / "a.pdf", 1)) as document,
        pytest.raises(PageError, match=r"a\.pdf#0: has only 1 page; ask for page 1"),
    ):
        document.parsed_page(0, pixels=None)


def test_a_pdf_with_a_password_is_an_error(tmp_path):
    document = FPDF()
    document.add_page()
    document.set_encryption(owner_password="a", user_password="b")
    document.output(str(tmp_path / "a.pdf"))
    with pytest.raises(PageError, match=r"a\.pdf: needs a password; save a copy without one"):
        open_document(tmp_path / "a.pdf")


def test_a_pdf_that_only_its_owner_may_change_can_be_read(tmp_path):
    document = FPDF(unit="pt", format=(400, 200))
    document.set_font("helvetica", size=12)
    document.add_page()
    document.text(40, 100, LINE)
    document.set_encryption(owner_password="a")
    document.output(str(tmp_path / "a.pdf"))
    (page,) = parsed_pages(tmp_path / "a.pdf")
    assert [word.text for word in page.words] == LINE.split()


def test_an_empty_file_is_an_error(tmp_path):
    assert reason(written(tmp_path / "a.pdf", b"")) == "is empty"
    assert reason(written(tmp_path / "a.png", b"")) == "is empty"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\n<!DOCTYPE html><html>", "looks like a web page"),
        (b"PK\x03\x04 word/document.xml", "looks like an Office file or a ZIP archive"),
        (b"\x89PNG\r\n\x1a\n", "looks like a PNG image"),
        (b"not a PDF", "starts with 'not a PDF'"),
        (bytes(50), r"starts with '\x00\x00"),
    ],
)
def test_what_is_not_a_pdf_is_said_to_be_something_else(tmp_path, content, what):
    assert reason(written(tmp_path / "a.pdf", content)).startswith(f"is not a PDF: it {what}")


def test_bytes_before_the_pdf_do_not_matter(report, tmp_path):
    file = written(
        tmp_path / "mail.pdf", b"Content-Type: application/pdf\n\n" + report.read_bytes()
    )
    assert len(list(parsed_pages(file))) == 2


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_a_pdf_cut_off_is_an_error_or_what_is_left_of_it(tmp_path, share):
    whole = write_pdf(tmp_path / "whole.pdf", 3).read_bytes()
    path = written(tmp_path / "a.pdf", whole[: int(share * len(whole))])
    assert reason(path) in ("is damaged or cut off", "has no pages")


def test_a_pdf_that_lost_only_its_table_is_mended(tmp_path):
    whole = write_pdf(tmp_path / "whole.pdf", 3).read_bytes()
    path = written(tmp_path / "a.pdf", whole[: whole.index(b"\nxref")])
    assert reason(path) == "is damaged or cut off" or len(list(parsed_pages(path))) == 3


def test_a_pdf_without_pages_is_an_error(tmp_path):
    content = crafted_pdf(b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[]/Count 0>>")
    assert reason(written(tmp_path / "a.pdf", content)) == "has no pages"


def test_a_made_up_number_of_pages_is_an_error(tmp_path):
    content = one_page_pdf(b"/MediaBox[0 0 9 9]").replace(b"/Count 1", b"/Count 99999")
    assert "is damaged" in reason(written(tmp_path / "a.pdf", content))


def test_a_page_that_is_missing_costs_only_itself(tmp_path):
    content = crafted_pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R 9 0 R 3 0 R]/Count 3>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 20 10]>>",
    )
    with open_document(written(tmp_path / "a.pdf", content)) as document:
        assert document.parsed_page(1, pixels=None).size == (20, 10)
        with pytest.raises(PageError, match=r"a\.pdf#2: is damaged; get a fresh copy"):
            document.parsed_page(2, pixels=None)
        assert document.parsed_page(3, pixels=None).size == (20, 10)


@pytest.mark.parametrize(
    "box", ["0 0 0 0", "0 0 1e30 1e30", "0 0 1e-30 1", "0 0 1000000 1", "5 5 5 900", "9 9 0 0", "x"]
)
def test_a_page_of_any_shape_is_drawn_within_limits(tmp_path, box):
    path = written(tmp_path / "a.pdf", one_page_pdf(b"/MediaBox[%s]" % box.encode()))
    (page,) = parsed_pages(path, pixels=100_000)
    width, height = page.picture.width, page.picture.height
    assert 1 <= width * height <= 101_000
    assert max(width, height) <= 20_000


def test_a_file_that_does_not_exist_is_an_error(tmp_path):
    assert reason(tmp_path / "a.pdf") == "does not exist"
    assert reason(tmp_path / "a.png") == "does not exist"


def test_a_pipe_is_never_opened(tmp_path):
    os.mkfifo(tmp_path / "a.pdf")
    assert reason(tmp_path / "a.pdf") == "is a named pipe"


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "a.pdf").mkdir()
    assert reason(tmp_path / "a.pdf") == "is a folder"


def test_another_ending_is_an_error(tmp_path):
    assert (
        reason(written(tmp_path / "a.txt", b"x"))
        == "doesn't look like a PDF or an image (by its ending)"
    )


def test_a_name_that_is_not_utf8_is_an_error(tmp_path, report):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.pdf"))
    path.write_bytes(report.read_bytes())
    with pytest.raises(
        PageError, match=r"caf\\xe9\.pdf: has a name that is not valid UTF-8; rename it"
    ):
        open_document(path)


def test_an_unreadable_file_is_an_error(report):
    """As another user, for root may read everything."""
    program = (
        "import os, sys; from pathlib import Path\n"
        "from docpruner.pages.document import open_document\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        "try: open_document(Path(sys.argv[1]))\n"
        "except ValueError as error: print(error)\n"
    )
    report.chmod(0)
    for folder in list(report.parents)[:3]:
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(0o755)
    printed = subprocess.run(
        [sys.executable, "-c", program, str(report)], check=True, capture_output=True, text=True
    ).stdout
    assert "report.pdf: can't be read (permission denied); give yourself permission" in printed


def test_memory_stays_flat_over_many_pages(tmp_path):
    document = FPDF(unit="pt", format=(400, 200))
    document.set_font("helvetica", size=6)
    for number in range(400):
        document.add_page()
        for line in range(20):
            document.text(20, 9 * line + 9, f"{LINE} {number} {line}")
    document.output(str(tmp_path / "long.pdf"))
    program = (
        "import sys; from pathlib import Path\n"
        "from pages.made import parsed_pages\n"
        "def pages(): return int(open('/proc/self/statm').read().split()[1])\n"
        "for page in parsed_pages(Path(sys.argv[1]), pixels=200_000):\n"
        "    if page.number == 100: before = pages()\n"
        "print((pages() - before) * 4096)\n"
    )
    if not Path("/proc/self/statm").exists():
        pytest.skip("needs /proc")
    grown = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "long.pdf")],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)},
    ).stdout
    assert int(grown) < 8 << 20

"""Words that are recognised: by default where that is possible, and of several pages at once."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from fpdf import FPDF
from PIL import Image, ImageDraw, ImageFont

from docpruner.errors import MissingExtraError, PageError
from docpruner.pages import memory_limit, reader
from docpruner.pages.memory_limit import most_recognisers
from docpruner.pages.ocr import recognised_words, uses_ocr
from docpruner.pages.reader import PageReader, pages_of
from docpruner.types import Page
from pages.made import LINE
from pages.processes import children_of, proc

GB = 1 << 30
NAMES = ("Aberdeen", "Bergen", "Calais", "Dublin", "Esbjerg", "Falmouth", "Gdansk")


@pytest.fixture(autouse=True)
def _installed():
    pytest.importorskip("rapidocr", reason="needs the ocr extra: pip install 'docpruner[ocr]'")


def scanned(path: Path, *lines: str) -> Path:
    """A PDF of pictures, each with a line of text."""
    document = FPDF(unit="pt", format=(400, 200))
    for line in lines:
        picture = Image.new("RGB", (1000, 500), "white")
        ImageDraw.Draw(picture).text((90, 220), line, "black", ImageFont.load_default(size=40))
        document.add_page()
        document.image(picture, x=0, y=0, w=400, h=200)
    document.output(str(path))
    return path


def said(pages) -> list[str]:
    return [page if isinstance(page, PageError) else text_of(page) for page in pages]


def text_of(page: Page) -> str:
    return " ".join(word.text for word in page.words)


def test_it_is_used_where_it_is_installed_by_who_reads_words(monkeypatch):
    assert uses_ocr(None, reads_words=True)
    assert not uses_ocr(None, reads_words=False)
    assert uses_ocr(True, reads_words=False)
    assert not uses_ocr(False, reads_words=True)
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    assert not uses_ocr(None, reads_words=True)
    with pytest.raises(MissingExtraError, match=r'pip install "docpruner\[ocr\]"'):
        uses_ocr(True, reads_words=True)


def test_a_scan_is_read_unless_that_is_not_wanted(report, monkeypatch):
    assert [page.words_from for page in pages_of(report)] == ["text layer", "ocr"]
    assert [page.words_from for page in pages_of(report, ocr=False)] == ["text layer", "nowhere"]
    pictured = pages_of(report, pixels=20_000)  # for an encoder that sees them
    assert [page.words_from for page in pictured] == ["text layer", "nowhere"]
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    assert [page.words_from for page in pages_of(report)] == ["text layer", "nowhere"]


@proc
def test_pages_read_at_once_are_those_read_in_turn_in_their_order(tmp_path, monkeypatch):
    path = scanned(tmp_path / "a.pdf", *NAMES[:3], "", *NAMES[3:])
    before, most, read = children_of(os.getpid()), {}, {}
    for count in (1, 3):
        monkeypatch.setattr(reader, "most_recognisers", lambda count=count: count)
        read[count] = []
        for page in pages_of(path):
            read[count].append((page.number, page.words, page.words_from, page.content_hash))
            most[count] = max(most.get(count, 0), len(children_of(os.getpid()) - before))
    assert [number for number, *_ in read[3]] == list(range(1, 9))
    assert read[3] == read[1]
    assert [[word.text for word in words] for _, words, *_ in read[3]] == [
        *([name] for name in NAMES[:3]),
        [],
        *([name] for name in NAMES[3:]),
    ]
    assert most == {1: 1, 3: 3}


@proc
def test_a_file_with_a_text_layer_takes_one_child(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "most_recognisers", lambda: 3)
    document = FPDF()
    document.set_font("helvetica")
    for number in range(9):
        document.add_page()
        document.text(20, 40, f"{LINE} {number}")
    document.output(str(tmp_path / "a.pdf"))
    before = children_of(os.getpid())
    with PageReader(pixels=None, ocr=True) as opened:
        assert len(list(opened.pages(range(1, opened.open(tmp_path / "a.pdf") + 1)))) == 9
        assert len(children_of(os.getpid()) - before) == 1


@proc
def test_a_crash_of_one_that_recognises_costs_one_page(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "most_recognisers", lambda: 2)
    path = scanned(tmp_path / "a.pdf", *NAMES)
    before = children_of(os.getpid())
    with PageReader(pixels=None, ocr=True) as opened:
        pages = opened.pages(range(1, opened.open(path) + 1))
        results = [next(pages), next(pages)]
        first, second = sorted(children_of(os.getpid()) - before)
        os.kill(second, signal.SIGKILL)
        results += pages
        assert first not in children_of(os.getpid())  # both were replaced
    (lost,) = (page for page in results if isinstance(page, PageError))
    assert "crashed the reader (signal 9)" in str(lost)
    assert [page for page in said(results) if page is not lost] == [
        name for number, name in enumerate(NAMES, 1) if number != lost.page
    ]


def test_a_file_that_has_changed_is_read_anew_by_all(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "most_recognisers", lambda: 2)
    path = tmp_path / "a.pdf"
    with PageReader(pixels=None, ocr=True) as opened:
        for names in (NAMES[:5], NAMES[:5][::-1]):
            scanned(path, *names)
            assert said(opened.pages(range(1, opened.open(path) + 1))) == list(names)


def test_several_files_are_read_by_the_same_children(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "most_recognisers", lambda: 2)
    paths = [scanned(tmp_path / f"{name}.pdf", *[name] * 3) for name in NAMES[:2]]
    with PageReader(pixels=None, ocr=True) as opened:
        found = [said(opened.pages(range(1, opened.open(path) + 1))) for path in paths]
        again = opened.pages([1, 2, 3])
        assert said([next(again)]) == [NAMES[1]]
        opened.open(paths[0])  # a file may be left midway
        assert said(opened.pages([3])) == [NAMES[0]]
    assert found == [[name] * 3 for name in NAMES[:2]]


@pytest.mark.parametrize(
    ("memory", "cores", "most"), [(2 * GB, 8, 1), (16 * GB, 8, 4), (64 * GB, 8, 8), (64 * GB, 1, 1)]
)
def test_no_more_work_at_once_than_memory_and_cores_allow(monkeypatch, memory, cores, most):
    monkeypatch.setattr(memory_limit, "machine_memory", lambda: memory)
    monkeypatch.setattr(memory_limit, "usable_cores", lambda: cores)
    assert most_recognisers() == most


def test_small_letters_on_a_small_picture_are_read():
    picture = Image.new("L", (300, 60), 255)
    ImageDraw.Draw(picture).text((10, 20), LINE, 0, ImageFont.load_default(size=13))
    words = recognised_words(picture)
    assert [word.text for word in words] == LINE.split()
    assert all(0 <= edge <= 1 for word in words for edge in word.box)
    assert words[0].box[0] < 0.1 < 0.6 < words[-1].box[2]

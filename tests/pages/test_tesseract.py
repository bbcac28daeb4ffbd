"""Words recognised by tesseract: what it says is understood, and it never outlives its reader."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from docpruner.errors import OcrError, PageError
from docpruner.pages import reader, tesseract
from docpruner.pages.ocr import recognised_words, recogniser, uses_ocr
from docpruner.pages.reader import PageReader, pages_of
from docpruner.types import Page
from pages.languages import RUSSIAN, needs, printed
from pages.made import LINE, scan
from pages.processes import children_of, proc, state_of, waited_for

TABLE = """\
level|page_num|block_num|par_num|line_num|word_num|left|top|width|height|conf|text
1|1|0|0|0|0|0|0|1000|500|-1|
2|1|1|0|0|0|94|229|609|37|-1|
3|1|1|1|0|0|94|229|609|37|-1|
4|1|1|1|1|0|94|229|609|37|-1|
5|1|1|1|1|1|94|229|240|29|96.481796|Расписание
5|1|1|1|1|2|353|235|172|31|96.744217|паромов
5|1|2|1|1|1|0|0|1000|500|95.000000|\x20
5|1|2|1|1|2|10|10|5|5|-1|"
5|1|2|1|1|3|500|400|500|100|0.000000|"зиму
""".replace("|", "\t")


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Makes a program that passes for tesseract, written in Python."""

    def made(*lines: str) -> Path:
        path = tmp_path / "bin" / "tesseract"
        path.parent.mkdir(exist_ok=True)
        listing = "if '--list-langs' in sys.argv: sys.exit(print('Languages:\\nosd\\nrus\\neng'))"
        text = "\n".join((f"#!{sys.executable} -IS", "import os, sys, time", listing, *lines))
        path.write_text(text + "\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(path.parent), prepend=os.pathsep)
        return path

    return made


def text_of(page: Page) -> str:
    return " ".join(word.text for word in page.words)


def test_words_are_the_rows_of_words_with_their_boxes_as_shares_of_the_page():
    first, second, last = tesseract._words(TABLE)
    assert (first.text, second.text, last.text) == ("Расписание", "паромов", '"зиму')
    assert first.box == pytest.approx((0.094, 229 / 500, 0.334, 258 / 500))
    assert last.box == (0.5, 0.8, 1.0, 1.0)


@pytest.mark.parametrize(
    "given",
    ["", "+", "rus+", "+rus", "rus eng", "-l", "rus+-c", "../rus", "a/b/c", "/etc", "рус", "a\nb"],
)
def test_what_is_no_code_of_a_language_never_becomes_an_argument(given):
    with pytest.raises(OcrError, match=r"is no language of tesseract; give its code, such as rus"):
        uses_ocr(given, reads_words=True)


@pytest.mark.parametrize("given", ["rus", "rus+eng", "chi_sim", "script/Cyrillic", "eng-fast"])
def test_codes_of_languages_and_scripts_are_taken(given, program):
    program()
    wanted = given.split("+")[0]
    if wanted == "rus":
        assert uses_ocr(given, reads_words=False) == given
        return
    with pytest.raises(OcrError, match=f"tesseract has no language {wanted}, only eng, rus; give"):
        uses_ocr(given, reads_words=False)


def test_what_is_not_installed_is_said_with_the_remedy(program, monkeypatch, tmp_path):
    program()
    with pytest.raises(OcrError, match=r"no language chi_tra, .*apt-get .* tesseract-ocr-chi-tra;"):
        uses_ocr("eng+chi_tra", reads_words=True)
    with pytest.raises(OcrError, match=r"has no language osd"):  # it finds the script of a page
        PageReader(pixels=None, ocr="osd")
    monkeypatch.setenv("PATH", str(tmp_path))
    remedy = r"apt-get install tesseract-ocr tesseract-ocr-rus; macOS: brew install tesseract "
    with pytest.raises(OcrError, match=f"recognising rus needs the program tesseract .*{remedy}"):
        next(pages_of(tmp_path / "no.pdf", ocr="rus"))


def test_the_recogniser_is_named_by_program_version_and_languages(program):
    program("print('tesseract 5.3.0\\n leptonica-1.82.0')")
    assert recogniser("rus+eng") == "tesseract 5.3.0, rus+eng"
    assert recogniser("rus+eng") != recogniser("eng+rus") != recogniser(True)


def test_where_no_lines_are_found_scattered_words_are_looked_for(program):
    program(f"table = {TABLE!r}", "print(table if '11' in sys.argv else table.partition('\\n')[0])")
    words = recognised_words(scan(), "rus")
    assert [word.text for word in words] == ["Расписание", "паромов", '"зиму']


def test_a_failure_on_a_page_costs_that_page(program, tmp_path):
    program(
        "if sys.stdin.buffer.read(20).startswith(b'P6\\n1001 '):",
        "    sys.exit('no memory left')",
        f"print({TABLE!r})",
    )
    for name, width in (("a", 1000), ("b", 1001), ("c", 1000)):
        Image.new("RGB", (width, 800), "white").save(tmp_path / f"{name}.png")
    with PageReader(pixels=None, ocr="rus") as opened:
        read = []
        for name in "abc":
            opened.open(tmp_path / f"{name}.png")
            read += opened.pages([1])
    first, failed, last = read
    assert text_of(first) == text_of(last) == 'Расписание паромов "зиму'
    assert isinstance(failed, PageError)
    assert "can't be read (OcrError: tesseract failed (exit code 1: no memory left))" in str(failed)


@proc
def test_memory_of_tesseract_is_limited_as_that_of_its_reader(program, tmp_path):
    program("hoard = [bytes([1]) * (1 << 24) for _ in range(40)]", "time.sleep(60)")
    scan().save(tmp_path / "a.png")
    with PageReader(pixels=None, ocr="rus", memory=400 << 20) as opened:
        opened.open(tmp_path / "a.png")
        (failed,) = opened.pages([1])
    assert "needs more than 400 MB of memory" in str(failed)


HANGS = (
    "open(sys.argv[0] + '.pid', 'w').write(str(os.getpid()))",
    "os.rename(sys.argv[0] + '.pid', sys.argv[0] + '.running')",
    "time.sleep(60)",
)


def running(path: Path) -> int:
    there = path.with_name(path.name + ".running")
    assert waited_for(there.exists, 30)
    return int(there.read_text())


@proc
def test_a_page_that_takes_too_long_leaves_no_tesseract_behind(program, tmp_path):
    path = program(*HANGS)
    scan().save(tmp_path / "a.png")
    with PageReader(pixels=None, ocr="rus", seconds=1.5) as opened:
        opened.open(tmp_path / "a.png")
        (failed,) = opened.pages([1])
        assert "took longer than 3 s" in str(failed)
        assert waited_for(lambda: state_of(running(path)) in ("", "Z"))


@proc
@pytest.mark.parametrize("whom", ["reader", "parent of the reader"])
def test_tesseract_ends_with_its_reader_however_that_ends(program, tmp_path, whom):
    path = program(*HANGS)
    scan().save(tmp_path / "a.png")
    asks = (
        "import pathlib; from docpruner.pages.reader import pages_of; "
        f"next(pages_of(pathlib.Path({str(tmp_path / 'a.png')!r}), ocr='rus'))"
    )
    with subprocess.Popen([sys.executable, "-c", asks], stderr=subprocess.DEVNULL) as parent:
        pid = running(path)
        (child,) = children_of(parent.pid)
        assert pid in children_of(child)
        os.kill(child if whom == "reader" else parent.pid, signal.SIGKILL)
        assert waited_for(lambda: state_of(pid) in ("", "Z"))
        assert waited_for(lambda: state_of(child) in ("", "Z"))


@needs("rus")
def test_a_russian_scan_is_read_alone_and_by_several_children(tmp_path, monkeypatch):
    lines = [f"{RUSSIAN} {number}" for number in range(1925, 1930)]
    pictures = [printed(line) for line in lines]
    pictures[0].save(tmp_path / "a.tiff", save_all=True, append_images=pictures[1:])
    for count in (1, 3):
        monkeypatch.setattr(reader, "most_recognisers", lambda count=count: count)
        pages = list(pages_of(tmp_path / "a.tiff", ocr="rus"))
        assert [text_of(page) for page in pages] == lines
        assert {page.words_from for page in pages} == {"ocr"}
    first = pages[0].words[0]
    assert 0.05 < first.box[0] < 0.15 < first.box[2] < 0.5
    assert 0.4 < first.box[1] < first.box[3] < 0.6


@needs("rus", "eng")
def test_several_languages_on_one_page(tmp_path):
    line = f"{RUSSIAN} from the harbour"
    printed(line).save(tmp_path / "a.png")
    (page,) = pages_of(tmp_path / "a.png", ocr="rus+eng")
    assert text_of(page) == line


@needs("eng")
def test_a_page_with_a_text_layer_is_not_recognised_and_an_empty_one_has_no_words(report, tmp_path):
    first, second = pages_of(report, ocr="eng")
    assert (first.words_from, second.words_from) == ("text layer", "ocr")
    assert text_of(second) == LINE
    Image.new("RGB", (300, 200), "white").save(tmp_path / "blank.png")
    (blank,) = pages_of(tmp_path / "blank.png", ocr="eng")
    assert (blank.words, blank.words_from) == ((), "ocr")


@needs("eng")
def test_a_picture_is_read_whatever_its_size():
    large = scan().resize((6000, 3000))
    assert " ".join(word.text for word in recognised_words(large, "eng")) == LINE
    small = scan().crop((80, 230, 680, 310)).resize((300, 40))
    assert " ".join(word.text for word in recognised_words(small, "eng")) == LINE

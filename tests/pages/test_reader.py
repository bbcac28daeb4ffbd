"""Pages read in a child process: the same pages, and no harm from what goes wrong."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fpdf import FPDF
from PIL import Image

from docpruner.errors import PageError
from docpruner.pages.parsed_page import DEFAULT_PIXELS
from docpruner.pages.reader import PATIENCE, PageReader, pages_of
from docpruner.types import Page
from pages.made import LINE, bomb, crafted_pdf, parsed_pages, write_pdf
from pages.processes import children_of, proc, state_of, tasks_of, waited_for

PLENTY = 64 << 30  # bytes of memory: what is tested is the time
GIVEN_UP = "wasn't tried because too many pages before it took too much time or memory"
SAMPLES = Path(__file__).parents[2] / "src" / "docpruner" / "samples"


def read(path: Path, **options) -> list[Page | PageError]:
    with PageReader(**{"pixels": None, "seconds": 20.0} | options) as reader:
        return list(reader.pages(range(1, reader.open(path) + 1)))


def numbers(pages: list[Page | PageError]) -> list[int | None]:
    return [page.number if isinstance(page, Page) else None for page in pages]


def reason(path: Path, **options) -> str:
    with pytest.raises(PageError, match=path.name) as caught:
        read(path, **options)
    return caught.value.reason


@pytest.mark.parametrize("name", ["annual-report.pdf", "landlord-letter-scan.tiff"])
@pytest.mark.parametrize("pixels", [None, 30_000])
def test_pages_are_those_read_without_a_child(name, pixels):
    there = read(SAMPLES / name, pixels=pixels)
    here = list(parsed_pages(SAMPLES / name, pixels=pixels))
    assert len(here) > 1 or name.endswith("tiff")
    for page, parsed in zip(there, here, strict=True):
        assert page.name == f"{name}#{parsed.number}"
        assert (page.number, page.size) == (parsed.number, parsed.size)
        assert (page.words, page.words_from) == (parsed.words, parsed.words_from)
        assert page.content_hash == parsed.content_hash
        if pixels is not None:
            assert page.render().tobytes() == parsed.picture.rgb


def test_recognised_words_are_those_recognised_without_a_child(report):
    _, here = parsed_pages(report, ocr=True)
    _, there = read(report, ocr=True)
    assert [word.text for word in there.words] == LINE.split()
    assert (there.words, there.words_from) == (here.words, "ocr")


def test_without_words_pages_have_their_pictures_alone(report):
    plain, scanned = read(report, pixels=30_000, words=False)
    with_words, _ = read(report, pixels=30_000)
    assert [word.text for word in with_words.words] == LINE.split()
    for page in (plain, scanned):
        assert (page.words, page.words_from) == ((), "nowhere")
    assert plain.render().tobytes() == with_words.render().tobytes()
    assert plain.content_hash == with_words.content_hash  # an encoder sees the picture alone


def test_who_asks_for_ocr_gets_the_words_of_the_text_layer_too(report):
    first, second = read(report, pixels=30_000, words=False, ocr=True)
    assert (first.words_from, second.words_from) == ("text layer", "ocr")


def test_the_pages_of_a_file_can_be_had_in_one_call(report):
    first, second = pages_of(report, pixels=20_000)
    assert (first.name, second.name) == ("report.pdf#1", "report.pdf#2")
    assert [word.text for word in first.words] == LINE.split()
    report.unlink()  # what was drawn needs no file
    assert first.render().size == (200, 100)
    assert first.render().mode == "RGB"


def test_the_first_page_that_cannot_be_read_is_raised(tmp_path):
    content = crafted_pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R 9 0 R 3 0 R]/Count 3>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 20 10]>>",
    )
    (tmp_path / "a.pdf").write_bytes(content)
    pages = pages_of(tmp_path / "a.pdf")
    assert next(pages).number == 1
    with pytest.raises(PageError, match=r"a\.pdf#2: is damaged"):
        next(pages)
    with pytest.raises(PageError, match=r"b\.pdf: does not exist"):
        next(pages_of(tmp_path / "b.pdf"))


def test_without_the_extra_the_error_is_the_command(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    with pytest.raises(ImportError, match=r'pip install "docpruner\[ocr\]"'):
        next(pages_of(report, ocr=True))


def test_pages_come_in_the_order_they_are_asked_for(tmp_path):
    path = write_pdf(tmp_path / "a.pdf", 9)
    with PageReader(pixels=None) as reader:
        assert reader.open(path) == 9
        pages = list(reader.pages([9, 2, 2, 7]))
    assert numbers(pages) == [9, 2, 2, 7]
    assert [page.words[-1].text for page in pages] == ["9", "2", "2", "7"]


def test_a_number_beyond_the_last_is_an_entry(tmp_path):
    with PageReader(pixels=None) as reader:
        reader.open(write_pdf(tmp_path / "a.pdf", 2))
        pages = list(reader.pages([1, 3, 2]))
    assert numbers(pages) == [1, None, 2]
    assert str(pages[1]) == f"{tmp_path}/a.pdf#3: has only 2 pages; ask for one from 1 to 2"


def test_a_reader_of_words_draws_on_request_in_the_same_child(tmp_path):
    path = write_pdf(tmp_path / "a.pdf", 2)
    with PageReader(pixels=None) as reader:
        reader.open(path)
        drawn, again = reader.pages([1, 2], pixels=20_000)
        path.unlink()  # what was drawn needs no file
        assert drawn.render().size == again.render().size == (200, 100)
        (words,) = reader.pages([1])
        assert words.words == drawn.words
        assert words.content_hash != drawn.content_hash


def test_the_area_given_with_the_pages_goes_before_that_of_the_reader(tmp_path):
    with PageReader(pixels=5_000) as reader:
        reader.open(write_pdf(tmp_path / "a.pdf", 1))
        (large,) = reader.pages([1], pixels=20_000)
        (small,) = reader.pages([1])
    assert (large.render().size, small.render().size) == ((200, 100), (100, 50))


def test_one_reader_reads_file_after_file(tmp_path):
    first, second = write_pdf(tmp_path / "a.pdf", 2), write_pdf(tmp_path / "b.pdf", 3)
    (tmp_path / "bad.pdf").write_bytes(b"bad")
    with PageReader(pixels=None) as reader:
        assert reader.open(first) == 2
        with pytest.raises(PageError, match=r"bad\.pdf: is not a PDF"):
            reader.open(tmp_path / "bad.pdf")
        assert reader.open(second) == 3
        assert [page.name for page in reader.pages([1, 2, 3])] == ["b.pdf#1", "b.pdf#2", "b.pdf#3"]


def test_a_file_may_be_left_midway(tmp_path):
    first, second = write_pdf(tmp_path / "a.pdf", 9), write_pdf(tmp_path / "b.pdf", 2)
    with PageReader(pixels=None) as reader:
        reader.open(first)
        left = reader.pages(range(1, 10))
        assert next(left).name == "a.pdf#1"
        reader.open(second)
        assert [page.name for page in reader.pages([1, 2])] == ["b.pdf#1", "b.pdf#2"]
        with pytest.raises(ValueError, match=r"a\.pdf: its reader has moved on to something else"):
            next(left)


def test_pages_need_an_open_file(tmp_path):
    with PageReader(pixels=None) as reader:
        with pytest.raises(ValueError, match="no file is open"):
            reader.pages([1])
        with pytest.raises(PageError, match="does not exist"):
            reader.open(tmp_path / "a.pdf")
        with pytest.raises(ValueError, match="no file is open"):
            reader.pages([1])


@proc
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_crash_costs_one_page(tmp_path, number):
    path = write_pdf(tmp_path / "a.pdf", 30)
    before = children_of(os.getpid())
    with PageReader(pixels=200_000) as reader:
        pages = reader.pages(range(1, reader.open(path) + 1))
        results = [next(pages) for _ in range(3)]
        (child,) = children_of(os.getpid()) - before
        os.kill(child, number)
        results += pages
    (lost,) = (page for page in results if isinstance(page, PageError))
    assert f"crashed the reader (signal {number:d})" in str(lost)
    assert lost.page is not None
    assert numbers(results) == [n if n != lost.page else None for n in range(1, 31)]


@proc
def test_a_child_that_dies_between_files_costs_nothing(tmp_path):
    path = write_pdf(tmp_path / "a.pdf", 2)
    before = children_of(os.getpid())
    with PageReader(pixels=None) as reader:
        assert reader.open(path) == 2
        (child,) = children_of(os.getpid()) - before
        os.kill(child, signal.SIGKILL)
        assert waited_for(lambda: state_of(child) == "Z" and len(tasks_of(child)) == 1)
        assert reader.open(path) == 2
        assert numbers(list(reader.pages([1, 2]))) == [1, 2]


def test_a_page_that_takes_too_long_costs_one_page(tmp_path):
    began = time.monotonic()
    first, slow, third = read(bomb(tmp_path / "a.pdf"), pixels=10_000, seconds=2, memory=PLENTY)
    assert (first.number, third.number) == (1, 3)
    assert str(slow) == (
        f"{tmp_path}/a.pdf#2: took longer than 2 s to read; simplify it, or allow more time"
    )
    assert time.monotonic() - began < 60


def test_a_file_of_slow_pages_is_given_up(tmp_path):
    with PageReader(pixels=10_000, seconds=2, memory=PLENTY) as reader:
        reader.open(bomb(tmp_path / "a.pdf"))
        results = list(reader.pages([2] * (PATIENCE + 3)))
    assert [page.reason for page in results] == [
        *["took longer than 2 s to read"] * PATIENCE,
        *[GIVEN_UP] * 3,
    ]


@proc
@pytest.mark.parametrize("ocr", [False, True])
def test_a_page_that_needs_too_much_memory_costs_one_page(tmp_path, ocr):
    """With OCR, which takes nearly a gigabyte by itself, memory is limited too."""
    limit = (1536 if ocr else 256) << 20
    first, full, third = read(bomb(tmp_path / "a.pdf"), pixels=10_000, memory=limit, ocr=ocr)
    assert (first.number, third.number) == (1, 3)
    assert str(full) == (
        f"{tmp_path}/a.pdf#2: needs more than {'1.5 GB' if ocr else '256 MB'} of memory; "
        "make it smaller or simpler"
    )


@proc
def test_a_file_of_pages_that_need_too_much_memory_is_given_up(tmp_path):
    with PageReader(pixels=None, memory=128 << 20) as reader:
        reader.open(bomb(tmp_path / "a.pdf"))
        results = list(reader.pages([2] * (PATIENCE + 2)))
        again = list(reader.pages([1]))
        reader.open(tmp_path / "a.pdf")
        anew = list(reader.pages([1]))
    assert [page.reason for page in results] == [
        *["needs more than 128 MB of memory"] * PATIENCE,
        *[GIVEN_UP] * 2,
    ]
    assert numbers(again) == [None]
    assert numbers(anew) == [1]


@proc
def test_good_pages_between_bad_ones_only_put_off_the_end(tmp_path):
    """A bad page counts ten, a good one makes up for one: 10 9 19 18 28 27 37, and 30 is enough."""
    with PageReader(pixels=None, memory=128 << 20) as reader:
        reader.open(bomb(tmp_path / "a.pdf"))
        results = list(reader.pages([2, 1] * 6))
    reasons = [page.reason for page in results if isinstance(page, PageError)]
    assert numbers(results) == [None, 1, None, 1, None, 1, None, *[None] * 5]
    assert reasons == ["needs more than 128 MB of memory"] * 4 + [GIVEN_UP] * 5


@proc
def test_an_image_that_needs_too_much_memory_costs_one_page(tmp_path):
    """14,000 × 14,000 pixels in RGB are 784 MB; the child has 400 MB in all."""
    large = tmp_path / "large.png"
    Image.new("RGB", (14_000, 14_000)).save(large, compress_level=1)
    small = write_pdf(tmp_path / "small.pdf", 1)
    with PageReader(pixels=10_000, memory=400 << 20) as reader:
        assert reader.open(large) == 1
        (problem,) = reader.pages([1])
        assert problem.reason == "needs more than 400 MB of memory"
        assert reader.open(small) == 1
        assert numbers(list(reader.pages([1]))) == [1]


def test_a_page_of_words_is_drawn_when_it_is_asked_to(report):
    first, _ = read(report)
    width, height = first.render().size
    assert width == 2 * height
    assert width * height == pytest.approx(DEFAULT_PIXELS, rel=0.01)


def test_drawing_a_page_whose_file_is_gone_is_an_error(report):
    first, _ = read(report)
    report.unlink()
    with pytest.raises(PageError, match=r"report\.pdf: does not exist"):
        first.render()


def test_a_pdf_with_a_password_is_an_error(tmp_path):
    document = FPDF()
    document.add_page()
    document.set_encryption(owner_password="a", user_password="b")
    document.output(str(tmp_path / "a.pdf"))
    assert reason(tmp_path / "a.pdf") == "needs a password"


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_a_pdf_cut_off_is_an_error(tmp_path, share):
    whole = write_pdf(tmp_path / "whole.pdf", 3).read_bytes()
    (tmp_path / "a.pdf").write_bytes(whole[: int(share * len(whole))])
    assert reason(tmp_path / "a.pdf") in ("is damaged or cut off", "has no pages")


@pytest.mark.parametrize(
    ("content", "beginning"),
    [
        (b"", "is empty"),
        (b"Dear all,", "is not a PDF: it starts with 'Dear all,'"),
        (bytes(range(256)) * 40, r"is not a PDF: it starts with '\x00\x01\x02"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 40, "is damaged or cut off"),
        (
            crafted_pdf(b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[]/Count 0>>"),
            "has no pages",
        ),
    ],
    ids=["empty", "text", "garbage", "garbage inside", "no pages"],
)
def test_what_is_no_pdf_is_an_error(tmp_path, content, beginning):
    (tmp_path / "a.pdf").write_bytes(content)
    assert reason(tmp_path / "a.pdf").startswith(beginning)


def test_what_is_no_file_is_an_error(tmp_path):
    (tmp_path / "folder.pdf").mkdir()
    os.mkfifo(tmp_path / "pipe.pdf")
    (tmp_path / "link.pdf").symlink_to("nowhere.pdf")
    assert reason(tmp_path / "folder.pdf") == "is a folder"
    assert reason(tmp_path / "pipe.pdf") == "is a named pipe"
    assert reason(tmp_path / "link.pdf") == "is a broken link"
    assert reason(tmp_path / "gone.pdf") == "does not exist"


@proc
def test_a_file_that_may_not_be_read_is_an_error(report):
    """Also when root runs the tests: the child is started without root's right to read all."""
    program = (
        "import ctypes, os, sys; from pathlib import Path\n"
        "from docpruner.pages.reader import PageReader\n"
        "if os.geteuid() == 0:\n"
        "    drop = 24  # PR_CAPBSET_DROP; CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH\n"
        "    for right in (1, 2): assert ctypes.CDLL(None).prctl(drop, right, 0, 0, 0) == 0\n"
        "with PageReader(pixels=None) as reader:\n"
        "    try: reader.open(Path(sys.argv[1]))\n"
        "    except ValueError as error: print(error)\n"
    )
    report.chmod(0)
    printed = subprocess.run(
        [sys.executable, "-c", program, str(report)], check=True, capture_output=True, text=True
    ).stdout
    assert "report.pdf: can't be read (permission denied); give yourself permission" in printed


@pytest.mark.parametrize(
    "name",
    [
        "two\nlines.pdf",
        "café — 報告.pdf",
        " spaces \t.pdf",
        "-.pdf",
        "100%25 #2?.pdf",
        "'\"\\.PDF",
        "🙂.pdf",
        "x" * 250 + ".pdf",
    ],
)
def test_a_file_of_any_name_is_read(tmp_path, name):
    path = write_pdf(tmp_path / name, 1)
    (page,) = read(path)
    assert page.name == f"{name}#1"


def test_a_name_that_is_not_utf8_is_an_error(tmp_path, report):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.pdf"))
    path.write_bytes(report.read_bytes())
    with pytest.raises(
        PageError, match=r"caf\\xe9\.pdf: has a name that is not valid UTF-8; rename it"
    ):
        read(path)


def test_a_relative_path_is_found_after_a_change_of_folder(tmp_path, monkeypatch):
    write_pdf(tmp_path / "a.pdf", 1)
    (tmp_path / "below").mkdir()
    with PageReader(pixels=None) as reader:
        monkeypatch.chdir(tmp_path)
        assert reader.open(Path("a.pdf")) == 1
        monkeypatch.chdir(tmp_path / "below")
        (page,) = reader.pages([1])
        assert page.render().size > (0, 0)


def test_modules_that_lie_where_it_is_started_are_not_the_childs(tmp_path, monkeypatch):
    path = write_pdf(tmp_path / "a.pdf", 1)
    for name in ("json.py", "queue.py", "PIL.py"):
        (tmp_path / name).write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    assert numbers(read(path)) == [1]


@proc
def test_nothing_is_left_after_close(report):
    before = children_of(os.getpid())
    reader = PageReader(pixels=None)
    reader.open(report)
    (child,) = children_of(os.getpid()) - before
    reader.close()
    assert state_of(child) == ""  # waited for, so no zombie either
    reader.close()


def test_closing_ends_the_wait_of_another_thread_for_a_page(tmp_path):
    reader = PageReader(pixels=10_000, seconds=600)
    pages = reader.pages(range(1, reader.open(bomb(tmp_path / "a.pdf")) + 1))
    next(pages)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(list, pages)
        time.sleep(0.5)
        assert waiting.running()
        began = time.monotonic()
        reader.close()
        problems = waiting.result(timeout=10)
    assert time.monotonic() - began < 5
    assert [str(problem) for problem in problems] == [
        f"{tmp_path}/a.pdf#{number}: wasn't read because reading was stopped; read it again"
        for number in (2, 3)
    ]


@proc
def test_closing_ends_the_wait_of_another_thread_for_a_file(report):
    before = children_of(os.getpid())
    reader = PageReader(pixels=None, seconds=600)
    (child,) = children_of(os.getpid()) - before
    os.kill(child, signal.SIGSTOP)  # a file that hangs when it is opened
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(reader.open, report)
        time.sleep(0.5)
        assert waiting.running()
        reader.close()
        with pytest.raises(
            PageError, match=r"report\.pdf: wasn't read because reading was stopped"
        ):
            waiting.result(timeout=10)
    assert state_of(child) == ""


@proc
def test_a_closed_reader_starts_no_child(report):
    before = children_of(os.getpid())
    with PageReader(pixels=None) as reader:
        reader.open(report)
    assert reader.closed
    (problem, _) = reader.pages([1, 2])
    assert isinstance(problem, PageError)
    with pytest.raises(PageError, match="reading was stopped; read it again"):
        reader.open(report)
    assert children_of(os.getpid()) == before


@proc
def test_nothing_is_left_of_a_reader_that_was_forgotten(report):
    before = children_of(os.getpid())
    reader = PageReader(pixels=None)
    next(reader.pages(range(1, reader.open(report) + 1)))
    (child,) = children_of(os.getpid()) - before
    del reader
    gc.collect()
    assert waited_for(lambda: state_of(child) == "")


PARENT = """
import sys, time
from pathlib import Path
from docpruner.pages.reader import PageReader
reader = PageReader(pixels=10_000)
pages = reader.pages(range(1, reader.open(Path(sys.argv[1])) + 1))
if sys.argv[2] == "busy":
    next(pages)
    print("reading", flush=True)
    next(pages)
print("idle", flush=True)
time.sleep(60)
"""


@proc
@pytest.mark.parametrize("what", ["idle", "busy"])
def test_no_child_outlives_a_parent_that_was_killed(tmp_path, what):
    path = bomb(tmp_path / "a.pdf")  # busy for much longer than the test
    program = [sys.executable, "-c", PARENT, str(path), what]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == ("reading\n" if what == "busy" else "idle\n")
        time.sleep(0.3)
        (child,) = children_of(parent.pid)
        assert state_of(child) in ("R", "S")
        parent.kill()
    assert waited_for(lambda: state_of(child) in ("", "Z"))

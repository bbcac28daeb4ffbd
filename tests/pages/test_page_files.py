"""Words and pictures of single pages: one child for all, for any thread, also after a close."""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from docpruner.errors import PageError
from docpruner.pages.page_files import PageFiles
from pages.made import LINE, bomb, write_pdf
from pages.processes import children_of, proc

PACKAGE = Path(__file__).parents[2] / "src" / "docpruner"


@pytest.fixture
def files() -> Iterator[PageFiles]:
    page_files = PageFiles()
    yield page_files
    page_files.close()


def texts(words) -> str:
    return " ".join(word.text for word in words)


def test_words_of_a_page(files, report):
    assert texts(files.words(str(report), 1)) == LINE
    assert files.words(str(report), 2) == ()


def test_a_page_is_drawn_to_the_area_asked_for(files, report):
    assert files.picture(str(report), 1, 20_000).size == (200, 100)
    assert files.picture(str(report), 1, 5_000).size == (100, 50)
    assert files.picture(str(report), 1, 5_000).mode == "RGB"


def test_words_of_pages_of_many_files(files, tmp_path):
    one, two = str(write_pdf(tmp_path / "a.pdf", 2)), str(write_pdf(tmp_path / "b.pdf", 3))
    words = files.words_of(iter([(one, 2), (two, 3), (one, 1), (one, 2)]))
    assert {page: texts(words[page]) for page in words} == {
        (one, 2): f"{LINE} 2",
        (one, 1): f"{LINE} 1",
        (two, 3): f"{LINE} 3",
    }


def test_pages_that_cannot_be_read_are_left_out(files, tmp_path):
    good, bad = str(write_pdf(tmp_path / "a.pdf", 1)), str(tmp_path / "bad.pdf")
    Path(bad).write_bytes(b"bad")
    asked = [(bad, 1), (good, 7), (good, 1), (str(tmp_path / "gone.pdf"), 1)]
    assert list(files.words_of(asked)) == [(good, 1)]
    assert files.words_of([]) == {}


def test_a_page_that_cannot_be_read_is_an_error(files, report, tmp_path):
    gone = str(tmp_path / "gone.pdf")
    with pytest.raises(PageError, match=r"report\.pdf#3: has only 2 pages"):
        files.words(str(report), 3)
    with pytest.raises(PageError, match=r"report\.pdf#3: has only 2 pages"):
        files.picture(str(report), 3, 1000)
    with pytest.raises(PageError, match=r"gone\.pdf: does not exist"):
        files.words(gone, 1)
    with pytest.raises(PageError, match=r"gone\.pdf: does not exist"):
        files.picture(gone, 1, 1000)


@proc
def test_one_child_is_started_when_needed_and_kept(report):
    before = children_of(os.getpid())
    files = PageFiles()
    assert children_of(os.getpid()) == before
    files.words(str(report), 1)
    (child,) = children_of(os.getpid()) - before
    files.picture(str(report), 1, 1000)
    files.words_of([(str(report), 1)])
    assert children_of(os.getpid()) - before == {child}
    files.close()
    assert children_of(os.getpid()) == before
    files.close()
    assert texts(files.words(str(report), 1)) == LINE
    (another,) = children_of(os.getpid()) - before
    assert another != child
    files.close()


def test_threads_take_turns(files, tmp_path):
    paths = [str(write_pdf(tmp_path / f"{n}.pdf", 3)) for n in range(4)]
    wishes = [(path, number) for path in paths for number in (1, 2, 3)] * 3
    with ThreadPoolExecutor(8) as pool:
        words = list(pool.map(lambda wish: texts(files.words(*wish)), wishes))
    assert words == [f"{LINE} {number}" for _, number in wishes]


def test_closing_ends_what_another_thread_reads(files, tmp_path, report):
    path = str(bomb(tmp_path / "a.pdf"))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(files.picture, path, 2, 10_000)
        time.sleep(1)
        assert waiting.running()
        files.close()
        with pytest.raises(PageError, match=r"a\.pdf#2: wasn't read because reading was stopped"):
            waiting.result(timeout=10)
    assert texts(files.words(str(report), 1)) == LINE


def imported_names(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):  # document.open_document
            names.add(node.attr)
    return names


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("open_document", {"pages/worker.py"}), ("PdfFile", {"pages/document.py"})],
)
def test_files_are_opened_in_the_worker_only(name, allowed):
    modules = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if name in imported_names(path)
    }
    assert modules == allowed

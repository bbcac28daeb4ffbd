"""Data of one's own: what is read, and what is said of lines that are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docpruner.errors import DataError
from docpruner.evaluate.data.own_folder import load_folder
from evaluate.made_data import sample_folder


@pytest.fixture
def folder(tmp_path) -> Path:
    return sample_folder(tmp_path / "data")


def add_line(path: Path, **values: object) -> None:
    path.write_text(path.read_text() + json.dumps(values) + "\n")


def test_a_folder_has_queries_answers_and_pages(folder):
    data = load_folder(folder)
    assert (data.name, len(data.queries), len(data.judged)) == ("data", 32, 32)
    assert data.queries[2].text == "What dividend per share is proposed for 2024?"
    assert data.qrels["s-05"] == {"annual-report.pdf#3": 1, "annual-report.pdf#5": 1}


def test_queries_without_answers_measure_nothing(folder):
    add_line(folder / "queries.jsonl", query_id="new", text="Who?", lang="en")
    add_line(folder / "queries.jsonl", query_id="zero", text="What?")
    add_line(folder / "qrels.jsonl", query_id="zero", doc="annual-report.pdf", page=1, relevance=0)
    data = load_folder(folder)
    assert [query.id for query in data.queries if query not in data.judged] == ["new", "zero"]
    assert data.queries[-2].lang == "en"


@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        ("queries", '{"query_id": "x"}', "line 33: text is missing, empty or not text"),
        (
            "queries",
            '{"query_id": 7, "text": "x"}',
            "line 33: query_id is missing, empty",
        ),
        ("queries", '{"query_id": "s-01", "text": "x"}', "line 33: query_id s-01 is used twice"),
        ("queries", "{oops}", "line 33: not JSON"),
        ("queries", "[1]", "line 33: not an object"),
        ("qrels", '{"query_id": "y", "doc": "a", "page": 1}', "query_id y is not in queries.jsonl"),
        (
            "qrels",
            '{"query_id": "s-01", "doc": "gone.pdf", "page": 1}',
            "line 37: there is no document gone.pdf",
        ),
        (
            "qrels",
            '{"query_id": "s-01", "doc": "annual-report.pdf", "page": 0}',
            "line 37: page 0 must be a whole number from 1",
        ),
        (
            "qrels",
            '{"query_id": "s-01", "doc": "annual-report.pdf", "page": 1, "relevance": "high"}',
            "line 37: relevance 'high' must be",
        ),
    ],
)
def test_a_wrong_line_is_named_with_its_number(folder, file, line, said):
    path = folder / f"{file}.jsonl"
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(DataError, match=said):
        load_folder(folder)


@pytest.mark.parametrize("relevance", [None, 0])
def test_a_folder_without_answers_is_refused(folder, relevance):
    qrels = folder / "qrels.jsonl"
    qrels.write_text("")
    if relevance is not None:
        add_line(qrels, query_id="s-01", doc="annual-report.pdf", page=1, relevance=relevance)
    with pytest.raises(DataError, match=r"qrels\.jsonl has no answers; write lines like"):
        load_folder(folder)


def test_a_line_separator_within_a_text_ends_no_line(folder):
    path = folder / "queries.jsonl"
    path.write_text(path.read_text() + '{"query_id": "u", "text": "a\u2028b"}\n\n')
    assert load_folder(folder).queries[-1].text == "a\u2028b"


@pytest.mark.parametrize("missing", ["pdfs", "queries.jsonl", "qrels.jsonl", ""])
def test_what_is_missing_is_named(folder, missing):
    gone = folder / missing
    gone.rename(folder.with_name("elsewhere"))
    with pytest.raises(DataError, match=missing or str(folder)):
        load_folder(folder)


def test_a_link_out_of_the_folder_is_refused(folder, tmp_path):
    """Its file has another path, by which no answer could name it."""
    outside = (folder / "pdfs" / "site-plan.png").rename(tmp_path / "plan.png")
    (folder / "pdfs" / "site-plan.png").symlink_to(outside)
    with pytest.raises(DataError, match=r"plan\.png: lies outside .*pdfs, where a link leads"):
        load_folder(folder)


def test_some_pages_are_spread_over_all_documents(folder):
    pages = load_folder(folder).pages
    some = pages.some_pages(4, pixels=None, ocr=False)
    every = [page.name for page in pages.some_pages(99, pixels=None, ocr=False)]
    assert (len(every), len(set(every))) == (32, 32)
    assert [every.index(page.name) for page in some] == [4, 12, 20, 28]  # of 32, by eights
    assert some[0].words
    (drawn,) = pages.some_pages(1, pixels=20_000, ocr=False)
    width, height = drawn.render().size
    assert width * height == pytest.approx(20_000, rel=0.05)


def test_files_that_can_not_be_read_are_passed_over(folder):
    for file in (folder / "pdfs").iterdir():
        if file.name != "site-plan.png":
            file.write_bytes(b"nothing")
    pages = load_folder(folder).pages
    some = pages.some_pages(3, pixels=None, ocr=False)
    assert [page.name for page in some] == ["site-plan.png#1"]

"""Which pages are searched, and in which order they are found."""

from __future__ import annotations

import numpy as np
import pytest

from docpruner.index import segments, snapshot
from docpruner.index.health import measure
from docpruner.index.snapshot import Filter, matches
from docpruner.index.store import PageStore
from index.made import X, Y, commit, create_store, document, found, page_record, unit_vectors

REPORT, NOTES = "/data/2024/report.pdf", "/data/2023/notes [old].pdf"


@pytest.fixture
def store(tmp_path):
    with create_store(tmp_path / "index") as made:
        yield made


@pytest.fixture
def two_years(store) -> PageStore:
    """Three pages of a report, two of notes, all alike."""
    commit(
        store,
        document(REPORT, [[X]] * 3, metadata={"year": "2024", "lang": "en"}),
        document(NOTES, [[X]] * 2, metadata={"year": "2023", "lang": "en"}),
    )
    return store


def names(store: PageStore, which: Filter) -> list[str]:
    short = {REPORT: "report", NOTES: "notes"}
    pages = (name.rpartition("#") for name, _ in found(store, which=which))
    return [f"{short[document]}#{number}" for document, _, number in pages]


@pytest.mark.parametrize(
    ("glob", "fits"),
    [
        ("report.pdf", True),
        ("rep*", True),
        ("2024/report.pdf", True),
        ("data/*.pdf", True),
        ("/data/2024/report.pdf", True),
        ("/data/*", True),
        ("r?port.[pq]df", True),
        ("port.pdf", False),
        ("24/report.pdf", False),
        ("report", False),
        ("Report.pdf", False),
        ("2024", False),
        ("/report.pdf", False),
    ],
)
def test_a_glob_is_of_the_name_the_last_parts_or_the_whole_path(glob, fits):
    assert matches(REPORT, glob) is fits


@pytest.mark.parametrize("glob", [NOTES, "notes [old].pdf", "notes [[]old].pdf", "notes*"])
def test_a_path_fits_itself_whatever_its_signs_mean_in_a_glob(glob):
    assert matches(NOTES, glob)


@pytest.mark.parametrize(
    ("which", "wanted"),
    [
        (Filter(), ["notes#1", "notes#2", *(f"report#{n}" for n in (1, 2, 3))]),
        (Filter(documents=("report*",)), ["report#1", "report#2", "report#3"]),
        (Filter(documents=("report*", "2023/*"), pages=(2, 2)), ["notes#2", "report#2"]),
        (Filter(pages=(2, None)), ["notes#2", "report#2", "report#3"]),
        (Filter(pages=(3, 2)), []),
        (Filter(metadata={"year": "2023"}), ["notes#1", "notes#2"]),
        (Filter(metadata={"lang": "en"}, pages=(3, 9)), ["report#3"]),
        (Filter(metadata={"year": "2024", "lang": "de"}), []),
        (Filter(metadata={"author": "me"}), []),
        (Filter(documents=("*.png",)), []),
    ],
)
def test_only_pages_that_every_part_of_a_filter_allows_are_found(two_years, which, wanted):
    assert names(two_years, which) == wanted


def test_pages_of_equal_score_stand_by_path_and_number(store):
    """Whatever the order in which they were stored."""
    backwards = [page_record(number, [X]) for number in range(11, 0, -1)]
    commit(store, document("b.pdf", backwards), document("a.pdf", [[Y], [X]]))
    wanted = ["a.pdf#2", *(f"b.pdf#{number}" for number in range(1, 12)), "a.pdf#1"]
    assert [name for name, _ in found(store, k=20)] == wanted


@pytest.mark.parametrize("k", [1, 2, 5])
def test_fewer_pages_are_the_beginning_of_more(store, k):
    commit(store, *(document(name, [[Y], [X], [X]]) for name in ("c.pdf", "a.pdf", "b.pdf")))
    assert found(store, k=k) == found(store, k=9)[:k]


def test_more_pages_than_there_are_give_all(store):
    commit(store, document("a.pdf", [[X], [Y]]))
    assert len(found(store, k=1000)) == 2


def test_a_page_that_matches_badly_is_still_a_page(store):
    commit(store, document("a.pdf", [[-X]]))
    assert found(store) == [("a.pdf#1", -1.0)]


@pytest.mark.parametrize("apart", [0, 5, 1 << 40])
@pytest.mark.parametrize("segment_rows", [7, 1 << 20])
def test_scores_are_the_same_in_however_many_passes(store, monkeypatch, apart, segment_rows):
    """Whether the rows between chosen pages are skipped, and wherever segments end."""
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 16 * segment_rows)
    monkeypatch.setattr(snapshot, "WORTH_SKIPPING", apart)
    pages = {n: unit_vectors(1 + n % 4, 4, seed=n) for n in range(20)}
    records = [page_record(n, vectors) for n, vectors in pages.items()]
    commit(store, document("a.pdf", records[:10], of=20, finished=False))
    commit(store, document("a.pdf", records[10:], of=20))
    with store.writer() as writer:
        writer.delete_pages(store.snapshot().ids[[4, 5, 13]].tolist())
    query = unit_vectors(1, 4, seed=99)
    for which in (Filter(), Filter(pages=(3, 11)), Filter(pages=(16, 16))):
        first, last = which.pages or (0, 19)
        wanted = {
            f"a.pdf#{n}": pytest.approx((vectors @ query[0]).max(), abs=1e-6)
            for n, vectors in pages.items()
            if first <= n <= last and n not in (4, 5, 13)
        }
        assert dict(found(store, query, 20, which)) == wanted


def test_what_an_index_holds_and_saves_adds_up(store):
    vectors = unit_vectors(10, 4)
    page = page_record(1, vectors, spec="attention-ratio:ratio=0.7")  # keeps 3 of 10
    silent = page_record(2, vectors[:2], words_from="nowhere")  # keeps 2 of 2
    commit(store, document("a.pdf", [page, silent], of=3), document("b.pdf", [[X]]))
    with store.writer() as writer:
        writer.delete_documents(["b.pdf"])
    stats = measure(store.folder)
    assert (stats.documents, stats.pages, stats.missing_pages) == (1, 2, 1)
    assert stats.pages_without_words == 1
    assert (stats.vectors, stats.vectors_unpruned) == (3 + 2, 10 + 2)
    assert stats.bytes_of_vectors == 5 * 16
    assert stats.bytes_unpruned_float16 == 12 * 8
    assert stats.bytes_reclaimable == 16
    assert stats.pruned == pytest.approx(7 / 12)
    assert stats.pruned_by_page["0"] == 0.0
    assert stats.pruned_by_page["0.5"] == pytest.approx(0.35)
    assert stats.pruned_by_page["1"] == pytest.approx(0.7)
    assert sum(stats.pruned_histogram) == 2
    files = [path for path in store.folder.rglob("*") if path.is_file()]
    assert stats.bytes_on_disk == sum(path.stat().st_size for path in files)


def test_an_empty_index_has_numbers_too(store):
    stats = measure(store.folder)
    assert (stats.documents, stats.pages, stats.vectors, stats.pruned) == (0, 0, 0, 0.0)
    assert stats.pruned_by_page == {}
    assert np.sum(stats.pruned_histogram) == 0

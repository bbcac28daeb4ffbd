"""Files become pages of an index: only what is new is read, and what fails fails alone."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from fpdf import FPDF
from PIL import Image

from docpruner.errors import IndexStateError
from docpruner.index.settings import Settings
from docpruner.index.snapshot import Filter
from docpruner.index.store import PageStore
from docpruner.pipeline import add
from docpruner.pipeline.add import add_files
from docpruner.pipeline.report import AddReport
from docpruner.search.hits import search_many
from pipeline.made import UNREADABLE, WordEncoder, text_pdf


class Desk:
    """An index, its encoder, and a folder of documents."""

    def __init__(self, folder: Path) -> None:
        settings = Settings.new("words", 16, "none", "float32")
        self.store = PageStore.create(folder / "index", settings)
        self.encoder = WordEncoder()
        self.docs = folder / "docs"
        self.docs.mkdir()

    def write(self, name: str, *pages: str) -> Path:
        return text_pdf(self.docs / name, *pages)

    def add(self, *paths: Path, **options) -> AddReport:
        self.encoder.encoded.clear()
        return add_files(self.store, self.encoder, paths or [self.docs], **options)

    def best(self, query: str, **which) -> list[str]:
        (hits,) = search_many(self.store, self.encoder, [query], 5, Filter(**which))
        return [hit.name for hit in hits if hit.score > 0.99 * len(query.split())]

    def pages(self) -> int:
        return len(self.store.snapshot())


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    made.store.close()


# ---------------------------------------------------------------------- what is read


def test_files_of_folders_are_added_and_found_by_what_they_say(desk):
    desk.write("a.pdf", "apples and pears", "plums")
    desk.write("deep/b.pdf", "cherries")
    report = desk.add()
    assert report.documents == {"added": 2}
    assert (report.pages, report.copied, report.problems) == (3, 0, [])
    assert (report.outcome, report.share) == ("all", 1.0)
    assert desk.best("plums") == ["a.pdf#2"]
    assert desk.best("cherries") == ["b.pdf#1"]


def test_the_report_counts_what_is_stored(desk):
    desk.write("a.pdf", "one two three", "four")
    report = desk.add()
    assert (report.vectors, report.vectors_unpruned, report.kept) == (4, 4, 1.0)
    assert report.bytes == 4 * 16 * 4
    assert report.bytes_unpruned_float16 == 4 * 16 * 2


def test_unchanged_documents_are_skipped(desk):
    desk.write("a.pdf", "apples")
    desk.add()
    report = desk.add()
    assert report.documents == {"unchanged": 1}
    assert (report.pages, report.share, report.outcome) == (0, 1.0, "all")
    assert desk.encoder.encoded == []


def test_a_touched_file_is_unchanged(desk):
    path = desk.write("a.pdf", "apples")
    desk.add()
    path.write_bytes(path.read_bytes())
    assert desk.add().documents == {"unchanged": 1}


def test_a_changed_document_is_replaced(desk):
    desk.write("a.pdf", "apples", "plums")
    desk.write("b.pdf", "apples")
    desk.add()
    desk.write("a.pdf", "cherries")
    report = desk.add()
    assert report.documents == {"replaced": 1, "unchanged": 1}
    assert desk.best("apples") == ["b.pdf#1"]
    assert desk.best("plums") == []
    assert desk.best("cherries") == ["a.pdf#1"]
    assert desk.pages() == 2


def test_a_moved_document_is_added_without_being_encoded_again(desk):
    path = desk.write("a.pdf", "apples", "plums")
    desk.add()
    path.rename(desk.docs / "b.pdf")
    report = desk.add()
    assert (report.documents, report.pages, report.copied) == ({"added": 1}, 2, 2)
    assert desk.encoder.encoded == []
    assert desk.best("plums") == ["a.pdf#2", "b.pdf#2"]


def test_pages_that_look_alike_are_encoded_once(desk):
    desk.write("a.pdf", "apples", "letterhead")
    desk.add()
    desk.write("b.pdf", "cherries", "apples", "plums")
    report = desk.add()
    assert (report.pages, report.copied) == (3, 1)
    assert desk.encoder.encoded == ["b.pdf#1", "b.pdf#3"]
    assert desk.best("apples") == ["a.pdf#1", "b.pdf#2"]


def test_pages_that_were_taken_out_are_encoded_again(desk):
    desk.write("a.pdf", "apples", "plums", "cherries")
    desk.add()
    with desk.store.writer() as writer:
        writer.delete_pages(desk.store.snapshot().ids[1:2].tolist())
    assert desk.best("plums") == []
    report = desk.add()
    assert (report.documents, report.pages) == ({"completed": 1}, 1)
    assert desk.encoder.encoded == ["a.pdf#2"]
    assert desk.best("plums") == ["a.pdf#2"]


def test_a_file_named_twice_is_added_once(desk):
    path = desk.write("a.pdf", "apples")
    assert desk.add(path, desk.docs, path).documents == {"added": 1}


def test_metadata_is_kept_changed_on_unchanged_documents_and_filtered_by(desk):
    a, b = desk.write("a.pdf", "apples"), desk.write("b.pdf", "apples")
    desk.add(a, metadata={"year": "2023"})
    desk.add(b, metadata={"year": "2024"})
    assert desk.best("apples", metadata={"year": "2023"}) == ["a.pdf#1"]
    report = desk.add(a, metadata={"year": "2024"})
    assert report.documents == {"unchanged": 1}
    assert desk.encoder.encoded == []
    assert desk.best("apples", metadata={"year": "2024"}) == ["a.pdf#1", "b.pdf#1"]
    desk.add()
    assert desk.best("apples", metadata={"year": "2024"}) == ["a.pdf#1", "b.pdf#1"]


def test_pages_without_words_are_counted_for_an_encoder_of_words(desk):
    desk.write("a.pdf", "apples", "")
    Image.new("RGB", (40, 60)).save(desk.docs / "b.png")
    report = desk.add()
    assert (report.pages, report.without_words) == (3, 2)


def test_pages_are_drawn_for_an_encoder_of_pictures(desk):
    class Sizes(WordEncoder):
        pixels = 20_000

        def encode_pages(self, pages):
            self.sizes = [page.render().size for page in pages]
            return super().encode_pages(pages)

    desk.encoder = Sizes()
    desk.write("a.pdf", "apples")
    desk.add()
    ((width, height),) = desk.encoder.sizes
    assert width * height == pytest.approx(20_000, rel=0.02)
    assert width == 2 * height


def test_thresholds_that_separate_nothing_are_counted(tmp_path):
    settings = Settings.new("words", 16, "docpruner:k=0")
    text_pdf(tmp_path / "a.pdf", "same size word", "four four four", "lone")
    with PageStore.create(tmp_path / "index", settings) as store:
        report = add_files(store, WordEncoder(), [tmp_path / "a.pdf"])
    assert report.odd_thresholds == 2  # a page of one word has nothing to separate
    assert report.vectors == 3


# ---------------------------------------------------------------------- what goes wrong


def test_files_that_cannot_be_read_are_listed_and_the_others_added(desk):
    desk.write("a.pdf", "apples")
    whole = desk.write("cut.pdf", *["plums"] * 9)
    whole.write_bytes(whole.read_bytes()[:700])
    locked = FPDF()
    locked.set_encryption(owner_password="a", user_password="b")
    locked.add_page()
    locked.output(str(desk.docs / "locked.pdf"))
    (desk.docs / "empty.pdf").touch()
    report = desk.add(desk.docs, desk.docs / "missing.pdf")
    assert report.documents == {"added": 1}
    assert (report.outcome, report.share) == ("some", 1.0)
    told = {Path(problem.path).name: problem.reason for problem in report.problems}
    assert told == {
        "cut.pdf": "is damaged or cut off",
        "empty.pdf": "is empty",
        "locked.pdf": "needs a password",
        "missing.pdf": "does not exist",
    }


@pytest.mark.parametrize("paths", [["docs"], []])
def test_no_documents_at_all_is_a_problem(desk, paths):
    report = desk.add(*[desk.docs.parent / path for path in paths])
    (problem,) = report.problems
    assert "holds no document; give PDF, PNG" in str(problem)
    assert report.outcome == "none"


def test_nothing_that_can_be_read_is_the_outcome_none(desk):
    report = desk.add(desk.docs / "missing.pdf")
    assert (report.outcome, report.pages) == ("none", 0)
    assert desk.store.documents() == []


def test_a_problem_beside_unchanged_documents_is_the_outcome_some(desk):
    desk.write("a.pdf", "apples")
    desk.add()
    assert desk.add(desk.docs, desk.docs / "missing.pdf").outcome == "some"


def test_a_page_that_fails_to_encode_fails_alone(desk):
    desk.write("a.pdf", "apples", UNREADABLE, "plums")
    desk.write("b.pdf", "cherries")
    report = desk.add()
    (problem,) = report.problems
    assert str(problem).startswith(f"{desk.docs}/a.pdf#2: can't be encoded (a word is unreadable)")
    assert (report.pages, report.documents, report.outcome) == (3, {"added": 2}, "some")
    assert desk.best("plums") == ["a.pdf#3"]
    assert desk.best("cherries") == ["b.pdf#1"]


def test_a_page_that_failed_is_tried_again(desk, monkeypatch):
    desk.write("a.pdf", "apples", UNREADABLE)
    desk.add()
    assert len(desk.add().problems) == 1
    monkeypatch.setattr("pipeline.made.UNREADABLE", "another")
    report = desk.add()
    assert (report.documents, report.pages, report.problems) == ({"completed": 1}, 1, [])
    assert desk.best(UNREADABLE) == ["a.pdf#2"]


def test_a_document_of_which_no_page_can_be_encoded_is_not_added(desk):
    desk.write("a.pdf", UNREADABLE, UNREADABLE)
    report = desk.add()
    assert (report.documents, report.pages, report.outcome) == ({}, 0, "none")
    assert len(report.problems) == 2
    assert desk.store.documents() == []


def test_a_new_version_of_which_no_page_can_be_encoded_replaces_nothing(desk):
    desk.write("a.pdf", "apples")
    desk.add()
    desk.write("a.pdf", UNREADABLE)
    assert desk.add().outcome == "none"
    assert desk.best("apples") == ["a.pdf#1"]


def test_a_document_that_can_no_longer_be_read_stays_as_it_was(desk):
    path = desk.write("a.pdf", "apples")
    desk.add()
    path.write_bytes(b"%PDF-1.7 and no more")
    assert desk.add().outcome == "none"
    assert desk.best("apples") == ["a.pdf#1"]


def test_an_error_of_the_encoder_itself_stops_the_run_and_keeps_what_was_committed(
    desk, monkeypatch
):
    monkeypatch.setattr(add, "FIRST_BATCH", 1)
    monkeypatch.setattr(add, "MOST_PAGES", 1)

    class Failing(WordEncoder):
        def encode_pages(self, pages):
            if len(self.encoded) == 2:
                raise ZeroDivisionError("a bug")
            return super().encode_pages(pages)

    desk.encoder = Failing()
    desk.write("a.pdf", "apples", "plums", "cherries", "pears")
    with pytest.raises(ZeroDivisionError, match="a bug"):
        desk.add()
    desk.encoder = WordEncoder()
    assert desk.best("apples") == ["a.pdf#1"]
    report = desk.add()
    assert report.documents == {"completed": 1}
    assert report.pages + 2 == desk.pages() == 4


def test_a_file_that_is_as_before_again_drops_the_version_that_was_on_its_way_in(desk, monkeypatch):
    monkeypatch.setattr(add, "FIRST_BATCH", 1)
    monkeypatch.setattr(add, "MOST_PAGES", 1)
    path = desk.write("a.pdf", "apples")
    before = path.read_bytes()
    desk.add()

    class Failing(WordEncoder):
        def encode_pages(self, pages):
            if pages[0].number == 3:
                raise ZeroDivisionError("a bug")
            return super().encode_pages(pages)

    desk.encoder = Failing()
    new = desk.write("a.pdf", "plums", "pears", "cherries").read_bytes()
    with pytest.raises(ZeroDivisionError, match="a bug"):
        desk.add()
    sha256 = hashlib.sha256(new).digest()
    assert desk.store.known(str(path), sha256).there == {1, 2}
    path.write_bytes(before)
    assert desk.add().documents == {"unchanged": 1}
    assert desk.store.known(str(path), sha256) is None
    assert desk.best("apples") == ["a.pdf#1"]


# ---------------------------------------------------------------------- while it runs


def test_watch_hears_of_pages_when_they_are_committed(desk, monkeypatch):
    monkeypatch.setattr(add, "FIRST_BATCH", 1)
    monkeypatch.setattr(add, "MOST_PAGES", 1)
    desk.write("a.pdf", "apples", "plums")
    desk.write("b.pdf", "cherries")
    heard: list[AddReport] = []
    there: list[int] = []

    def watch(report: AddReport) -> None:
        heard.append(replace(report, problems=list(report.problems)))
        with PageStore(desk.store.folder) as other:
            there.append(len(other.snapshot()))

    desk.add(desk.docs, desk.docs / "missing.pdf", watch=watch)
    committed = [report.pages for report in heard]
    assert committed == sorted(committed)
    assert {1, 2, 3} <= set(committed)
    assert all(pages <= found for pages, found in zip(committed, there, strict=True))
    shares = [report.share for report in heard]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(heard[-1].problems) == 1


def test_an_error_in_watch_stops_the_run_and_keeps_what_was_committed(desk, monkeypatch):
    monkeypatch.setattr(add, "FIRST_BATCH", 1)
    monkeypatch.setattr(add, "MOST_PAGES", 1)
    desk.write("a.pdf", *[f"page{number}" for number in range(9)])

    def watch(report: AddReport) -> None:
        if report.pages:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.add(watch=watch)
    stopped = desk.pages()
    assert 1 <= stopped < 9
    assert desk.add().pages == 9 - stopped


def test_a_run_waits_for_another_writer_and_then_gives_up(desk):
    desk.write("a.pdf", "apples")
    with (
        desk.store.writer(),
        pytest.raises(IndexStateError, match="another process is writing"),
    ):
        desk.add(wait=0.05)

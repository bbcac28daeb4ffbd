"""Files become pages of an index: only what is new is read, and what fails fails alone."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from fpdf import FPDF
from PIL import Image

from docpruner.errors import IndexStateError, InvalidPageError
from docpruner.pages.file_source import FileSource
from docpruner.pipeline import add
from docpruner.pipeline.add import add_documents
from docpruner.pipeline.add_report import AddReport
from docpruner.pipeline.metadata import metadata_of
from docpruner.search.searcher import find, questions
from docpruner.stores.folder.store import FolderStore
from docpruner.stores.settings import Settings
from docpruner.types import Filter
from pipeline.made import (
    UNREADABLE,
    SteppingEncoder,
    WordEncoder,
    direction,
    sized_pdf,
    text_pdf,
)
from stores.made import documents_of


class Desk:
    """An index, its encoder, and a folder of documents."""

    def __init__(self, folder: Path) -> None:
        settings = Settings.new("words", 16, "none", "float32")
        self.store = FolderStore.create(str(folder / "index"), settings)
        self.encoder = WordEncoder()
        self.docs = folder / "docs"
        self.docs.mkdir()

    def write(self, name: str, *pages: str) -> Path:
        return text_pdf(self.docs / name, *pages)

    def add(self, *paths: Path, metadata=None, **options) -> AddReport:
        self.encoder.encoded.clear()
        source = FileSource(
            paths or [self.docs],
            pixels=self.encoder.pixels,
            words=self.encoder.reads == "words",
        )
        given = metadata_of(metadata)
        return add_documents(self.store, source, self.encoder, metadata=given, **options)

    def best(self, query: str, **which) -> list[str]:
        (hits,) = find(self.store, questions(self.encoder, [query]), 5, Filter(**which))
        return [hit.name for hit in hits if hit.score > 0.99 * len(query.split())]

    def pages(self) -> int:
        with self.store.reader() as reader:
            return len(reader.pages())

    def known(self, path: Path, sha256: bytes):
        with self.store.reader() as reader:
            return reader.known(str(path), sha256)


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


def test_a_copied_document_is_added_without_being_encoded_again(desk):
    path = desk.write("a.pdf", "apples", "plums")
    desk.add()
    (desk.docs / "b.pdf").write_bytes(path.read_bytes())
    report = desk.add()
    assert report.documents == {"added": 1, "unchanged": 1}
    assert (report.pages, report.copied) == (2, 2)
    assert desk.encoder.encoded == []
    assert desk.best("plums") == ["a.pdf#2", "b.pdf#2"]


def test_a_moved_document_keeps_its_vectors_and_metadata_under_the_new_path(desk):
    path = desk.write("a.pdf", "apples", "plums")
    desk.add(metadata={"year": 2024})
    path.rename(desk.docs / "b.pdf")
    report = desk.add()
    assert (report.documents, report.pages, report.missing) == ({"moved": 1}, 0, [])
    assert desk.encoder.encoded == []
    assert desk.best("plums") == ["b.pdf#2"]
    assert [(e.name, e.metadata) for e in documents_of(desk.store)] == [
        (str(desk.docs / "b.pdf"), {"year": 2024})
    ]
    assert desk.store.verify() == []


def test_a_moved_folder_is_followed_although_only_the_new_one_is_given(desk):
    desk.write("old/a.pdf", "apples")
    desk.write("old/b.pdf", "plums")
    desk.add()
    (desk.docs / "old").rename(desk.docs / "new")
    report = desk.add(desk.docs / "new")
    assert report.documents == {"moved": 2}
    assert desk.pages() == 2


def test_of_two_equal_files_that_moved_each_is_followed_once(desk):
    first = desk.write("a.pdf", "apples")
    (desk.docs / "b.pdf").write_bytes(first.read_bytes())
    desk.add()
    first.rename(desk.docs / "c.pdf")
    (desk.docs / "b.pdf").rename(desk.docs / "d.pdf")
    (desk.docs / "e.pdf").write_bytes((desk.docs / "c.pdf").read_bytes())
    report = desk.add()
    assert report.documents == {"moved": 2, "added": 1}
    assert desk.pages() == 3


def test_a_moved_document_that_lacks_pages_is_completed(desk, monkeypatch):
    path = desk.write("a.pdf", "apples", UNREADABLE)
    desk.add()
    path.rename(desk.docs / "b.pdf")
    monkeypatch.setattr("pipeline.made.UNREADABLE", "another")
    report = desk.add()
    assert (report.documents, report.pages) == ({"moved": 1}, 1)
    assert desk.best(UNREADABLE) == ["b.pdf#2"]


# ---------------------------------------------------------------------- what is gone


def test_documents_whose_files_are_gone_are_told_and_stay(desk):
    gone = desk.write("old/a.pdf", "apples")
    desk.write("old/b.pdf", "plums")
    desk.write("c.pdf", "apples")
    desk.add()
    gone.unlink()
    assert desk.add(desk.docs / "c.pdf").missing == []  # nobody asked about the folder
    report = desk.add()
    assert (report.missing, report.deleted) == ([str(gone)], [])
    assert sorted(desk.best("apples")) == ["a.pdf#1", "c.pdf#1"]


def test_documents_whose_files_are_gone_are_deleted_when_asked_for(desk):
    gone = desk.write("old/a.pdf", "apples")
    other = desk.write("c.pdf", "apples")
    desk.add()
    gone.unlink()
    other.unlink()
    desk.write("old/b.pdf", "plums")
    report = desk.add(desk.docs / "old", delete_missing=True)
    assert report.deleted == report.missing == [str(gone)]
    assert desk.best("apples") == ["c.pdf#1"]
    report = desk.add(other, delete_missing=True)
    assert report.deleted == [str(other)]
    assert desk.pages() == 1


def test_of_a_folder_that_is_gone_itself_nothing_is_deleted(desk):
    """Its disk may just not be there."""
    desk.write("disk/a.pdf", "apples")
    desk.add()
    (desk.docs / "disk").rename(desk.docs.parent / "elsewhere")
    report = desk.add(desk.docs / "disk", delete_missing=True)
    assert (report.missing, report.outcome) == ([], "none")
    assert desk.pages() == 1


def test_pages_that_look_alike_are_encoded_once(desk):
    """If their title pages do too: an encoder sees these beside them."""
    desk.write("a.pdf", "cherries", "apples", "letterhead")
    desk.add()
    desk.write("b.pdf", "cherries", "apples", "plums")
    desk.write("c.pdf", "pears", "apples")
    report = desk.add()
    assert (report.pages, report.copied) == (5, 2)
    assert desk.encoder.encoded == ["b.pdf#3", "c.pdf#1", "c.pdf#2"]
    assert desk.best("apples") == ["a.pdf#2", "b.pdf#2", "c.pdf#2"]


def test_pages_that_were_taken_out_are_encoded_again(desk):
    desk.write("a.pdf", "apples", "plums", "cherries")
    desk.add()
    with desk.store.writer() as writer:
        writer.delete_pages([writer._run("SELECT id FROM pages WHERE number = 2").fetchone()[0]])
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
    assert desk.add(b, metadata={"year": "2024"}).metadata_changed == 0
    assert desk.best("apples", metadata={"year": "2023"}) == ["a.pdf#1"]
    report = desk.add(a, metadata={"year": "2024"})
    assert (report.documents, report.metadata_changed) == ({"unchanged": 1}, 1)
    assert desk.encoder.encoded == []
    assert desk.add(a, metadata={"year": "2024"}).metadata_changed == 0
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
        pixels, reads = 20_000, "pixels"

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
    with FolderStore.create(str(tmp_path / "index"), settings) as store:
        source = FileSource([tmp_path / "a.pdf"], pixels=None)
        report = add_documents(store, source, WordEncoder())
    assert report.odd_thresholds == 2  # a page of one word has nothing to separate
    assert report.vectors == 3


# ---------------------------------------------------------------------- encoders of two steps


TALL, WIDE = (200.0, 400.0), (400.0, 200.0)


def test_preparing_running_and_collecting_have_a_thread_each(desk):
    desk.encoder = SteppingEncoder()
    sized_pdf(desk.docs / "a.pdf", *[TALL] * 7)
    assert desk.add().pages == 7
    assert desk.encoder.threads == {
        "prepare": {"docpruner-preparer"},
        "run": {"MainThread"},  # where Ctrl-C arrives
        "collect": {"docpruner-collector"},
    }


def test_pages_of_like_size_come_together_and_are_stored_in_their_order(desk):
    desk.encoder = SteppingEncoder()
    sized_pdf(desk.docs / "a.pdf", *[TALL] * 4, *[WIDE, TALL] * 6)
    report = desk.add()
    assert (report.pages, report.problems) == (16, [])
    shapes = [
        {int(name.partition("#")[2]) % 2 for name in batch} for batch in desk.encoder.batches[1:]
    ]
    assert all(len(shape) == 1 for shape in shapes[1:])
    assert [len(batch) for batch in desk.encoder.batches] == [1, 3, 3, 3, 3, 3]
    with desk.store.reader() as reader:
        for document, number in reader.pages():
            stored = reader.page(document, number).vectors.decode()[0]
            assert stored == pytest.approx(direction(f"a.pdf#{number}"), abs=1e-6)


def test_a_page_that_cannot_be_prepared_fails_alone(desk):
    desk.encoder = SteppingEncoder()
    sized_pdf(desk.docs / "a.pdf", TALL, (10_001.0, 20.0), TALL, WIDE, WIDE)
    report = desk.add()
    (problem,) = report.problems
    assert str(problem).startswith(f"{desk.docs}/a.pdf#2: can't be encoded (a page is too wide)")
    assert (report.pages, desk.pages()) == (4, 4)


@pytest.mark.parametrize("step", ["run", "collect"])
def test_a_page_that_fails_in_a_later_step_fails_alone(desk, step):
    class Failing(SteppingEncoder):
        def run(self, pages):
            def collect():
                self._check(pages, "collect")
                return pending()

            self._check(pages, "run")
            pending = super().run(pages)
            return collect

        def _check(self, pages, at):
            if at == step and any(page.number == 2 for page in pages):
                raise InvalidPageError("not a number")

    desk.encoder = Failing()
    sized_pdf(desk.docs / "a.pdf", *[TALL] * 7)
    report = desk.add()
    assert [problem.page for problem in report.problems] == [2]
    assert (report.pages, desk.pages()) == (6, 6)


def test_an_error_in_any_step_stops_the_run_with_that_error_and_no_thread_stays(desk):
    class Broken(SteppingEncoder):
        def prepare(self, pages):
            if any(page.number > 4 for page in pages):
                raise ZeroDivisionError("a bug")
            return super().prepare(pages)

    desk.encoder = Broken()
    sized_pdf(desk.docs / "a.pdf", *[TALL] * 9)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        desk.add()
    assert not [each for each in threading.enumerate() if each.name.startswith("docpruner-")]
    desk.encoder = SteppingEncoder()
    assert desk.add().pages + desk.pages() >= 9
    assert desk.pages() == 9


def test_an_encoder_of_pictures_is_given_no_words(desk):
    desk.encoder = SteppingEncoder()
    desk.write("a.pdf", "apples")
    desk.add()
    assert desk.encoder.words == set()


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
    reasons = {Path(problem.path).name: problem.reason for problem in report.problems}
    assert reasons == {
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
    assert documents_of(desk.store) == []


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
    again = desk.add()
    assert (len(again.problems), again.documents) == (1, {"unchanged": 1})
    monkeypatch.setattr("pipeline.made.UNREADABLE", "another")
    report = desk.add()
    assert (report.documents, report.pages, report.problems) == ({"completed": 1}, 1, [])
    assert desk.best(UNREADABLE) == ["a.pdf#2"]


def test_a_document_of_which_no_page_can_be_encoded_is_not_added(desk):
    desk.write("a.pdf", UNREADABLE, UNREADABLE)
    report = desk.add()
    assert (report.documents, report.pages, report.outcome) == ({}, 0, "none")
    assert len(report.problems) == 2
    assert documents_of(desk.store) == []


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
    assert desk.known(path, sha256).there == {1, 2}
    path.write_bytes(before)
    assert desk.add().documents == {"unchanged": 1}
    assert not desk.known(path, sha256).same
    assert desk.best("apples") == ["a.pdf#1"]


# ---------------------------------------------------------------------- while it runs


def test_progress_hears_of_pages_when_they_are_committed(desk, monkeypatch):
    monkeypatch.setattr(add, "FIRST_BATCH", 1)
    monkeypatch.setattr(add, "MOST_PAGES", 1)
    desk.write("a.pdf", "apples", "plums")
    desk.write("b.pdf", "cherries")
    heard: list[AddReport] = []
    there: list[int] = []

    def progress(report: AddReport) -> None:
        heard.append(replace(report, problems=list(report.problems)))
        there.append(desk.pages())

    desk.add(desk.docs, desk.docs / "missing.pdf", progress=progress)
    committed = [report.pages for report in heard]
    assert committed == sorted(committed)
    assert {1, 2, 3} <= set(committed)
    assert all(pages <= stored for pages, stored in zip(committed, there, strict=True))
    shares = [report.share for report in heard]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(heard[-1].problems) == 1


def test_an_error_in_progress_stops_the_run_and_keeps_what_was_committed(desk, monkeypatch):
    monkeypatch.setattr(add, "FIRST_BATCH", 1)
    monkeypatch.setattr(add, "MOST_PAGES", 1)
    desk.write("a.pdf", *[f"page{number}" for number in range(9)])

    def progress(report: AddReport) -> None:
        if report.pages:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.add(progress=progress)
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

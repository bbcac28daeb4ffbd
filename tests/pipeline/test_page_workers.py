"""Pages made by workers are those that are made here; who stores them depends on the store."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from cli_process import write_pdf
from docpruner.errors import AddError, DocPrunerError, PageError
from docpruner.facade import Index
from docpruner.pipeline import page_workers
from docpruner.pipeline.page_worker import (
    PageTask,
    PageWorker,
    WorkerFacts,
    WorkerJob,
    WorkerResult,
)
from docpruner.pipeline.record_maker import RecordMaker, WrittenPage
from docpruner.stores import locations
from docpruner.stores.packed_page import PackedPage
from docpruner.types import Page
from faults.library import Library, contents_of, library
from faults.words import WordEncoder
from pipeline.made import SAMPLES, builtin
from stores.made import settings_of


class ThreadWorkers:
    """Two workers in this process, which are told nothing but what can be pickled."""

    def __init__(self) -> None:
        self.results: list[WorkerResult] = []

    def begin(self, job: WorkerJob) -> WorkerFacts:
        self._pool = ThreadPoolExecutor(2)
        self._workers = [PageWorker(pickle.loads(pickle.dumps(job))) for _ in range(2)]
        return self._workers[0].facts

    def ask(self, tasks: Sequence[PageTask]) -> Future[list[WorkerResult]]:
        self._workers.reverse()
        return self._pool.submit(self._make, self._workers[0], pickle.dumps(tasks))

    def _make(self, worker: PageWorker, tasks: bytes) -> list[WorkerResult]:
        made = pickle.dumps(worker.make(pickle.loads(tasks)))
        self.results += pickle.loads(made)
        return pickle.loads(made)

    def end(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()


@pytest.fixture
def files(tmp_path, monkeypatch) -> Library:
    monkeypatch.setattr(page_workers, "PAGES", 4)
    return library(tmp_path / "library", {"a.pdf": 6, "b.pdf": 9, "c.pdf": 1}).written()


def added(folder: Path | str, files: Path, workers: ThreadWorkers | None, **options):
    with Index.open_or_create(folder, encoder=WordEncoder()) as index:
        report = index.add(files, workers=workers, **options)
    return replace(report, seconds=0.0)


def test_the_index_and_the_report_are_those_of_a_local_run(files, tmp_path):
    write_pdf(files.folder / "empty.pdf", "")
    (files.folder / "broken.pdf").write_bytes(b"%PDF-1.7 no more than that")
    told = [
        added(tmp_path / name, files.folder, workers, metadata={"year": 2024})
        for name, workers in (("here", None), ("there", ThreadWorkers()))
    ]
    problems = [[str(problem) for problem in report.problems] for report in told]
    assert problems[0] == problems[1] != []
    here, there = (replace(report, problems=[]) for report in told)
    assert here == there
    assert (there.pages, there.without_words, there.documents["added"]) == (17, 1, 4)
    assert contents_of(tmp_path / "here") == contents_of(tmp_path / "there")


def test_what_is_there_is_not_asked_for_again(files, tmp_path):
    workers = ThreadWorkers()
    added(tmp_path / "index", files.folder, workers)
    assert len(workers.results) == 16
    (files.folder / "c.pdf").write_bytes(files.files["a.pdf"][1])
    (files.folder / "b.pdf").rename(files.folder / "moved.pdf")
    report = added(tmp_path / "index", files.folder, workers)
    assert len(workers.results) == 16 + 6
    assert report.documents == {"unchanged": 1, "replaced": 1, "moved": 1}


def test_the_built_in_encoder_gives_the_same_bits_in_other_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(page_workers, "PAGES", 3)
    samples = sorted(SAMPLES.glob("*.pdf"))[:2]
    pages = []
    for name, workers in (("here", None), ("there", ThreadWorkers())):
        with Index.create(tmp_path / name) as index:
            index.add(samples, workers=workers)
            pages.append([PackedPage.of(index.page(*each)) for each in index.pages()])
    assert pages[0] == pages[1] != []
    assert builtin().name  # the other was loaded by its name, in each worker


def test_a_few_kilobytes_are_sent_for_a_page(tmp_path):
    workers = ThreadWorkers()
    with Index.create(tmp_path / "index") as index:
        index.add(sorted(SAMPLES.glob("*.pdf"))[0], workers=workers)
    sizes = [len(pickle.dumps(result)) for result in workers.results]
    assert max(sizes) < 15_000, sizes


def test_workers_store_pages_where_several_can_write(files, tmp_path, monkeypatch):
    monkeypatch.setitem(locations.KINDS, "turns", "integrations.turns_store:TurnsStore")
    workers = ThreadWorkers()
    report = added(f"turns://{tmp_path / 'there'}", files.folder, workers)
    assert {type(result.record) for result in workers.results} == {WrittenPage}
    assert report == added(tmp_path / "here", files.folder, None)
    assert contents_of(tmp_path / "here") == contents_of(tmp_path / "there")
    again = added(f"turns://{tmp_path / 'there'}", files.folder, workers)
    assert again.documents == {"unchanged": 3}


def test_an_index_with_a_budget_has_one_writer(files, tmp_path, monkeypatch):
    monkeypatch.setitem(locations.KINDS, "turns", "integrations.turns_store:TurnsStore")
    workers = ThreadWorkers()
    location = f"turns://{tmp_path / 'index'}"
    with Index.create(location, encoder=WordEncoder(), budget="1GB") as index:
        index.add(files.folder, workers=workers)
    assert {type(result.record) for result in workers.results} == {PackedPage}


def test_a_file_that_only_this_machine_has_is_a_problem_with_a_remedy(tmp_path):
    job = WorkerJob(settings_of(), WordEncoder)
    worker = PageWorker(job)
    gone = PageTask(None, str(tmp_path / "gone.pdf"), 3)
    (result,) = worker.make([gone])
    worker.close()
    assert isinstance(result.record, PageError)
    assert "does not exist on" in str(result.record)
    assert "every machine of the cluster" in result.record.remedy
    assert result.record.page == 3


def test_a_packed_page_comes_back():
    embedding = WordEncoder().encode_pages([Page("a#1", lambda: None)])[0]
    settings = replace(settings_of(), dim=16, spec="none", codec="int4")
    page = RecordMaker(settings).make("a.pdf", Page("a#1", lambda: None), embedding).record
    packed = PackedPage.of(page)
    assert PackedPage.of(pickle.loads(pickle.dumps(packed)).page) == packed


def test_files_on_object_storage_are_named_by_their_urls(files, tmp_path):
    """`file://` goes the way of `s3://`, which is tried against a server of its own."""
    url = files.folder.as_uri()
    (files.folder / "broken.pdf").write_bytes(b"%PDF-1.7 no more than that")
    workers = ThreadWorkers()
    report = added(tmp_path / "there", url, workers)
    assert [problem.path for problem in report.problems] == [f"{url}/broken.pdf"]
    assert report.documents == {"added": 3}
    with Index.open(tmp_path / "there", encoder=WordEncoder()) as index:
        assert [entry.name for entry in index.documents()] == [
            f"{url}/{name}" for name in ("a.pdf", "b.pdf", "c.pdf")
        ]
    added(tmp_path / "here", files.folder, None)
    here, there = contents_of(tmp_path / "here"), contents_of(tmp_path / "there")
    assert {
        (name.removeprefix("file://"), number): page for (name, number), page in there.items()
    } == here
    asked = len(workers.results)
    assert added(tmp_path / "there", url, workers).documents == {"unchanged": 3}
    assert len(workers.results) == asked


def test_a_url_that_leads_nowhere_is_a_problem(files, tmp_path):
    wrong = [(files.folder / "gone.pdf").as_uri(), "nonsense://there"]
    with pytest.raises(AddError, match=r"gone\.pdf: does not exist") as caught:
        added(tmp_path / "index", wrong, ThreadWorkers())
    assert "nonsense://there: can't be reached" in str(caught.value.report.problems[1])


def test_urls_are_for_workers_and_not_to_be_mixed_with_files(files, tmp_path):
    url = files.folder.as_uri()
    with pytest.raises(DocPrunerError, match="one by one"):
        added(tmp_path / "index", [url, files.folder], ThreadWorkers())
    with pytest.raises(DocPrunerError, match="--ray"):
        added(tmp_path / "index", [url], None)

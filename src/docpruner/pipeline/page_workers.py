"""Adding documents with the help of other processes: here it is known what is missing and what is
in, there pages are read, encoded and reduced.

Results are committed in the order of the pages, however late some of them come, so that what is
stored does not depend on who made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from docpruner.encoders.registry import Encoder
from docpruner.errors import PageError
from docpruner.pages.unread import UnreadPage
from docpruner.pipeline.add_report import AddReport
from docpruner.pipeline.commits import Commits, Step
from docpruner.pipeline.lanes import Channel, Lanes
from docpruner.pipeline.missing_pages import PageRead, Reading
from docpruner.pipeline.page_worker import PageTask, WorkerFacts, WorkerJob, WorkerResult
from docpruner.stores.contract import SeveralWriters, Store
from docpruner.stores.settings import Settings
from docpruner.types import Ocr

PAGES = 8  # that are asked for at once; as many as a device needs to be busy
MOST_STEPS = 1000  # pages and ends of documents between two questions
LISTED = 256  # pages known to be missing, before they are asked for
WAITING = 1000  # questions whose answers have not been committed; each some 100 kB when answered

Answers = Future[list[WorkerResult]]


class PageWorkers(Protocol):
    """Processes that run a `PageWorker`, and are given work by `ask`."""

    def begin(self, job: WorkerJob) -> WorkerFacts:
        """Get ready for a job; returns when the first of them is."""

    def ask(self, tasks: Sequence[PageTask]) -> Answers:
        """Have some pages made. Waits while all workers have enough to do."""

    def end(self) -> None:
        """Stop what is under way, from any thread; answers that are waited for fail."""


@dataclass(frozen=True)
class WorkElsewhere:
    """Who makes the pages, and with which encoder."""

    workers: PageWorkers
    load: Callable[[], Encoder]

    def job(self, store: Store, settings: Settings, *, ocr: Ocr | None) -> WorkerJob:
        location = store.location if workers_write(store, settings) else ""
        return WorkerJob(settings, self.load, ocr, location)


def workers_write(store: Store, settings: Settings) -> bool:
    """Whether workers store pages themselves: where the store takes that. An index with a budget
    may be rewritten at any time, which only its one writer knows."""
    return isinstance(store, SeveralWriters) and store.several_writers and not settings.budget


class WorkersRun:
    """Brings what is missing into an index, made by workers that have begun."""

    def __init__(self, workers: PageWorkers, commits: Commits) -> None:
        self._workers, self._commits = workers, commits

    def over(self, missing: Iterable[Reading], *, interrupt: Callable[[], None]) -> AddReport:
        def stop() -> None:
            interrupt()
            self._workers.end()

        with Lanes(stop) as lanes:
            readings = lanes.begin("lister", missing, LISTED)
            asked: Channel[tuple[Sequence[Step], Answers | None]] = lanes.channel(WAITING)
            written = lanes.begin("writer", self._written(asked), 1)
            lanes.run(self._asked(readings), asked)
            (report,) = written  # or what went wrong in any of them
        return report

    def _asked(
        self, readings: Iterable[Reading]
    ) -> Iterator[tuple[Sequence[Step], Answers | None]]:
        for window in self._windows(readings):
            tasks = [_task(step) for step in window if isinstance(step, PageRead)]
            yield window, self._workers.ask(tasks) if tasks else None

    def _windows(self, readings: Iterable[Reading]) -> Iterator[Sequence[Step]]:
        window: list[Step] = []
        pages = 0
        for reading in readings:
            if isinstance(reading, PageError):
                self._commits.failed(reading)
                continue
            window.append(reading)
            pages += isinstance(reading, PageRead)
            if pages >= PAGES or len(window) >= MOST_STEPS:
                yield window
                window, pages = [], 0
        yield window

    def _written(
        self, asked: Iterable[tuple[Sequence[Step], Answers | None]]
    ) -> Iterator[AddReport]:
        for window, answers in asked:
            reads = [step for step in window if isinstance(step, PageRead)]
            made = [] if answers is None else [each.result for each in answers.result()]
            results = {id(read): each for read, each in zip(reads, made, strict=True)}
            self._commits.take(window, results)
        yield self._commits.finish()


def _task(read: PageRead) -> PageTask:
    assert isinstance(read.page, UnreadPage)
    return PageTask(read.document, read.page.path, read.page.number)

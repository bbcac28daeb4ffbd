"""Uploads on their way into the index: one at a time, in a thread of their own."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Full, Queue
from typing import Literal

from docpruner.errors import DocPrunerError
from docpruner.pipeline.add_report import AddReport
from docpruner.web.error_responses import INTERNAL, Refused, public_answer
from docpruner.web.index_view import IndexView
from docpruner.web.schemas import JobProblem, JobResponse

log = logging.getLogger(__name__)

RECEIVED_AT_ONCE = 4  # uploads
MOST_WAITING = 8
JOBS_KEPT = 100
MOST_PROBLEMS = 200  # of one job that are listed
STOPPED = "the server was stopped; the pages added so far are kept, upload the rest again"
TOO_MANY = "too many uploads are waiting; try again when some are done"


class StoppedError(Exception):
    """The server ends; raised between two batches."""


@dataclass
class Job:
    files: Sequence[Path]
    state: Literal["running", "done", "failed"] = "running"
    error: str | None = None
    report: AddReport = field(default_factory=AddReport)

    def described(self) -> JobResponse:
        report = self.report
        return JobResponse(
            state=self.state,
            share=min(round(report.share, 4), 1.0),
            pages=report.pages,
            kept=round(report.kept, 4),
            documents={str(status): count for status, count in list(report.documents.items())},
            problems=[
                JobProblem(
                    name=Path(problem.path).name,
                    page=problem.page,
                    reason=problem.reason,
                    remedy=problem.remedy,
                )
                for problem in report.problems[:MOST_PROBLEMS]
            ],
            error=self.error,
        )


class Jobs:
    def __init__(self, view: IndexView) -> None:
        self._view = view
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: Queue[Job | None] = Queue(MOST_WAITING)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="docpruner-jobs")
        self._starting = threading.Lock()
        self._receiving = 0

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """While files are taken in, of a few uploads at a time; refused if there is no room."""
        if self._waiting.full() or self._stopping.is_set():
            raise Refused(429, TOO_MANY)
        if self._receiving >= RECEIVED_AT_ONCE:
            raise Refused(429, "too many uploads at once; try again in a moment")
        self._receiving += 1
        try:
            yield
        finally:
            self._receiving -= 1

    def start(self, files: Sequence[Path]) -> str:
        job = Job(files)
        try:
            self._waiting.put_nowait(job)
        except Full:
            raise Refused(429, TOO_MANY) from None
        with self._starting:
            if not self._thread.ident:
                self._thread.start()
        number = secrets.token_urlsafe(9)
        self._jobs[number] = job
        while len(self._jobs) > JOBS_KEPT:
            self._jobs.popitem(last=False)
        return number

    def described(self, number: str) -> JobResponse:
        job = self._jobs.get(number)
        if job is None:
            raise Refused(404, "no such upload, or it was too long ago")
        return job.described()

    def close(self) -> None:
        """Let the batch that is being written be finished, and drop the rest."""
        self._stopping.set()
        while self._thread.is_alive():
            with suppress(Full):
                self._waiting.put_nowait(None)
            self._thread.join(0.1)

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            self._run(job)

    def _run(self, job: Job) -> None:
        def progress(report: AddReport) -> None:
            job.report = report
            if self._stopping.is_set() and report.share < 1:
                raise StoppedError

        try:
            if self._stopping.is_set():
                raise StoppedError
            self._view.warm_up()
            job.report = self._view.add(job.files, progress)
            job.state = "done"
            return
        except StoppedError:
            job.error = STOPPED
        except DocPrunerError as error:
            log.error("%s", error)
            _, job.error = public_answer(error)
        except Exception:  # the next job has to run all the same
            log.exception("an upload failed")
            job.error = INTERNAL
        job.state = "failed"

"""Uploads on their way into the index: one at a time, in a thread of their own."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Full, Queue
from typing import Literal

from docpruner.errors import IndexStateError
from docpruner.pipeline.report import AddReport
from docpruner.web.library import Library
from docpruner.web.problems import ANOTHER_WRITER, INTERNAL, Refused
from docpruner.web.shapes import JobProblem, JobShape

log = logging.getLogger(__name__)

MOST_WAITING = 8
JOBS_KEPT = 100
PROBLEMS_TOLD = 200
STOPPED = "the server was stopped; what is in stays in, send the rest again"


class StoppedError(Exception):
    """The server ends; raised between two batches."""


@dataclass
class Job:
    files: Sequence[Path]
    state: Literal["running", "done", "failed"] = "running"
    error: str | None = None
    report: AddReport = field(default_factory=AddReport)

    def described(self) -> JobShape:
        report = self.report
        return JobShape(
            state=self.state,
            share=min(round(report.share, 4), 1.0),
            pages=report.pages,
            kept=round(report.kept, 4),
            documents={str(fate): count for fate, count in list(report.documents.items())},
            problems=[
                JobProblem(
                    name=Path(problem.path).name,
                    page=problem.page,
                    reason=problem.reason,
                    remedy=problem.remedy,
                )
                for problem in report.problems[:PROBLEMS_TOLD]
            ],
            error=self.error,
        )


class Jobs:
    def __init__(self, library: Library) -> None:
        self._library = library
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: Queue[Job | None] = Queue(MOST_WAITING)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="docpruner-jobs")
        self._starting = threading.Lock()

    def check_room(self) -> None:
        """Before anything is taken in."""
        if self._waiting.full() or self._stopping.is_set():
            raise Refused(429, "many uploads are waiting already; try again when some are done")

    def start(self, files: Sequence[Path]) -> str:
        job = Job(files)
        try:
            self._waiting.put_nowait(job)
        except Full:
            raise Refused(429, "many uploads are waiting already; try again later") from None
        with self._starting:
            if not self._thread.ident:
                self._thread.start()
        number = secrets.token_urlsafe(9)
        self._jobs[number] = job
        while len(self._jobs) > JOBS_KEPT:
            self._jobs.popitem(last=False)
        return number

    def described(self, number: str) -> JobShape:
        job = self._jobs.get(number)
        if job is None:
            raise Refused(404, "there is no such job, or it was long ago")
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
        def watch(report: AddReport) -> None:
            job.report = report
            if self._stopping.is_set() and report.share < 1:
                raise StoppedError

        try:
            if self._stopping.is_set():
                raise StoppedError
            self._library.warm_up()
            job.report = self._library.index.add(job.files, watch=watch)
            job.state = "done"
            return
        except StoppedError:
            job.error = STOPPED
        except IndexStateError as error:
            log.error("%s", error)
            job.error = ANOTHER_WRITER
        except Exception:  # the next job has to run all the same
            log.exception("an upload failed")
            job.error = INTERNAL
        job.state = "failed"

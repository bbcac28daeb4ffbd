"""What has become of pages, written to an index and counted, a few seconds' work at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from threading import RLock
from typing import TypeAlias

from docpruner.codecs import bytes_per_vector
from docpruner.errors import PageError
from docpruner.pipeline.add_report import AddReport, ProgressCallback
from docpruner.pipeline.fit import BudgetKeeper
from docpruner.pipeline.missing_pages import DocumentEnd, DocumentMoved, PageRead
from docpruner.pipeline.record_maker import PageResult, WrittenPage
from docpruner.stores.contract import Writer
from docpruner.stores.records import DocumentPages, StoredPage

Step: TypeAlias = PageRead | DocumentMoved | DocumentEnd
Results: TypeAlias = Mapping[int, PageResult]
"""By the `id` of the `PageRead`."""


class Commits:
    """Takes steps in their order, with the results of their pages, and commits them now and then.

    A commit is made after `seconds`, or when there are `pages` pages or `steps` steps.
    """

    def __init__(
        self,
        writer: Writer,
        keeper: BudgetKeeper,
        size: int,
        *,
        pages: int,
        steps: int,
        seconds: float,
        reads_words: bool,
        progress: ProgressCallback | None,
    ) -> None:
        self._writer, self._keeper, self._size = writer, keeper, size
        self._most_pages, self._most_steps, self._seconds = pages, steps, seconds
        self._reads_words, self._progress = reads_words, progress
        self._report = AddReport()
        self._counting = RLock()  # problems are counted when they are met, in another thread
        self._began = self._latest = time.monotonic()
        self._waiting: list[Step] = []
        self._results: dict[int, PageResult] = {}
        self._stored: set[str] = set()  # documents of which this run has stored a page

    def take(self, steps: Sequence[Step], results: Results) -> None:
        self._waiting += steps
        self._results.update(results)
        if (
            len(self._results) >= self._most_pages
            or len(self._waiting) >= self._most_steps
            or time.monotonic() - self._latest >= self._seconds
        ):
            self.commit()

    def commit(self) -> None:
        steps, results = self._waiting, self._results
        self._waiting, self._results = [], {}
        self._write(steps, results)
        self._latest = time.monotonic()
        with self._counting:
            self._count(steps, results)

    def finish(self) -> AddReport:
        self.commit()
        self._report.share = 1.0
        self._tell()
        return self._report

    def failed(self, problem: PageError) -> None:
        """A page or a document that couldn't be read."""
        with self._counting:
            self._report.problems.append(problem)
            self._tell()

    def _write(self, batch: Sequence[Step], results: Results) -> None:
        moves = {
            step.before: step.document.name for step in batch if isinstance(step, DocumentMoved)
        }
        if moves:
            self._writer.rename(moves)
        parts = []
        for document, steps in groupby(batch, key=lambda step: step.document):
            some = list(steps)
            records = [results[id(step)].record for step in some if id(step) in results]
            good = [self._keeper.fitted(page) for page in records if isinstance(page, StoredPage)]
            if good or any(isinstance(page, WrittenPage) for page in records):
                self._stored.add(document.name)
            ends = [end for end in some if isinstance(end, DocumentEnd) and self._is_in(end)]
            if good or any(end.changed for end in ends):
                parts.append(DocumentPages(document, good, finished=bool(ends)))
        if parts:
            self._writer.commit(parts)
            self._keeper.committed(
                sum(page.vectors.nbytes for part in parts for page in part.pages)
            )

    def _is_in(self, end: DocumentEnd) -> bool:
        """False if no page of a new version could be encoded; the one before then stays."""
        return end.status not in ("added", "replaced") or end.document.name in self._stored

    def _count(self, batch: Sequence[Step], results: Results) -> None:
        for step in batch:
            if isinstance(step, DocumentEnd):
                self._count_document(step)
            elif isinstance(step, PageRead):
                self._count_page(step, results[id(step)])
        self._tell()

    def _count_document(self, end: DocumentEnd) -> None:
        if self._is_in(end):
            in_vain = end.status == "completed" and end.document.name not in self._stored
            self._report.documents["unchanged" if in_vain else end.status] += 1
            self._report.metadata_changed += end.metadata_changed
        if end.status == "unchanged":
            self._advance(end.document.bytes)

    def _count_page(self, read: PageRead, result: PageResult) -> None:
        report, settings = self._report, self._writer.settings
        self._advance(read.document.bytes / read.document.pages)
        record = result.record
        if isinstance(record, PageError):
            report.problems.append(record)
            return
        page = record if isinstance(record, WrittenPage) else WrittenPage.of(record)
        report.pages += 1
        report.copied += result.copied
        report.odd_thresholds += result.odd_threshold
        report.without_words += self._reads_words and not result.has_words
        report.vectors += page.vectors
        report.vectors_unpruned += page.vectors_unpruned
        report.bytes += page.bytes
        float16 = bytes_per_vector("float16", settings.dim)
        report.bytes_unpruned_float16 += page.vectors_unpruned * float16

    def _advance(self, size: float) -> None:
        if self._size:
            self._report.share = min(1.0, self._report.share + size / self._size)

    def _tell(self) -> None:
        self._report.seconds = time.monotonic() - self._began
        if self._progress is not None:
            self._progress(self._report)

"""What becomes of pages in a process that somebody else gives work to: read, encoded, reduced.

It is asked by several threads at once: while the device runs for one of them, the pages of the
next are read and prepared.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from threading import Lock

from docpruner.encoders.encoder_name import Reads
from docpruner.encoders.registry import Encoder
from docpruner.errors import PageError
from docpruner.pages.object_files import FetchedFile, is_url
from docpruner.pages.ocr import uses_ocr
from docpruner.pages.problems import printable_path
from docpruner.pages.reader import PageReader
from docpruner.pipeline.page_encoding import NamedPage, PageEncoding, PreparedPages, like_sizes
from docpruner.pipeline.record_maker import PageResult, RecordMaker, WrittenPage
from docpruner.stores.locations import open_store
from docpruner.stores.packed_page import PackedPage
from docpruner.stores.records import DocumentPages, DocumentRecord, StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import Ocr, Page


@dataclass(frozen=True)
class PageTask:
    """A page that a worker is to read."""

    document: DocumentRecord
    path: str  # of its file, as workers see it
    number: int


@dataclass(frozen=True)
class WorkerJob:
    """What a worker has to know before it gets its first page."""

    settings: Settings
    load: Callable[[], Encoder]
    ocr: Ocr | None = None  # None: where it is installed, for an encoder that reads words
    location: str = ""  # where it stores pages itself; empty if it hands them over


@dataclass(frozen=True)
class WorkerFacts:
    """What a worker says of itself when it is ready."""

    encoder: str
    reads: Reads
    version: str  # of docpruner


@dataclass(frozen=True)
class WorkerResult:
    """What became of one page, in few bytes."""

    record: PackedPage | WrittenPage | PageError
    odd_threshold: bool = False
    has_words: bool = False

    @classmethod
    def of(cls, result: PageResult) -> WorkerResult:
        record = result.record
        packed = PackedPage.of(record) if isinstance(record, StoredPage) else record
        return cls(packed, result.odd_threshold, result.has_words)

    @property
    def result(self) -> PageResult:
        record = self.record.page if isinstance(self.record, PackedPage) else self.record
        return PageResult(record, odd_threshold=self.odd_threshold, has_words=self.has_words)


class PageWorker:
    """Makes records of pages by the settings of an index."""

    def __init__(self, job: WorkerJob) -> None:
        self._encoder = job.load()
        reads_words = self._encoder.reads == "words"
        self._reader = PageReader(
            pixels=self._encoder.pixels,
            words=reads_words or job.settings.text,
            ocr=uses_ocr(job.ocr, reads_words=reads_words),
            title_page=True,
        )
        self._fetched = FetchedFile()
        self._encoding = PageEncoding(self._encoder)
        self._maker = RecordMaker(job.settings)
        self._store = open_store(job.location) if job.location else None
        self._reading, self._running, self._writing = Lock(), Lock(), Lock()

    @property
    def facts(self) -> WorkerFacts:
        return WorkerFacts(self._encoder.name, self._encoder.reads, version("docpruner"))

    def make(self, tasks: Sequence[PageTask]) -> list[WorkerResult]:
        """What becomes of each of these pages, in their order."""
        with self._reading:
            read = list(self._read(tasks))
            good = [place for place, page in enumerate(read) if isinstance(page, Page)]
            batches = self._prepared(tasks, read, good)
        results = {
            place: PageResult(page)
            for place, page in enumerate(read)
            if isinstance(page, PageError)
        }
        for places, prepared in batches:
            with self._running:
                encoded = self._encoding.run(prepared)()
            for place, (name, page), embedding in zip(places, prepared.pages, encoded, strict=True):
                results[place] = self._maker.make(name, page, embedding)
        ordered = [results[place] for place in range(len(tasks))]
        if self._store is not None:
            ordered = self._written(tasks, ordered)
        return [WorkerResult.of(result) for result in ordered]

    def close(self) -> None:
        self._reader.close()
        self._fetched.close()
        if self._store is not None:
            self._store.close()

    def _read(self, tasks: Sequence[PageTask]) -> Iterator[Page | PageError]:
        for path, some in groupby(tasks, key=lambda task: task.path):
            numbers = [task.number for task in some]
            try:
                self._reader.open(self._file(path))
                pages: Iterator[Page | PageError] = self._reader.pages(numbers)
            except PageError as error:
                pages = iter([_at(error, path, number) for number in numbers])
            for page in pages:
                yield _at(page, path, page.page) if isinstance(page, PageError) else page

    def _file(self, path: str) -> Path:
        if is_url(path):
            return self._fetched.of(path)
        _require(path)
        return Path(path)

    def _prepared(
        self, tasks: Sequence[PageTask], read: Sequence[Page | PageError], good: Sequence[int]
    ) -> list[tuple[list[int], PreparedPages]]:
        """Batches of like size, with the places of their pages among the tasks."""
        pages = [page for page in read if isinstance(page, Page)]
        batches = []
        for group in like_sizes(pages, self._encoding.batch_pages):
            named: list[NamedPage] = [
                (tasks[good[each]].document.name, pages[each]) for each in group
            ]
            batches.append(([good[each] for each in group], self._encoding.prepare(named)))
        return batches

    def _written(
        self, tasks: Sequence[PageTask], results: Sequence[PageResult]
    ) -> list[PageResult]:
        """Committed, but no document finished: whoever gives out the work knows when it is."""
        assert self._store is not None
        parts, told = [], []
        pairs = zip(tasks, results, strict=True)
        for _, some in groupby(pairs, key=lambda pair: pair[0].document.name):
            pages = []
            for task, result in some:
                document = task.document
                if isinstance(result.record, StoredPage):
                    pages.append(result.record)
                    result = replace(result, record=WrittenPage.of(result.record))
                told.append(result)
            if pages:
                parts.append(DocumentPages(document, pages, finished=False))
        if parts:
            with self._writing, self._store.writer() as writer:
                writer.commit(parts)
        return told


def _at(error: PageError, path: str, number: int | None) -> PageError:
    """A fetched file is named by where it is from."""
    where = path if is_url(path) else error.path
    return PageError(where, error.reason, error.remedy, number)


def _require(path: str) -> None:
    """That the file is on this machine too."""
    if not os.path.exists(path):
        where = platform.node()
        remedy = "put the files where every machine of the cluster sees them under the same path"
        raise PageError(printable_path(path), f"does not exist on {where}", remedy)

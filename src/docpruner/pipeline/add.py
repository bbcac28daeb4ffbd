"""Adding files to an index: reading, encoding and writing overlap, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import groupby
from pathlib import Path

from docpruner.codecs import bytes_per_vector
from docpruner.encoders.registry import Encoder
from docpruner.errors import PageError
from docpruner.index.records import DocumentPages, PageRecord
from docpruner.index.store import PageStore
from docpruner.index.writer import Writer
from docpruner.pages.reader import PageReader
from docpruner.pipeline.ahead import ahead
from docpruner.pipeline.reading import DocumentEnd, FilesReader, PageRead, Reading, listed_files
from docpruner.pipeline.records import Made, RecordMaker
from docpruner.pipeline.report import AddReport

FIRST_BATCH, MOST_PAGES = 8, 64  # pages
MOST_READINGS = 1000  # pages and ends of documents in a batch
BATCH_SECONDS = 3.0  # of work, which is what a killed process loses

Watch = Callable[[AddReport], None]


def add_files(
    store: PageStore,
    encoder: Encoder,
    paths: Iterable[str | Path],
    *,
    ocr: bool = False,
    metadata: Mapping[str, str] | None = None,
    wait: float = 10.0,
    watch: Watch | None = None,
) -> AddReport:
    """Bring an index up to date with files and folders.

    What the index has already is left alone, so a run that was stopped, in whatever way, goes on
    where it was. What can't be read is listed in the report. `watch` gets the report so far
    whenever something was committed or has failed.
    """
    files, size = listed_files(paths)
    with store.writer(wait) as writer, PageReader(pixels=encoder.pixels, ocr=ocr) as reader:
        found = FilesReader(store, reader, ocr=ocr, metadata=metadata).read(files)
        with closing(ahead(found, size=MOST_PAGES // 2)) as readings:  # type: ignore[type-var]
            maker = RecordMaker(store, encoder, writer.settings)
            run = AddRun(writer, maker, size, reads_words=encoder.pixels is None, watch=watch)
            return run.over(readings)


class AddRun:
    """Encodes a batch while the one before it is being written."""

    def __init__(
        self,
        writer: Writer,
        maker: RecordMaker,
        size: int,
        *,
        reads_words: bool,
        watch: Watch | None,
    ) -> None:
        self._writer, self._maker = writer, maker
        self._size, self._reads_words, self._watch = max(size, 1), reads_words, watch
        self._report = AddReport()
        self._began = time.monotonic()
        self._batch_pages = FIRST_BATCH
        self._stored: set[str] = set()  # documents of which this run has encoded a page

    def over(self, readings: Iterable[Reading]) -> AddReport:
        batch: list[PageRead | DocumentEnd] = []
        pages = 0
        writing: Future[None] | None = None
        with ThreadPoolExecutor(1, "docpruner-writer") as pool:  # waits for the last write
            for reading in readings:
                if isinstance(reading, PageError):
                    self._failed(reading)
                    continue
                batch.append(reading)
                pages += isinstance(reading, PageRead)
                if pages >= self._batch_pages or len(batch) >= MOST_READINGS:
                    writing = self._pass_on(pool, writing, batch)
                    batch, pages = [], 0
            writing = self._pass_on(pool, writing, batch)
            writing.result()
        self._report.share = 1.0
        self._tell()
        return self._report

    def _pass_on(
        self,
        pool: ThreadPoolExecutor,
        writing: Future[None] | None,
        batch: Sequence[PageRead | DocumentEnd],
    ) -> Future[None]:
        """Encode a batch, wait for the write of the one before, and start that of this one."""
        pages = [reading for reading in batch if isinstance(reading, PageRead)]
        began = time.monotonic()
        made = self._maker.make([(reading.file.path, reading.page) for reading in pages])
        if pages:
            pace = BATCH_SECONDS / max(time.monotonic() - began, 1e-3)
            self._batch_pages = max(1, min(round(len(pages) * pace), MOST_PAGES))
        if writing is not None:
            writing.result()
        return pool.submit(self._write, batch, dict(zip(map(id, pages), made, strict=True)))

    def _write(self, batch: Sequence[PageRead | DocumentEnd], made: Mapping[int, Made]) -> None:
        parts = []
        for file, readings in groupby(batch, key=lambda reading: reading.file):
            some = list(readings)
            records = [made[id(reading)].record for reading in some if id(reading) in made]
            good = [record for record in records if isinstance(record, PageRecord)]
            if good:
                self._stored.add(file.path)
            ends = [end for end in some if isinstance(end, DocumentEnd) and self._is_in(end)]
            if good or any(end.changed for end in ends):
                parts.append(DocumentPages(file, good, finished=bool(ends)))
        if parts:
            self._writer.commit(parts)
        self._count(batch, made)

    def _is_in(self, end: DocumentEnd) -> bool:
        """False if no page of a new version could be encoded; the one before then stays."""
        return end.fate in ("completed", "unchanged") or end.file.path in self._stored

    def _count(self, batch: Sequence[PageRead | DocumentEnd], made: Mapping[int, Made]) -> None:
        report, settings = self._report, self._writer.settings
        for reading in batch:
            if isinstance(reading, DocumentEnd):
                if self._is_in(reading):
                    report.documents[reading.fate] += 1
                if reading.fate == "unchanged":
                    report.share += reading.file.bytes / self._size
                continue
            report.share += reading.file.bytes / reading.file.pages / self._size
            outcome = made[id(reading)]
            if isinstance(outcome.record, PageError):
                report.problems.append(outcome.record)
                continue
            record = outcome.record
            unpruned = record.patches + record.special
            report.pages += 1
            report.copied += outcome.copied
            report.odd_thresholds += outcome.odd_threshold
            report.without_words += self._reads_words and not reading.page.words
            report.vectors += len(record.rows)
            report.vectors_unpruned += unpruned
            report.bytes += record.rows.nbytes
            report.bytes_unpruned_float16 += unpruned * bytes_per_vector("float16", settings.dim)
        self._tell()

    def _failed(self, problem: PageError) -> None:
        self._report.problems.append(problem)
        self._tell()

    def _tell(self) -> None:
        self._report.seconds = time.monotonic() - self._began
        if self._watch is not None:
            self._watch(self._report)

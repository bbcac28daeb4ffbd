"""Adding documents to an index: reading, encoding and writing overlap, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import groupby
from typing import TypeAlias

from docpruner.codecs import bytes_per_vector
from docpruner.encoders.registry import Encoder
from docpruner.errors import PageError
from docpruner.pages.sources import FollowsDocuments, Source
from docpruner.pipeline.add_report import AddReport, ProgressCallback
from docpruner.pipeline.missing_pages import (
    DocumentEnd,
    DocumentMoved,
    MetadataOf,
    MissingPages,
    PageRead,
    Reading,
)
from docpruner.pipeline.prefetch import prefetch
from docpruner.pipeline.record_maker import PageResult, RecordMaker, copy_of
from docpruner.stores.contract import WAIT, Store, Writer
from docpruner.stores.records import DocumentPages, StoredPage

FIRST_BATCH, MOST_PAGES = 8, 64  # pages
MOST_READINGS = 1000  # pages and ends of documents in a batch
BATCH_SECONDS = 3.0  # of work, which is what a killed process loses

Step: TypeAlias = PageRead | DocumentMoved | DocumentEnd


def add_documents(
    store: Store,
    source: Source,
    encoder: Encoder | None,
    *,
    ocr: bool = False,
    metadata: MetadataOf | None = None,
    delete_missing: bool = False,
    wait: float = WAIT,
    progress: ProgressCallback | None = None,
) -> AddReport:
    """Bring an index up to date with a source, and close the source.

    What the index has already is left alone, so a run that was stopped, in whatever way, goes on
    where it was. What can't be read is listed in the report, as are documents of the source whose
    files are gone; those are removed with `delete_missing`. The encoder may be None if all pages
    come with their embeddings.
    """
    try:
        with store.writer(wait) as writer:
            missing = iter(MissingPages(store, source, ocr=ocr, metadata=metadata))
            maker = RecordMaker(encoder, writer.settings)
            reads_words = encoder is not None and encoder.reads == "words"
            run = AddRun(
                store, writer, maker, source.size, reads_words=reads_words, progress=progress
            )
            readings = prefetch(missing, size=MOST_PAGES // 2, interrupt=source.close)
            with closing(readings):  # type: ignore[type-var]
                report = run.over(readings)
            if isinstance(source, FollowsDocuments):
                report.missing = _missing(store, source)
            if delete_missing and report.missing:
                writer.delete(report.missing)
                report.deleted = report.missing
    finally:
        source.close()
    return report


def _missing(store: Store, source: FollowsDocuments) -> list[str]:
    with store.reader() as reader:
        names = [entry.name for entry in reader.documents() if source.covers(entry.name)]
    return [name for name in names if source.is_gone(name)]


class AddRun:
    """Encodes a batch while the one before it is being written."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        maker: RecordMaker,
        size: int,
        *,
        reads_words: bool,
        progress: ProgressCallback | None,
    ) -> None:
        self._store, self._writer, self._maker = store, writer, maker
        self._size, self._reads_words, self._progress = size, reads_words, progress
        self._report = AddReport()
        self._began = time.monotonic()
        self._batch_pages = FIRST_BATCH
        self._stored: set[str] = set()  # documents of which this run has stored a page

    def over(self, readings: Iterable[Reading]) -> AddReport:
        batch: list[Step] = []
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
        self, pool: ThreadPoolExecutor, writing: Future[None] | None, batch: Sequence[Step]
    ) -> Future[None]:
        """Encode a batch, wait for the write of the one before, and start that of this one."""
        pages = [reading for reading in batch if isinstance(reading, PageRead)]
        began = time.monotonic()
        results = self._results(pages)
        if pages:
            pace = BATCH_SECONDS / max(time.monotonic() - began, 1e-3)
            self._batch_pages = max(1, min(round(len(pages) * pace), MOST_PAGES))
        if writing is not None:
            writing.result()
        return pool.submit(self._write, batch, dict(zip(map(id, pages), results, strict=True)))

    def _results(self, pages: Sequence[PageRead]) -> list[PageResult]:
        """A page that looks the same as a stored one is not encoded again."""
        results: list[PageResult | None] = []
        with self._store.reader() as reader:
            for each in pages:
                looks = each.page.content_hash
                like = reader.page_like(looks) if looks else None
                name = each.document.name
                results.append(None if like is None else copy_of(like, name, each.page))
        new = [place for place, result in enumerate(results) if result is None]
        made = self._maker.make([(pages[at].document.name, pages[at].page) for at in new])
        for place, result in zip(new, made, strict=True):
            results[place] = result
        return [result for result in results if result is not None]

    def _write(self, batch: Sequence[Step], results: Mapping[int, PageResult]) -> None:
        moves = {
            step.before: step.document.name for step in batch if isinstance(step, DocumentMoved)
        }
        if moves:
            self._writer.rename(moves)
        parts = []
        for document, steps in groupby(batch, key=lambda step: step.document):
            some = list(steps)
            records = [results[id(step)].record for step in some if id(step) in results]
            good = [record for record in records if isinstance(record, StoredPage)]
            if good:
                self._stored.add(document.name)
            ends = [end for end in some if isinstance(end, DocumentEnd) and self._is_in(end)]
            if good or any(end.changed for end in ends):
                parts.append(DocumentPages(document, good, finished=bool(ends)))
        if parts:
            self._writer.commit(parts)
        self._count(batch, results)

    def _is_in(self, end: DocumentEnd) -> bool:
        """False if no page of a new version could be encoded; the one before then stays."""
        return end.status not in ("added", "replaced") or end.document.name in self._stored

    def _count(self, batch: Sequence[Step], results: Mapping[int, PageResult]) -> None:
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
        unpruned = record.patches + record.special
        report.pages += 1
        report.copied += result.copied
        report.odd_thresholds += result.odd_threshold
        report.without_words += self._reads_words and not read.page.words
        report.vectors += len(record.vectors)
        report.vectors_unpruned += unpruned
        report.bytes += record.vectors.nbytes
        report.bytes_unpruned_float16 += unpruned * bytes_per_vector("float16", settings.dim)

    def _advance(self, size: float) -> None:
        if self._size:
            self._report.share = min(1.0, self._report.share + size / self._size)

    def _failed(self, problem: PageError) -> None:
        self._report.problems.append(problem)
        self._tell()

    def _tell(self) -> None:
        self._report.seconds = time.monotonic() - self._began
        if self._progress is not None:
            self._progress(self._report)

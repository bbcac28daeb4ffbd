"""Adding documents to an index: every kind of work in a lane of its own, all at once.

Pages are read in a child process; their pictures are prepared in a thread; the encoder runs in the
thread of the caller, where Ctrl-C reaches it; its results are collected, reduced and written in
three more. What a lane has made waits in a short channel, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from docpruner.encoders.registry import Encoder
from docpruner.errors import PageError
from docpruner.pages.sources import FollowsDocuments, Source
from docpruner.pipeline.add_report import AddReport, ProgressCallback
from docpruner.pipeline.commits import Commits, Results, Step
from docpruner.pipeline.fit import BudgetKeeper
from docpruner.pipeline.lanes import Channel, Lanes
from docpruner.pipeline.missing_pages import MetadataOf, MissingPages, PageRead, Reading
from docpruner.pipeline.page_encoding import (
    BATCH_SECONDS,
    Encoded,
    PageEncoding,
    PreparedPages,
    like_sizes,
)
from docpruner.pipeline.page_workers import WorkElsewhere, WorkersRun
from docpruner.pipeline.record_maker import PageResult, RecordMaker
from docpruner.stores.contract import WAIT, Store
from docpruner.stores.settings import Settings
from docpruner.types import Ocr

FIRST_BATCH, MOST_PAGES = 8, 64  # pages
MOST_STEPS = 1000  # pages and ends of documents in a commit
READ_AHEAD = 32  # pages
RUNNING = 16  # batches on devices that have not been collected; a device takes only a few
AHEAD = 2  # batches that wait between two other lanes


def add_documents(
    store: Store,
    source: Source,
    encoder: Encoder | None,
    *,
    ocr: Ocr | None = None,
    metadata: MetadataOf | None = None,
    delete_missing: bool = False,
    wait: float = WAIT,
    progress: ProgressCallback | None = None,
    elsewhere: WorkElsewhere | None = None,
) -> AddReport:
    """Bring an index up to date with a source, and close the source.

    What the index has already is left alone, so a run that was stopped, in whatever way, goes on
    where it was. What can't be read is listed in the report, as are documents of the source whose
    files are gone; those are removed with `delete_missing`. The encoder may be None if all pages
    come with their embeddings, or are made `elsewhere` by workers; then the source leaves them
    unread. `ocr` is what workers are told; where it is True or names languages, pages that are in
    without words are read once more. An index that passes its budget is given the next setting that
    fits, as often as it takes; if none does, a BudgetError ends the run, and what was committed
    stays.
    """
    try:
        with store.writer(wait) as writer:
            if elsewhere is None:
                reads_words = encoder is not None and encoder.reads == "words"
            else:
                job = elsewhere.job(store, writer.settings, ocr=ocr)
                reads_words = elsewhere.workers.begin(job).reads == "words"
            keeper = BudgetKeeper(store, writer)
            commits = Commits(
                writer,
                keeper,
                source.size,
                pages=MOST_PAGES,
                steps=MOST_STEPS,
                seconds=BATCH_SECONDS,
                reads_words=reads_words,
                progress=progress,
            )
            run: AddRun | WorkersRun = (
                AddRun(store, encoder, commits, writer.settings)
                if elsewhere is None
                else WorkersRun(elsewhere.workers, commits)
            )
            silent_again = bool(ocr) and reads_words
            missing = MissingPages(store, source, ocr=silent_again, metadata=metadata)
            report = run.over(missing, interrupt=source.close)
            if isinstance(source, FollowsDocuments):
                report.missing = _missing(store, source)
            if delete_missing and report.missing:
                writer.delete(report.missing)
                report.deleted = report.missing
            keeper.check()
            report.narrowed = keeper.narrowed
        keeper.compact(wait)
    finally:
        source.close()
    return report


def _missing(store: Store, source: FollowsDocuments) -> list[str]:
    with store.reader() as reader:
        names = [name for name in reader.names() if source.covers(name)]
    return [name for name in names if source.is_gone(name)]


@dataclass(frozen=True, eq=False)
class Batch:
    """Pages to encode together. The last batch of a window brings all that the window holds."""

    pages: Sequence[PageRead]
    window: Sequence[Step] = ()
    results: Results = field(default_factory=dict)  # of the window's pages that need no encoder


class AddRun:
    """Brings what is missing into an index."""

    def __init__(
        self,
        store: Store,
        encoder: Encoder | None,
        commits: Commits,
        settings: Settings,
    ) -> None:
        self._store, self._commits = store, commits
        self._encoding = PageEncoding(encoder, first=FIRST_BATCH, most=MOST_PAGES)
        self._maker = RecordMaker(settings)

    def over(self, missing: Iterable[Reading], *, interrupt: Callable[[], None]) -> AddReport:
        with Lanes(interrupt) as lanes:
            readings = lanes.begin("reader", missing, READ_AHEAD)
            prepared = lanes.begin("preparer", self._prepared(readings), AHEAD)
            running: Channel[tuple[Batch, Callable[[], Encoded]]] = lanes.channel(RUNNING)
            collected = lanes.begin("collector", self._collected(running), AHEAD)
            made = lanes.begin("reducer", self._made(collected), AHEAD)
            written = lanes.begin("writer", self._written(made), 1)
            lanes.run(self._running(prepared), running)
            (report,) = written  # or what went wrong in any of them
        return report

    def _windows(self, readings: Iterable[Reading]) -> Iterator[Sequence[Step]]:
        """Of a few pages each: those of like size are encoded together. The first is small, as the
        device waits for it."""
        window: list[Step] = []
        pages, most = 0, self._encoding.first_pages
        for reading in readings:
            if isinstance(reading, PageError):
                self._commits.failed(reading)
                continue
            window.append(reading)
            pages += isinstance(reading, PageRead)
            if pages >= most or len(window) >= MOST_STEPS:
                yield window
                window, pages = [], 0
                batch, limit = self._encoding.batch_pages, self._encoding.window_pages
                most = min(max(2 * most, batch), limit)
        yield window

    def _prepared(self, readings: Iterable[Reading]) -> Iterator[tuple[Batch, PreparedPages]]:
        for window in self._windows(readings):
            pages = [step for step in window if isinstance(step, PageRead)]
            results = self._without_encoder(pages)
            new = [read for read in pages if id(read) not in results]
            groups = like_sizes([read.page for read in new], self._encoding.batch_pages)
            for group in groups[:-1]:
                yield self._ready(Batch([new[place] for place in group]))
            last = groups[-1] if groups else []
            yield self._ready(Batch([new[place] for place in last], window, results))

    def _ready(self, batch: Batch) -> tuple[Batch, PreparedPages]:
        named = [(read.document.name, read.page) for read in batch.pages]
        return batch, self._encoding.prepare(named)

    def _without_encoder(self, pages: Sequence[PageRead]) -> dict[int, PageResult]:
        """Of pages that look the same as a stored one, or that were encoded elsewhere."""
        results: dict[int, PageResult] = {}
        with self._store.reader() as reader:
            for read in pages:
                name, page = read.document.name, read.page
                like = reader.page_like(page.content_hash) if page.content_hash else None
                if like is not None:
                    results[id(read)] = self._maker.copied(like, name, page)
                elif page.embedding is not None:
                    results[id(read)] = self._maker.make(name, page)
        return results

    def _running(
        self, prepared: Iterable[tuple[Batch, PreparedPages]]
    ) -> Iterator[tuple[Batch, Callable[[], Encoded]]]:
        for batch, work in prepared:
            yield batch, self._encoding.run(work)

    def _collected(
        self, running: Iterable[tuple[Batch, Callable[[], Encoded]]]
    ) -> Iterator[tuple[Batch, Encoded]]:
        for batch, collect in running:
            yield batch, collect()

    def _made(self, collected: Iterable[tuple[Batch, Encoded]]) -> Iterator[tuple[Batch, Results]]:
        for batch, encoded in collected:
            results = {
                id(read): self._maker.make(read.document.name, read.page, embedding)
                for read, embedding in zip(batch.pages, encoded, strict=True)
            }
            yield batch, results

    def _written(self, made: Iterable[tuple[Batch, Results]]) -> Iterator[AddReport]:
        window: dict[int, PageResult] = {}
        for batch, results in made:
            window.update(batch.results)
            window.update(results)
            if batch.window:
                self._commits.take(batch.window, window)
                window = {}
        yield self._commits.finish()

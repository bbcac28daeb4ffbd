"""Indexing on a Ray cluster: for `Index.add`, and inside a Ray Data pipeline of your own.

    pages = ray.data.from_items(missing_pages(index, "/shared/reports"))
    made = pages.map_batches(
        PageEncoder,
        fn_constructor_kwargs={"settings": index.settings},
        batch_size=16,
        concurrency=(1, 8),
        num_gpus=1,
    )
    report = write_pages(index, made)

Between the stages go rows of plain values. A page is read, encoded and pruned where the encoder is;
what leaves it is a few kilobytes. `RayWorkers` does all of it for `index.add(…, workers=…)`, and
outlives pages that kill their workers, which Ray Data tries again without end.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from docpruner.encoders.model_options import ModelOptions
from docpruner.encoders.registry import Encoder
from docpruner.errors import PageError
from docpruner.facade import Index
from docpruner.integrations.ray_workers import RayWorkers
from docpruner.pages.object_files import unread_source
from docpruner.pages.unread import UnreadPage, unread
from docpruner.pipeline.add_report import AddReport, ProgressCallback
from docpruner.pipeline.commits import Commits
from docpruner.pipeline.fit import BudgetKeeper
from docpruner.pipeline.missing_pages import DocumentEnd, MissingPages, PageRead
from docpruner.pipeline.page_worker import PageTask, PageWorker, WorkerJob, WorkerResult
from docpruner.pipeline.page_workers import workers_write
from docpruner.pipeline.record_maker import PageResult, WrittenPage
from docpruner.stores.contract import WAIT, Staged
from docpruner.stores.locations import open_store
from docpruner.stores.packed_page import PackedPage
from docpruner.stores.records import DocumentPages, DocumentRecord, StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import Ocr

__all__ = ["PageEncoder", "RayWorkers", "missing_pages", "write_pages"]

Row = dict[str, Any]
BATCH = 64  # rows that are stored at once
SECONDS = 3.0  # between two commits
COLUMNS = ("document", "path", "number", "file_hash", "bytes", "pages", "status")
BLOBS = ("vectors", "map", "text")
EMPTY = PackedPage("", 0, 0.0, 0.0, "nowhere", b"", "int8", 0, b"", b"", b"")


def missing_pages(
    index: Index,
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    ocr: Ocr | None = None,
) -> list[Row]:
    """A row for each page of these files and folders that the index lacks, to be encoded.

    What can't be read is left out with a warning. Pages that are in without words are there only
    if `ocr` is True or names languages. A document whose pages are all in, but which nobody has
    finished, has its last page made once more.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    source = unread_source(given, index.root, follow=False)
    rows: list[Row] = []
    try:
        for reading in MissingPages(index, source, ocr=bool(ocr)):
            if isinstance(reading, PageError):
                warnings.warn(f"left out {reading}", stacklevel=2)
            elif isinstance(reading, PageRead) and isinstance(reading.page, UnreadPage):
                rows.append(_row(reading.document, reading.page.path, reading.page.number))
            elif isinstance(reading, DocumentEnd) and reading.changed:
                document = reading.document
                own = [row for row in rows[-document.pages :] if row["document"] == document.name]
                if not own:
                    own = [_row(document, index.file_of(document.name), document.pages)]
                    rows += own
                for row in own:
                    row["status"] = reading.status
    finally:
        source.close()
    return rows


class PageEncoder:
    """For `Dataset.map_batches`: rows of `missing_pages` to rows for `write_pages`.

    settings: those of the index.
    options: how its model runs; Ray says which GPUs there are.
    encoder: one that is not found by its name.
    ocr: recognise the words of pages that have none (extra `ocr`), or "rus+eng" by tesseract; None
        if the extra is installed there and the encoder reads words.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        options: ModelOptions | None = None,
        encoder: Encoder | None = None,
        ocr: Ocr | None = None,
    ) -> None:
        options = options or ModelOptions()
        load = partial(options.load, settings.encoder) if encoder is None else lambda: encoder
        self._worker = PageWorker(WorkerJob(settings, load, ocr))

    def __call__(self, batch: Mapping[str, Any]) -> Any:
        rows = _rows(batch)
        tasks = [PageTask(_record(row), row["path"], int(row["number"])) for row in rows]
        words = self._worker.facts.reads == "words"
        made = zip(rows, self._worker.make(tasks), strict=True)
        return _table([_made(row, result, reads_words=words) for row, result in made])


def write_pages(
    index: Index, rows: Any, *, wait: float = WAIT, progress: ProgressCallback | None = None
) -> AddReport:
    """Store the rows of a Ray Dataset that `PageEncoder` made, and finish their documents.

    The workers store them if the index is where several can write; else they come here, and are
    committed while others are made. Running the whole pipeline again goes on where it was.
    """
    with open_store(index.location) as store:
        with store.writer(wait) as writer:
            if workers_write(store, writer.settings):
                there = partial(_stored, location=store.location)
                rows = rows.map_batches(there, batch_size=BATCH, batch_format="pyarrow")
            keeper = BudgetKeeper(store, writer)
            commits = Commits(
                writer,
                keeper,
                0,
                pages=BATCH,
                steps=BATCH,
                seconds=SECONDS,
                reads_words=True,
                progress=progress,
            )
            report = _committed(commits, rows)
            keeper.check()
            report.narrowed = keeper.narrowed
        keeper.compact(wait)
        if report.pages and isinstance(store, Staged):
            store.update_first_stage(wait=wait)
    return report


def _committed(commits: Commits, rows: Any) -> AddReport:
    ends: dict[str, DocumentEnd] = {}
    for batch in rows.iter_batches(batch_size=BATCH, batch_format="pyarrow"):
        results: dict[int, PageResult] = {}
        reads = []
        for row in batch.to_pylist():
            record = _record(row)
            if record.name not in ends:
                ends[record.name] = DocumentEnd(record, row["status"], changed=True)
            page = UnreadPage(record.name, unread, number=row["number"])
            reads.append(PageRead(ends[record.name].document, page))
            results[id(reads[-1])] = _result(row)
        commits.take(reads, results)
    commits.take(list(ends.values()), {})
    return commits.finish()


def _stored(batch: Any, location: str) -> Any:
    """A batch of rows, put into the index by a worker; what it goes on with says only so."""
    rows = batch.to_pylist()
    good = [row for row in rows if not row["reason"]]
    parts = [DocumentPages(_record(row), [_packed(row).page], finished=False) for row in good]
    with open_store(location) as store, store.writer() as writer:
        writer.commit(parts)
    for row in good:
        row.update(dict.fromkeys(BLOBS, b""), written=True)
    return _table(rows)


# ------------------------------------------------------------------ rows


def _row(document: DocumentRecord, path: str, number: int) -> Row:
    """Hashes are written out: batches may go through numpy, where bytes lose zeros at their end."""
    return {
        "document": document.name,
        "path": path,
        "number": number,
        "file_hash": document.content_hash.hex(),
        "bytes": document.bytes,
        "pages": document.pages,
        "status": "added",
    }


def _record(row: Row) -> DocumentRecord:
    content_hash = bytes.fromhex(row["file_hash"])
    return DocumentRecord(row["document"], content_hash, int(row["bytes"]), int(row["pages"]))


def _rows(batch: Mapping[str, Any]) -> list[Row]:
    columns = {name: _values(batch[name]) for name in COLUMNS}
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def _values(column: Any) -> list[Any]:
    """In Python's own types, of a batch in any of Ray's three formats."""
    values: list[Any] = column.to_pylist() if hasattr(column, "to_pylist") else column.tolist()
    return values


def _made(row: Row, made: WorkerResult, *, reads_words: bool) -> Row:
    record = made.record
    packed = record if isinstance(record, PackedPage) else EMPTY
    problem = record if isinstance(record, PageError) else None
    tally = WrittenPage.of(packed.page) if problem is None else WrittenPage(0, 0, 0)
    return {
        **packed._asdict(),
        **row,
        "kept": tally.vectors,
        "unpruned": tally.vectors_unpruned,
        "kept_bytes": tally.bytes,
        "odd_threshold": made.odd_threshold,
        "has_words": made.has_words or not reads_words,
        "reason": "" if problem is None else problem.reason,
        "remedy": "" if problem is None else problem.remedy,
        "written": False,
    }


def _packed(row: Row) -> PackedPage:
    return PackedPage(**{name: row[name] for name in PackedPage._fields})


def _result(row: Row) -> PageResult:
    record: StoredPage | WrittenPage | PageError
    if row["reason"]:
        record = PageError(row["document"], row["reason"], row["remedy"], row["number"])
    elif row["written"]:
        record = WrittenPage(row["kept"], row["unpruned"], row["kept_bytes"])
    else:
        record = _packed(row).page
    return PageResult(record, odd_threshold=row["odd_threshold"], has_words=row["has_words"])


def _table(rows: Sequence[Row]) -> Any:
    """Typed, so that bytes stay as they are."""
    import pyarrow

    kinds = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}
    kinds |= {bool: pyarrow.bool_(), bytes: pyarrow.large_binary()}
    schema = pyarrow.schema([(name, kinds[type(value)]) for name, value in rows[0].items()])
    return pyarrow.Table.from_pylist(list(rows), schema)

"""An index copied into another store, page by page; what arrives is compared with what was sent.

What the target has already is left alone, so a copy that was stopped, in whatever way, goes on
where it was, and one that is made again brings the target up to date.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace

from docpruner.codecs import CodecName, bytes_per_vector
from docpruner.errors import DamagedIndexError, IndexStateError
from docpruner.pipeline.copy_plan import Part, Plan, check_source, plan_of, read_page, whole_plan
from docpruner.pipeline.prune import Stricter
from docpruner.reduce import reducer
from docpruner.reduce.threshold import unwarned
from docpruner.stores.contract import WAIT, Progress, Reader, Staged, Store, Writer
from docpruner.stores.locations import Location, create_store, open_store, store_exists
from docpruner.stores.records import DocumentPages, DocumentRecord, PageName, StoredPage
from docpruner.stores.settings import Settings

MOST_PAGES, MOST_BYTES = 500, 32 << 20  # of vectors, in a commit

MAY_DIFFER = ("version", "budget")
"""Of the settings of two indexes, what says nothing of their pages."""

Seal = tuple[int, int]
"""Checksums of the vectors of a page with their provenance, and of its words."""


@dataclass
class CopyReport:
    """What a copy has done. Pages count when they are committed, and were read back."""

    documents: int = 0  # of which pages were written
    unchanged: int = 0  # documents that were there
    metadata_changed: int = 0  # of those, whose metadata is another now
    pages: int = 0  # written by this run
    compared: int = 0  # of those, read back from the target with the same checksums
    vectors_before: int = 0  # of the pages written, in the source
    vectors: int = 0  # and in the target
    bytes: int = 0  # of the vectors in the target
    missing: list[str] = field(default_factory=list)  # documents of the target the source lacks
    deleted: list[str] = field(default_factory=list)  # of those, the ones taken out
    seconds: float = 0.0


def copy_index(
    source: Store,
    location: Location,
    *,
    spec: str | None = None,
    codec: CodecName | None = None,
    root: str = "",
    delete_missing: bool = False,
    wait: float = WAIT,
    progress: Progress | None = None,
) -> CopyReport:
    """Bring the index at `location`, which is made if there is none, up to date with `source`.

    With a stricter `spec` or another `codec` its pages are what `prune` would make of them. Pages
    whose checksum is wrong are not copied: before anything is written the source is verified, if
    it can be. `root` is what the settings of the target say of it.
    """
    began = time.monotonic()
    with unwarned(), source.reader() as reader:
        own = reader.settings
        new, to = reducer(spec or own.spec), codec or own.codec
        bytes_per_vector(to, own.dim)  # refuses a codec that there isn't
        change = Stricter(own, new, to)
        settings = replace(own, spec=str(new), codec=to, root=root)
        there = store_exists(location)
        if not there:
            whole = whole_plan(reader)
            check_source(source, reader, Stricter(own, new, to), whole, wait, progress)
        with _target(location, settings, there=there) as target:
            if target.location == source.location:
                raise IndexStateError(f"{source.location} can't be copied to itself")
            with target.writer(wait) as writer:
                _check_fit(target.location, writer.settings, settings)
                plan = plan_of(reader, target)
                if there and plan.parts:
                    tried = Stricter(own, new, to)
                    check_source(source, reader, tried, plan.parts, wait, progress)
                report = CopyRun(source, reader, target, writer, change, progress).of(plan)
                _tidy_up(reader, target, writer, plan, report, delete_missing=delete_missing)
            if isinstance(target, Staged):
                target.update_first_stage(wait=wait, progress=progress)
    report.seconds = time.monotonic() - began
    return report


# ---------------------------------------------------------------------- the target


@contextmanager
def _target(location: Location, settings: Settings, *, there: bool) -> Iterator[Store]:
    with open_store(location) if there else create_store(location, settings) as target:
        if not store_exists(location):
            raise IndexStateError(
                f"a copy at {target.location} could not be opened again; give it a name"
            )
        yield target


def _check_fit(location: str, there: Settings, wanted: Settings) -> None:
    own, asked = asdict(there), asdict(wanted)
    for what in [each for each in own if each not in MAY_DIFFER]:
        if own[what] != asked[what]:
            remedy = "copy to another location"
            if what in ("spec", "codec"):
                remedy = f"ask for the {what} it has, or {remedy}"
            raise IndexStateError(
                f"{location} has {what} {_shown(own[what])}, and the copy would have "
                f"{_shown(asked[what])}: {remedy}"
            )


def _shown(value: object) -> object:
    return "none" if value == "" else value


# ---------------------------------------------------------------------- the copy


class CopyRun:
    """Writes pages in commits of bounded size, and reads each document back once it is whole."""

    def __init__(
        self,
        source: Store,
        reader: Reader,
        target: Store,
        writer: Writer,
        change: Stricter,
        progress: Progress | None,
    ) -> None:
        self._source, self._reader, self._target = source, reader, target
        self._writer, self._change, self._progress = writer, change, progress
        self._report = CopyReport()
        self._batch: list[DocumentPages] = []
        self._pages = self._bytes = 0  # in the batch
        self._sealed: dict[PageName, Seal] = {}  # written, and not yet read back

    def of(self, plan: Plan) -> CopyReport:
        total = sum(len(part.numbers) for part in plan.parts)
        for part in plan.parts:
            self._copy(part, total)
        self._commit(total)
        self._report.unchanged = plan.unchanged
        done = self._change.done
        self._report.vectors_before, self._report.vectors = done.before, done.after
        self._report.bytes = done.bytes_after
        return self._report

    def _copy(self, part: Part, total: int) -> None:
        entry = part.entry
        size = 0  # of its file, which matters while it is read
        record = DocumentRecord(
            entry.name, entry.content_hash, size, entry.pages, dict(entry.metadata)
        )
        pages: list[StoredPage] = []
        for number in part.numbers:
            page = self._change(read_page(self._source, self._reader, entry.name, number))
            pages.append(page)
            self._sealed[PageName(entry.name, number)] = _seal(page)
            self._pages += 1
            self._bytes += page.vectors.nbytes
            if self._pages >= MOST_PAGES or self._bytes >= MOST_BYTES:
                self._batch.append(DocumentPages(record, pages, finished=False))
                pages = []
                self._commit(total)
        self._batch.append(DocumentPages(record, pages, finished=True))

    def _commit(self, total: int) -> None:
        if not self._batch:
            return
        self._writer.commit(self._batch)
        finished = {part.document.name for part in self._batch if part.finished}
        self._compare(finished)
        self._report.documents += len(finished)
        self._report.pages += self._pages
        self._batch, self._pages, self._bytes = [], 0, 0
        if self._progress is not None:
            self._progress(self._report.pages, total)

    def _compare(self, documents: set[str]) -> None:
        """A version that replaces another can be read when it is whole, and not before."""
        names = [name for name in self._sealed if name.document in documents]
        with self._target.reader() as there:
            for name in names:
                page = there.page(*name)
                if page is None or _seal(page) != self._sealed.pop(name):
                    self._writer.delete([name.document])
                    raise DamagedIndexError(
                        f"{self._target.location} gives back {name.document}#{name.number} other "
                        "than it was written. The document was taken out; what was copied before "
                        "is as it should be. Look at that disk or server, then copy again"
                    )
        self._report.compared += len(names)


def _seal(page: StoredPage) -> Seal:
    return page.fingerprint, zlib.crc32(page.text.packed)


def _tidy_up(
    reader: Reader,
    target: Store,
    writer: Writer,
    plan: Plan,
    report: CopyReport,
    *,
    delete_missing: bool,
) -> None:
    if plan.metadata:
        writer.set_metadata(plan.metadata)
        report.metadata_changed = len(plan.metadata)
    own = set(reader.names())
    with target.reader() as there:
        report.missing = [name for name in there.names() if name not in own]
    if delete_missing and report.missing:
        writer.delete(report.missing)
        report.deleted = report.missing

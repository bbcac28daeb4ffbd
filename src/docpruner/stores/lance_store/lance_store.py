"""`lance://folder/name` and `lance+s3://bucket/name`."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Self

from docpruner.errors import IndexClosedError, IndexStateError
from docpruner.stores.contract import WAIT, Progress
from docpruner.stores.lance_store.lance_errors import ConflictError
from docpruner.stores.lance_store.lance_listing import FragmentRows, Listing, listed
from docpruner.stores.lance_store.lance_reader import LanceReader
from docpruner.stores.lance_store.lance_rows import FORMAT, settings_table
from docpruner.stores.lance_store.lance_scoring import RowCache
from docpruner.stores.lance_store.lance_table import LanceTable, uri_of
from docpruner.stores.lance_store.lance_upkeep import changed_documents, damages, merged, merges
from docpruner.stores.lance_store.lance_writer import LanceWriter
from docpruner.stores.records import Damage, IndexVersion
from docpruner.stores.settings import Settings

KEPT = timedelta(minutes=10)
"""How old versions get at least before compaction removes them: somebody may be reading them."""

MERGE_TRIES = 5  # to commit a merge while others commit pages
WORTH_AN_INDEX = 2000  # pages, from which on compaction makes an index of their words


class LanceStore:
    """Pages are listed when they are first asked for, and what is new whenever there is something.

    With a `pinned` table it is the index as it was at that version, to be read only.
    """

    def __init__(self, location: str, table: LanceTable, pinned: LanceTable | None = None) -> None:
        self.location = location
        self._table, self._pinned = table, pinned
        self._latest: Listing | None = None
        self._cache = RowCache()
        self._lock = threading.Lock()
        self._closed = False

    @classmethod
    def create(cls, location: str, settings: Settings) -> LanceStore:
        _check(location)
        table = LanceTable.create(location, settings_table(settings))
        if table is None:
            raise IndexStateError(f"{location} already holds an index; choose another name")
        return cls(location, table)

    @classmethod
    def open(cls, location: str) -> LanceStore:
        _check(location)
        table = LanceTable.open(location)
        if table is None:
            raise IndexStateError(
                f"{location} holds no index; make one: docpruner index {location} PATHS"
            )
        form = (table.schema.metadata or {}).get(b"docpruner.format", b"").decode()
        if form != FORMAT:
            raise IndexStateError(
                f"{location} is a Lance table of "
                + (f"format {form}, which a newer docpruner wrote; upgrade" if form else "others")
            )
        return cls(location, table)

    @classmethod
    def exists(cls, location: str) -> bool:
        _check(location)
        return LanceTable.open(location) is not None

    def close(self) -> None:
        with self._lock:
            self._closed, self._latest = True, None
            self._cache.keep_only(())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------ versions

    def versions(self) -> Sequence[IndexVersion]:
        self._check_open()
        return [IndexVersion(number, when) for number, when in self._table.versions()]

    def at(self, version: int) -> LanceStore:
        self._check_open()
        return LanceStore(self.location, self._table, self._table.at(version))

    # ------------------------------------------------------------------ reading

    @contextmanager
    def reader(self) -> Iterator[LanceReader]:
        yield LanceReader(self.listing(), self._cache)

    def listing(self) -> Listing:
        """Of the latest version, or of the one that it is pinned to."""
        self._check_open()
        return self.moved_on(self._pinned or self._table.latest())

    def moved_on(self, table: LanceTable) -> Listing:
        """The listing of a version; read once for all who want it."""
        with self._lock:
            if self._latest is None or self._latest.version != table.version:
                self._latest = listed(table, self._latest)
                self._cache.keep_only({rows.fragment for rows in self._latest.of_pages})
            return self._latest

    def _check_open(self) -> None:
        if self._closed:
            raise IndexClosedError(self.location)

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writer(self, wait: float = WAIT) -> Iterator[LanceWriter]:
        """Of these there may be many. `wait` is how long a change is tried again at least, if
        others come first each time."""
        self._check_open()
        if self._pinned is not None:
            raise IndexStateError(
                f"{self.location} is open as it was at version {self._pinned.version}, which can't "
                "be changed; open it without a version"
            )
        yield LanceWriter(self, wait)

    def verify(
        self, *, isolate: bool = True, wait: float = WAIT, progress: Progress | None = None
    ) -> list[Damage]:
        listing = self.listing()
        found = list(damages(listing, progress))
        documents = changed_documents(listing)
        if isolate and (found or documents):
            with self.writer(wait) as writer:
                pages = {(document, number) for document, number, _ in found}
                writer.isolate(pages, documents)
        return [damage for *_, damage in found]

    def compact(self, *, wait: float = WAIT, progress: Progress | None = None) -> None:
        """Write what is left of small and worn files into fewer ones, and remove old versions."""
        with self.writer(wait):
            self._merge(self.listing(), all_of_them=True, progress=progress)
        listing = self.listing()
        if len(listing.document) >= WORTH_AN_INDEX:
            listing.table.index_words()
        self._table.latest().remove_versions(KEPT)

    def keep_up(self) -> None:
        """Merge small files once there are many."""
        self._merge(self.listing(), all_of_them=False)

    def _merge(
        self, listing: Listing, *, all_of_them: bool, progress: Progress | None = None
    ) -> None:
        groups = list(merges(listing, all_of_them=all_of_them))
        total = sum(len(rows.offset) for group in groups for rows in group)
        done = 0
        for group in groups:
            self._merge_group(listing, group)
            done += sum(len(rows.offset) for rows in group)
            if progress is not None:
                progress(done, total)

    def _merge_group(self, listing: Listing, group: Sequence[FragmentRows]) -> None:
        """Unless somebody changes one of them meanwhile; then it is left to the next time."""
        new = merged(listing, group)
        fragments = {rows.fragment for rows in group}
        for _ in range(MERGE_TRIES):
            now = self.listing()
            if not fragments <= set(now.table.fragments):
                return
            try:
                ids = [each.id for each in fragments]
                self.moved_on(now.table.commit(now.head, new, {}, ids))
            except ConflictError:
                continue
            return


def _check(location: str) -> None:
    path = uri_of(location)
    if path.startswith("s3://"):
        bucket, _, name = path.removeprefix("s3://").partition("/")
        if not bucket or not name.strip("/"):
            raise IndexStateError(f"{location} names no index; write lance+s3://bucket/name")
    elif not path.strip("/"):
        raise IndexStateError(f"{location} names no index; write lance://folder/name")
    elif os.path.exists(path) and not os.path.isdir(path):
        raise IndexStateError(f"{path} is a file; choose another name for the index")

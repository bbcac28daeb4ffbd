"""An index in a folder: many read it, in many processes, also while one writes."""

from __future__ import annotations

import sqlite3
import threading
import warnings
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from docpruner.codecs import Rows
from docpruner.errors import (
    DamageWarning,
    IndexBusyError,
    IndexClosedError,
    IndexStateError,
    IndexWriteError,
    SlowSearchWarning,
)
from docpruner.stores.contract import WAIT, Progress
from docpruner.stores.folder.catalogue import (
    LOCK,
    NAME,
    connect_reader,
    make_catalogue,
    read_settings,
    sqlite_errors,
)
from docpruner.stores.folder.first_stage import read_first_stage
from docpruner.stores.folder.first_stage_build import OUTSIDE, WORTH_IT
from docpruner.stores.folder.first_stage_files import take_out_damaged
from docpruner.stores.folder.health import damages, text_index_is_sound
from docpruner.stores.folder.listing import Listing, list_pages
from docpruner.stores.folder.moment import TRIES, FolderReader
from docpruner.stores.folder.segments import mapped_rows
from docpruner.stores.folder.writer import FolderWriter
from docpruner.stores.records import Damage, FirstStageState, Tuning
from docpruner.stores.settings import Settings

SPARE = 4  # connections kept for the next readers


class FolderStore:
    """Opening reads the settings only. Pages are listed at the first search, and again whenever
    the index has changed since."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._clock = connect_reader(folder)  # its `data_version` tells one moment from another
        self._spare: list[sqlite3.Connection] = []
        self._latest: Listing | None = None
        self._settled: Listing | None = None
        self._slow: Listing | None = None  # the last that was warned of
        self._lock = threading.Lock()
        self._listing_lock = threading.Lock()
        self._closed = False
        try:
            with sqlite_errors(folder):
                read_settings(self._clock)
        except BaseException:
            self._clock.close()
            raise

    @classmethod
    def create(cls, location: str, settings: Settings) -> FolderStore:
        folder = Path(location)
        if folder.exists() and not folder.is_dir():
            raise IndexStateError(f"{folder} is a file; choose another name for the index")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with _locked(folder, WAIT):
                make_catalogue(folder, settings)
        except OSError as error:
            raise IndexWriteError(
                f"{folder} can't be written ({error.strerror}); make room, or choose another folder"
            ) from error
        return cls(folder)

    @classmethod
    def open(cls, location: str) -> FolderStore:
        return cls(Path(location))

    @classmethod
    def exists(cls, location: str) -> bool:
        return (Path(location) / NAME).is_file()

    @property
    def location(self) -> str:
        return str(self.folder)

    def close(self) -> None:
        with self._lock:
            self._closed, self._latest = True, None
            for connection in (self._clock, *self._spare):
                connection.close()
            self._spare.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------ reading

    @contextmanager
    def reader(self) -> Iterator[FolderReader]:
        connection = self._take()
        try:
            with sqlite_errors(self.folder):
                yield FolderReader(self, connection)
        finally:
            self._give_back(connection)

    def begin(self, connection: sqlite3.Connection) -> Hashable:
        """Begin a read transaction, and say which moment it sees.

        If the clock shows the same before and after, nothing was committed in between. While
        commits come one upon the other, the moment is one of its own.
        """
        for _ in range(TRIES):
            before = self._time()
            connection.execute("BEGIN DEFERRED")
            connection.execute("SELECT 1 FROM settings").fetchone()
            if self._time() == before:
                return before
            connection.rollback()
        connection.execute("BEGIN DEFERRED")
        connection.execute("SELECT 1 FROM settings").fetchone()
        return object()

    def listing(self, connection: sqlite3.Connection, version: Hashable) -> Listing:
        """The pages at a moment; listed once for all who read it."""
        with self._listing_lock:
            latest = self._latest
            if latest is None or latest.version != version:
                known = None if latest is None else latest.first_stage
                stage = read_first_stage(self.folder, known)
                latest = list_pages(connection, self.folder, version, latest, stage)
                if latest.complete:
                    self._latest = latest
            return latest

    def has_settled_on(self, listing: Listing) -> bool:
        return self._latest is listing

    def settle_on(self, listing: Listing) -> bool:
        """Take a listing for what there is, complete or not; whether that is news."""
        with self._lock:
            news, self._settled = self._settled is not listing, listing
            if not self._closed:
                self._latest = listing
        return news

    def warn_of_slowness(self, listing: Listing) -> None:
        """Once for each state, if all its pages are scored where a first stage should choose."""
        rows = sum(pages.committed for pages in listing.segments.values())
        outside = listing.vectors_outside
        if listing is self._slow or rows < WORTH_IT or outside <= OUTSIDE:
            return
        self._slow = listing
        warnings.warn(
            f"every page of {self.folder} is scored, as {outside / rows:.0%} of its vectors are in "
            "no list of the first stage: it is missing, damaged or behind. Searches are exact, and "
            f"slow, until you run: docpruner compact {self.folder}",
            SlowSearchWarning,
            stacklevel=2,
        )

    def mapped(self, segment: int, needed: int, width: int) -> Rows:
        """Rows of a segment, which may be those mapped for a listing."""
        latest = self._latest
        known = None if latest is None else latest.segments.get(segment)
        if known is None or len(known.rows) < needed:
            return mapped_rows(self.folder, segment, needed, width)
        return known.rows

    def _time(self) -> int:
        with self._lock:
            self._check_open()
            (version,) = self._clock.execute("PRAGMA data_version").fetchone()
            return int(version)

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            self._check_open()
            if self._spare:
                return self._spare.pop()
        return connect_reader(self.folder)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with suppress(sqlite3.Error):
            connection.rollback()
        with self._lock:
            if not self._closed and len(self._spare) < SPARE:
                self._spare.append(connection)
                return
        connection.close()

    def _check_open(self) -> None:
        if self._closed:
            raise IndexClosedError(self.location)

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writer(self, wait: float = WAIT) -> Iterator[FolderWriter]:
        """The right to change the index, for one process at a time; waits so many seconds."""
        self._check_open()
        with _locked(self.folder, wait):
            writer = FolderWriter(self.folder)
            try:
                yield writer
            finally:
                writer.close()

    def verify(
        self, *, isolate: bool = True, wait: float = WAIT, progress: Progress | None = None
    ) -> list[Damage]:
        """Compare every byte with its checksum; damaged pages are taken out with `isolate`."""
        found = list(damages(self.folder, progress))
        if found and isolate:
            with self.writer(wait) as writer:
                writer.delete_pages([row for row, _ in found])
        if not text_index_is_sound(self.folder):
            warnings.warn(
                f"the full-text index of {self.folder} is damaged: searches by text may miss pages "
                f"until it is made anew by: docpruner compact {self.folder}",
                DamageWarning,
                stacklevel=2,
            )
        if take_out_damaged(self.folder, isolate=isolate):
            warnings.warn(
                f"the first stage of {self.folder} is damaged: searches score more pages, and are "
                f"slower, until it is renewed by: docpruner compact {self.folder}",
                DamageWarning,
                stacklevel=2,
            )
        return [damage for _, damage in found]

    def first_stage(self) -> FirstStageState | None:
        with self.reader() as reader:
            return reader.first_stage()

    def update_first_stage(
        self, *, renew: bool = False, wait: float = WAIT, progress: Progress | None = None
    ) -> None:
        with self.writer(wait) as writer:
            writer.update_first_stage(renew=renew, progress=progress)

    def tune_first_stage(self, tuning: Tuning, *, wait: float = WAIT) -> None:
        with self.writer(wait) as writer:
            writer.tune_first_stage(tuning)

    def compact(self, *, wait: float = WAIT, progress: Progress | None = None) -> None:
        with self.writer(wait) as writer:
            writer.compact(progress)


@contextmanager
def _locked(folder: Path, wait: float) -> Iterator[None]:
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=wait)
    except Timeout:
        raise IndexBusyError(str(folder), wait) from None
    except OSError as error:
        raise IndexWriteError(f"{folder} can't be written to ({error.strerror})") from error
    try:
        yield
    finally:
        lock.release()

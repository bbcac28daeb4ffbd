"""An index in Qdrant: made, opened, read and written."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast, get_args
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from docpruner.errors import IndexClosedError, IndexStateError, MissingExtraError
from docpruner.stores.contract import WAIT, Progress
from docpruner.stores.qdrant.history import NOBODY, Head, read_head
from docpruner.stores.qdrant.lease import right_to_write
from docpruner.stores.qdrant.points import Datatype, Engine, Quantization
from docpruner.stores.qdrant.qdrant_reader import QdrantReader
from docpruner.stores.qdrant.qdrant_writer import QdrantWriter
from docpruner.stores.qdrant.version_listing import Listing, list_versions
from docpruner.stores.settings import Settings

SECURE, EDGE = "qdrant+https", "qdrant+edge"
PORT = 6333
FORBIDDEN = set('<>:"/\\|?*')  # in the name of a collection
KEY = "QDRANT_API_KEY"


class QdrantStore:
    """Opening reads the head only. Documents are listed at the first reading, and of every later
    commit only what has changed."""

    def __init__(self, location: str, engine: Engine) -> None:
        self.location = location
        self._engine = engine
        self._listing: Listing | None = None
        self._listing_lock = threading.Lock()
        self._closed = False

    @classmethod
    def create(cls, location: str, settings: Settings) -> QdrantStore:
        place = Place.of(location)
        engine = place.engine()
        try:
            if engine.exists():
                _check_is_half_made(engine, location)
            datatype: Datatype = "float32" if settings.codec == "float32" else "float16"
            engine.make(settings.dim, datatype, place.quantization)
            head = Head(
                index=uuid4().hex, commit=0, versions=0, purged=0, settings=settings,
                datatype=datatype, quantization=place.quantization, owner=NOBODY, beat=0,
            )  # fmt: skip
            engine.upsert([head.point])
        except BaseException:
            engine.close()
            raise
        return cls(location, engine)

    @classmethod
    def open(cls, location: str) -> QdrantStore:
        engine = Place.of(location).engine()
        try:
            if not engine.exists() or read_head(engine, location) is None:
                raise IndexStateError(
                    f"{location} holds no index; make one: docpruner index {location} FILES"
                )
        except BaseException:
            engine.close()
            raise
        return cls(location, engine)

    @classmethod
    def exists(cls, location: str) -> bool:
        engine = Place.of(location).engine()
        try:
            return engine.exists() and read_head(engine, location) is not None
        finally:
            engine.close()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def reader(self) -> Iterator[QdrantReader]:
        self._check_open()
        head = read_head(self._engine, self.location)
        if head is None:
            raise IndexStateError(f"{self.location} holds no index any more")
        yield QdrantReader(self._engine, head, self._list(head))

    @contextmanager
    def writer(self, wait: float = WAIT) -> Iterator[QdrantWriter]:
        self._check_open()
        with right_to_write(self._engine, self.location, wait) as right:
            yield QdrantWriter(self._engine, self.location, right, self._listing)
            self._engine.settle()

    def compact(self, *, wait: float = WAIT, progress: Progress | None = None) -> None:
        """Remove pages that were replaced or deleted, also where a reader has yet to end."""
        with self.writer(wait) as writer:
            writer.compact()
        if progress is not None:
            progress(1, 1)

    def _list(self, head: Head) -> Listing:
        with self._listing_lock:
            listing = list_versions(self._engine, head, self._listing)
            if self._listing is None or listing.commit >= self._listing.commit:
                self._listing = listing
        return listing

    def _check_open(self) -> None:
        if self._closed:
            raise IndexClosedError(self.location)


def _check_is_half_made(engine: Engine, location: str) -> None:
    """What a creator that was killed left is gone on with. Anything else is not ours to change."""
    if read_head(engine, location) is not None:
        raise IndexStateError(f"{location} already holds an index; choose another name")
    if engine.count(()):
        raise IndexStateError(
            f"{location} is a collection that docpruner has not made; choose another name"
        )


@dataclass(frozen=True)
class Place:
    """A location, read."""

    scheme: str
    address: str  # of the server; of Edge, its folder
    collection: str
    quantization: Quantization | None

    @classmethod
    def of(cls, location: str) -> Place:
        url = urlsplit(location)
        if "@" in url.netloc:
            raise IndexStateError(f"give no key or password in a location; set {KEY} instead")
        asked = parse_qs(url.query)
        (quantization,) = asked.pop("quantization", ["none"])[-1:]
        if asked or quantization not in ("none", *get_args(Quantization)):
            raise IndexStateError(
                f"{location}: after ? comes quantization=scalar or quantization=binary, or nothing"
            )
        kind = cast("Quantization | None", None if quantization == "none" else quantization)
        if url.scheme == EDGE:
            folder = f"{url.netloc}{url.path}"
            if not folder.strip("/"):
                raise IndexStateError(f"{location} names no folder; write {EDGE}:///folder")
            return cls(url.scheme, folder, "", kind)
        name = url.path.strip("/")
        if not url.hostname or not name or FORBIDDEN & set(name):
            raise IndexStateError(
                f"{location} names no collection on a server; write {url.scheme}://host:6333/name, "
                'the name without any of < > : " / \\ | ? *'
            )
        return cls(url.scheme, _address(location), name, kind)

    def engine(self) -> Engine:
        if self.scheme == EDGE:
            try:
                from docpruner.stores.qdrant.edge_engine import edge_engine
            except ImportError as error:
                raise MissingExtraError("an index in Qdrant Edge", "qdrant-edge") from error
            return edge_engine(Path(self.address))
        try:
            from docpruner.stores.qdrant.server_engine import ServerEngine
        except ImportError as error:
            raise MissingExtraError("an index in Qdrant", "qdrant") from error
        return ServerEngine(self.address, self.collection, os.environ.get(KEY))


def _address(location: str) -> str:
    url = urlsplit(location)
    try:
        port = url.port or PORT
    except ValueError as error:
        raise IndexStateError(f"{location}: {error}") from error
    host = f"[{url.hostname}]" if ":" in (url.hostname or "") else url.hostname
    return f"{'https' if url.scheme == SECURE else 'http'}://{host}:{port}"

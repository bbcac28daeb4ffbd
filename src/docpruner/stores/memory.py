"""An index in memory: for notebooks, tests and what is not worth keeping.

`memory://` is a new one each time; `memory://name` is found again by its name as long as the
process lives.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self
from uuid import uuid4

import numpy as np

from docpruner.codecs import Encoded
from docpruner.errors import IndexBusyError, IndexClosedError, IndexStateError
from docpruner.maxsim import score_pages
from docpruner.stores.bm25 import bm25, words_in
from docpruner.stores.contract import WAIT, Progress
from docpruner.stores.ranking import best_pages
from docpruner.stores.records import (
    DocumentEntry,
    DocumentPages,
    DocumentRecord,
    KnownDocument,
    PageName,
    RankedPage,
    Stats,
    StoredPage,
)
from docpruner.stores.settings import Settings
from docpruner.stores.totals import summed_up
from docpruner.types import BoolArray, Filter, FloatArray, Metadata

ANONYMOUS = "memory://"


@dataclass(frozen=True)
class Version:
    """A document with the pages that are in."""

    record: DocumentRecord
    pages: Mapping[int, StoredPage] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Contents:
    """All of an index at one moment. It never changes: a change makes another."""

    settings: Settings
    documents: Mapping[str, Version] = field(default_factory=dict)
    incoming: Mapping[str, Version] = field(default_factory=dict)  # that will replace theirs
    version: Hashable = field(default_factory=uuid4)

    @cached_property
    def pages(self) -> list[StoredPage]:
        return [page for _, one in sorted(self.documents.items()) for page in one.pages.values()]

    @cached_property
    def rows(self) -> tuple[Encoded, list[int]]:
        """The vectors of all pages, and where each page begins."""
        settings = self.settings
        rows = [page.vectors.rows for page in self.pages]
        together = np.concatenate(rows) if rows else np.empty((0, settings.row_bytes), np.uint8)
        offsets = [0, *np.cumsum([len(each) for each in rows]).tolist()]
        return Encoded(settings.codec, settings.dim, together), offsets

    @cached_property
    def words(self) -> list[list[str]]:
        """Of all pages, to be searched."""
        return [words_in(page.text.plain) for page in self.pages]


class MemoryReader:
    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.settings = contents.settings
        self.version = contents.version

    def documents(self) -> Sequence[DocumentEntry]:
        return [
            DocumentEntry(
                name, one.record.pages, one.record.metadata or {}, one.record.content_hash
            )
            for name, one in sorted(self._contents.documents.items())
        ]

    def document(self, name: str) -> DocumentEntry | None:
        return next((entry for entry in self.documents() if entry.name == name), None)

    def names(self) -> Sequence[str]:
        return sorted(self._contents.documents)

    def documents_like(self, content_hash: bytes) -> Sequence[str]:
        return [entry.name for entry in self.documents() if entry.content_hash == content_hash]

    def pages(self) -> Sequence[PageName]:
        return [PageName(page.document, page.number) for page in self._contents.pages]

    def page(self, document: str, number: int) -> StoredPage | None:
        version = self._contents.documents.get(document)
        return None if version is None else version.pages.get(number)

    def rank(
        self,
        queries: Sequence[FloatArray],
        k: int,
        which: Filter,
        among: Sequence[Collection[PageName]] | None = None,
        *,
        exact: bool = True,  # noqa: ARG002  # it always is
        candidates: int | None = None,  # noqa: ARG002
    ) -> list[list[RankedPage]]:
        corpus, offsets = self._contents.rows
        pages = self.pages()
        if not pages:
            return [[] for _ in queries]
        scores = score_pages(queries, corpus, offsets)
        scores[:, ~self._allowed(which)] = -np.inf
        for row, allowed in zip(scores, among or (), strict=among is not None):
            row[[page not in allowed for page in pages]] = -np.inf

        def names(places: Sequence[int]) -> list[PageName]:
            return [pages[place] for place in places]

        return [best_pages(row, k, names) for row in scores]

    def rank_text(self, query: str, k: int, which: Filter) -> list[RankedPage]:
        pages = self.pages()
        scores = bm25(query, self._contents.words)
        scores[~self._allowed(which)] = -np.inf
        return best_pages(scores, k, lambda places: [pages[place] for place in places])

    def _allowed(self, which: Filter) -> BoolArray:
        documents = {
            entry.name for entry in self.documents() if which.allows(entry.name, entry.metadata)
        }
        return np.array(
            [name in documents and which.allows_page(number) for name, number in self.pages()],
            np.bool_,
        )

    def known(self, document: str, content_hash: bytes) -> KnownDocument | None:
        versions = self._versions(document)
        if not versions:
            return None
        metadata = versions[0].record.metadata or {}
        for version in versions:
            if version.record.content_hash == content_hash:
                silent = [n for n, page in version.pages.items() if page.words_from == "nowhere"]
                whole = len(versions) == 1 and len(version.pages) == version.record.pages
                return KnownDocument(
                    True,
                    version.record.pages,
                    frozenset(version.pages),
                    frozenset(silent),
                    whole,
                    metadata,
                )
        return KnownDocument(False, metadata=metadata)

    def page_like(self, content_hash: bytes) -> StoredPage | None:
        contents = self._contents
        versions = (*contents.documents.values(), *contents.incoming.values())
        pages = (page for version in versions for page in version.pages.values())
        return next((page for page in pages if page.content_hash == content_hash), None)

    def stats(self) -> Stats:
        pages = self._contents.pages
        documents = self._contents.documents.values()
        columns = [(len(page.vectors), page.special, page.patches) for page in pages]
        vectors, special, patches = np.array(columns, np.int64).reshape(-1, 3).T
        return summed_up(
            self.settings,
            vectors,
            special,
            patches,
            np.array([page.words_from == "nowhere" for page in pages], np.bool_),
            documents=len(documents),
            expected_pages=sum(version.record.pages for version in documents),
            bytes_on_disk=sum(page.vectors.nbytes + len(page.text.packed) for page in pages),
            bytes_besides=sum(len(page.text.packed) for page in pages),
            pages_with_text=sum(page.text.is_stored for page in pages),
            bytes_of_text=sum(len(page.text.packed) for page in pages),
        )

    def _versions(self, document: str) -> list[Version]:
        contents = self._contents
        both = (contents.documents.get(document), contents.incoming.get(document))
        return [version for version in both if version is not None]


class MemoryWriter:
    """Works on a copy of what is listed, which takes its place in the end."""

    def __init__(self, held: Held) -> None:
        self._held = held

    @property
    def settings(self) -> Settings:
        return self._held.contents.settings

    def commit(self, batch: Sequence[DocumentPages]) -> None:
        with self._change() as (documents, incoming):
            for part in batch:
                _store(part, documents, incoming)

    def delete(self, documents: Iterable[str]) -> None:
        names = set(documents)
        with self._change() as parts:
            for versions in parts:
                for name in names & versions.keys():
                    del versions[name]

    def rename(self, names: Mapping[str, str]) -> None:
        with self._change() as parts:
            for versions in parts:
                for old in names.keys() & versions.keys():
                    new, version = names[old], versions.pop(old)
                    pages = {n: replace(p, document=new) for n, p in version.pages.items()}
                    versions[new] = Version(replace(version.record, name=new), pages)

    def set_metadata(self, metadata: Mapping[str, Metadata]) -> None:
        with self._change() as parts:
            for versions in parts:
                for name in metadata.keys() & versions.keys():
                    record = replace(versions[name].record, metadata=dict(metadata[name]))
                    versions[name] = replace(versions[name], record=record)

    def set_budget(self, budget: str) -> None:
        with self._change(replace(self.settings, budget=budget)):
            pass

    def rewrite(
        self,
        change: Callable[[StoredPage], StoredPage],
        settings: Settings,
        progress: Progress | None = None,
    ) -> None:
        with self._change(settings) as parts:
            total = sum(len(one.pages) for versions in parts for one in versions.values())
            done = 0
            for versions in parts:
                for name, version in versions.items():
                    pages = {}
                    for number, page in version.pages.items():
                        pages[number] = change(page)
                        done += 1
                        if progress is not None:
                            progress(done, total)
                    versions[name] = replace(version, pages=pages)

    @contextmanager
    def _change(
        self, settings: Settings | None = None
    ) -> Iterator[tuple[dict[str, Version], dict[str, Version]]]:
        contents = self._held.contents
        documents, incoming = dict(contents.documents), dict(contents.incoming)
        yield documents, incoming
        self._held.put(Contents(settings or self.settings, documents, incoming))


def _store(
    part: DocumentPages, documents: dict[str, Version], incoming: dict[str, Version]
) -> None:
    """Add pages to the version of a document that they belong to."""
    name, record = part.document.name, part.document
    current = documents.get(name)
    if current is None or current.record.content_hash == record.content_hash:
        place, version = documents, current or Version(record)
    else:
        place = incoming
        version = incoming.get(name, current)
        if version.record.content_hash != record.content_hash:
            version = Version(replace(record, metadata=current.record.metadata))
    if record.metadata is not None:
        version = replace(version, record=replace(version.record, metadata=dict(record.metadata)))
    new = {page.number: replace(page, document=name) for page in part.pages}
    place[name] = replace(version, pages={**version.pages, **new})
    if part.finished:
        documents[name] = place[name]
        incoming.pop(name, None)


class Held:
    """What the stores of one location share; `changed` hears of a change before others see it."""

    def __init__(
        self, contents: Contents, changed: Callable[[Contents], None] | None = None
    ) -> None:
        self.contents = contents
        self.writing = threading.Lock()
        self._changed = changed

    def put(self, contents: Contents) -> None:
        if self._changed is not None:
            self._changed(contents)
        self.contents = contents


class MemoryStore:
    def __init__(self, location: str, held: Held) -> None:
        self.location = location
        self._held = held
        self._closed = False

    @classmethod
    def create(cls, location: str, settings: Settings) -> MemoryStore:
        if cls.exists(location):
            raise IndexStateError(f"{location} already holds an index; choose another name")
        held = Held(Contents(settings))
        if location != ANONYMOUS:
            _named[location] = held
        return cls(location, held)

    @classmethod
    def open(cls, location: str) -> MemoryStore:
        if location not in _named:
            raise IndexStateError(
                f"{location} holds no index; make one in this process, with Index.create"
            )
        return cls(location, _named[location])

    @classmethod
    def exists(cls, location: str) -> bool:
        return location in _named

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def reader(self) -> Iterator[MemoryReader]:
        self._check_open()
        yield MemoryReader(self._held.contents)

    @contextmanager
    def writer(self, wait: float = WAIT) -> Iterator[MemoryWriter]:
        self._check_open()
        if not self._held.writing.acquire(timeout=wait):
            raise IndexBusyError(self.location, wait)
        try:
            yield MemoryWriter(self._held)
        finally:
            self._held.writing.release()

    def _check_open(self) -> None:
        if self._closed:
            raise IndexClosedError(self.location)


_named: dict[str, Held] = {}

"""Of the documents of a source, the pages that an index lacks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from docpruner.errors import PageError
from docpruner.pages.sources import FollowsDocuments, Source, SourceDocument
from docpruner.pipeline.add_report import DocumentStatus
from docpruner.stores.contract import Reader
from docpruner.stores.records import DocumentRecord, KnownDocument
from docpruner.types import Metadata, Page

MetadataOf = Callable[[str], Metadata | None]
"""By the name of a document; None leaves what is there."""


@dataclass(frozen=True, eq=False)
class PageRead:
    """A page that is to be encoded."""

    document: DocumentRecord
    page: Page


@dataclass(frozen=True)
class DocumentMoved:
    """A document that is there under another name."""

    before: str
    document: DocumentRecord


@dataclass(frozen=True)
class DocumentEnd:
    """All pages of a document have come; `changed` if the index has to hear of it."""

    document: DocumentRecord
    status: DocumentStatus
    changed: bool
    metadata_changed: bool = False


Reading = PageRead | DocumentMoved | DocumentEnd | PageError


class HasReader(Protocol):
    """An index that can be looked at: a store, or a user's `Index`."""

    def reader(self) -> AbstractContextManager[Reader]: ...


class MissingPages:
    """Goes through a source, and asks each document only for what is missing."""

    def __init__(
        self,
        store: HasReader,
        source: Source,
        *,
        ocr: bool = False,
        metadata: MetadataOf | None = None,
    ) -> None:
        self._store, self._source = store, source
        self._ocr, self._metadata = ocr, metadata
        self._moved: set[str] = set()  # documents that have been found under other names

    def __iter__(self) -> Iterator[Reading]:
        for document in self._source.documents():
            if isinstance(document, PageError):
                yield document
                continue
            try:
                yield from self._document(document)
            except PageError as problem:
                yield problem

    def _document(self, document: SourceDocument) -> Iterator[Reading]:
        known = self._known(document.name, document.content_hash)
        before = self._moved_from(document) if known is None else None
        if before is not None:
            known = self._known(before, document.content_hash)
        same = known is not None and known.same
        pages = known.pages if known is not None and known.same else document.count()
        metadata = self._merged(document.name, known)
        record = DocumentRecord(
            document.name, document.content_hash, document.bytes, pages, metadata
        )
        missing = set(range(1, pages + 1))
        status: DocumentStatus = "added" if known is None else "replaced"
        if known is not None and same:
            missing -= known.there - (known.without_words if self._ocr else frozenset())
            status = "completed" if missing else "unchanged"
        if before is not None:
            yield DocumentMoved(before, record)
            status = "moved"
        good = yield from self._pages(record, document, sorted(missing))
        if status == "completed" and not good:  # what is missing can't be had
            status = "unchanged"
        if good or same:
            retagged = known is not None and metadata is not None
            changed = good or retagged or not (known is not None and known.whole)
            yield DocumentEnd(record, status, changed, retagged)

    def _pages(
        self, record: DocumentRecord, document: SourceDocument, numbers: Sequence[int]
    ) -> Generator[Reading, None, bool]:
        """Returns whether any of the pages could be read."""
        good = False
        for page in document.pages(numbers) if numbers else ():
            if isinstance(page, PageError):
                yield page
            else:
                good = True
                yield PageRead(record, page)
        return good  # for `yield from`

    def _known(self, name: str, content_hash: bytes) -> KnownDocument | None:
        with self._store.reader() as reader:
            return reader.known(name, content_hash)

    def _merged(self, name: str, known: KnownDocument | None) -> Metadata | None:
        """What is new is added to what is there; None if that changes nothing."""
        given = None if self._metadata is None else self._metadata(name)
        if given is None:
            return None
        there = {} if known is None else known.metadata
        merged = {key: value for key, value in {**there, **given}.items() if value is not None}
        return None if known is not None and merged == there else merged

    def _moved_from(self, document: SourceDocument) -> str | None:
        """The name of a document with the same content whose file is gone, each once."""
        if not isinstance(self._source, FollowsDocuments):
            return None
        with self._store.reader() as reader:
            names = reader.documents_like(document.content_hash)
        gone = (name for name in names if name not in self._moved and self._source.is_gone(name))
        before = next(gone, None)
        if before is not None:
            self._moved.add(before)
        return before

"""The index behind the server: its documents, its pages, and searches in it."""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from docpruner.errors import AddError, EncoderError
from docpruner.facade import Index
from docpruner.hits import IMAGE_PIXELS, Hit
from docpruner.pipeline.add_report import AddReport, ProgressCallback
from docpruner.stores.contract import Reader
from docpruner.stores.records import DocumentEntry, StoredPage
from docpruner.types import Word
from docpruner.web.error_responses import Refused
from docpruner.web.hit_views import hit_response, nothing_matches
from docpruner.web.indexed_files import IndexedFiles
from docpruner.web.lru_cache import LruCache
from docpruner.web.names import document_id, last_part, short_names
from docpruner.web.readers import PageWords
from docpruner.web.schemas import (
    DocumentResponse,
    HitResponse,
    SearchResponse,
    WordResponse,
    WordsResponse,
    json_values,
)
from docpruner.web.search_request import Narrowed, SearchRequest

if TYPE_CHECKING:
    from PIL.Image import Image

log = logging.getLogger(__name__)

READING_SECONDS = 1.0  # for the words of all hits of a search
ANSWERS_KEPT = 64  # whose words may be asked for next
WRITER_SECONDS = 3.0  # to wait for another writer
WORDS_ONLY = (
    "the encoder of this index reads words and sees no pictures, so it can't search by one; "
    "docpruner search INDEX --image FILE --ocr searches by the words on a picture"
)


@dataclass(frozen=True)
class Documents:
    """All documents at one moment, and what they are called."""

    version: Hashable  # of the index
    by_id: Mapping[str, DocumentEntry]
    short_names: Mapping[str, str]  # by the names that the index knows them by

    def entry(self, document: str) -> DocumentEntry:
        if document not in self.by_id:
            raise Refused(404, "the index has no such document; it may have been removed")
        return self.by_id[document]

    def name_of(self, document: str) -> str:
        """Of one that was removed a moment ago too."""
        return self.short_names.get(document) or PurePath(document).name


class IndexView:
    """An index as the routes see it. Any thread may use it."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.files = IndexedFiles(index.file_of)
        self._words = PageWords(self.files)
        self._documents: Documents | None = None
        self._answers: LruCache[tuple[Hashable, str], list[Hit]] = LruCache(ANSWERS_KEPT)

    def close(self) -> None:
        self._words.close()
        self.index.close()

    def warm_up(self) -> None:
        """Load the encoder and list the documents, so that the first search need not."""
        _ = self.index.encoder
        self.documents()
        self._words.warm_up()

    # ------------------------------------------------------------------ documents and pages

    def documents(self) -> Documents:
        with self.index.reader() as reader:
            return self._documents_of(reader)

    def page(self, document: str, number: int) -> tuple[DocumentEntry, StoredPage]:
        """A page, and the document that it belongs to."""
        with self.index.reader() as reader:
            documents = self._documents_of(reader)
            entry = documents.entry(document)
            stored = reader.page(entry.name, number)
        if stored is None:
            name = documents.name_of(entry.name)
            raise Refused(404, f"{name} has no page {number} in the index; it has {entry.pages}")
        return entry, stored

    def listed(self) -> list[DocumentResponse]:
        documents = self.documents()
        return [
            DocumentResponse(
                id=key,
                name=documents.name_of(entry.name),
                pages=entry.pages,
                metadata=json_values(entry.metadata),
            )
            for key, entry in documents.by_id.items()
        ]

    def words(self, document: str, number: int) -> Sequence[Word]:
        """Of a page: as they are stored, or else from its file, if that is as it was indexed."""
        entry, stored = self.page(document, number)
        if stored.text.is_stored or stored.words:
            return stored.words
        self.files.state(entry)
        return self._words.of([(entry, number)], READING_SECONDS).get((entry.name, number), ())

    def _documents_of(self, reader: Reader) -> Documents:
        """Made once for each version of the index."""
        version = reader.version
        documents = self._documents
        if documents is None or documents.version != version:
            entries = reader.documents()
            documents = Documents(
                version,
                {document_id(entry.name): entry for entry in entries},
                short_names(entry.name for entry in entries),
            )
            self._documents = documents
        return documents

    # ------------------------------------------------------------------ changes

    def add(self, files: Sequence[Path], progress: ProgressCallback) -> AddReport:
        """Add files; what can't be added is in the report, also if that is all of them."""
        try:
            return self.index.add(files, progress=progress)
        except AddError as error:
            report: AddReport = error.report
            return report

    def delete(self, document: str) -> str:
        """Take a document out, and say what it was called."""
        documents = self.documents()
        entry = documents.entry(document)
        self.index.delete(entry.name, wait=WRITER_SECONDS)
        return documents.name_of(entry.name)

    # ------------------------------------------------------------------ search

    def search(self, request: SearchRequest, *, words: bool = True) -> SearchResponse:
        """`words` that the index has not stored are read from files, which takes longer."""
        began = time.monotonic()
        hits = self._hits(request)
        milliseconds = round(1000 * (time.monotonic() - began), 1)
        responses = self._described(hits, words=words)
        return SearchResponse(
            query=request.query,
            mode=request.mode,
            milliseconds=milliseconds,
            nothing_matches=request.mode == "vectors" and nothing_matches(hits),
            missing_shards=[last_part(shard) for shard in self.index.missing_shards()],
            hits=responses,
        )

    def search_by_picture(self, picture: Image, only: Narrowed) -> SearchResponse:
        began = time.monotonic()
        with self._encoding("the encoder can't read this picture"):
            hits = self.index.search(
                k=only.k,
                image=picture,
                documents=only.documents,
                pages=only.pages,
                metadata=only.metadata,
                exact=only.exact,
            )
        return SearchResponse(
            query="",
            mode="vectors",
            milliseconds=round(1000 * (time.monotonic() - began), 1),
            nothing_matches=False,
            missing_shards=[last_part(shard) for shard in self.index.missing_shards()],
            hits=self._described(hits, words=True),
        )

    def pixels(self) -> int:
        """How large a picture to search by is to be; refused if the encoder sees none."""
        if self.index.reads != "pixels":
            raise Refused(422, WORDS_ONLY)
        return self.index.encoder.pixels or IMAGE_PIXELS

    def words_response(self, document: str, number: int) -> WordsResponse:
        return WordsResponse(
            words=[
                WordResponse(text=word.text, box=[round(edge, 5) for edge in word.box])
                for word in self.words(document, number)
            ]
        )

    def hit(self, query: str, document: str, number: int) -> HitResponse:
        """What one page has to say to a query, in words too."""
        (response,) = self._described([self.hit_on(query, document, number)], words=True)
        return response

    def hit_on(self, query: str, document: str, number: int) -> Hit:
        entry, _ = self.page(document, number)
        key = (self.documents().version, repr((query, entry.name, number)))
        known = self._answers.get(key)
        if known is None:
            with self._encoding():
                hit = self.index.hit(query, entry.name, number)
            if hit is None:
                raise Refused(404, "that page has just been removed from the index")
            known = [hit]
            self._answers.put(key, known)
        return known[0]

    def _hits(self, request: SearchRequest) -> list[Hit]:
        version = self.documents().version
        known = self._answers.get((version, repr(request)))
        if known is not None:
            return known
        with self._encoding():
            hits = self.index.search(
                request.query,
                request.only.k,
                documents=request.only.documents,
                pages=request.only.pages,
                metadata=request.only.metadata,
                exact=request.only.exact,
                mode=request.mode,
            )
        if self.documents().version == version:
            self._answers.put((version, repr(request)), hits)
        return hits

    @contextmanager
    def _encoding(self, fault: str = "q: the encoder can't read this query") -> Iterator[None]:
        """What the encoder can't read is the query's fault."""
        _ = self.index.encoder  # it is not if it can't be loaded
        try:
            yield
        except EncoderError as error:
            log.info("%s", error)
            raise Refused(422, fault) from None

    def _described(self, hits: Sequence[Hit], *, words: bool) -> list[HitResponse]:
        documents = self.documents()
        unread = [hit for hit in hits if words and not hit.tells_words]
        entries = [(documents.by_id.get(document_id(hit.document)), hit.page) for hit in unread]
        there = [(entry, page) for entry, page in entries if entry is not None]
        read = self._words.of(there, READING_SECONDS)
        return [
            hit_response(
                rank,
                hit,
                documents.name_of(hit.document),
                self._words_of(hit, read) if words else None,
            )
            for rank, hit in enumerate(hits, 1)
        ]

    @staticmethod
    def _words_of(hit: Hit, read: Mapping[tuple[str, int], Sequence[Word]]) -> Sequence[Word]:
        return hit.words() if hit.tells_words else read.get((hit.document, hit.page), ())

"""The index behind the server: its documents, its pages, and searches in it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from glob import escape
from pathlib import Path

from docpruner.explain import matched_words
from docpruner.facade import Index
from docpruner.index.records import DocumentEntry, StoredPage
from docpruner.index.settings import Settings
from docpruner.index.snapshot import Snapshot
from docpruner.index.store import PageStore
from docpruner.types import Hit, Word
from docpruner.web.kept import Recent
from docpruner.web.names import short_names
from docpruner.web.problems import Refused
from docpruner.web.readers import PageWords
from docpruner.web.shapes import (
    DocumentShape,
    HitShape,
    IndexSettings,
    IndexStats,
    MatchedWord,
    MatchShape,
    SearchAnswer,
)

TRIES = 3  # to search while documents are replaced
READING_SECONDS = 1.0  # for the words of all hits of a search
ANSWERS_KEPT = 64  # whose words may be asked for next
WRITER_SECONDS = 3.0  # to wait for another writer


@dataclass(frozen=True)
class Question:
    query: str
    k: int = 10
    document: str | None = None
    pages: tuple[int, int | None] | None = None
    metadata: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Shelf:
    """The documents at one moment, and what they are called."""

    snapshot: Snapshot
    names: Mapping[str, str]  # by path
    ids: Mapping[str, int]  # by path


class Library:
    def __init__(self, index: Index) -> None:
        self.index, self.folder = index, index.folder
        self._store = PageStore(index.folder)  # so that looks need not wait for a search
        self._words = PageWords()
        self._one = threading.Lock()  # searches take turns at the index anyhow
        self._shelf: Shelf | None = None
        self._answers: Recent[tuple[int, str], list[Hit]] = Recent(ANSWERS_KEPT)

    def close(self) -> None:
        self._words.close()
        self._store.close()
        self.index.close()

    @property
    def settings(self) -> Settings:
        return self._store.settings

    @property
    def store(self) -> PageStore:
        return self._store

    def warm_up(self) -> None:
        """Load the encoder and list the pages, so that the first search need not."""
        with self._one:
            _ = self.index.encoder
            self.index.documents()
        self._words.warm_up()

    def stats(self, *, changes_allowed: bool, max_upload: int, max_files: int) -> IndexStats:
        found = asdict(self.index.stats())
        settings = self.settings
        shown = asdict(settings) | {"encoder": _without_folders(settings.encoder)}
        return IndexStats(
            **found | {"settings": IndexSettings(**shown)},
            name=self.folder.resolve().name,
            row_bytes=settings.row_bytes,
            changes_allowed=changes_allowed,
            max_upload=max_upload,
            max_files=max_files,
        )

    # ------------------------------------------------------------------ documents and pages

    def shelf(self) -> Shelf:
        snapshot = self._store.snapshot()
        shelf = self._shelf
        if shelf is None or shelf.snapshot is not snapshot:
            paths = {entry.path: entry.id for entry in snapshot.documents.values()}
            shelf = self._shelf = Shelf(snapshot, short_names(paths), paths)
        return shelf

    def documents(self) -> list[DocumentShape]:
        shelf = self.shelf()
        entries = sorted(shelf.snapshot.documents.values(), key=lambda entry: entry.path)
        return [
            DocumentShape(
                id=entry.id,
                name=shelf.names[entry.path],
                pages=entry.pages,
                metadata=dict(entry.metadata),
            )
            for entry in entries
        ]

    def document(self, number: int) -> DocumentEntry:
        entry = self.shelf().snapshot.documents.get(number)
        if entry is None:
            raise Refused(404, f"the index has no document {number}; it may have been replaced")
        return entry

    def name_of(self, entry: DocumentEntry) -> str:
        return self.shelf().names.get(entry.path, Path(entry.path).name)

    def page(self, document: int, number: int) -> StoredPage:
        entry = self.document(document)
        found = self._store.page_of(entry.path, number)
        if found is None:
            name = self.name_of(entry)
            raise Refused(404, f"{name} has no page {number} in the index; it has {entry.pages}")
        return found

    def delete(self, document: int) -> str:
        entry = self.document(document)
        name = self.name_of(entry)
        self.index.delete(escape(entry.path), wait=WRITER_SECONDS)
        return name

    # ------------------------------------------------------------------ search

    def hits(self, question: Question) -> tuple[list[Hit], Shelf]:
        """The hits, and a shelf that has their documents."""
        shelf = self.shelf()
        asked = repr(question)
        known = self._answers.get((shelf.snapshot.version, asked))
        if known is not None:
            return known, shelf
        for _ in range(TRIES):
            before = shelf.snapshot.version
            with self._one:
                hits = self.index.search(
                    question.query,
                    question.k,
                    documents=() if question.document is None else question.document,
                    pages=question.pages,
                    metadata=question.metadata,
                )
            shelf = self.shelf()
            there = [hit for hit in hits if hit.document in shelf.ids]
            if len(there) == len(hits):
                break  # else a document was deleted just now
        if shelf.snapshot.version == before:
            self._answers.put((before, asked), there, 1)
        return there, shelf

    def search(self, question: Question, *, words: bool = True) -> SearchAnswer:
        """`words` are read from the files of the hits, which takes longer than the search."""
        began = time.monotonic()
        hits, shelf = self.hits(question)
        seconds = time.monotonic() - began
        unread = [(hit.document, hit.page) for hit in hits if words and not hit.tells_words]
        read = self._words.of(unread, READING_SECONDS)
        return SearchAnswer(
            query=question.query,
            milliseconds=round(1000 * seconds, 1),
            hits=[
                _described(
                    rank, hit, shelf, read.get((hit.document, hit.page), ()) if words else None
                )
                for rank, hit in enumerate(hits, 1)
            ],
        )

    def hit(self, query: str, document: int, number: int, word: int | None) -> Hit:
        """What one page has to say to a query, or to this word of it."""
        entry = self.document(document)
        found, _ = self.hits(Question(query, 1, escape(entry.path), (number, number)))
        if not found:
            raise Refused(404, f"{self.name_of(entry)} has no page {number} in the index")
        words = len(found[0].matches)
        if word is not None and word >= words:
            raise Refused(422, f"word: the query has {words}, counted from 0")
        return found[0]


def _described(rank: int, hit: Hit, shelf: Shelf, words: Sequence[Word] | None) -> HitShape:
    matched = [] if words is None else matched_words(hit, words)
    return HitShape(
        rank=rank,
        document=shelf.ids[hit.document],
        name=shelf.names[hit.document],
        page=hit.page,
        score=round(hit.score, 4),
        metadata=dict(hit.metadata),
        matched=[MatchedWord(query=word, page=text) for word, text in matched],
        matches=[
            MatchShape(
                word=match.word,
                score=round(match.score, 4),
                boxes=[[round(edge, 4) for edge in box] for box in match.boxes],
            )
            for match in hit.matches
        ],
    )


def _without_folders(encoder: str) -> str:
    """A model in a folder by the folder's name; others have no path to hide."""
    return Path(encoder).name if Path(encoder).is_absolute() else encoder

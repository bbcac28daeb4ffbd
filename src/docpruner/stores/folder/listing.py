"""The pages of an index at one moment, as arrays, and exact scores over any of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docpruner.codecs import Encoded, Rows
from docpruner.errors import ScoringError
from docpruner.maxsim import score_pages
from docpruner.stores.folder.catalogue import believed, read_settings
from docpruner.stores.folder.segments import mapped_rows
from docpruner.stores.records import DocumentEntry, PageName
from docpruner.stores.settings import Settings
from docpruner.types import BoolArray, Filter, FloatArray

Numbers = npt.NDArray[np.int64]

WORTH_SKIPPING = 2000  # rows between two wanted pages from which another pass is the cheaper way


@dataclass(frozen=True, eq=False)
class Listing:
    """Columns of the searchable pages, in the order in which their rows lie."""

    version: Hashable
    settings: Settings
    documents: Mapping[int, DocumentEntry]
    rows: Mapping[int, Rows]  # of each segment, as far as they are there
    complete: bool  # whether all committed rows are there
    lost: int  # pages that can't be searched as theirs are not
    document: Numbers
    number: Numbers
    segment: Numbers
    start: Numbers
    vectors: Numbers

    def __len__(self) -> int:
        return len(self.document)

    def name_of(self, place: int) -> PageName:
        document = self.documents[int(self.document[place])]
        return PageName(document.name, int(self.number[place]))

    @cached_property
    def entries(self) -> list[DocumentEntry]:
        return sorted(self.documents.values(), key=lambda entry: entry.name)

    @cached_property
    def _places(self) -> dict[PageName, int]:
        return {self.name_of(place): place for place in range(len(self))}

    def chosen(self, which: Filter) -> BoolArray:
        """The pages that a filter allows."""
        chosen = np.ones(len(self), np.bool_)
        if which.documents or which.metadata:
            allowed = [
                row
                for row, entry in self.documents.items()
                if which.allows(entry.name, entry.metadata)
            ]
            chosen &= np.isin(self.document, allowed)
        if which.pages is not None:
            first, last = which.pages
            chosen &= self.number >= first
            if last is not None:
                chosen &= self.number <= last
        return chosen

    def placed(self, pages: Collection[PageName]) -> BoolArray:
        """These pages, as far as they are here."""
        chosen = np.zeros(len(self), np.bool_)
        places = (self._places.get(PageName(*page)) for page in pages)
        chosen[[place for place in places if place is not None]] = True
        return chosen

    def scores(self, queries: Sequence[FloatArray], chosen: BoolArray) -> FloatArray:
        """Of every query against every page; minus infinity where `chosen` is false."""
        scores = np.full((len(queries), len(self)), -np.inf, np.float32)

        def score(places: Numbers) -> None:
            first, last = places[0], places[-1]
            rows = self.rows[int(self.segment[first])]
            low, high = self.start[first], self.start[last] + self.vectors[last]
            starts = self.start[places]
            edges = np.stack([starts, starts + self.vectors[places]], axis=1).reshape(-1)
            new = np.diff(edges, prepend=-1) != 0  # where a page ends the next one often begins
            corpus = Encoded(self.settings.codec, self.settings.dim, rows[low:high])
            between = score_pages(queries, corpus, edges[new] - low)
            scores[:, places] = between[:, np.cumsum(new)[::2] - 1]

        for places in self._runs(np.flatnonzero(chosen), WORTH_SKIPPING):
            try:
                score(places)
            except ScoringError:  # perhaps of a damaged page that was taken out and lies between
                for run in self._runs(places, 0):
                    score(run)
        return scores

    def _runs(self, places: Numbers, most: int) -> Iterator[Numbers]:
        """The places, cut where pages lie more than `most` rows apart."""
        if not len(places):
            return
        ends = self.start[places] + self.vectors[places]
        apart = (np.diff(self.segment[places]) != 0) | (self.start[places][1:] - ends[:-1] > most)
        yield from np.split(places, np.flatnonzero(apart) + 1)


def list_pages(
    connection: sqlite3.Connection, folder: Path, version: Hashable, before: Listing | None
) -> Listing:
    """What can be searched, as the transaction of a connection sees it.

    Segments that were mapped `before` stay so. Pages whose rows are gone are left out.
    """
    run = connection.execute
    settings = read_settings(connection)
    segments: dict[int, int] = dict(run("SELECT id, rows FROM segments").fetchall())
    documents = run(
        "SELECT id, path, pages, metadata, sha256 FROM documents WHERE NOT incoming"
    ).fetchall()
    pages = run(
        "SELECT p.document, p.number, p.segment, p.start, p.vectors FROM pages p "
        "JOIN documents d ON d.id = p.document WHERE NOT d.incoming ORDER BY p.segment, p.start"
    ).fetchall()
    with believed(folder):
        entries = {
            row: DocumentEntry(str(path), int(count), dict(json.loads(metadata)), bytes(sha256))
            for row, path, count, metadata, sha256 in documents
        }
        columns = np.array(pages, np.int64).reshape(-1, 5).T
    known = {} if before is None else before.rows
    rows = {
        segment: known[segment][:count]
        if segment in known and len(known[segment]) >= count
        else _mapped(folder, segment, count, settings.row_bytes)
        for segment, count in segments.items()
    }
    there = {segment: len(found) for segment, found in rows.items()}
    lost = _lost(columns[2], columns[3], columns[4], there)
    return Listing(
        version,
        settings,
        entries,
        rows,
        there == segments,
        int(lost.sum()),
        *(np.ascontiguousarray(column[~lost]) for column in columns),
    )


def _mapped(folder: Path, segment: int, rows: int, width: int) -> Rows:
    try:
        return mapped_rows(folder, segment, rows, width)
    except FileNotFoundError:
        return np.empty((0, width), np.uint8)


def _lost(
    segment: Numbers, start: Numbers, vectors: Numbers, there: Mapping[int, int]
) -> BoolArray:
    """The pages, in the order in which they lie, whose rows are not there, or another's."""
    rows = np.array([there.get(number, 0) for number in segment.tolist()], np.int64)
    lost: BoolArray = (start < 0) | (vectors < 1) | (start > rows) | (vectors > rows - start)
    lost[1:] |= (segment[1:] == segment[:-1]) & (start[1:] < start[:-1] + vectors[:-1])
    return lost

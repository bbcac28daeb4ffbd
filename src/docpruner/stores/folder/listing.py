"""The pages of an index at one moment, as arrays segment by segment.

What was listed before is taken over: a change costs what has changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docpruner.codecs import Rows
from docpruner.stores.folder.catalogue import (
    believed,
    format_of,
    is_incremental,
    read_settings,
)
from docpruner.stores.folder.first_stage import FirstStage
from docpruner.stores.folder.first_stage_files import Block
from docpruner.stores.folder.segments import mapped_rows
from docpruner.stores.settings import Settings
from docpruner.types import BoolArray

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SegmentPages:
    """Columns of the pages of a segment, in the order in which their rows lie."""

    rows: Rows  # as far as they are there
    committed: int  # rows; of all pages before that there is an entry
    document: Numbers
    number: Numbers
    start: Numbers
    vectors: Numbers
    alive: BoolArray  # false where a page is gone, or its rows
    lost: int  # pages whose rows are gone
    blocks: tuple[Block, ...] = ()  # of the first stage, over the first of these pages

    def __len__(self) -> int:
        return len(self.document)

    @property
    def complete(self) -> bool:
        return len(self.rows) == self.committed

    @property
    def covered(self) -> int:
        """Pages, the first ones, that are in a block."""
        return sum(map(len, self.blocks))

    def without(self, starts: Numbers) -> SegmentPages:
        """With the pages that begin there taken out."""
        alive = self.alive & ~np.isin(self.start, starts)
        return replace(self, alive=alive)


@dataclass(frozen=True, eq=False)
class Listing:
    """A place is a page's number among all, segment after segment."""

    version: Hashable
    settings: Settings
    segments: Mapping[int, SegmentPages]
    incoming: Numbers  # documents that can't be searched yet
    removed: int  # how many removals are seen to
    first_stage: FirstStage | None

    def __len__(self) -> int:
        return sum(map(len, self.segments.values()))

    @property
    def complete(self) -> bool:
        """Whether all committed rows are there."""
        return all(pages.complete for pages in self.segments.values())

    @property
    def lost(self) -> int:
        return sum(pages.lost for pages in self.segments.values())

    @property
    def pages_outside(self) -> int:
        """In no list of the first stage."""
        return sum(len(pages) - pages.covered for pages in self.segments.values())

    @property
    def vectors_outside(self) -> int:
        return sum(
            pages.committed - (pages.blocks[-1].last if pages.blocks else 0)
            for pages in self.segments.values()
        )

    @cached_property
    def searchable(self) -> dict[int, BoolArray]:
        """The pages of each segment that may be found."""
        masks = {}
        for segment, pages in self.segments.items():
            masks[segment] = pages.alive
            if len(self.incoming):
                masks[segment] = pages.alive & ~np.isin(pages.document, self.incoming)
        return masks

    def numbered(self, chosen: Mapping[int, BoolArray]) -> list[tuple[int, int]]:
        """Document and number of the chosen pages."""
        pairs: list[tuple[int, int]] = []
        for segment, mask in chosen.items():
            pages = self.segments[segment]
            documents, numbers = pages.document[mask].tolist(), pages.number[mask].tolist()
            pairs.extend(zip(documents, numbers, strict=True))
        return pairs


NOTHING = np.empty(0, np.int64)
EMPTY = SegmentPages(
    np.empty((0, 0), np.uint8), 0, NOTHING, NOTHING, NOTHING, NOTHING, np.empty(0, np.bool_), 0
)
LISTED_BEFORE = """SELECT document, number, start, vectors FROM pages
    WHERE segment = :segment AND start >= :first ORDER BY start"""
LISTED = """SELECT document, number, start, vectors FROM pages
    WHERE segment = :segment AND start >= :first
    UNION ALL SELECT p.document, p.number, v.start, v.vectors FROM moved v JOIN pages p
    ON p.id = v.page WHERE v.segment = :segment AND v.start >= :first ORDER BY start"""
REMOVED = "SELECT id, segment, start FROM removed WHERE id > ? ORDER BY id"


def list_pages(
    connection: sqlite3.Connection,
    folder: Path,
    version: Hashable,
    before: Listing | None,
    first_stage: FirstStage | None,
) -> Listing:
    """What can be searched, as the transaction of a connection sees it."""
    run = connection.execute
    settings = read_settings(connection)
    incremental = is_incremental(connection)
    committed: dict[int, int] = dict(run("SELECT id, rows FROM segments ORDER BY id").fetchall())
    incoming = [row for (row,) in run("SELECT id FROM documents WHERE incoming")]
    old = before.segments if before is not None and incremental else {}
    seen = before.removed if before is not None else 0
    gone = run(REMOVED, (seen,)).fetchall() if incremental else []
    blocks = first_stage.blocks if first_stage is not None and incremental else {}
    segments = {}
    with believed(folder):
        taken = _by_segment(gone)
        ever_taken = taken
        if seen and any(not _is_same(old.get(s), theirs) for s, theirs in blocks.items()):
            ever_taken = _by_segment(run(REMOVED, (0,)).fetchall())
        for segment, rows in committed.items():
            known, theirs = old.get(segment), blocks.get(segment, ())
            if known is not None and _is_same(known, theirs):
                pages = known.without(taken[segment]) if segment in taken else known
            elif theirs and theirs[-1].last <= rows:
                pages = _from_blocks(theirs, ever_taken.get(segment, NOTHING))
            else:
                pages = EMPTY
            if pages.committed < rows or not pages.complete:
                mapped = None if known is None else known.rows
                pages = _extended(connection, folder, settings, segment, rows, pages, mapped)
            segments[segment] = pages
        removed = int(gone[-1][0]) if gone else seen
        documents = np.array(incoming, np.int64)
    return Listing(version, settings, segments, documents, removed, first_stage)


def _is_same(known: SegmentPages | None, blocks: Sequence[Block]) -> bool:
    """Whether what was listed of a segment can be gone on from."""
    return known is not None and known.complete and known.blocks == blocks


def _by_segment(gone: Sequence[tuple[int, int, int]]) -> dict[int, Numbers]:
    if not gone:
        return {}
    _, segment, start = np.array(gone, np.int64).T
    return {number: start[segment == number] for number in np.unique(segment).tolist()}


def _from_blocks(blocks: Sequence[Block], gone: Numbers) -> SegmentPages:
    """What the blocks of a segment say of its pages, less those removed since."""
    columns = [np.concatenate(parts) for parts in zip(*(b.columns for b in blocks), strict=True)]
    document, number, start, vectors = columns or (np.empty(0, np.int64) for _ in range(4))
    alive = ~np.isin(start, gone)
    return SegmentPages(
        rows=np.empty((0, 0), np.uint8),
        committed=blocks[-1].last,
        document=document,
        number=number,
        start=start,
        vectors=vectors,
        alive=alive,
        lost=0,
        blocks=tuple(blocks),
    )


def _extended(
    connection: sqlite3.Connection,
    folder: Path,
    settings: Settings,
    segment: int,
    rows: int,
    base: SegmentPages,
    mapped: Rows | None,
) -> SegmentPages:
    """With the pages in rows that were committed since, and all committed rows mapped."""
    new = connection.execute(
        LISTED if format_of(connection) > 2 else LISTED_BEFORE,
        {"segment": segment, "first": base.committed if len(base) else -(1 << 62)},
    ).fetchall()
    added = np.array(new, np.int64).reshape(-1, 4).T
    columns = (base.document, base.number, base.start, base.vectors)
    document, number, start, vectors = (
        np.concatenate(both) for both in zip(columns, added, strict=True)
    )
    if mapped is not None and len(mapped) >= rows:
        mapped = mapped[:rows]
    else:
        mapped = _mapped(folder, segment, rows, settings.row_bytes)
    lost = _lost(start, vectors, len(mapped))
    alive = np.concatenate([base.alive, np.ones(added.shape[1], np.bool_)])
    count = int((lost & alive).sum())
    return SegmentPages(
        mapped, rows, document, number, start, vectors, alive & ~lost, count, base.blocks
    )


def _mapped(folder: Path, segment: int, rows: int, width: int) -> Rows:
    try:
        return mapped_rows(folder, segment, rows, width)
    except FileNotFoundError:
        return np.empty((0, width), np.uint8)


def _lost(start: Numbers, vectors: Numbers, rows: int) -> BoolArray:
    """The pages, in the order in which they lie, whose rows are not there, or another's."""
    lost: BoolArray = (start < 0) | (vectors < 1) | (start > rows) | (vectors > rows - start)
    lost[1:] |= start[1:] < start[:-1] + vectors[:-1]
    return lost


def placed(listing: Listing, pages: Collection[tuple[int, int]]) -> dict[int, BoolArray]:
    """Pages given by document and number, as masks of the segments."""
    documents = np.array(sorted({document for document, _ in pages}), np.int64)
    wanted = set(pages)
    masks = {}
    for segment, columns in listing.segments.items():
        mask = np.isin(columns.document, documents)
        for place in np.flatnonzero(mask).tolist():
            mask[place] = (int(columns.document[place]), int(columns.number[place])) in wanted
        masks[segment] = mask
    return masks

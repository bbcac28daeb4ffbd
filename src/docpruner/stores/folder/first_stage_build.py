"""Makes the first stage of an index, and keeps it up with what is added. Done by its writer."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

import numpy as np

from docpruner.codecs import Encoded, Rows
from docpruner.stores.contract import Progress
from docpruner.stores.first_stage.centroids import (
    Centroids,
    Labels,
    centroids_for,
    sample_size,
    train,
)
from docpruner.stores.first_stage.inverted_lists import MOST_PAGES, InvertedLists
from docpruner.stores.folder.first_stage import FirstStage, read_first_stage
from docpruner.stores.folder.first_stage_files import (
    Block,
    Columns,
    Numbers,
    begin_generation,
    finish_generation,
    remove_blocks,
    write_block,
    write_centroids,
    write_tuning,
)
from docpruner.stores.folder.segments import mapped_rows
from docpruner.stores.records import Tuning
from docpruner.stores.settings import Settings
from docpruner.types import FloatArray

WORTH_IT = 4_000_000  # vectors from which an index has one; scanning fewer takes a moment
OUTSIDE = 200_000  # vectors that may be in no list, each of which is scored in every search
GROWN = 4  # times the centroids that one would train now: time to do so
DRIFTED = 1.2  # times the error of the training: the pages are about something else by now
AT_ONCE = 1 << 21  # vectors


class FirstStageBuilder:
    def __init__(self, folder: Path, connection: sqlite3.Connection, settings: Settings) -> None:
        self._folder, self._connection, self._settings = folder, connection, settings
        self._stage = read_first_stage(folder)

    def keep_up(self) -> None:
        """After a commit: take what is in no list into one, if it has become much."""
        if self._stage is not None and self._vectors_outside() > OUTSIDE:
            with suppress(OSError):  # it can be done later; what was committed is
                self._extend(self._stage, None)

    def update(self, *, renew: bool, progress: Progress | None) -> None:
        stage, vectors = self._stage, sum(self._segments().values())
        if stage is None and vectors < WORTH_IT and not renew:
            return
        if stage is None or renew or is_old(stage, vectors):
            self._train(vectors, progress)
        elif self._vectors_outside() > OUTSIDE:
            self._extend(stage, progress)

    def tune(self, tuning: Tuning) -> None:
        if self._stage is not None:
            write_tuning(self._stage.place, tuning)
            self._tell()

    # ------------------------------------------------------------------ training

    def _train(self, vectors: int, progress: Progress | None) -> None:
        """All of it anew, beside what is there, which serves until it is done."""
        segments = self._segments()
        count = centroids_for(vectors)
        sample = self._sample(min(vectors, sample_size(count)))
        if not len(sample):
            return
        centroids = train(sample, count)
        del sample
        draft = begin_generation(self._folder)
        write_centroids(draft, centroids)
        for segment, rows in segments.items():
            done = sum(other for number, other in segments.items() if number < segment)
            self._cover(draft, centroids, segment, rows, (), _after(progress, done, vectors))
        finish_generation(self._folder, draft)
        self._stage = read_first_stage(self._folder)
        self._tell()

    def _sample(self, vectors: int) -> FloatArray:
        """So many vectors, of pages chosen at random."""
        rng = np.random.default_rng(0)
        segments = self._segments()
        total = sum(segments.values())
        parts = [np.empty((0, self._settings.dim), np.float32)]
        for segment, rows in segments.items():
            *_, start, count = self._columns(segment, 0)
            wanted = -(-vectors * rows // total)
            order = rng.permutation(len(start))
            last = int(np.searchsorted(np.cumsum(count[order]), wanted)) + 1
            chosen = np.sort(order[:last])
            stored = self._stored(segment, rows)
            for places in _cut(count[chosen], AT_ONCE):
                picked = stored.rows[_rows_of(start[chosen[places]], count[chosen[places]])]
                parts.append(Encoded(stored.codec, stored.dim, picked).decode())
        return np.concatenate(parts)[:vectors]

    # ------------------------------------------------------------------ lists

    def _extend(self, stage: FirstStage, progress: Progress | None) -> None:
        segments = self._segments()
        remove_blocks(stage.place, set(segments))
        total, done = self._vectors_outside(), 0
        for segment, rows in segments.items():
            blocks = stage.blocks.get(segment, ())
            if missing := rows - (blocks[-1].last if blocks else 0):
                told = _after(progress, done, total)
                self._cover(stage.place, stage.centroids, segment, rows, blocks, told)
                done += missing
        self._stage = read_first_stage(self._folder, stage)
        self._tell()

    def _cover(
        self,
        place: Path,
        centroids: Centroids,
        segment: int,
        rows: int,
        blocks: tuple[Block, ...],
        progress: Progress | None,
    ) -> None:
        """Lists of the pages of a segment that have none; the last block grows until it is full."""
        first = blocks[-1].last if blocks else 0
        columns = self._columns(segment, first)
        grows = blocks[-1] if blocks and len(blocks[-1]) < MOST_PAGES else None
        while True:
            room = MOST_PAGES - (0 if grows is None else len(grows))
            some = tuple(each[:room] for each in columns)
            rest = tuple(each[room:] for each in columns)
            last = int(rest[2][0]) if len(rest[2]) else rows
            labels, error = self._labelled(centroids, segment, rows, some, progress)
            lists = InvertedLists.of(labels, some[3], len(centroids))
            codes = np.zeros(last - first, np.uint16)
            codes[_rows_of(some[2], some[3]) - first] = labels
            if grows is None:
                write_block(place, segment, (first, last), some, lists, codes, error)
            else:
                codes = np.concatenate([grows.codes, codes])
                both = lists.after(grows.lists)
                joined = map(np.concatenate, zip(grows.columns, some, strict=True))
                weights = (grows.last - grows.first, last - grows.last)
                mixed = float(np.average([grows.error, error], weights=weights))
                write_block(place, segment, (grows.first, last), tuple(joined), both, codes, mixed)
            if not len(rest[2]):
                return
            first, columns, grows = last, rest, None

    def _labelled(
        self,
        centroids: Centroids,
        segment: int,
        rows: int,
        columns: Columns,
        progress: Progress | None,
    ) -> tuple[Labels, float]:
        """The centroids of all vectors of pages, and their error."""
        _, _, start, vectors = columns
        labels, errors, sizes = [np.empty(0, np.int64)], [], []
        stored = self._stored(segment, rows)
        for places in _cut(vectors, AT_ONCE):
            some, error = centroids.nearest(stored, _rows_of(start[places], vectors[places]))
            labels.append(some)
            errors.append(error)
            sizes.append(len(some))
            if progress is not None:
                progress(sum(sizes), 0)
        mean = float(np.average(errors, weights=sizes)) if sizes else 0.0
        return np.concatenate(labels), mean

    def _tell(self) -> None:
        """Those who have the index open look again after any commit, also one of nothing."""
        self._connection.execute("UPDATE settings SET value = value WHERE key = 'version'")

    # ------------------------------------------------------------------ what there is

    def _segments(self) -> dict[int, int]:
        return dict(self._connection.execute("SELECT id, rows FROM segments ORDER BY id"))

    def _vectors_outside(self) -> int:
        blocks = {} if self._stage is None else self._stage.blocks
        return sum(
            rows - (blocks[segment][-1].last if segment in blocks else 0)
            for segment, rows in self._segments().items()
        )

    def _columns(self, segment: int, first: int) -> Columns:
        rows = self._connection.execute(
            "SELECT document, number, start, vectors FROM pages WHERE segment = ? AND start >= ? "
            "ORDER BY start",
            (segment, first),
        ).fetchall()
        document, number, start, vectors = np.array(rows, np.int64).reshape(-1, 4).T
        return document, number, start, vectors

    def _stored(self, segment: int, rows: int) -> Encoded:
        settings = self._settings
        mapped: Rows = mapped_rows(self._folder, segment, rows, settings.row_bytes)
        return Encoded(settings.codec, settings.dim, mapped)


def _cut(vectors: Numbers, most: int) -> list[Numbers]:
    """Places of pages, in parts of about so many vectors."""
    if not len(vectors):
        return []
    cuts = np.flatnonzero(np.diff(np.cumsum(vectors) // most)) + 1
    return np.split(np.arange(len(vectors)), cuts)


def _rows_of(start: Numbers, vectors: Numbers) -> Numbers:
    """Of pages that begin there and have so many vectors."""
    before = np.cumsum(vectors) - vectors
    rows: Numbers = np.repeat(start - before, vectors) + np.arange(int(vectors.sum()))
    return rows


def is_old(stage: FirstStage, vectors: int) -> bool:
    """Whether the index has grown or changed so much that other centroids would serve it better."""
    grown = centroids_for(vectors) >= GROWN * len(stage.centroids)
    return grown or stage.error > DRIFTED * stage.centroids.error


def _after(progress: Progress | None, done: int, total: int) -> Progress | None:
    if progress is None:
        return None
    return lambda more, _: progress(min(done + more, total), total)

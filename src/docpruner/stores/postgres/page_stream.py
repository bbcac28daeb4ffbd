"""Pages streamed from the server and scored here, exactly, in bounded memory.

While some pages are scored, the next come in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from docpruner.codecs import Encoded
from docpruner.errors import DamagedIndexError, ScoringError
from docpruner.maxsim import Asked, Spans, score_spans
from docpruner.stores.postgres.document_choice import Choice
from docpruner.stores.postgres.page_record import rows_of
from docpruner.stores.postgres.postgres_schema import Connection
from docpruner.stores.settings import Settings
from docpruner.types import FloatArray

Places = npt.NDArray[np.int64]  # (pages, 3): id, document, number

BLOCK = 8 << 20  # bytes of vectors that are fetched at once; there are two such blocks at a time
FIRST = 32  # pages, to see how large they are
MOST_PAGES = 2000  # in a block


@dataclass(frozen=True)
class Block:
    """Some pages."""

    places: Places
    spans: Spans
    vectors: Encoded


class DamagedPageError(DamagedIndexError):
    """A page whose rows can't be scored; who knows its name says which it is."""

    def __init__(self, page: int) -> None:
        super().__init__(f"page {page} is damaged")
        self.page = page


class Leaders:
    """The best pages so far; those that equal the last of them too."""

    def __init__(self, k: int) -> None:
        self._k = k
        self.scores: FloatArray = np.empty(0, np.float32)
        self.places: Places = np.empty((0, 3), np.int64)

    def add(self, scores: FloatArray, places: Places) -> None:
        self.scores = np.concatenate([self.scores, scores])
        self.places = np.concatenate([self.places, places])
        if len(self.scores) > self._k:
            best = self.scores >= np.partition(self.scores, -self._k)[-self._k]
            self.scores, self.places = self.scores[best], self.places[best]


def ranked(
    connection: Connection,
    settings: Settings,
    queries: Sequence[FloatArray],
    k: int,
    choice: Choice,
    among: Sequence[Collection[int]] | None = None,
) -> list[Leaders]:
    """For each query the best of the chosen pages, or of those `among` its own, by their ids."""
    leaders = [Leaders(k) for _ in queries]
    together = Asked.of(queries, settings.codec, settings.dim)
    alone = [Asked.of([query], settings.codec, settings.dim) for query in queries]
    wanted = None if among is None else [np.array(sorted(ids), np.int64) for ids in among]
    for block in _blocks(connection, settings, choice):
        if wanted is None:
            for best, scores in zip(leaders, _scores(together, block), strict=True):
                best.add(scores, block.places)
            continue
        for asked, best, ids in zip(alone, leaders, wanted, strict=True):
            own = np.isin(block.places[:, 0], ids)
            some = Block(block.places[own], block.spans[own], block.vectors)
            best.add(_scores(asked, some)[0], some.places)
    return leaders


def _scores(asked: Asked, block: Block) -> FloatArray:
    try:
        return score_spans(asked, block.vectors, block.spans)
    except ScoringError:
        for (page, *_), (first, last) in zip(block.places, block.spans, strict=True):
            rows = block.vectors.rows[first:last]
            with np.errstate(all="ignore"):
                decoded = Encoded(block.vectors.codec, block.vectors.dim, rows).decode()
            if not np.isfinite(decoded).all():
                raise DamagedPageError(int(page)) from None
        raise


def _blocks(connection: Connection, settings: Settings, choice: Choice) -> Iterator[Block]:
    """The server has a cursor, of which the client fetches some rows at a time."""
    with (
        closing(connection.cursor("ranking", binary=True)) as cursor,
        ThreadPoolExecutor(1) as ahead,
    ):
        cursor.execute(
            "SELECT p.id, p.document, p.number, p.vectors, p.rows FROM pages p "
            f"JOIN documents d ON d.id = p.document WHERE {choice.where}",
            choice.values,
        )
        size = FIRST
        coming = ahead.submit(cursor.fetchmany, size)
        while rows := coming.result():
            mean = sum(len(row[-1]) for row in rows) // len(rows)
            size = min(max(1, BLOCK // max(mean, 1)), MOST_PAGES)
            coming = ahead.submit(cursor.fetchmany, size)
            yield _block(rows, settings)


def _block(rows: Sequence[tuple[Any, ...]], settings: Settings) -> Block:
    for page, _, _, vectors, data in rows:
        if vectors < 1 or len(data) != vectors * settings.row_bytes:
            raise DamagedPageError(page)
    together = rows_of(b"".join(row[-1] for row in rows), settings)
    ends = np.cumsum([row[3] for row in rows], dtype=np.int64)
    starts = np.concatenate([[0], ends[:-1]])
    return Block(
        np.array([row[:3] for row in rows], np.int64),
        np.stack([starts, ends], axis=1),
        Encoded(settings.codec, settings.dim, together),
    )

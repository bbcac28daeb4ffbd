"""The first stage of an index: which pages are worth an exact score.

The server keeps, for each centroid, the pages that own it. A search asks for the lists of the few
centroids near its query, some kilobytes each, and sums up here what every page gains by them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from docpruner.codecs import encode
from docpruner.stores.first_stage.centroids import Centroids
from docpruner.stores.first_stage.inverted_lists import Probe
from docpruner.stores.postgres.document_choice import Choice
from docpruner.stores.postgres.postgres_schema import Connection
from docpruner.stores.records import FirstStageState, Tuning
from docpruner.types import FloatArray

Ids = npt.NDArray[np.int64]

CANDIDATES = 1000  # unless the index was tuned
USUAL = 10  # hits, for which candidates are counted

STAGE = "SELECT made, trained_error, error, vectors, covered, tuning FROM first_stage"
ARRAYS = "SELECT cells, edges, points FROM first_stage"
LISTS = "SELECT centroid, pages FROM first_stage_lists WHERE centroid = ANY(%s)"
SIZE = """SELECT (pg_total_relation_size('first_stage')
    + pg_total_relation_size('first_stage_lists'))::bigint"""


@dataclass(frozen=True, eq=False)
class Stage:
    made: UUID
    centroids: Centroids
    error: float  # of the vectors in the lists
    vectors: int  # in the lists
    covered: int  # pages up to this id are in the lists
    tuning: Tuning | None

    def wanted(self, k: int, candidates: int | None) -> int:
        """Who asks for more than a few hits needs more to choose from."""
        usual = self.candidates if candidates is None else candidates
        return max(usual, usual * k // USUAL)

    @property
    def candidates(self) -> int:
        return CANDIDATES if self.tuning is None else self.tuning.candidates

    def state(self, connection: Connection) -> FirstStageState:
        ((inside, outside),) = connection.execute(
            "SELECT count(*) FILTER (WHERE id <= %s), count(*) FILTER (WHERE id > %s) FROM pages",
            [self.covered, self.covered],
        ).fetchall()
        ((size,),) = connection.execute(SIZE).fetchall()
        return FirstStageState(
            centroids=len(self.centroids),
            pages=inside,
            pages_outside=outside,
            bytes_on_disk=size,
            error=self.error,
            error_when_trained=self.centroids.error,
            candidates=self.candidates,
            tuning=self.tuning,
        )


class Stages:
    """What the readers of a store share: the centroids, which are read once for each training."""

    def __init__(self) -> None:
        self._latest: Stage | None = None

    def read(self, connection: Connection) -> Stage | None:
        """What there is at a moment; None also if it is damaged, and so of no use."""
        row = connection.execute(STAGE).fetchone()
        if row is None:
            return None
        made, trained_error, *rest = row
        known = self._latest
        try:
            if known is not None and known.made == made:
                centroids = known.centroids
            else:
                centroids = _centroids(connection, trained_error)
            stage = _stage(made, centroids, *rest)
        except (ValueError, KeyError, TypeError):
            return None
        self._latest = stage
        return stage


def _stage(
    made: UUID, centroids: Centroids, error: float, vectors: int, covered: int, tuning: str | None
) -> Stage:
    told = None if tuning is None else json.loads(tuning)
    if told is not None:
        told = Tuning(**{**told, "interval": tuple(told["interval"])})
    return Stage(made, centroids, error, vectors, covered, told)


def _centroids(connection: Connection, error: float) -> Centroids:
    (row,) = connection.cursor(binary=True).execute(ARRAYS).fetchall()
    edges = np.frombuffer(row[1], "<i8").astype(np.int64)
    count = int(edges[-1])
    points = np.frombuffer(row[2], "<f4").reshape(count, -1).astype(np.float32)
    cells = np.frombuffer(row[0], "<f4").reshape(len(edges) - 1, -1).astype(np.float32)
    if cells.shape[1] != points.shape[1]:
        raise ValueError("cells and points of different dimensions")
    return Centroids(cells, edges, points, encode(points, "int8"), error)


def candidates_of(
    connection: Connection,
    stage: Stage,
    queries: Sequence[FloatArray],
    wanted: int,
    choice: Choice,
    *,
    filtered: bool,
) -> list[Ids] | None:
    """For each query the pages that gain most, and all that are in no list; None where these would
    be about all of the chosen pages."""
    outside = _ids(connection, "SELECT id FROM pages WHERE id > %s", stage.covered)
    allowed = None
    if filtered:
        allowed = _ids(
            connection,
            "SELECT p.id FROM pages p JOIN documents d ON d.id = p.document "
            f"WHERE {choice.where} AND p.id <= %s",
            *choice.values,
            stage.covered,
        )
        inside = len(allowed)
    else:
        ((inside,),) = connection.execute(
            "SELECT count(*) FROM pages WHERE id <= %s", [stage.covered]
        ).fetchall()
    if inside <= wanted:
        return None
    try:
        gains = [_gains(connection, stage, query) for query in queries]
    except (ValueError, IndexError):  # damaged lists
        return None
    best = (_best(connection, each, wanted, allowed) for each in gains)
    return [np.concatenate([each, outside]) for each in best]


def _gains(connection: Connection, stage: Stage, query: FloatArray) -> npt.NDArray[np.uint32]:
    """Of every page, by its id: for each token the best centroid that it owns counts."""
    probe = Probe.of(query, stage.centroids)
    cursor = connection.cursor(binary=True)
    rows = cursor.execute(LISTS, [np.unique(probe.centroids).tolist()])
    lists = {centroid: np.frombuffer(pages, "<u4") for centroid, pages in rows}
    nothing = np.empty(0, "<u4")
    sums = np.zeros(stage.covered + 1, np.uint32)
    for centroids, worths in zip(probe.centroids.tolist(), probe.worths.tolist(), strict=True):
        best = np.zeros(stage.covered + 1, np.uint16)
        for centroid, worth in zip(reversed(centroids), reversed(worths), strict=True):
            best[lists.get(centroid, nothing)] = worth
        sums += best
    return sums


def _best(
    connection: Connection, gains: npt.NDArray[np.uint32], wanted: int, allowed: Ids | None
) -> Ids:
    """So many of the pages that gain most, of those that are allowed, or that are still there."""
    if allowed is not None:
        return allowed[_most(gains[allowed], wanted)]
    for count in _doubled(2 * wanted, len(gains)):
        pages = _most(gains, count)
        there = _ids(connection, "SELECT id FROM pages WHERE id = ANY(%s)", pages.tolist())
        found = pages[np.isin(pages, there)][:wanted]
        if len(found) == wanted:
            break
    return found


def _doubled(count: int, most: int) -> Iterator[int]:
    while count < most:
        yield count
        count *= 2
    yield most


def _most(gains: npt.NDArray[np.uint32], count: int) -> Ids:
    """Places of the largest, the largest first."""
    places = np.arange(len(gains))
    if len(gains) > count:
        places = np.sort(np.argpartition(gains, len(gains) - count)[len(gains) - count :])
    order = np.argsort(-gains[places].astype(np.int64), kind="stable")
    return places[order].astype(np.int64)


def _ids(connection: Connection, statement: str, *values: Any) -> Ids:
    rows = connection.cursor(binary=True).execute(statement, values).fetchall()
    return np.array([row for (row,) in rows], np.int64)

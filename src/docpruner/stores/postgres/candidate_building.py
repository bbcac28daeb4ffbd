"""Makes the first stage of an index, and keeps it up with what is added. Done by its writer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np
import numpy.typing as npt

from docpruner.codecs import Encoded
from docpruner.stores.contract import Progress
from docpruner.stores.first_stage.centroids import (
    Centroids,
    centroids_for,
    sample_size,
    train,
)
from docpruner.stores.postgres.candidate_lists import Stage, Stages
from docpruner.stores.postgres.document_choice import Choice
from docpruner.stores.postgres.page_record import rows_of
from docpruner.stores.postgres.page_stream import Block, blocks
from docpruner.stores.postgres.postgres_schema import Connection
from docpruner.stores.records import Tuning
from docpruner.stores.settings import Settings
from docpruner.types import FloatArray

Pairs = npt.NDArray[np.uint64]  # a centroid and a page that owns it

WORTH_IT = 2_000_000  # vectors from which an index has one; streaming fewer takes a moment
OUTSIDE, SHARE = 200_000, 50  # vectors, or one in so many, that may be in no list
GROWN = 4  # times the centroids that one would train now: time to do so
DRIFTED = 1.2  # times the error of the training: the pages are about something else by now
HELD = 8_000_000  # pairs before they are sent
SENT = 2000  # lists at a time
SAMPLED = 200  # pages at a time

APPEND = """INSERT INTO first_stage_lists SELECT * FROM unnest(%b::int[], %b::bytea[])
    ON CONFLICT (centroid) DO UPDATE SET pages = first_stage_lists.pages || excluded.pages"""


def keep_up(connection: Connection, settings: Settings, stages: Stages) -> None:
    """After a commit: take what is in no list into one, if it has become much."""
    stage = stages.read(connection)
    if stage is not None and _outside(connection, stage) > _limit(stage.vectors):
        _extend(connection, settings, stage, None)


def update(
    connection: Connection,
    settings: Settings,
    stages: Stages,
    *,
    renew: bool,
    progress: Progress | None,
) -> None:
    stage = stages.read(connection)
    vectors = _vectors(connection)
    if vectors == 0 or (stage is None and vectors < WORTH_IT and not renew):
        return
    if stage is None or renew or _is_old(stage, vectors):
        _train(connection, settings, vectors, progress)
    elif _outside(connection, stage) > _limit(stage.vectors):
        _extend(connection, settings, stage, progress)


def tune(connection: Connection, tuning: Tuning) -> None:
    with connection.transaction():
        connection.execute("UPDATE first_stage SET tuning = %s", [json.dumps(asdict(tuning))])
        _tell(connection)


def drop(connection: Connection) -> None:
    """In a transaction that makes other vectors of all pages."""
    connection.execute("DELETE FROM first_stage_lists")
    connection.execute("DELETE FROM first_stage")


def _is_old(stage: Stage, vectors: int) -> bool:
    """Whether the index has grown or changed so much that other centroids would serve it better."""
    grown = centroids_for(vectors) >= GROWN * len(stage.centroids)
    return grown or stage.error > DRIFTED * stage.centroids.error


def _train(
    connection: Connection, settings: Settings, vectors: int, progress: Progress | None
) -> None:
    """All of it anew; what is there serves until it is done."""
    count = centroids_for(vectors)
    centroids = train(_sample(connection, settings, min(vectors, sample_size(count))), count)
    with connection.transaction():
        drop(connection)
        covered, error = _cover(connection, settings, centroids, 0, vectors, progress)
        connection.execute(
            "INSERT INTO first_stage (cells, edges, points, trained_error, error, vectors, covered)"
            " VALUES (%b, %b, %b, %s, %s, %s, %s)",
            [
                centroids.cells.astype("<f4").tobytes(),
                centroids.edges.astype("<i8").tobytes(),
                centroids.points.astype("<f4").tobytes(),
                *(centroids.error, error, vectors, covered),
            ],
        )
        _tell(connection)


def _extend(
    connection: Connection, settings: Settings, stage: Stage, progress: Progress | None
) -> None:
    with connection.transaction():
        new = _outside(connection, stage)
        centroids = stage.centroids
        covered, error = _cover(connection, settings, centroids, stage.covered, new, progress)
        mixed = float(np.average([stage.error, error], weights=[stage.vectors, new]))
        connection.execute(
            "UPDATE first_stage SET covered = %s, error = %s, vectors = vectors + %s",
            [covered, mixed, new],
        )
        _tell(connection)


def _cover(
    connection: Connection,
    settings: Settings,
    centroids: Centroids,
    after: int,
    total: int,
    progress: Progress | None,
) -> tuple[int, float]:
    """Take the pages after an id into the lists; the last id, and the error of their vectors."""
    held: list[Pairs] = []
    covered, done, missed = after, 0, 0.0
    for block in blocks(connection, settings, Choice("p.id > %s", [after])):
        labels, error = centroids.nearest(block.vectors)
        held.append(_pairs(block, labels.astype(np.uint64)))
        covered = max(covered, int(block.places[:, 0].max()))
        done, missed = done + len(labels), missed + error * len(labels)
        if sum(map(len, held)) > HELD:
            _send(connection, np.concatenate(held))
            held = []
        if progress is not None:
            progress(min(done, total), total)
    if held:
        _send(connection, np.concatenate(held))
    return covered, missed / done if done else 0.0


def _pairs(block: Block, labels: npt.NDArray[np.uint64]) -> Pairs:
    counts = block.spans[:, 1] - block.spans[:, 0]
    owners = np.repeat(block.places[:, 0].astype(np.uint64), counts)
    pairs: Pairs = np.unique((labels << np.uint64(32)) + owners)
    return pairs


def _send(connection: Connection, pairs: Pairs) -> None:
    pairs.sort()
    centroids, starts = np.unique(pairs >> np.uint64(32), return_index=True)
    lists = np.split(pairs.astype("<u4"), starts[1:])
    for first in range(0, len(centroids), SENT):
        some = slice(first, first + SENT)
        numbers = centroids[some].astype(np.int64).tolist()
        connection.execute(APPEND, [numbers, [each.tobytes() for each in lists[some]]])


def _sample(connection: Connection, settings: Settings, vectors: int) -> FloatArray:
    """So many vectors, of pages chosen at random."""
    rows = connection.execute("SELECT id, vectors FROM pages ORDER BY id").fetchall()
    ids, counts = np.array(rows, np.int64).reshape(-1, 2).T
    order = np.random.default_rng(0).permutation(len(ids))
    needed = int(np.searchsorted(np.cumsum(counts[order]), vectors)) + 1
    parts = list(_decoded(connection, settings, ids[order[:needed]].tolist()))
    return np.concatenate(parts)[:vectors]


def _decoded(connection: Connection, settings: Settings, ids: list[int]) -> Iterator[FloatArray]:
    cursor = connection.cursor(binary=True)
    for first in range(0, len(ids), SAMPLED):
        some = ids[first : first + SAMPLED]
        found = cursor.execute("SELECT rows FROM pages WHERE id = ANY(%s) ORDER BY id", [some])
        together = rows_of(b"".join(row for (row,) in found), settings)
        yield Encoded(settings.codec, settings.dim, together).decode()


def _vectors(connection: Connection) -> int:
    statement = "SELECT coalesce(sum(vectors), 0)::bigint FROM pages"
    ((vectors,),) = connection.execute(statement).fetchall()
    return int(vectors)


def _outside(connection: Connection, stage: Stage) -> int:
    """Vectors that are in no list."""
    statement = "SELECT coalesce(sum(vectors), 0)::bigint FROM pages WHERE id > %s"
    ((vectors,),) = connection.execute(statement, [stage.covered]).fetchall()
    return int(vectors)


def _limit(vectors: int) -> int:
    return max(OUTSIDE, vectors // SHARE)


def _tell(connection: Connection) -> None:
    connection.execute("UPDATE state SET changes = changes + 1")

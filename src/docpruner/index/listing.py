"""The pages of an index as its catalogue lists them, and whether their rows are there."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from docpruner.errors import DamageWarning
from docpruner.index.catalogue import believed, transaction
from docpruner.index.records import DocumentEntry
from docpruner.index.segments import rows_there
from docpruner.index.snapshot import Numbers, Snapshot
from docpruner.types import BoolArray

TRIES = 5  # while a writer compacts and removes what is being read


def list_pages(connection: sqlite3.Connection, folder: Path, width: int, version: int) -> Snapshot:
    """What can be searched now. Pages whose rows are gone are left out, with a warning."""
    run = connection.execute
    for _ in range(TRIES):
        with transaction(connection, "DEFERRED"):
            segments = dict(run("SELECT id, rows FROM segments").fetchall())
            documents = run(
                "SELECT id, path, pages, metadata FROM documents WHERE NOT incoming"
            ).fetchall()
            pages = run(
                "SELECT p.id, p.document, p.number, p.segment, p.start, p.vectors FROM pages p "
                "JOIN documents d ON d.id = p.document WHERE NOT d.incoming "
                "ORDER BY p.segment, p.start"
            ).fetchall()
        there = {s: rows_there(folder, s, rows, width) for s, rows in segments.items()}
        if there == segments:
            break  # else a writer may just have removed what was read: look again
    with believed(folder):
        entries = [
            DocumentEntry(i, path, n, dict(json.loads(told))) for i, path, n, told in documents
        ]
        columns = np.array(pages, np.int64).reshape(-1, 6).T
    lost = _lost(columns[3], columns[4], columns[5], there)
    if lost.any():
        warnings.warn(
            f"{int(lost.sum())} pages of {folder} can't be searched, their vectors are gone; "
            f"run: docpruner verify {folder}",
            DamageWarning,
            stacklevel=4,
        )
    return Snapshot(
        version,
        {entry.id: entry for entry in entries},
        there,
        *(np.ascontiguousarray(column[~lost]) for column in columns),
    )


def _lost(
    segment: Numbers, start: Numbers, vectors: Numbers, there: Mapping[int, int]
) -> BoolArray:
    """The pages, in the order in which they lie, whose rows are not there, or another's."""
    rows = np.array([there.get(number, 0) for number in segment.tolist()], np.int64)
    lost: BoolArray = (start < 0) | (vectors < 1) | (start > rows) | (vectors > rows - start)
    lost[1:] |= (segment[1:] == segment[:-1]) & (start[1:] < start[:-1] + vectors[:-1])
    return lost

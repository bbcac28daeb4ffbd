"""The first stage on disk: derived from the rows of segments, and never needed to read them.

    first_stage/00000001/centroids          one folder for each training, the last one counts
    first_stage/00000001/00000007-0-90210   the lists of the pages in rows 0 to 90210 of segment 7,
                                            with the columns by which they are found, and the
                                            centroid of every row
    first_stage/00000001/tuning-1f2e3d4c    how many candidates, and what was measured with them

A page of a segment never moves nor changes, so what is written of it stays true; who uses it asks
the catalogue which pages are gone since.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docpruner.codecs import Encoded
from docpruner.errors import DamagedIndexError
from docpruner.stores.first_stage.centroids import Centroids
from docpruner.stores.first_stage.inverted_lists import InvertedLists
from docpruner.stores.folder.array_file import Array, read_arrays, write_arrays
from docpruner.stores.folder.segments import sync_folder
from docpruner.stores.records import Tuning

Numbers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint16]
Columns = tuple[Numbers, ...]  # those of COLUMNS

Stamp = tuple[str, int]  # of a file: its name, and when it was written

COLUMNS = ("document", "number", "start", "vectors")
BLOCK_NAME = re.compile(r"(\d{8})-(\d+)-(\d+)")


@dataclass(frozen=True, eq=False)
class Block:
    """Pages of a segment that lie one after another, and their lists."""

    segment: int
    first: int  # row
    last: int  # the row after
    columns: Columns  # by start
    lists: InvertedLists
    codes: Codes  # the centroid of every row; 0 where a row is no page's
    error: float  # as of the centroids
    stamp: Stamp

    def __len__(self) -> int:
        return self.lists.count


def generations(folder: Path) -> list[Path]:
    """The trainings that are there, the oldest first."""
    there = (folder / "first_stage").glob("[0-9]" * 8)
    return sorted(path for path in there if (path / "centroids").is_file())


def write_centroids(place: Path, centroids: Centroids) -> None:
    place.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Array] = {
        "cells": centroids.cells,
        "edges": centroids.edges,
        "points": centroids.points,
        "rounded": centroids.rounded.rows,
    }
    write_arrays(place / "centroids", {"error": centroids.error}, arrays)


def read_centroids(place: Path) -> Centroids:
    file = read_arrays(place / "centroids")
    file.check()
    cells, edges, points, rounded = file.arrays.values()
    error = float(file.values["error"])
    return Centroids(cells, edges, points, Encoded("int8", points.shape[1], rounded), error)


def write_block(
    place: Path,
    segment: int,
    span: tuple[int, int],
    columns: Columns,
    lists: InvertedLists,
    codes: Codes,
    error: float,
) -> None:
    """In the place of those that it covers."""
    first, last = span
    arrays: dict[str, Array] = {
        name: each.astype(np.uint32) for name, each in zip(COLUMNS, columns, strict=True)
    }
    arrays |= {"offsets": lists.offsets, "pages": lists.pages, "codes": codes}
    path = place / f"{segment:08d}-{first}-{last}"
    write_arrays(path, {"error": error}, arrays)
    for other, (of, begin, end) in _block_paths(place):
        if other != path and of == segment and first <= begin and end <= last:
            other.unlink(missing_ok=True)


def stamps_of(place: Path) -> frozenset[Stamp]:
    return frozenset((entry.name, entry.stat().st_mtime_ns) for entry in os.scandir(place))


def read_blocks(
    place: Path, centroids: int, known: Mapping[Stamp, Block]
) -> dict[int, list[Block]]:
    """The blocks of each segment, one after another; what is damaged is left out."""
    blocks: dict[int, list[Block]] = {}
    named = sorted(_block_paths(place), key=lambda pair: (pair[1][0], pair[1][1], -pair[1][2]))
    for path, (segment, first, last) in named:
        before = blocks.setdefault(segment, [])
        if first != (before[-1].last if before else 0):
            continue
        try:
            stamp = (path.name, path.stat().st_mtime_ns)
            block = known.get(stamp) or _read_block(path, segment, first, last, centroids, stamp)
            before.append(block)
        except (DamagedIndexError, FileNotFoundError, ValueError, KeyError, TypeError):
            continue  # its pages are ranked without it
    return {segment: some for segment, some in blocks.items() if some}


def _read_block(
    path: Path, segment: int, first: int, last: int, centroids: int, stamp: Stamp
) -> Block:
    file = read_arrays(path)
    file.check(COLUMNS)
    document, number, start, vectors = (file.arrays[name].astype(np.int64) for name in COLUMNS)
    offsets, pages, codes = (file.arrays[name] for name in ("offsets", "pages", "codes"))
    if len(offsets) != centroids + 1 or len(codes) != last - first:
        raise DamagedIndexError(f"{path} is of other centroids")
    lists = InvertedLists(offsets, pages, len(start))
    error = float(file.values["error"])
    columns = (document, number, start, vectors)
    return Block(segment, first, last, columns, lists, codes, error, stamp)


def _block_paths(place: Path) -> Iterator[tuple[Path, tuple[int, int, int]]]:
    for path in place.iterdir() if place.is_dir() else ():
        if match := BLOCK_NAME.fullmatch(path.name):
            segment, first, last = map(int, match.groups())
            yield path, (segment, first, last)


def remove_blocks(place: Path, segments: set[int]) -> None:
    """Of all segments but these."""
    for path, (segment, _, _) in _block_paths(place):
        if segment not in segments:
            path.unlink(missing_ok=True)


def write_tuning(place: Path, tuning: Tuning) -> None:
    for older in place.glob("tuning-*"):
        older.unlink(missing_ok=True)
    name = f"tuning-{secrets.token_hex(4)}"  # another one each time, so that readers notice
    draft = place / f"{name}.new"
    draft.write_text(json.dumps(asdict(tuning)), encoding="utf-8")
    draft.replace(place / name)


def read_tuning(place: Path) -> Tuning | None:
    for path in place.glob("tuning-*"):
        if path.suffix != ".new":
            values = json.loads(path.read_text(encoding="utf-8"))
            return Tuning(**{**values, "interval": tuple(values["interval"])})
    return None


def take_out_damaged(folder: Path, *, isolate: bool) -> int:
    """Compare every file with its checksums; the damaged ones go, unless they are to stay."""
    damaged = 0
    for place in generations(folder):
        for path in [place / "centroids", *(path for path, _ in _block_paths(place))]:
            try:
                read_arrays(path).check()
            except (DamagedIndexError, ValueError, KeyError, TypeError):
                damaged += 1
                if isolate:
                    path.unlink(missing_ok=True)
            except FileNotFoundError:  # renewed a moment ago
                continue
    return damaged


def begin_generation(folder: Path) -> Path:
    """A folder to make a new first stage in, which nobody sees before `finish_generation`."""
    draft = folder / "first_stage" / "new"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    return draft


def finish_generation(folder: Path, draft: Path) -> Path:
    older = generations(folder)
    number = int(older[-1].name) + 1 if older else 1
    place = folder / "first_stage" / f"{number:08d}"
    draft.rename(place)
    sync_folder(place.parent)
    for path in older:
        shutil.rmtree(path, ignore_errors=True)
    return place

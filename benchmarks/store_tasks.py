"""What `stores.py` measures of a store, each task in a process of its own.

python benchmarks/store_tasks.py TASK '{"location": …, …}'        # prints a line of JSON

Nothing here knows which store it has: it is created, written and searched by the contract.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scale_tasks import percentiles, read_queries
from search_corpus import PAGES_A_DOCUMENT, K
from search_systems import digest

from docpruner.stores.contract import Reader, Staged, Store
from docpruner.stores.locations import create_store, open_store, store_exists
from docpruner.stores.records import (
    DocumentEntry,
    DocumentPages,
    DocumentRecord,
    PageName,
    StoredPage,
)
from docpruner.types import Filter
from search import timed

COMMIT = 500 // PAGES_A_DOCUMENT  # documents at once, 500 pages
YEARS = 20  # values of the metadata, so that a filter leaves one page in twenty
YEAR = 2003
CHANGES = 5


# ---------------------------------------------------------------------- loading


def load(source: str, location: str) -> dict[str, Any]:
    """Every page of the folder `source`. Timed are the commits, not the reading."""
    spent = pages = 0
    with open_store(source) as origin, origin.reader() as reader:
        store, created = timed(lambda: create_store(location, reader.settings))
        with store:
            with store.writer() as writer:
                for batch in batches(reader):
                    spent += timed(lambda batch=batch: writer.commit(batch))[1]
                    pages += sum(len(part.pages) for part in batch)
            stage = timed(store.update_first_stage)[1] if isinstance(store, Staged) else 0.0
            with store.reader() as loaded:
                stats = loaded.stats()
    if stats.pages != pages:
        raise SystemExit(f"{location} has {stats.pages} of {pages} pages")
    return {
        "create_ms": created,
        "load_pages_s": 1e3 * pages / spent,
        "first_stage_s": stage / 1e3,
        "stats_bytes": stats.bytes_on_disk,
        "bytes_of_vectors": stats.bytes_of_vectors,
    }


def batches(reader: Reader) -> Iterator[list[DocumentPages]]:
    entries = list(reader.documents())
    for first in range(0, len(entries), COMMIT):
        yield [part_of(reader, each) for each in entries[first : first + COMMIT]]


def part_of(reader: Reader, entry: DocumentEntry, version: bytes = b"") -> DocumentPages:
    """A document with its pages in memory, of the year that its name gives it."""
    pages = [reader.page(entry.name, number) for number in range(1, entry.pages + 1)]
    year = {"year": YEAR + digest(entry.name)[0] % YEARS}
    record = DocumentRecord(
        entry.name, digest(f"{entry.name} {version!r}"), 100_000, entry.pages, year
    )
    return DocumentPages(record, [in_memory(page) for page in pages if page], True)


def in_memory(page: StoredPage) -> StoredPage:
    return replace(page, vectors=replace(page.vectors, rows=np.array(page.vectors.rows)))


# ---------------------------------------------------------------------- searching


def ask(location: str, queries: str, most: int) -> dict[str, Any]:
    """One query after another: exact, then by the first stage if there is one, then filtered."""
    asked = read_queries(queries)[:most]
    store_exists(location)  # loads the modules, which is not timed
    store, opened = timed(lambda: open_store(location))
    with store:
        found, times = timed_ranks(store, asked, Filter(), exact=True)
        _, filtered = timed_ranks(store, asked, Filter(metadata={"year": YEAR}), exact=True)
        told = {
            "open_ms": opened,
            "first_ms": times[0],
            **percentiles(times[1:]),
            **percentiles(filtered[1:], "filtered_"),
            "found": found,
        }
        if isinstance(store, Staged) and store.first_stage() is not None:
            _, quick = timed_ranks(store, asked, Filter(), exact=False)
            told |= percentiles(quick[1:], "first_stage_")
        return told


def timed_ranks(
    store: Store, queries: list[np.ndarray], which: Filter, *, exact: bool
) -> tuple[list[list[PageName]], list[float]]:
    found, times = [], []
    for query in queries:

        def rank(query: np.ndarray = query) -> list[PageName]:
            with store.reader() as reader:
                (best,) = reader.rank([query], K, which, exact=exact)
                return [page.name for page in best]

        names, spent = timed(rank)
        found.append(names)
        times.append(spent)
    return found, times


# ---------------------------------------------------------------------- changing


def change(source: str, location: str) -> dict[str, Any]:
    """Documents of twenty pages, one at a time: a new version of each, then it is deleted.

    Timed with the right to write, which a user has to get too.
    """
    replaced, deleted = [], []
    with open_store(source) as origin, origin.reader() as reader, open_store(location) as store:
        for entry in list(reader.documents())[:CHANGES]:
            new = part_of(reader, entry, b"second")
            replaced.append(timed(lambda new=new: commit(store, new))[1])
            with store.reader() as there:
                known = there.document(entry.name)
            if known is None or known.content_hash != new.document.content_hash:
                raise SystemExit(f"{location} has not replaced {entry.name}")
            deleted.append(timed(lambda name=entry.name: delete(store, name))[1])
            with store.reader() as there:
                if there.document(entry.name) is not None:
                    raise SystemExit(f"{location} has not deleted {entry.name}")
    return {"replace_ms": float(np.median(replaced)), "delete_ms": float(np.median(deleted))}


def commit(store: Store, part: DocumentPages) -> None:
    with store.writer() as writer:
        writer.commit([part])


def delete(store: Store, name: str) -> None:
    with store.writer() as writer:
        writer.delete([name])


TASKS: dict[str, Callable[..., dict[str, Any]]] = {"load": load, "ask": ask, "change": change}


if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](**json.loads(sys.argv[2]))))

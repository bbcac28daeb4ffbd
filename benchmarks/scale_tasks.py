"""What `scale.py` measures of our index, each task in a process of its own.

python benchmarks/scale_tasks.py TASK '{"folder": …, …}'        # prints a line of JSON
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scale_corpus import documents_of, made_pages
from scale_pages import RealPages
from search_corpus import TOKENS, K
from search_systems import digest

from docpruner.codecs import CodecName
from docpruner.facade import Index
from docpruner.stores.locations import open_store
from docpruner.stores.records import StoredPage
from search import timed

Vectors = np.ndarray
PageId = tuple[str, int]

PATIENCE = 60.0  # seconds of searching one by one, exactly
FEWEST = 5
CLIENT_SECONDS = 10.0
NEW_PAGES, COMMITS = 3, 5


def private_mb() -> float:
    """Anonymous memory of this process: all that no file backs. The mapped index is page cache."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    (kilobytes,) = [line.split()[1] for line in lines if line.startswith("Anonymous:")]
    return int(kilobytes) / 1024


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def drop_from_page_cache(folder: Path) -> None:
    """Works as long as no process has the files mapped."""
    for path in folder.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)  # what is not on the disk yet would stay
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def percentiles(times: list[float], name: str = "") -> dict[str, float]:
    return {f"{name}p{share}_ms": float(np.percentile(times, share)) for share in (50, 95)}


def read_queries(path: str) -> list[Vectors]:
    with np.load(path) as stored:
        return [stored[f"arr_{number}"] for number in range(len(stored.files))]


def ask(index: Index, query: Vectors, *, exact: bool = False) -> list[PageId]:
    return [(hit.document, hit.page) for hit in index.search(vectors=query, k=K, exact=exact)]


# ---------------------------------------------------------------------- tasks


def build(folder: str) -> dict[str, Any]:
    """The first stage; its bytes are of all files that an index without one does not have."""
    with Index.open(folder) as index, peak_mb() as peak:
        _, spent = timed(index.renew_first_stage)
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    own = [path for path in files if path.suffix == ".rows" or path.name.startswith("catalogue")]
    return {
        "build_s": spent / 1e3,
        "build_private_mb": max(peak),
        "first_stage_bytes": sum(path.stat().st_size for path in {*files} - {*own}),
    }


@contextmanager
def peak_mb() -> Iterator[list[float]]:
    """Private memory, looked at five times a second."""
    seen, done = [private_mb()], threading.Event()

    def look() -> None:
        while not done.wait(0.2):
            seen.append(private_mb())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()


def exact(folder: str, queries: str, texts: list[str]) -> dict[str, Any]:
    """How long a scan takes for one query after another, and the right answers, in one pass."""
    with Index.open(folder) as index:
        times: list[float] = []
        for query in read_queries(queries)[: len(texts)]:
            times.append(timed(lambda query=query: ask(index, query, exact=True))[1])
            if len(times) >= FEWEST and sum(times) > 1e3 * PATIENCE:
                break
        memory = private_mb()  # without the encoder, which the next line loads
        found, together = timed(lambda: index.search_many(texts, K, exact=True))
        return {
            **percentiles(times[1:]),
            "private_mb": memory,
            "many_ms": together / len(texts),
            "best": [[(hit.document, hit.page) for hit in hits] for hits in found],
        }


def cold(folder: str, queries: str) -> dict[str, Any]:
    """Nothing of the index in memory; each query is asked once, and reads what no other has."""
    asked = read_queries(queries)
    drop_from_page_cache(Path(folder))
    index, opened = timed(lambda: Index.open(folder))
    times = [timed(lambda query=query: ask(index, query))[1] for query in asked]
    return {"cold_open_first_ms": opened + times[0], **percentiles(times[1:], "cold_")}


def warm(folder: str, queries: str) -> dict[str, Any]:
    """The index in the page cache. Timed is the second half of the queries, after the first."""
    asked = read_queries(queries)
    imported = private_mb()
    index, opened = timed(lambda: Index.open(folder))
    if index.first_stage() is None:
        raise SystemExit(f"{folder} has no first stage any more; run with --rebuild")
    both = [timed(lambda query=query: ask(index, query)) for query in asked]
    times = [spent for _, spent in both]
    return {
        "open_ms": opened,
        "first_ms": times[0],
        "open_first_ms": opened + times[0],
        **percentiles(times[len(times) // 2 :]),
        "found": [found for found, _ in both],
        "queries_a_second": {n: throughput(index, asked, n) for n in (1, 8)},
        "private_mb": private_mb(),
        "imported_mb": imported,
    }


def throughput(index: Index, queries: list[Vectors], clients: int) -> float:
    """Queries a second, of so many threads that each ask one after another."""
    end = time.perf_counter() + CLIENT_SECONDS
    done = [0] * clients

    def client(number: int) -> None:
        while time.perf_counter() < end:
            ask(index, queries[(number + done[number] * clients) % len(queries)])
            done[number] += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    _, spent = timed(lambda: ([t.start() for t in threads], [t.join() for t in threads]))
    return sum(done) / (spent / 1e3)


def commit(folder: str, queries: str, real: str, pages: int, codec: CodecName) -> dict[str, Any]:
    """New documents of three pages, and the next search of an index that is open meanwhile.

    A query is of words of the new document, which has to be the first hit.
    """
    pool, asked = RealPages.read(Path(real)), read_queries(queries)
    rounds = []
    with Index.open(folder) as index, open_store(folder) as store:
        for query in asked[:FEWEST]:
            ask(index, query)
        for turn in range(COMMITS):
            name, new = new_document(pool, pages + turn * NEW_PAGES, codec)

            def write(new: list[StoredPage] = new) -> None:
                with store.writer() as writer:
                    writer.commit(documents_of(new))

            _, written = timed(write)
            query = new[0].vectors.decode()[:TOKENS]
            hits, searched = timed(lambda query=query: ask(index, query))
            rounds.append((written, searched, bool(hits) and hits[0] == (name, 1)))
        with store.writer() as writer:
            writer.delete([new_name(pages + turn * NEW_PAGES) for turn in range(COMMITS)])
    written, searched, right = zip(*rounds, strict=True)
    return {
        "commit_ms": float(np.median(written)),
        "next_search_ms": float(np.median(searched)),
        "commit_visible_ms": float(np.median(np.add(written, searched))),
        "new_found": float(np.mean(right)),
    }


def new_name(number: int) -> str:
    return f"/documents/new-{number}.pdf"


def new_document(real: RealPages, first: int, codec: CodecName) -> tuple[str, list[StoredPage]]:
    name = new_name(first)
    made = made_pages(real, range(first, first + NEW_PAGES), codec)
    return name, [
        replace(page, document=name, number=number, content_hash=digest(f"{name}#{number}"))
        for number, page in enumerate(made, 1)
    ]


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "build": build, "exact": exact, "cold": cold, "warm": warm, "commit": commit,
}  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](**json.loads(sys.argv[2]))))

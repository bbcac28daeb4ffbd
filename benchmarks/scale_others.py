"""LanceDB's index over the pages of `scale.py`, each task in a process of its own.

python benchmarks/scale_others.py TASK '{"folder": …, …}'       # prints a line of JSON

Its index of multivectors knows the cosine only, so neither the lengths of a page's vectors nor the
weights of a query's words count, and the right answers are those of its own exact scan. Vectors are
float32, as building its index over float16 did not end. Looked at are 20 partitions (its
default), and five times as many candidates are ranked exactly as asked for (`refine_factor`).

Not here, though they do what we do: fast-plaid 1.7 is to be had for torch 2.7 to 2.11 only, whose
wheels on PyPI bring 3.8 GB of CUDA, and breaks down with a newer one without it; next-plaid is a
server in Rust, of which PyPI has the client alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow
from lancedb.index import IvfPq
from scale_corpus import BATCH, draft, vectors_of
from scale_pages import RealPages
from scale_tasks import FEWEST, PATIENCE, percentiles, private_mb, read_queries, size_of
from search_corpus import K

from search import timed

PROBES, REFINED = 20, 5


def build(folder: str, real: str, pages: int) -> dict[str, Any]:
    pool = RealPages.read(Path(real))
    batches = tables(pool, pages)
    first = next(batches)
    table = lancedb.connect(folder).create_table("pages", pyarrow.Table.from_batches([first]))
    table.add(pyarrow.RecordBatchReader.from_batches(first.schema, batches))
    config = IvfPq(distance_type="cosine", num_sub_vectors=pool.dim // 4)
    _, spent = timed(lambda: table.create_index("vectors", config=config))
    return {"build_s": spent / 1e3, "bytes_per_page": size_of(Path(folder)) / pages}


def tables(real: RealPages, pages: int) -> Iterator[pyarrow.RecordBatch]:
    for first in range(0, pages, BATCH):
        numbers = range(first, min(first + BATCH, pages))
        drafts = [draft(real, number) for number in numbers]
        values = pyarrow.array(vectors_of(real, drafts).reshape(-1))
        offsets = np.cumsum([0, *map(len, drafts)])
        vectors = pyarrow.ListArray.from_arrays(
            pyarrow.array(offsets, pyarrow.int32()),
            pyarrow.FixedSizeListArray.from_arrays(values, real.dim),
        )
        yield pyarrow.RecordBatch.from_pydict({"id": pyarrow.array(numbers), "vectors": vectors})


def warm(folder: str, queries: str) -> dict[str, Any]:
    """As `scale_tasks.warm`; beside it the exact scan of as many queries as there is time for."""
    asked = read_queries(queries)
    table, opened = timed(lambda: lancedb.connect(folder).open_table("pages"))
    both = [timed(lambda query=query: ask(table, query)) for query in asked]
    times = [spent for _, spent in both]
    memory = private_mb()
    same: list[float] = []
    scans: list[float] = []
    for query, (found, _) in zip(asked, both, strict=True):
        best, spent = timed(lambda query=query: ask(table, query, exact=True))
        scans.append(spent)
        same.append(len(set(found) & set(best)) / K)
        if len(scans) >= FEWEST and sum(scans) > 1e3 * PATIENCE:
            break
    return {
        "open_ms": opened,
        "first_ms": times[0],
        "open_first_ms": opened + times[0],
        **percentiles(times[len(times) // 2 :]),
        "exact_p50_ms": float(np.median(scans)),
        "recall10": float(np.mean(same)),
        "recall_queries": len(same),
        "private_mb": memory,
    }


def ask(table: Any, query: np.ndarray, *, exact: bool = False) -> list[int]:
    asked = table.search(query, vector_column_name="vectors").distance_type("cosine").limit(K)
    asked = asked.bypass_vector_index() if exact else asked.nprobes(PROBES).refine_factor(REFINED)
    return [row["id"] for row in asked.select(["id", "_distance"]).to_list()]


TASKS: dict[str, Callable[..., dict[str, Any]]] = {"build": build, "warm": warm}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](**json.loads(sys.argv[2]))))

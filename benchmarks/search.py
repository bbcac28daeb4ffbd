"""Opening and searching an index: ours beside embedded stores that can do MaxSim, all exact.

    pip install -r benchmarks/requirements.txt      # for the competitors
    python benchmarks/search.py [--pages 2000 10000] [--folder KEPT]

Synthetic pages, the same for all, shaped like those of the built-in encoder: words in lines, on
average 400 a page (log-normal, σ 0.6), exponential importances, of which docpruner:k=-0.25 keeps
about 47 %, so some 190 vectors of 128 numbers. They gather around 4,000 shared topics, so that many
pages resemble each other. A query is 20 blurred vectors of one page, the right one; k is 10. Our
index also holds, as it does in real life, the box and the importance of every word, pruned or
not, and each hit says where on the page the answer is; the others hold vectors, path and number.

Each system is built once and measured in a process of its own, with its files in the page cache.
"open" and the resident memory begin after the import of its modules, which is timed apart. Of
resident memory only the private part is lost to others; the rest is the page cache, mapped.
"same top 10" and "right 1st" compare with float32 scores; slow systems get fewer queries.

The machine limit is one reading of all vectors of our index on all cores: no exact search
of it can be faster. Memory is measured on Linux only. The last line is JSON.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

DIM, TOPICS, TOKENS, K = 128, 4000, 20, 10
PATCHES, SPREAD = 400, 0.6
SPEC = "docpruner:k=-0.25"
PAGES_A_DOCUMENT, BATCH = 20, 200
BLUR_OF_PAGES, BLUR_OF_QUERIES = 0.06, 0.12
QUERIES, FEWEST, PATIENCE = 50, 5, 60.0  # seconds after which a system gets no more queries
GRID = (32, 24)
OURS = "docpruner"

Search = Callable[[int], list[int]]  # from the number of a query to its pages, the best first


@dataclass(frozen=True)
class Pages:
    """A batch of pages: their vectors one after another, and ours also as records."""

    numbers: range
    vectors: np.ndarray  # float32
    offsets: np.ndarray
    embeddings: list[Any]
    reductions: list[Any]


@dataclass(frozen=True)
class System:
    """A contender; `open` gives a way to search what `build` has written."""

    module: str
    build: Callable[[Path, Iterable[Pages]], None]
    open: Callable[[Path, list[np.ndarray]], Search]


# ---------------------------------------------------------------------- the corpus


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def topics() -> np.ndarray:
    return unit(np.random.default_rng(0).normal(size=(TOPICS, DIM)))


def word_boxes(rng: np.random.Generator, count: int) -> np.ndarray:
    """Lines of words, as a text layer has them: letters rise and fall by different amounts."""
    widths = rng.uniform(0.02, 0.11, count)
    line, left = np.divmod(np.cumsum(widths + 0.008) - widths, 0.8)
    pitch = 0.9 / (line[-1] + 1)
    top = 0.05 + line * pitch + rng.choice([0.1, 0.2, 0.3], count) * pitch
    bottom = 0.05 + line * pitch + rng.choice([0.7, 0.8], count) * pitch
    return np.stack([0.05 + left, top, 0.05 + left + widths, bottom], 1).clip(0, 1)


def page(number: int, around: np.ndarray) -> tuple[Any, Any]:
    """A page as an encoder gives it, and what is left of it: the same at every call."""
    from docpruner.index.page_map import rounded_importance
    from docpruner.reduce import reducer
    from docpruner.types import PageEmbedding

    rng = np.random.default_rng((1, number))
    mean = np.log(PATCHES) - SPREAD**2 / 2
    count = int(np.clip(rng.lognormal(mean, SPREAD), 10, 3000))
    noise = BLUR_OF_PAGES * rng.standard_normal((count, DIM), np.float32)
    boxes = word_boxes(rng, count)
    row, column = ((boxes[:, [1, 0]] + boxes[:, [3, 2]]) / 2 * GRID).astype(np.int32).T
    encoded = PageEmbedding(
        name=f"{number}",
        vectors=unit(around[rng.integers(0, TOPICS, count)] + noise),
        importance=rng.exponential(size=count),
        grid=GRID,
        cells=np.minimum(row, GRID[0] - 1) * GRID[1] + np.minimum(column, GRID[1] - 1),
        boxes=boxes,
    )
    encoded = replace(encoded, importance=rounded_importance(encoded))
    return encoded, reducer(SPEC)(encoded)


def corpus(count: int) -> Iterator[Pages]:
    around = topics()
    numbers = iter(range(count))
    while some := list(islice(numbers, BATCH)):
        embeddings, reductions = zip(*(page(number, around) for number in some), strict=True)
        vectors = [reduction.vectors for reduction in reductions]
        yield Pages(
            range(some[0], some[-1] + 1),
            np.concatenate(vectors),
            np.cumsum([0, *map(len, vectors)]),
            list(embeddings),
            list(reductions),
        )


def questions(count: int) -> tuple[list[int], list[np.ndarray]]:
    """The right page of each query, and the query."""
    rng, around = np.random.default_rng(2), topics()
    right = rng.integers(0, count, QUERIES).tolist()
    queries = []
    for number in right:
        kept = page(number, around)[1].vectors
        tokens = kept[rng.integers(0, len(kept), TOKENS)]
        queries.append(unit(tokens + BLUR_OF_QUERIES * rng.normal(size=tokens.shape)))
    return right, queries


def truth(folder: Path, count: int) -> dict[str, Any]:
    """The best pages of each query by float32 vectors, and how many vectors there are.

    Leaves the queries themselves in a file, so that asking them takes nothing but reading it.
    """
    from docpruner.maxsim import score_pages

    right, queries = questions(count)
    np.save(folder.with_suffix(".npy"), queries)
    scores, vectors = [], 0
    for batch in corpus(count):
        scores.append(score_pages(queries, batch.vectors, batch.offsets))
        vectors += len(batch.vectors)
    best = np.argsort(-np.concatenate(scores, axis=1), axis=1, kind="stable")[:, :K]
    return {"right": right, "best": best.tolist(), "vectors": vectors}


def path_of(number: int) -> str:
    return f"/documents/report-{number // PAGES_A_DOCUMENT:05d}.pdf"


# ---------------------------------------------------------------------- docpruner


class GivenQueries:
    """Stands for an encoder: a query's text is its number, its vectors are known."""

    name, dim, prompt, pixels = "benchmark", DIM, "default", None

    def __init__(self, queries: list[np.ndarray]) -> None:
        self._queries = queries

    def query_words(self, text: str) -> list[str]:
        return [text] * TOKENS

    def encode_queries(self, texts: list[str]) -> list[np.ndarray]:
        return [self._queries[int(text)] for text in texts]


def build_ours(folder: Path, batches: Iterable[Pages], codec: str) -> None:
    from docpruner.index.records import DocumentPages, FileRecord
    from docpruner.index.settings import Settings
    from docpruner.index.store import PageStore

    settings = Settings.new("benchmark", DIM, SPEC, codec)
    with PageStore.create(folder, settings) as store, store.writer() as writer:
        for batch in batches:
            documents: dict[str, list[Any]] = {}
            for place, number in enumerate(batch.numbers):
                record = record_of(number, batch.embeddings[place], batch.reductions[place], codec)
                documents.setdefault(path_of(number), []).append(record)
            writer.commit(
                [
                    DocumentPages(
                        FileRecord(path, digest(path), 0, 100_000, len(pages)), pages, True
                    )
                    for path, pages in documents.items()
                ]
            )


def digest(text: str) -> bytes:
    """In place of the hash of a file or a page."""
    return hashlib.sha256(text.encode()).digest()


def record_of(number: int, embedding: Any, reduction: Any, codec: str) -> Any:
    from docpruner.codecs import encode
    from docpruner.index.page_map import map_of, pack
    from docpruner.index.records import PageRecord

    return PageRecord(
        number=number % PAGES_A_DOCUMENT + 1,
        size=(595.0, 842.0),
        content=digest(str(number)),
        words_from="text layer",
        rows=encode(reduction.vectors, codec).rows,
        special=0,
        patches=reduction.page_patches,
        map=pack(map_of(embedding, reduction)),
    )


def open_ours(folder: Path, queries: list[np.ndarray]) -> Search:
    from docpruner.facade import Index

    index = Index.open(folder, encoder=GivenQueries(queries))

    def search(query: int) -> list[int]:
        return [number_of(hit.document, hit.page) for hit in index.search(str(query), K)]

    return search


def number_of(path: str, page: int) -> int:
    return int(path[-9:-4]) * PAGES_A_DOCUMENT + page - 1


# ---------------------------------------------------------------------- the others


def build_qdrant(folder: Path, batches: Iterable[Pages]) -> None:
    from qdrant_client import QdrantClient
    from qdrant_client.models import (
        Distance,
        MultiVectorComparator,
        MultiVectorConfig,
        PointStruct,
        VectorParams,
    )

    client = QdrantClient(path=str(folder))
    maxsim = MultiVectorConfig(comparator=MultiVectorComparator.MAX_SIM)
    vectors = VectorParams(size=DIM, distance=Distance.DOT, multivector_config=maxsim)
    client.create_collection("pages", vectors_config=vectors)
    for batch in batches:
        points = [
            PointStruct(
                id=number,
                vector=reduction.vectors.tolist(),
                payload={"path": path_of(number), "page": number % PAGES_A_DOCUMENT + 1},
            )
            for number, reduction in zip(batch.numbers, batch.reductions, strict=True)
        ]
        client.upsert("pages", points)
    client.close()


def open_qdrant(folder: Path, queries: list[np.ndarray]) -> Search:
    from qdrant_client import QdrantClient

    client = QdrantClient(path=str(folder))

    def search(query: int) -> list[int]:
        found = client.query_points("pages", query=queries[query].tolist(), limit=K).points
        return [point.id for point in found]

    return search


def build_lance(folder: Path, batches: Iterable[Pages], dtype: str) -> None:
    import lancedb
    import pyarrow

    def tables() -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            numbers = pyarrow.array(batch.vectors.astype(dtype).reshape(-1))
            vectors = pyarrow.FixedSizeListArray.from_arrays(numbers, DIM)
            columns = {
                "id": pyarrow.array(batch.numbers),
                "path": [path_of(number) for number in batch.numbers],
                "page": [number % PAGES_A_DOCUMENT + 1 for number in batch.numbers],
                "vectors": pyarrow.ListArray.from_arrays(
                    pyarrow.array(batch.offsets, pyarrow.int32()), vectors
                ),
            }
            yield pyarrow.RecordBatch.from_pydict(columns)

    batched = tables()
    first = next(batched)
    table = lancedb.connect(folder).create_table("pages", pyarrow.Table.from_batches([first]))
    table.add(pyarrow.RecordBatchReader.from_batches(first.schema, batched))


def open_lance(folder: Path, queries: list[np.ndarray], dtype: str) -> Search:
    import lancedb

    table = lancedb.connect(folder).open_table("pages")

    def search(query: int) -> list[int]:
        vectors = queries[query].astype(dtype)
        asked = table.search(vectors, vector_column_name="vectors").distance_type("dot").limit(K)
        return [row["id"] for row in asked.select(["id", "path", "page", "_distance"]).to_list()]

    return search


SYSTEMS = {
    "docpruner int8": System("docpruner.facade", partial(build_ours, codec="int8"), open_ours),
    "docpruner float16": System(
        "docpruner.facade", partial(build_ours, codec="float16"), open_ours
    ),
    "qdrant local": System("qdrant_client", build_qdrant, open_qdrant),
    "lancedb float16": System(
        "lancedb", partial(build_lance, dtype="float16"), partial(open_lance, dtype="float16")
    ),
    "lancedb float32": System(
        "lancedb", partial(build_lance, dtype="float32"), partial(open_lance, dtype="float32")
    ),
}
BYTES_A_NUMBER = {"docpruner int8": 130 / DIM, "docpruner float16": 2}


# ---------------------------------------------------------------------- measuring, in a child


def resident() -> dict[str, float]:
    """Memory of this process in MB: all that is resident, and what of it is private."""
    status = Path("/proc/self/status")
    if not status.exists():
        return {"all": float("nan"), "private": float("nan")}
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    kept = {"all": "VmRSS", "private": "RssAnon"}
    return {name: int(lines[key].split()[0]) / 1024 for name, key in kept.items()}


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, 1e3 * (time.perf_counter() - start)


def measure(name: str, folder: Path) -> dict[str, Any]:
    system, queries = SYSTEMS[name], list(np.load(folder.parent / "truth.npy"))
    importlib.import_module(system.module)
    before = resident()
    search, open_ms = timed(lambda: system.open(folder, queries))
    opened = resident()
    found, times = [], []
    begun = time.perf_counter()
    for query in range(QUERIES):
        result, spent = timed(lambda query=query: search(query))
        found.append(result)
        times.append(spent)
        if len(found) >= FEWEST and time.perf_counter() - begun > PATIENCE:
            break
    later = times[1:]
    return {
        "open_ms": open_ms,
        "first_ms": times[0],
        "p50_ms": float(np.percentile(later, 50)),
        "p95_ms": float(np.percentile(later, 95)),
        "queries": len(times),
        "found": found,
        "resident_mb": {"imported": before, "opened": opened, "searched": resident()},
        "read_ms": reading_ms(folder) if name.startswith(OURS) else None,
    }


def reading_ms(folder: Path, rounds: int = 9) -> float:
    """The best time to read the vectors of an index once, from the page cache, on all cores."""
    from docpruner.cores import usable_cores

    cores = usable_cores()
    files = [np.memmap(path, np.uint8, "r") for path in (folder / "segments").glob("*.rows")]
    parts = [part for file in files for part in np.array_split(file, cores)]
    with ThreadPoolExecutor(cores) as pool:
        return min(timed(lambda: list(pool.map(np.max, parts)))[1] for _ in range(rounds))


def build(name: str, folder: Path, pages: int) -> dict[str, Any]:
    _, spent = timed(lambda: SYSTEMS[name].build(folder, corpus(pages)))
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {"build_s": spent / 1e3, "bytes": sum(path.stat().st_size for path in files)}


def limit_memory(share: float = 0.75) -> None:
    """A system that wants more than this share of the machine fails, and the machine goes on."""
    try:
        import resource

        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_DATA, (int(memory * share),) * 2)
    except (ImportError, ValueError):
        return  # not on this platform


def child(task: str, name: str, folder: Path, pages: int) -> dict[str, Any]:
    limit_memory()
    if task == "truth":
        return truth(folder, pages)
    return build(name, folder, pages) if task == "build" else measure(name, folder)


# ---------------------------------------------------------------------- the parent


class FailedError(Exception):
    """A child did not do what it was to do; the text says why, in a line."""


def in_child(task: str, name: str, folder: Path, pages: int, limit: float) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", task, name, str(folder), str(pages)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise FailedError(f"{task}: not done after {limit:.0f} s") from None
    if done.returncode:
        told = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise FailedError(f"{task}: exit code {done.returncode}, {told[:200]}")
    return json.loads(done.stdout.splitlines()[-1])


def kept(task: str, name: str, folder: Path, pages: int, limit: float) -> dict[str, Any]:
    """As `in_child`, unless an earlier run has left its result in the folder.

    Ours is always built anew: it is what changes.
    """
    result = folder.with_suffix(".json")
    if name.startswith(OURS) or not result.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        result.write_text(json.dumps(in_child(task, name, folder, pages, limit)))
    return json.loads(result.read_text())


def into_page_cache(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                while file.read(1 << 24):
                    pass


def import_ms(module: str) -> float:
    """Of a module, in a process that has nothing yet; an ImportError is a FailedError."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode:
        raise FailedError(done.stderr.strip().splitlines()[-1])
    return 1e3 * float(done.stdout.split()[-1])


def compare(name: str, folder: Path, pages: int, limit: float) -> dict[str, Any]:
    """Everything about one system at one size, or why there is nothing."""
    try:
        known = kept("truth", "-", folder / "truth", pages, limit)
        imported = min(import_ms(SYSTEMS[name].module) for _ in range(3))
        place = folder / name.replace(" ", "-")
        built = kept("build", name, place, pages, limit)
        into_page_cache(place)
        found = in_child("measure", name, place, pages, limit)
    except FailedError as error:
        return {"failed": str(error)}
    tops = found.pop("found")
    same = [len(set(top) & set(best)) / K for top, best in zip(tops, known["best"], strict=False)]
    first = [top[0] == right for top, right in zip(tops, known["right"], strict=False)]
    return {
        "import_ms": imported,
        **found,
        "right_first": float(np.mean(first)),
        "same_top10": float(np.mean(same)),
        "build_s": built["build_s"],
        "bytes_per_page": built["bytes"] / pages,
        "bytes": built["bytes"],
        "vectors": known["vectors"],
    }


COLUMNS = {
    "import, ms": lambda row: f"{row['import_ms']:,.0f}",
    "open, ms": lambda row: f"{row['open_ms']:,.1f}",
    "1st query, ms": lambda row: f"{row['first_ms']:,.0f}",
    "p50, ms": lambda row: f"{row['p50_ms']:,.1f}",
    "p95, ms": lambda row: f"{row['p95_ms']:,.1f}",
    "queries": lambda row: f"{row['queries']}",
    "bytes a page": lambda row: f"{row['bytes_per_page']:,.0f}",
    "MB opened": lambda row: memory(row, "opened"),
    "MB searched": lambda row: memory(row, "searched"),
    "right 1st": lambda row: f"{row['right_first']:.0%}",
    "same top 10": lambda row: f"{row['same_top10']:.1%}",
    "build, s": lambda row: f"{row['build_s']:,.0f}",
}


def memory(row: dict[str, Any], when: str) -> str:
    """How much the resident memory has grown since the modules were imported."""
    now, start = row["resident_mb"][when], row["resident_mb"]["imported"]
    return "/".join(f"+{now[kind] - start[kind]:,.0f}" for kind in ("all", "private"))


def report(pages: int, rows: dict[str, dict[str, Any]]) -> None:
    vectors = next((row["vectors"] for row in rows.values() if "vectors" in row), 0)
    title = f"{pages:,} pages, {vectors:,} vectors; MB: all resident/private, since the import"
    table = Table(title=title, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("system", no_wrap=True)
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for name, row in rows.items():
        cells = ["failed"] if "failed" in row else [cell(row) for cell in COLUMNS.values()]
        table.add_row(name, *cells, style="bold" if name == "docpruner int8" else "")
    lines = [f"{name}: {row['failed']}" for name, row in rows.items() if "failed" in row]
    for name, width in BYTES_A_NUMBER.items():
        row = rows.get(name, {"failed": ""})
        if "failed" not in row:
            bound = row["bytes_bound"] = 1.03 * vectors * DIM * width + 6 * 1024 * pages
            grown = row["resident_mb"]["opened"]["all"] - row["resident_mb"]["imported"]["all"]
            lines += [
                f"{name}: opens in {row['open_ms']:.1f} ms (aim: 200) after {row['import_ms']:.0f} "
                f"ms of imports, and takes {grown:.1f} MB more",
                f"  {row['bytes']:,} bytes; 1.03 × vectors + 6 KB a page would be {bound:,.0f}: "
                f"{row['bytes'] / bound:.0%} of it",
                f"  machine limit {row['read_ms']:.1f} ms to read the vectors once; p50 is "
                f"{row['p50_ms'] / row['read_ms']:.1f} × that",
            ]
    console = Console(width=max(170, Console().width))
    console.print(table, *lines, sep="\n", highlight=False)


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    return round(value, 3) if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, nargs="+", default=[2000, 10000])
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--folder", type=Path, help="keeps what others have built for another run")
    parser.add_argument("--limit", type=float, default=600, help="seconds to build, and to measure")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        task, name, folder, pages = given.child
        print(json.dumps(child(task, name, Path(folder), int(pages))))
        return
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for pages in given.pages:
            folder = (given.folder or Path(temporary)).absolute() / str(pages)
            rows = {n: compare(n, folder, pages, given.limit) for n in given.systems}
            report(pages, rows)
            results[f"{pages}"] = rows
    print(json.dumps(rounded(results)))


if __name__ == "__main__":
    main()

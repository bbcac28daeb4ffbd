"""Search of many pages by a first stage, beside the exact scan and LanceDB's index.

    python benchmarks/scale.py --cache CACHE --work WORK [--data FOLDER] [--pages 10000 100000]

The pages are real ones, encoded by the built-in encoder (`--edition`), and beyond these copies of
real ones with words dropped, exchanged and blurred (`scale_corpus.py` says how), pruned by
docpruner:k=-0.25 and stored in 2 bits a number unless `--codec` says otherwise. Queries are those
of `--data`, a folder as `docpruner evaluate` takes it; without one, headings and sentences of real
pages, half of each.
A million pages (`--pages 1000000`) take about 10 GB, and up to an hour to make, once.

Each row is measured in processes of its own, searching by vectors: encoding a query is timed apart.

- first stage: `search(exact=False)`; recall@10 is the share of the exact ten best that it finds, of
  all queries, or of 100 from a million pages on.
- exact: `search(exact=True)`, one query after another, and together by `search_many`.
- warm: all files in the page cache, p50 and p95 of the second half of the queries.
- cold: the index dropped from the page cache, a fresh process, each query once.
- private: what no file backs (`Anonymous` of smaps_rollup), of the whole process, after eight
  clients have searched. What is mapped of the index is page cache, which is not counted.
- commit: a new document of three encoded pages until it is on the disk, then the next search of an
  index that was open all the time, which has to find it; the median of five.

The first stage and the exact answers are kept beside the index for another run; `--rebuild` makes
them anew.

LanceDB (pip install -r benchmarks/requirements.txt) is asked up to `--others` pages; see
`scale_others.py`, also for who is missing. The last line is JSON, of the largest size.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scale_corpus import add_options, load, place_of
from scale_pages import RealPages, real_pages
from scale_questions import questions, write_queries
from scale_tasks import size_of

from search import FailedError, into_page_cache, rounded, said_by

HERE = Path(__file__).parent
MILLION, FEW_QUERIES = 1_000_000, 100

AIMS: dict[int, dict[str, float]] = {  # at most, at so many pages; recall at least
    100_000: {"p50_ms": 25},
    MILLION: {
        "p50_ms": 100, "recall10": 0.98, "private_mb": 1500, "open_first_ms": 1000,
        "commit_visible_ms": 500,
    },
}  # fmt: skip
MOST_GROWTH = 3.0  # of p50, from 100,000 to a million pages
TOLD = (
    "pages", "p50_ms", "p95_ms", "exact_p50_ms", "recall10", "open_first_ms", "private_mb",
    "commit_visible_ms", "bytes_per_page",
)  # fmt: skip


def in_child(script: str, task: str, limit: float | None = None, **given: Any) -> dict[str, Any]:
    print(f"{given['folder']}: {task} …", file=sys.stderr, flush=True)
    command = [sys.executable, str(HERE / script), task, json.dumps(given)]
    return said_by(command, task, limit)


def kept(result: Path, work: Callable[[], dict[str, Any]], *, anew: bool = False) -> dict[str, Any]:
    """What takes long and stays as it is: from an earlier run, if it has left it."""
    if anew or not result.exists():
        result.write_text(json.dumps(work()))
    return json.loads(result.read_text())


# ---------------------------------------------------------------------- ours


def ours(
    folder: Path, real: RealPages, pages: int, queries: Path, texts: list[str], given: Any
) -> dict[str, Any]:
    """Everything about our index of one size."""
    load(folder, real, pages, given.codec)
    task, asked = "scale_tasks.py", {"folder": str(folder), "queries": str(queries)}
    some = texts if pages < MILLION else texts[:FEW_QUERIES]
    built = kept(
        folder.with_suffix(".first-stage.json"),
        lambda: in_child(task, "build", folder=str(folder)),
        anew=given.rebuild,
    )
    into_page_cache(folder)
    best = kept(
        folder.with_suffix(f".{queries.stem}.json"),
        lambda: in_child(task, "exact", **asked, texts=some),
        anew=given.rebuild,
    )
    warm = in_child(task, "warm", **asked)
    cold = in_child(task, "cold", **asked)
    into_page_cache(folder)
    of_new = {"real": str(real.folder), "pages": pages, "codec": given.codec}
    new = in_child(task, "commit", **asked, **of_new)
    return {
        "pages": pages,
        "bytes_per_page": size_of(folder) / pages,
        "exact_p50_ms": best["p50_ms"],
        "exact_p95_ms": best["p95_ms"],
        "exact_many_ms": best["many_ms"],
        "exact_private_mb": best["private_mb"],
        "recall10": recall(warm.pop("found"), best["best"]),
        "recall_queries": len(best["best"]),
        **built,
        **warm,
        **cold,
        **new,
    }


def recall(found: list[list[Any]], best: list[list[Any]]) -> float:
    """The share of the best ten that were found; `best` may be of fewer queries."""
    shares = [
        len({*map(tuple, top)} & {*map(tuple, right)}) / len(right)
        for top, right in zip(found, best, strict=False)
    ]
    return float(np.mean(shares))


# ---------------------------------------------------------------------- LanceDB


def lance(folder: Path, real: RealPages, pages: int, queries: Path, limit: float) -> dict[str, Any]:
    if importlib.util.find_spec("lancedb") is None:
        return {"failed": "not installed"}

    def build() -> dict[str, Any]:
        shutil.rmtree(folder, ignore_errors=True)
        given = {"folder": str(folder), "real": str(real.folder), "pages": pages}
        return in_child("scale_others.py", "build", limit, **given)

    try:
        built = kept(folder.with_suffix(".json"), build)
        into_page_cache(folder)
        given = {"folder": str(folder), "queries": str(queries)}
        return {**built, **in_child("scale_others.py", "warm", limit, **given)}
    except FailedError as error:
        return {"failed": str(error)}


# ---------------------------------------------------------------------- telling


COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "bytes a page": ("bytes_per_page", "{:,.0f}".format),
    "build, s": ("build_s", "{:,.0f}".format),
    "build, MB": ("build_private_mb", "{:,.0f}".format),
    "open, ms": ("open_ms", "{:,.1f}".format),
    "1st query": ("first_ms", "{:,.0f}".format),
    "p50, ms": ("p50_ms", "{:,.1f}".format),
    "p95": ("p95_ms", "{:,.1f}".format),
    "cold 1st": ("cold_open_first_ms", "{:,.0f}".format),
    "cold p50": ("cold_p50_ms", "{:,.0f}".format),
    "cold p95": ("cold_p95_ms", "{:,.0f}".format),
    "recall@10": ("recall10", "{:.3f}".format),
    "private MB": ("private_mb", "{:,.0f}".format),
    "1/8 clients, q/s": ("queries_a_second", lambda n: f"{n['1']:,.1f}/{n['8']:,.1f}"),
    "commit, ms": ("commit_ms", "{:,.0f}".format),
    "next search": ("next_search_ms", "{:,.0f}".format),
}


def report(console: Console, row: dict[str, Any], other: dict[str, Any] | None) -> None:
    table = Table(title=f"{row['pages']:,} pages", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("system", no_wrap=True)
    for column in COLUMNS:
        table.add_column(column, justify="right")
    scan = {name: row[f"exact_{name}"] for name in ("p50_ms", "p95_ms", "private_mb")}
    rows = {"first stage": row, "exact scan": scan, "LanceDB IVF_PQ": other or {}}
    for name, values in rows.items():
        cells = [told(values[key]) if key in values else "" for key, told in COLUMNS.values()]
        if any(cells):
            table.add_row(name, *cells, style="bold" if values is row else "")
    console.print(table)
    console.print(
        f"first stage: {row['first_stage_bytes'] / row['pages']:,.0f} of the bytes a page; recall "
        f"of {row['recall_queries']} queries; the new document came first {row['new_found']:.0%} "
        f"of the time. exact scan of all queries together: {row['exact_many_ms']:,.1f} ms a query"
    )
    if other and "failed" in other:
        console.print(f"LanceDB: {other['failed']}")
    elif other:
        console.print(
            f"LanceDB: its exact scan {other['exact_p50_ms']:,.0f} ms; recall against it, of "
            f"{other['recall_queries']} queries"
        )


def aims(console: Console, rows: list[dict[str, Any]]) -> None:
    by_size = {row["pages"]: row for row in rows}
    for pages, wanted in AIMS.items():
        for name, bound in wanted.items():
            if pages in by_size:
                got = by_size[pages][name]
                good = got >= bound if name == "recall10" else got <= bound
                console.print(f"{pages:,} {name}: {got:,.3g}, aim {bound:g}, {verdict(good)}")
    if {100_000, MILLION} <= by_size.keys():
        growth = by_size[MILLION]["p50_ms"] / by_size[100_000]["p50_ms"]
        good = growth <= MOST_GROWTH
        console.print(f"p50 grows {growth:.2f} ×, aim {MOST_GROWTH:g}, {verdict(good)}")


def verdict(good: bool) -> str:
    return "reached" if good else "missed"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    parser.add_argument("--others", type=int, default=10_000, help="pages LanceDB may get")
    parser.add_argument("--rebuild", action="store_true", help="measure also what is kept")
    parser.add_argument("--limit", type=float, default=1800, help="seconds it may take to build")
    given = parser.parse_args()
    console = Console(width=max(190, Console().width), highlight=False)
    real = real_pages(given.cache, given.data, given.edition)
    texts = questions(real, given.data)
    queries = given.work / f"queries-{given.data.name if given.data else 'own'}.npz"
    encoding = write_queries(queries, texts, given.edition)
    console.print(
        f"{len(real):,} real pages, {len(texts)} queries, {encoding:.1f} ms to encode one"
    )
    rows = []
    for pages in sorted(given.pages):
        folder = place_of(given.work, pages, given.codec)
        rows.append(ours(folder, real, pages, queries, texts, given))
        place, other = given.work / f"{pages}-lancedb", None
        if pages <= given.others:
            other = lance(place, real, pages, queries, given.limit)
        report(console, rows[-1], other)
    aims(console, rows)
    print(json.dumps(rounded({name: rows[-1][name] for name in TOLD})))


if __name__ == "__main__":
    main()

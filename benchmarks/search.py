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
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from search_corpus import DIM, QUERIES, K, corpus, truth
from search_systems import BYTES_A_NUMBER, SYSTEMS

FEWEST, PATIENCE = 5, 60.0  # seconds after which a system gets no more queries
OURS = "docpruner"


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
    return said_by(command, task, limit)


def said_by(command: list[str], task: str, limit: float | None) -> dict[str, Any]:
    """The JSON in the last line of a child."""
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

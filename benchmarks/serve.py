"""`docpruner serve` as somebody at the page sees it: how long from Enter to the hits on the screen.

    python benchmarks/serve.py [DATA] [--pages 1000] [--queries 40]

DATA is a folder as `docpruner evaluate` takes it, with pdfs/ and queries.jsonl; without one, the
sample documents, copied until there are enough pages. Indexes them with the built-in encoder and
the defaults, starts the server and asks in headless Chromium (Debian: apt-get install chromium),
every query once. Times are the browser's own, in milliseconds after the key went down:

- hits: names, scores and places of the hits are painted;
- words: also the words that matched, which are read from the files;
- picture: the first thumbnail is painted.

Nothing is cached for a query that was never asked, except what the operating system keeps of the
files. "again" asks the same queries once more. Needs playwright. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

import docpruner
from docpruner import Index
from docpruner.pages.document import open_document

SAMPLES = Path(docpruner.__file__).parent / "samples"
AIM = 300.0  # milliseconds until hits are on the screen

WATCH = """
addEventListener("keydown", (event) => {
  if (event.key === "Enter") window.asked = { at: performance.now(), cleared: false };
}, true);
const mark = (name) => {
  const asked = window.asked;
  if (asked[name] === undefined) {
    asked[name] = null;
    requestAnimationFrame(() => setTimeout(() => { asked[name] = performance.now() - asked.at; }));
  }
};
const look = () => {
  const { asked } = window;
  const hits = document.querySelectorAll("#hits a").length;
  if (!asked) return;
  asked.cleared ||= hits === 0;
  if (!asked.cleared || hits === 0) return;
  mark("hits");
  if (document.querySelector("#hits :is(.snippet, .matched):not(:empty)")) mark("words");
  if (document.querySelector("#hits .loaded")) mark("picture");
};
new MutationObserver(look).observe(document, {
  subtree: true, childList: true, attributes: true, attributeFilter: ["class"],
});
"""
DONE = """() => ["hits", "words", "picture"].every(
  (name) => typeof window.asked?.[name] === "number")"""
NAMES = ("hits", "words", "picture")


def sample_files(folder: Path, pages: int) -> Iterator[Path]:
    """Copies of the sample documents: as many files as a real folder, though of few kinds."""
    there = [path for path in sorted(SAMPLES.iterdir()) if path.suffix in {".pdf", ".png", ".tiff"}]
    for copy in range(pages):
        for path in there:
            made = folder / f"{path.stem}-{copy}{path.suffix}"
            shutil.copy(path, made)
            yield made


def enough(files: Iterator[Path], pages: int) -> list[Path]:
    """The first files that have so many pages together."""
    chosen, count = [], 0
    for path in files:
        with open_document(path) as document:
            count += document.count
        chosen.append(path)
        if count >= pages:
            break
    return chosen


def questions(data: Path, count: int) -> list[str]:
    with (data / "queries.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in islice(lines, count)]


@contextmanager
def served(index: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "docpruner", "serve", str(index), "--port", "0", "--no-token"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split(" at ")[-1].split(" (")[0]
        finally:
            server.terminate()


def ask(page: Page, question: str) -> dict[str, float]:
    page.fill("#q", question)
    page.keyboard.press("Enter")
    page.wait_for_function(DONE)
    page.wait_for_load_state("networkidle")
    times: dict[str, float] = page.evaluate("window.asked")
    return {name: times[name] for name in NAMES}


def ask_all(address: str, queries: list[str]) -> dict[str, list[dict[str, float]]]:
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script(WATCH)
        page.goto(address)
        page.wait_for_load_state("networkidle")
        first = [ask(page, query) for query in queries]
        page.goto("about:blank")  # another visit: the browser's own memory of hits is gone
        page.goto(address)
        page.wait_for_load_state("networkidle")
        again = [ask(page, query) for query in queries]
        browser.close()
    return {"first": first, "again": again}


def summed(times: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    summary = {}
    for name in NAMES:
        values = np.array([each[name] for each in times])
        p50, p95 = np.percentile(values, (50, 95))
        summary[name] = {"p50": float(p50), "p95": float(p95), "most": float(values.max())}
    return summary


def measure(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    data = SAMPLES if given.data is None else given.data
    if given.data is None:
        (folder / "files").mkdir()
        source = sample_files(folder / "files", given.pages)
    else:
        source = iter(sorted((data / "pdfs").iterdir()))
    with Index.create(folder / "index") as index:
        index.add(enough(source, given.pages))
        pages = index.stats().pages
    queries = list(dict.fromkeys(questions(data, given.queries)))
    with served(folder / "index") as address:
        times = ask_all(address, queries)
    about = {"data": data.name, "pages": pages, "queries": len(queries), "aim_ms": AIM}
    return about | {when: summed(each) for when, each in times.items()}


def report(result: dict[str, Any]) -> None:
    title = f"{result['data']}: {result['pages']:,} pages, {result['queries']} queries, ms"
    table = Table(title=title)
    for column in ("asked", "on the screen", "p50", "p95", "most"):
        table.add_column(
            column, justify="left" if column in ("asked", "on the screen") else "right"
        )
    for when in ("first", "again"):
        for name, values in result[when].items():
            table.add_row(when, name, *(f"{value:,.0f}" for value in values.values()))
    console = Console()
    console.print(table)
    most = result["first"]["hits"]["most"]
    console.print(f"Hits are on the screen within {most:.0f} ms at most (aim: {AIM:.0f})")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=40)
    with tempfile.TemporaryDirectory() as folder:
        result = measure(parser.parse_args(), Path(folder))
    report(result)
    print(json.dumps(result))


if __name__ == "__main__":
    main()

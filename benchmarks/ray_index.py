"""What a Ray cluster costs on one machine, and what a second device brings.

    python benchmarks/ray_index.py [--pages 400] [--milliseconds 80]

Real PDFs are read, encoded by the built-in encoder, pruned and written to a folder: here, on a Ray
node with two processors, and on two nodes with one each, which is the same two cores. The
difference is what Ray costs. Then the encoder is one that sleeps so many milliseconds a page, as a
process does that waits for a GPU: with one worker, and with two on two nodes.

Pages per second are those of `AddReport`: from when the first worker is ready to the last commit.
Starting is shown beside them: joining the cluster and getting the first worker ready. The cluster
runs in a network of its own (`unshare`, which needs root), where it has loopback alone. Needs the
extras ray and samples. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from docpruner.facade import Index
from faults.library import pdf
from faults.words import WordEncoder
from integrations.ray_loopback import Loopback, why_not

PAGES_OF_A_FILE = 10
WORDS = 60  # of a page
AIM = 1.85  # times the pages per second, with a second device


@dataclass(frozen=True)
class Run:
    """One measurement; `nodes` is None where no cluster is used."""

    name: str
    nodes: int | None
    processors: int = 1
    sleeping: bool = False


RUNS = (
    Run("local", None),
    Run("ray_1_node", 1, processors=2),
    Run("ray_2_nodes", 2),
    Run("one_device", 1, sleeping=True),
    Run("two_devices", 2, sleeping=True),
)


@dataclass(frozen=True)
class Figures:
    pages: int
    seconds: float
    starting: float

    @property
    def pages_per_s(self) -> float:
        return self.pages / self.seconds


def written(folder: Path, pages: int) -> Path:
    """Files of which no page looks like another."""
    folder.mkdir()
    for number in range(0, pages, PAGES_OF_A_FILE):
        name = f"{number:06}.pdf"
        count = min(PAGES_OF_A_FILE, pages - number)
        (folder / name).write_bytes(pdf(name, count, words=WORDS))
    return folder


def drive(job: dict[str, object]) -> None:
    """In a process of its own, inside the cluster's network."""
    from docpruner.integrations.ray import RayWorkers

    began = time.perf_counter()
    address, seconds = job["address"], float(str(job["seconds"]))
    encoder = WordEncoder(seconds) if seconds else "builtin"
    with (
        Index.create(str(job["index"]), encoder=encoder) as index,
        RayWorkers(str(address)) if address else nullcontext() as workers,
    ):
        report = index.add(str(job["files"]), workers=workers)
    assert not report.problems, report.problems
    starting = time.perf_counter() - began - report.seconds
    print(json.dumps({"pages": report.pages, "seconds": report.seconds, "starting": starting}))


def measured(run: Run, files: Path, milliseconds: float) -> Figures:
    seconds = milliseconds / 1000 if run.sleeping else 0.0
    with tempfile.TemporaryDirectory() as folder:
        job = {"index": f"{folder}/index", "files": str(files), "seconds": seconds, "address": ""}
        if run.nodes is None:
            command = [sys.executable, __file__, "--drive", json.dumps(job)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        else:
            with Loopback(run.nodes, run.processors) as cluster:
                job["address"] = cluster.address
                done = cluster.python(Path(__file__).resolve(), "--drive", json.dumps(job))
    if done.returncode:
        sys.exit(done.stderr)
    return Figures(**json.loads(done.stdout.splitlines()[-1]))


def table(figures: dict[str, Figures], milliseconds: float) -> Table:
    shown = Table(title=f"{figures['local'].pages:,} pages")
    for heading in ("", "pages/s", "seconds", "starting, s"):
        shown.add_column(heading, justify="right" if heading else "left")
    names = {
        "local": "built-in encoder, no cluster",
        "ray_1_node": "… Ray, one node, two processors",
        "ray_2_nodes": "… Ray, two nodes, one processor each",
        "one_device": f"a device of {milliseconds:g} ms a page",
        "two_devices": "… two of them, on two nodes",
    }
    for key, each in figures.items():
        cells = (f"{each.pages_per_s:.1f}", f"{each.seconds:.1f}", f"{each.starting:.1f}")
        shown.add_row(names[key], *cells)
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=400, help="(%(default)s)")
    parser.add_argument("--milliseconds", type=float, default=80, help="a page (%(default)s)")
    parser.add_argument("--drive", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        drive(json.loads(given.drive))
        return
    reason = why_not()
    if reason:
        sys.exit(reason)
    with tempfile.TemporaryDirectory() as folder:
        files = written(Path(folder) / "files", given.pages)
        figures = {run.name: measured(run, files, given.milliseconds) for run in RUNS}
    Console().print(table(figures, given.milliseconds))
    scaling = figures["two_devices"].pages_per_s / figures["one_device"].pages_per_s
    print(f"two devices: {scaling:.2f} × one (aim {AIM})")
    paces = {f"{name}_pages_per_s": round(each.pages_per_s, 2) for name, each in figures.items()}
    print(json.dumps({"pages": given.pages, **paces, "scaling": round(scaling, 3)}))


if __name__ == "__main__":
    main()

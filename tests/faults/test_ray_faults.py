"""Actors, nodes and drivers of a Ray cluster killed at work: every page is in once, as if not."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli_process import write_pdf
from docpruner.facade import Index
from faults.library import Library, contents_of, library
from faults.words import WordEncoder
from faults.worker import waited_for
from integrations.ray_driver import DEADLY
from integrations.ray_loopback import PATIENCE, Loopback, children_of, kill, why_not

pytest.importorskip("ray")

ROUNDS = 5 if "DOCPRUNER_KILLS" in os.environ else 1
PAGES = {"a.pdf": 12, "b.pdf": 15, "c.pdf": 1, "d.pdf": 22}
SECONDS = 0.1  # that a page takes


@pytest.fixture(scope="module")
def cluster():
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with Loopback() as started:
        yield started


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Library:
    return library(tmp_path_factory.mktemp("library") / "files", PAGES).written()


@pytest.fixture(scope="module")
def unkilled(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unkilled") / "index"
    with Index.create(folder, encoder=WordEncoder()) as index:
        index.add(files.folder)
    return contents_of(folder)


class Driver:
    """A process that indexes files on a cluster, seen from the test."""

    def __init__(self, cluster: Loopback, index: Path | str, files: Path) -> None:
        job = {"address": cluster.address, "index": str(index), "files": str(files)}
        program = ("-m", "integrations.ray_driver", json.dumps({**job, "seconds": SECONDS}))
        self._process = cluster.popen(sys.executable, *program)

    def until(self, pages: int) -> None:
        """So many pages are in."""
        for line in self._process.stdout:
            if line.startswith("committed ") and int(line.split()[1]) >= pages:
                return
        raise AssertionError(self._process.stderr.read())

    def kill(self, number: signal.Signals = signal.SIGKILL) -> int:
        (python,) = children_of(self._process.pid)
        os.kill(python, number)
        self._process.communicate(timeout=PATIENCE)
        return self._process.returncode

    def finished(self) -> tuple[dict, list[str]]:
        """What it says at the end, and the problems it told of."""
        said, errors = self._process.communicate(timeout=PATIENCE)
        assert self._process.returncode == 0, errors
        *lines, last = said.splitlines()
        return json.loads(last), sorted({line for line in lines if line.startswith("problem ")})


def a_worker(cluster: Loopback, dice: random.Random) -> None:
    kill([dice.choice(sorted(cluster.workers()))])


def a_node(cluster: Loopback, dice: random.Random) -> None:  # noqa: ARG001
    at_work = set(cluster.workers())
    assert len(at_work & cluster.kill_node()) == 1


@pytest.mark.parametrize("killed", [a_worker, a_node])
@pytest.mark.parametrize("scheme", ["", "turns://"])
def test_no_page_is_lost_with(
    killed: Callable[[Loopback, random.Random], None],
    scheme: str, cluster, files, unkilled, tmp_path, record_property,
):  # fmt: skip
    """In the second case the workers write to the index themselves."""
    dice = random.Random(f"{killed.__name__} {scheme}")
    for turn in range(ROUNDS):
        index = tmp_path / str(turn)
        driver = Driver(cluster, f"{scheme}{index}", files.folder)
        driver.until(dice.randint(1, 10))
        assert waited_for(lambda: len(cluster.workers()) == 2)
        killed(cluster, dice)
        told, problems = driver.finished()
        if killed is a_node:
            cluster.replace_node()
        assert problems == []
        assert (told["pages"], told["damaged"]) == (50, 0)
        assert contents_of(index) == unkilled
    record_property("tried", f"{ROUNDS} times; no page was lost")


def test_no_page_is_lost_with_the_driver(cluster, files, unkilled, tmp_path, record_property):
    dice, before = random.Random(3), 0
    for turn in range(ROUNDS):
        index = tmp_path / str(turn)
        driver = Driver(cluster, index, files.folder)
        driver.until(dice.randint(1, 20))
        driver.kill()
        before = len(files.stored_keys(index))
        told, problems = Driver(cluster, index, files.folder).finished()
        assert problems == []
        assert before > 0
        assert told["pages"] == 50 - before
        assert told["damaged"] == 0
        assert contents_of(index) == unkilled
    record_property("tried", f"{ROUNDS} times; the last began again at page {before}")


def test_ctrl_c_keeps_what_was_committed(cluster, files, tmp_path):
    index = tmp_path / "index"
    driver = Driver(cluster, index, files.folder)
    driver.until(4)
    assert driver.kill(signal.SIGINT) != 0
    with Index.open(index) as opened:
        assert opened.verify() == []
        assert 4 <= len(opened) < 50
    assert waited_for(lambda: not cluster.workers(), 20.0)


def test_a_page_that_kills_its_worker_is_reported_and_costs_no_other(cluster, tmp_path):
    folder = tmp_path / "files"
    with_one = library(folder, {"a.pdf": 12, "b.pdf": 15}).written()
    deadly(folder / "deadly.pdf")
    told, problems = Driver(cluster, tmp_path / "index", folder).finished()
    assert told["pages"] == 12 + 15 + 2
    assert told["outcome"] == "some"
    (problem,) = problems
    assert "deadly.pdf#2: ended its worker 3 times" in problem
    assert set(with_one.keys) <= set(contents_of(tmp_path / "index"))


def deadly(path: Path) -> None:
    """Three pages, the second of which ends whoever encodes it."""
    write_pdf(path, "before it", f"a {DEADLY} page", "after it")

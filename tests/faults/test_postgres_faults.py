"""Clients and the server of an index in PostgreSQL are killed: nothing committed is lost."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from docpruner.facade import Index
from faults.library import Contents, Library, contents_of, library
from faults.worker import TESTS, Worker, committed, is_running, waited_for, work

KILLS = max(3, int(os.environ.get("DOCPRUNER_KILLS", "30")) // 10)
STRICTER = "docpruner:k=0.25"


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Library:
    folder = tmp_path_factory.mktemp("postgres") / "library"
    return library(folder, {"a.pdf": 6, "b.pdf": 9, "c.pdf": 1, "d.pdf": 12}).written()


@pytest.fixture(scope="module")
def whole(files, tmp_path_factory) -> Contents:
    """What an undisturbed run makes, in a folder: every page, its bytes and its scores."""
    index = tmp_path_factory.mktemp("undisturbed") / "index"
    work("add", index, files.folder)
    return contents_of(index)


def check(location: str, files: Library, whole: Contents, before: set, said: list[str]) -> set:
    """That the index is sound and has all that was committed; the pages that it has."""
    with Index.open(location) as index:
        assert index.verify() == [], said
    now = files.stored_keys(location)
    assert before <= now, said
    assert len(now) - len(before) >= committed(said), said
    assert contents_of(location) == {key: whole[key] for key in now}, said
    return now


@pytest.fixture(scope="module")
def pruned(files, tmp_path_factory) -> Contents:
    index = tmp_path_factory.mktemp("pruned") / "index"
    work("add", index, files.folder)
    work("prune", index, STRICTER)
    return contents_of(index)


def test_no_kill_of_a_client_loses_what_was_committed(
    postgres, files, whole, pruned, record_property
):
    dice, kills, midway = random.Random(5), 0, 0
    spare = Worker()
    while kills < KILLS:
        location, there = postgres.new_location(), set()
        for _ in range(3):
            worker, spare = spare, Worker()
            with worker:
                worker.begin("add", location, files.folder)
                seconds, commits = dice.uniform(0, 0.05), dice.randint(0, 4)
                at_work, said = worker.killed_after(seconds, commits)
            kills += at_work
            midway += at_work and committed(said) > 0
            if Index.exists(location):
                there = check(location, files, whole, there, said)
            if not at_work or kills >= KILLS:
                break
        work("add", location, files.folder)
        assert contents_of(location) == whole
        with Worker() as worker:
            worker.begin("prune", location, STRICTER)
            worker.killed_after(dice.uniform(0, 0.2))
        assert contents_of(location) in (whole, pruned)
        work("prune", location, STRICTER)
        assert contents_of(location) == pruned
    with spare:
        pass
    record_property("tried", f"{kills} kills, {midway} after a commit; nothing committed was lost")


def test_no_kill_of_the_server_loses_what_was_committed(postgres, files, whole, record_property):
    dice, location, there = random.Random(8), postgres.new_location(), set()
    kills = 0
    for turn in range(max(2, KILLS // 5)):
        location = location if turn % 2 else postgres.new_location()
        there = there if turn % 2 else set()
        with Worker() as worker:
            worker.begin("add", location, files.folder)
            said = [worker.line() for _ in range(dice.randint(1, 4))]
            postgres.kill()
            code, rest, errors = worker.end()
            said += rest
        postgres.start()
        if code:
            kills += 1
            assert (code, errors) == (3, "")
            assert rest[-1].startswith(("IndexWriteError", "IndexStateError"))
            assert "lost the connection" in rest[-1] or "can't connect" in rest[-1]
        there = check(location, files, whole, there, said)
    work("add", location, files.folder)
    assert contents_of(location) == whole
    assert kills > 0
    record_property("tried", f"{kills} kills of the server; nothing committed was lost")


def test_several_clients_write_one_index_in_turn(postgres, files, whole):
    location = postgres.new_location()
    names = [name for name in files.files if name != "c.pdf"]
    work("add", location, files.folder / "c.pdf")
    workers = [Worker() for _ in names]
    try:
        for worker, name in zip(workers, names, strict=True):
            worker.begin("add", location, files.folder / name)
        for worker in workers:
            worker.finished()
    finally:
        for worker in workers:
            with worker:
                pass
    assert contents_of(location) == whole


def test_a_server_ends_with_the_process_that_has_started_it():
    """Also where that is killed, and so has no time to stop it."""
    program = (
        "import sys, time; from pathlib import Path; import postgres_server as p\n"
        "server = p.new_server(Path(sys.argv[1])); print(server.process.pid, flush=True)\n"
        "time.sleep(60)"
    )
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    with subprocess.Popen(
        [sys.executable, "-c", program, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
    ) as process:
        line = process.stdout.readline()
        process.kill()
    try:
        if not line:
            pytest.skip("no PostgreSQL server could be started")
        assert waited_for(lambda: not is_running(int(line)), 20)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

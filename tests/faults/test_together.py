"""One process writes while others read, or want to write too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from docpruner.errors import IndexStateError
from docpruner.facade import Index
from faults.jobs import run
from faults.library import QUERIES, Contents, Library, contents, contents_of, library
from faults.words import WordEncoder
from faults.worker import PATIENCE, TESTS, Worker

ROUNDS = max(2, int(os.environ.get("DOCPRUNER_KILLS", "30")) // 15)

READER = """
import json, select, sys
from docpruner.facade import Index
from faults.library import ALL, QUERIES
from faults.words import WordEncoder
print("ready", flush=True)
sys.stdin.readline()
folder, how = sys.argv[1:]
kept = Index.open(folder, encoder=WordEncoder())
seen, searches = set(), 0
while not select.select([sys.stdin], [], [], 0)[0]:
    if how == "reopening":
        kept.close()
        kept = Index.open(folder, encoder=WordEncoder())
    if how == "verifying":
        assert kept.verify() == []
        assert kept.stats().missing_pages == 0
    found = kept.search_many(QUERIES, ALL)
    told = [sorted((hit.document, hit.page, hit.score) for hit in hits) for hits in found]
    seen.add(json.dumps(told))
    searches += 1
print(json.dumps([searches, [json.loads(one) for one in seen]]))
"""


Scored = list  # path, number, score: as JSON gives it


def scores(state: Contents, query: int) -> list[Scored]:
    return sorted([path, number, page.scores[query]] for (path, number), page in state.items())


def reader(index: Path, how: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", READER, str(index), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(TESTS)},
    )
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()
    return process


def results(process: subprocess.Popen[str]) -> tuple[int, list[list[list[Scored]]]]:
    said, errors = process.communicate("stop\n", timeout=PATIENCE)
    assert (process.returncode, errors) == (0, ""), errors
    searches, seen = json.loads(said)
    return searches, seen


@pytest.mark.parametrize("how", ["staying open", "reopening", "verifying"])
def test_whoever_searches_meanwhile_sees_whole_states(tmp_path, how, record_property):
    """Documents are replaced to and fro, deleted, compacted and pruned; every result is that of one
    moment, and of each document all pages are of one version."""
    versions = {
        version: library(tmp_path / "library", {"a.pdf": 3, "b.pdf": 5}, version)
        for version in ("first", "second")
    }
    again = [("add", "second"), ("compact", ""), ("delete", "a.pdf"), ("add", "first")]
    last = [("prune", "docpruner:k=0.25"), ("add", "second"), ("delete", "*.pdf"), ("compact", "")]
    steps = again * ROUNDS + last
    with Index.create(tmp_path / "index", encoder=WordEncoder(seconds=0.002)) as index:
        index.add(versions["first"].written().folder)
        states = [contents(index)]
        with reader(tmp_path / "index", how) as process:
            for do, of in steps:
                if do == "add":
                    index.add(versions[of].written().folder)
                else:
                    run(index.encoder, tmp_path / "index", do, of)
                states.append(contents(index))
            searches, seen = results(process)
    assert searches > len(steps)
    assert len(seen) > 4
    for number in range(len(QUERIES)):
        for found in {json.dumps(one[number]) for one in seen}:
            check_moment(json.loads(found), steps, states, number)
    record_property("tried", f"{searches} searches, {len(seen)} different results, all whole")


def check_moment(
    found: list[Scored], steps: list[tuple[str, str]], states: list[Contents], query: int
) -> None:
    """The hits are those before, after or, if documents are added, in the midst of some step."""
    for (do, _), before, after in zip(steps, states, states[1:], strict=False):
        old, new = scores(before, query), scores(after, query)
        if found in (old, new) or (do == "add" and is_midway(found, old, new)):
            return
    raise AssertionError(f"hits of no moment: {found}")


def is_midway(found: list[Scored], old: list[Scored], new: list[Scored]) -> bool:
    """Each document is as before or as after, or has come in part if it is new."""
    for path in {hit[0] for hit in found + old + new}:
        now, before, after = ([hit for hit in hits if hit[0] == path] for hits in (found, old, new))
        if now not in (before, after) and (before or now != after[: len(now)]):
            return False
    return True


def test_a_second_writer_waits_its_turn(tmp_path):
    first = library(tmp_path / "one", {"a.pdf": 12}).written()
    second = library(tmp_path / "two", {"b.pdf": 4}).written()
    index = tmp_path / "index"
    with Index.create(index, encoder=WordEncoder()):
        pass
    with Worker() as one, Worker() as two:
        one.begin("add", index, first.folder)
        assert one.line().startswith("committed")
        two.begin("add", index, second.folder)
        one.finished()
        two.finished()
    assert sorted(contents_of(index)) == sorted(first.keys + second.keys)
    with Index.open(index) as opened:
        assert opened.verify() == []


def test_many_writers_lose_nothing(tmp_path):
    """Of documents of their own, and all of the same one."""
    index = tmp_path / "index"
    shared = library(tmp_path / "shared", {"s.pdf": 2})
    all_files = [
        Library(folder, library(folder, {f"{number}.pdf": 3}).files).written()
        for number in range(4)
        for folder in [tmp_path / str(number)]
    ]
    with Index.create(index, encoder=WordEncoder()):
        pass
    for files in all_files:
        (files.folder / "s.pdf").symlink_to(shared.written().folder / "s.pdf")
    workers = [Worker() for _ in all_files]
    for worker, files in zip(workers, all_files, strict=True):
        worker.begin("add", index, files.folder)
    for worker in workers:
        with worker:
            worker.finished()
    expected = [key for files in all_files for key in files.keys] + shared.keys
    assert sorted(contents_of(index)) == sorted(expected)


def test_a_writer_that_may_not_wait_is_told_why(tmp_path):
    files = library(tmp_path / "library", {"a.pdf": 2}).written()
    told = r"another process is writing to .* \(waited 0\.2 s\); let it finish, or wait"
    with (
        Index.create(tmp_path / "index", encoder=WordEncoder()) as index,
        Index.open(tmp_path / "index", encoder=WordEncoder()) as other,
    ):
        with other._store.writer():
            for change in (
                lambda: index.add(files.folder, wait=0.2),
                lambda: index.delete("*", wait=0.2),
                lambda: index.compact(wait=0.2),
                lambda: index.prune("docpruner:k=1", wait=0.2),
            ):
                with pytest.raises(IndexStateError, match=told):
                    change()
            assert index.search("harbour") == []
        assert index.add(files.folder).pages == 2


def test_a_killed_writer_leaves_no_lock(tmp_path):
    files = library(tmp_path / "library", {"a.pdf": 12}).written()
    with Worker() as worker:
        worker.begin("add", tmp_path / "index", files.folder)
        assert worker.killed_after(0, commits=2)[0]
    with Index.open(tmp_path / "index", encoder=WordEncoder()) as index:
        assert 0 < index.add(files.folder, wait=0.5).pages < 12
    assert sorted(contents_of(tmp_path / "index")) == files.keys

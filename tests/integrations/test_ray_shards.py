"""Shards held by a Ray cluster of two nodes: the answers of one index, whatever is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from docpruner.errors import ClusterError, MissingExtraError
from docpruner.facade import Index
from docpruner.stores.locations import open_store
from integrations.ray_loopback import (
    PATIENCE,
    Loopback,
    command_of,
    descendants_of,
    is_there,
    kill,
    why_not,
)
from integrations.shards_driver import contents, hits, rankings
from stores.test_shards import library, listed, made_index, made_set, settings, spread

pytest.importorskip("ray")

LOST = "shard 1.idx"


@pytest.fixture(scope="module")
def cluster():
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with Loopback() as started:
        started.env["RAY_ADDRESS"] = started.address
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A set of three shards, and one index with the same documents."""
    folder = tmp_path_factory.mktemp("shards")
    made_set(folder, *spread(library()))
    made_index(folder / "one.idx", library(), settings())
    return folder


class Driver:
    """A process that reads a set, seen from the test."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.heard()  # that it is open

    def ask(self, question: str):
        self.say(question)
        return self.heard()

    def say(self, line: str) -> None:
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def heard(self):
        for line in self._process.stdout:
            if line.startswith(('"', "{")):  # Ray tells of lost workers in between
                return json.loads(line)
        raise AssertionError(self._process.stderr.read())


@contextmanager
def driver(cluster: Loopback, location: str) -> Iterator[Driver]:
    program = (sys.executable, "-m", "integrations.shards_driver", location)
    process = cluster.popen(*program, stdin=subprocess.PIPE)
    try:
        yield Driver(process)
    except BaseException:
        process.kill()
        raise
    finally:
        _, errors = process.communicate(timeout=PATIENCE)
    own = [line for line in errors.splitlines() if "network_util.cc" not in line]  # no way out here
    assert (process.returncode, own) == (0, [])


def actors(cluster: Loopback) -> dict[int, int]:
    """The processes that hold shards, and the node that each runs on."""
    nodes = {
        pid: number
        for number, node in enumerate(cluster._nodes)
        for each in node
        if is_there(each)
        for pid in (each, *descendants_of(each))
    }
    return {pid: nodes[pid] for pid in cluster.pids() if "::ShardActor" in command_of(pid)}


def as_json(value):
    return json.loads(json.dumps(value))


def test_answers_are_those_of_one_index(cluster, folder):
    with (
        driver(cluster, f"ray://{folder}/archive.toml") as reading,
        Index.open(folder / "one.idx") as one,
    ):
        with one.reader() as reader:
            assert reading.ask("rankings")["answer"] == as_json(rankings(reader))
            assert reading.ask("contents")["answer"] == as_json(contents(reader))
        assert set(actors(cluster).values()) == {0, 1}
        told = reading.ask("hits")
        assert told["answer"] == as_json(hits(one))
        assert (told["warned"], told["missing"]) == ([], [])
        kill([min(actors(cluster))])
        assert reading.ask("hits")["answer"] == told["answer"]
        assert len(actors(cluster)) == 3
    end = time.monotonic() + 20
    while actors(cluster) and time.monotonic() < end:  # they end with who has asked for them
        time.sleep(0.2)
    assert actors(cluster) == {}


def test_a_reader_does_not_mix_two_moments(cluster, folder):
    with driver(cluster, f"ray://{folder}/archive.toml") as reading:
        reading.say("slow")
        assert reading.heard() == "reading"
        kill(actors(cluster))
        told = reading.ask("go on")
        assert told["error"].startswith("MissingShardsError: 3 of 3 shards")
        assert reading.ask("hits")["missing"] == []


def test_a_lost_machine_is_done_without_by_choice_and_its_shards_come_back_elsewhere(
    cluster, folder
):
    with (
        driver(cluster, f"ray://{folder}/archive.toml") as whole,
        driver(cluster, f"ray://{folder}/archive.toml?partial=1") as partial,
    ):
        all_hits = whole.ask("hits")["answer"]
        assert partial.ask("hits")["answer"] == all_hits
        assert set(actors(cluster).values()) == {0, 1}
        cluster.kill_node()
        told = partial.ask("hits")  # waits only if all of its shards were on that machine
        assert "answer" in told, told
        assert [hit for hit in all_hits if hit in told["answer"]] == told["answer"]
        if told["missing"]:  # else they are back already
            assert 0 < len(told["answer"]) < len(all_hits)
            (warned,) = told["warned"]
            assert warned.startswith("MissingShardsWarning: this answer is partial")
            assert all(shard in warned for shard in told["missing"])
        else:
            assert told["answer"] == all_hits
        again = whole.ask("hits")  # waits until they are there again
        assert (again["answer"], again["warned"], again["missing"]) == (all_hits, [], [])
        assert set(actors(cluster).values()) == {0}
        while (told := partial.ask("hits"))["missing"]:
            assert told["seconds"] < PATIENCE
        assert told["answer"] == all_hits
    cluster.replace_node()


def test_the_commands_work_from_outside_the_cluster_too(cluster, folder):
    """By Ray's client, and with a shard that one machine alone has, and one that is nowhere."""
    own = folder / "own"
    own.mkdir()
    shards = [{"location": f"{folder}/shard 0.idx", "node": "127.0.0.1"}, f"{folder}/gone.idx"]
    listed(own, shards)
    command = ("-m", "docpruner", "stats", "--json")
    where = f"{cluster.client_address}{own}/archive.toml"
    failed = cluster.python(*command, where)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert f"1 of 2 shards of {where} are missing: {folder}/gone.idx" in failed.stderr
    assert "holds no index" in failed.stderr
    partial = cluster.python(*command, f"{where}?partial=1")
    assert partial.returncode == 0, partial.stderr
    assert json.loads(partial.stdout)["documents"] == 1
    assert f"{folder}/gone.idx" in partial.stderr


def test_an_address_where_nobody_is_fails_and_says_so(folder):
    with pytest.raises(ClusterError, match=r"no Ray cluster answers at ray://127\.0\.0\.1:9"):
        open_store(f"ray://127.0.0.1:9{folder}/archive.toml")


def test_without_ray_it_says_how_to_get_it(folder, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match=r'pip install "docpruner\[ray\]"'):
        open_store(f"ray://{folder}/archive.toml")

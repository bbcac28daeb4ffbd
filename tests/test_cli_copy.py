"""Copy and export as a user runs them, on real documents."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cli_process import docpruner
from docpruner import Index
from docpruner.stores.locations import open_store
from pipeline.made import SAMPLES, builtin
from pipeline.test_copying import stored
from stores.conftest import other_package  # noqa: F401  # the fixture

SLOW = """
import sys, time
from docpruner.pipeline import copying
copying.MOST_PAGES = 3
commit = copying.CopyRun._commit
def slow(self, total):
    commit(self, total)
    print("committed", self._report.pages, flush=True)
    time.sleep(0.2)
copying.CopyRun._commit = slow
sys.argv = ["docpruner", *sys.argv[1:]]
from docpruner.cli import main
main()
"""
"""The command, with small commits that are told of and take their time."""


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("copying")
    with Index.create(folder / "source", encoder=builtin()) as index:
        index.add(SAMPLES, ocr=False, metadata={"year": 2024})
    return folder


def contents(location: str | Path) -> dict:
    with open_store(location) as store:
        return stored(store)


def copied(*arguments: str | Path, env: dict[str, str] | None = None) -> dict:
    done = docpruner("copy", *map(str, arguments), "--json", env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_folder_is_copied_to_a_folder_and_brought_up_to_date(made, tmp_path):
    done = docpruner("copy", str(made / "source"), "copy", at=tmp_path, env={"COLUMNS": "120"})
    first, second = done.stdout.splitlines()
    assert first == "copy: 6 documents copied"
    assert second.startswith("32 pages in ")
    assert second.endswith("; 32 read back, all the same")
    assert contents(tmp_path / "copy") == contents(made / "source")
    listed = [docpruner("list", str(place), "--json").stdout for place in (made / "source", "copy")]
    assert listed[0] == docpruner("list", "copy", "--json", at=tmp_path).stdout
    with Index.open(tmp_path / "copy", encoder=builtin()) as copy:
        copy.delete("*slides*")
        copy.add_images([np_image()], names=["only-there"])
        assert copy.verify() == []
    done = docpruner("copy", str(made / "source"), "copy", at=tmp_path)
    assert done.stdout.splitlines()[0] == "copy: 1 document copied, 5 unchanged"
    assert done.stdout.splitlines()[-2:] == [
        "only there only-there",
        "1 document that the source lacks; --delete-missing removes them",
    ]
    report = copied(made / "source", tmp_path / "copy", "--delete-missing")
    assert (report["documents"], report["deleted"]) == (0, ["only-there"])
    assert contents(tmp_path / "copy") == contents(made / "source")


def np_image():
    from PIL import Image

    return Image.fromarray(np.full((40, 30, 3), 200, np.uint8))


def test_a_folder_is_copied_to_a_store_of_another_package_and_searched_there(
    made,
    tmp_path,
    other_package,  # noqa: F811
):
    place = f"one-file://{tmp_path}/copy.pickle"
    env = {"PYTHONPATH": os.pathsep.join([str(other_package), os.environ.get("PYTHONPATH", "")])}
    report = copied(made / "source", place, env=env)
    assert (report["pages"], report["compared"]) == (32, 32)
    assert contents(place) == contents(made / "source")
    found = [
        docpruner("search", str(index), "cargo bike", "--json", env=env).stdout
        for index in (made / "source", place)
    ]
    assert found[0] == found[1] != ""
    assert copied(made / "source", place, env=env)["unchanged"] == 6
    back = copied(place, tmp_path / "back", env=env)
    assert back["pages"] == 32
    assert contents(tmp_path / "back") == contents(made / "source")


@pytest.mark.parametrize(
    ("spec", "codec"),
    [("docpruner:k=0.25", "int1"), ("docpruner:k=-0.25+sem-cluster:factor=2", "")],
)
def test_a_stricter_copy_is_a_copy_that_was_pruned(made, tmp_path, spec, codec):
    options = ["--codec", codec] if codec else []
    report = copied(made / "source", tmp_path / "strict", "--spec", spec, *options)
    copied(made / "source", tmp_path / "pruned")
    done = docpruner("prune", str(tmp_path / "pruned"), spec, *options, "--yes", "--json")
    pruned = json.loads(done.stdout)
    assert (report["vectors_before"], report["vectors"]) == (
        pruned["vectors_before"],
        pruned["vectors"],
    )
    assert contents(tmp_path / "strict") == contents(tmp_path / "pruned")
    segments = [
        b"".join(path.read_bytes() for path in sorted((tmp_path / name / "segments").iterdir()))
        for name in ("strict", "pruned")
    ]
    assert segments[0] == segments[1]


# ---------------------------------------------------------------------- stopped in the middle


def started(made: Path, target: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, "copy", str(made / "source"), str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("commits", [1, 3, 6])
def test_a_copy_that_was_killed_goes_on(made, tmp_path, commits):
    child = started(made, tmp_path / "copy")
    told = [child.stdout.readline() for _ in range(commits)]
    time.sleep(0.05 * commits)
    child.kill()
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    pages = int(told[-1].split()[1])
    before = contents(tmp_path / "copy")
    assert pages <= len(before) < 32
    assert before.items() <= contents(made / "source").items()
    report = copied(made / "source", tmp_path / "copy")
    assert report["pages"] == report["compared"] == 32 - len(before)
    assert contents(tmp_path / "copy") == contents(made / "source")
    assert "no damage" in docpruner("verify", str(tmp_path / "copy")).stdout


def test_ctrl_c_loses_nothing_that_is_committed(made, tmp_path):
    child = started(made, tmp_path / "copy")
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, said = child.communicate()
    assert (child.returncode, said) == (
        130,
        "stopped; run the same command again to go on from here\n",
    )
    there = len(contents(tmp_path / "copy"))
    assert 3 <= there < 32
    assert copied(made / "source", tmp_path / "copy")["pages"] == 32 - there


# ---------------------------------------------------------------------- errors


def test_errors_of_copying_say_what_to_do(made, tmp_path):
    source = str(made / "source")
    for arguments, said in (
        (["nothing", "copy"], "nothing holds no index; make one with: docpruner index"),
        ([source, "copy", "--spec", "docpruner:k=-1"], "index the documents again to keep more"),
        ([source, "copy", "--codec", "int3"], "no codec 'int3'; there are:"),
        ([source, "nowhere://x"], "no store for nowhere://…"),
        ([source, source], "can't be copied to itself"),
    ):
        done = docpruner("copy", *arguments, at=tmp_path)
        assert done.returncode == 1
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    copied(source, tmp_path / "copy", "--codec", "int1")
    done = docpruner("copy", source, "copy", at=tmp_path)
    assert done.stderr == (
        "error: copy has codec int1, and the copy would have int2: ask for the codec it has, or "
        "copy to another location\n"
    )


# ---------------------------------------------------------------------- export


def test_an_export_ranks_as_a_search_does(made, tmp_path):
    done = docpruner(
        "export", str(made / "source"), "--format", "jsonl", "-o", "pages.jsonl", at=tmp_path
    )
    assert done.stdout.startswith("pages.jsonl: 32 pages, 2,938 vectors of 256 numbers; ")
    records = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    (query,) = builtin().encode_queries(["cargo bike"])
    scores = [(query @ np.array(each["vectors"]).T).max(1).sum() for each in records]
    best = records[int(np.argmax(scores))]
    (hit, *_) = json.loads(
        docpruner("search", str(made / "source"), "cargo bike", "--json").stdout
    )["hits"]
    assert (hit["document"], hit["page"]) == (best["document"], best["page"])
    assert hit["score"] == pytest.approx(max(scores), rel=1e-3)


def test_errors_of_exporting_say_what_to_do(made, tmp_path):
    source, there = str(made / "source"), tmp_path / "there.jsonl"
    there.write_text("mine")
    done = docpruner("export", source, "--format", "jsonl", "-o", str(there))
    assert (done.returncode, there.read_text()) == (1, "mine")
    assert "is there already; choose another name, or overwrite it (--force)" in done.stderr
    done = docpruner("export", source, "--format", "csv", "-o", "x", at=tmp_path)
    assert done.returncode == 2
    assert "'csv' is not one of" in done.stderr
    done = docpruner("export", source, "--format", "vespa", "-o", str(there), "--force", "--json")
    assert json.loads(done.stdout)["pages"] == 32

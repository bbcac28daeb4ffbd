"""No room left: said clearly, nothing committed is lost, and the run goes on when there is room."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from docpruner.errors import IndexWriteError
from docpruner.facade import Index
from docpruner.pipeline import add
from faults.library import contents, contents_of, library
from faults.words import WordEncoder
from faults.worker import Worker, committed, work

REMEDY = "What was committed before is safe; make room and run again"


def limited(size: int):
    """A process in which no file can grow beyond `size` bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("size", [5_000, 50_000, 70_000, 100_000])
def test_a_file_that_may_not_grow_is_told_and_the_run_goes_on_later(tmp_path, size):
    files = library(tmp_path / "library", {"a.pdf": 40, "b.pdf": 60}).written()
    index = tmp_path / "index"
    with Index.create(index, encoder=WordEncoder()):
        pass
    with Worker(before=limited(size)) as worker:
        worker.begin("add", index, files.folder)
        code, said, errors = worker.end()
    assert (code, errors) == (3, "")
    assert said[-1].startswith(f"IndexWriteError {index} can't be written (")
    assert said[-1].endswith(REMEDY)
    with Index.open(index) as opened:
        assert opened.verify() == []
    assert files.keys[: committed(said)] == sorted(files.stored_keys(index))[: committed(said)]
    work("add", index, files.folder)
    assert sorted(contents_of(index)) == files.keys
    with Index.open(index) as opened:
        assert opened.verify() == []


@pytest.mark.parametrize("do", ["compact", "prune", "delete"])
def test_a_change_without_room_is_not_made(tmp_path, do):
    files = library(tmp_path / "library", {"a.pdf": 30, "b.pdf": 20}).written()
    index = tmp_path / "index"
    work("add", index, files.folder)
    with Index.open(index, encoder=WordEncoder()) as opened:
        opened.delete("b.pdf")
        before = contents(opened)
    of = {"prune": "docpruner:k=0.5", "delete": "a.pdf"}.get(do, "")
    with Worker(before=limited(2_000)) as worker:
        worker.begin(do, index, of)
        code, said, errors = worker.end()
    assert (code, errors) == (3, "")
    assert said[-1].startswith(f"IndexWriteError {index} can't be written (")
    assert contents_of(index) == before
    work(do, index, of)
    with Index.open(index) as opened:
        assert opened.verify() == []
    assert (contents_of(index) == before) == (do == "compact")


def test_an_index_that_there_is_no_room_for_can_be_made_later(tmp_path):
    files = library(tmp_path / "library", {"a.pdf": 2}).written()
    with Worker(before=limited(2_000)) as worker:
        worker.begin("add", tmp_path / "index", files.folder)
        code, said, errors = worker.end()
    assert (code, errors) == (3, "")
    assert said[-1].startswith(f"IndexWriteError {tmp_path / 'index'} can't be written (")
    work("add", tmp_path / "index", files.folder)
    assert sorted(contents_of(tmp_path / "index")) == files.keys


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A disk of 2 MB, which only root may mount."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "docpruner-test", str(disk)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_full_disk_is_told_and_the_run_goes_on_when_there_is_room(
    small_disk, tmp_path, monkeypatch
):
    monkeypatch.setattr(add, "FIRST_BATCH", 2)
    monkeypatch.setattr(add, "MOST_PAGES", 2)
    files = library(tmp_path / "library", {"a.pdf": 30, "b.pdf": 30}).written()
    index, ballast = small_disk / "index", small_disk / "ballast"
    ballast.write_bytes(bytes((2 << 20) - (260 << 10)))
    with Index.create(index, encoder=WordEncoder()) as opened:
        with pytest.raises(IndexWriteError, match=REMEDY):
            opened.add(files.folder)
        there = files.stored_keys(index)
        assert 0 < len(there) < 60
        assert opened.verify() == []
        assert {(hit.document, hit.page) for hit in opened.search("harbour", 100)} == there
    ballast.unlink()
    with Index.open(index, encoder=WordEncoder()) as opened:
        assert opened.add(files.folder).pages == 60 - len(there)
        assert sorted(contents(opened)) == files.keys
        assert opened.verify() == []


def test_an_index_on_a_read_only_disk_can_be_searched(small_disk, tmp_path):
    files = library(tmp_path / "library", {"a.pdf": 3}).written()
    with Index.create(small_disk / "index", encoder=WordEncoder()) as opened:
        opened.add(files.folder)
        expected = contents(opened)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with Index.open(small_disk / "index", encoder=WordEncoder()) as opened:
        assert contents(opened) == expected
        assert opened.verify() == []
        with pytest.raises(IndexWriteError, match="can't be written to"):
            opened.add(files.folder)

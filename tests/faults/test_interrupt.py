"""Ctrl-C while indexing: what is in stays in, and nothing is left running."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from docpruner.facade import Index
from faults.library import contents_of, library
from faults.worker import Worker, children_of, committed, is_running, waited_for, work

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="looks for processes in Linux's /proc"
)


@pytest.mark.parametrize("commits", [0, 1, 5])
def test_ctrl_c_keeps_what_is_in_and_leaves_no_process(tmp_path, commits):
    files = library(tmp_path / "library", {"a.pdf": 20, "b.pdf": 20}).written()
    index = tmp_path / "index"
    with Worker() as worker:
        worker.begin("add", index, files.folder)
        said = [worker.line() for _ in range(commits)]
        assert waited_for(lambda: bool(children_of(worker.pid)))
        children = children_of(worker.pid)
        began = time.monotonic()
        worker.send(signal.SIGINT)
        code, rest, errors = worker.end()
    assert time.monotonic() - began < 10
    assert code != 0
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert "done" not in rest
    assert waited_for(lambda: not any(map(is_running, children)))
    with Index.open(index) as opened:
        assert opened.verify() == []
    stored = files.stored_keys(index)
    assert committed(said + rest) <= len(stored) < 40
    work("add", index, files.folder)
    assert sorted(contents_of(index)) == files.keys

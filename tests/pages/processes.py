"""The processes that tests start, as Linux's /proc shows them."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest

proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")


def children_of(pid: int) -> set[int]:
    children: set[int] = set()
    for task in tasks_of(pid):
        with suppress(OSError):  # a thread that has ended just now
            children.update(map(int, (task / "children").read_text().split()))
    return children


def tasks_of(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/task").iterdir())


def state_of(pid: int) -> str:
    """R for running, S for sleeping, Z for a zombie, nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def waited_for(fact, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True

"""The process of `jobs`, seen from the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

TESTS = Path(__file__).parent.parent
PATIENCE = 60.0  # seconds after which a process counts as hanging


class Worker:
    """Ready to work when it is made; begins when it is told to."""

    def __init__(
        self, encoder: str = "words", *, before: Callable[[], object] | None = None
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.jobs", encoder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(_path())},
            preexec_fn=before,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        return self._process.pid

    def begin(self, do: str, index: Path, of: str | Path = "") -> None:
        assert self.line() == "ready"
        job = {"do": do, "index": str(index), "of": str(of)}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()

    def line(self) -> str:
        return self._process.stdout.readline().rstrip("\n")

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self) -> tuple[int, list[str], str]:
        """Its exit code, the lines it still had to say, and its errors."""
        said, errors = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, said.splitlines(), errors

    def finished(self) -> list[str]:
        code, said, errors = self.end()
        assert (code, errors) == (0, ""), errors or said
        assert said[-1] == "done"
        return said

    def killed_after(self, seconds: float, commits: int = 0) -> tuple[bool, list[str]]:
        """Whether it was still at work, and what it had said; the clock starts when it has spoken
        of so many commits, or has ended."""
        said = []
        while commits and (line := self.line()):
            said.append(line)
            commits -= line.startswith("committed ")
        time.sleep(seconds)
        self._process.kill()
        code, rest, errors = self.end()
        assert code in (0, -signal.SIGKILL), errors
        said += rest
        return "done" not in said, said


def _path() -> list[str]:
    """With whatever this process was told, so that both test the same package."""
    return [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]


def work(do: str, index: Path, of: str | Path = "", encoder: str = "words") -> list[str]:
    """A whole job in a process of its own, undisturbed."""
    with Worker(encoder) as worker:
        worker.begin(do, index, of)
        return worker.finished()


def committed(said: list[str]) -> int:
    """How many pages a process has said to be in."""
    counts = [int(line.split()[1]) for line in said if line.startswith("committed ")]
    return max(counts, default=0)


def children_of(pid: int) -> set[int]:
    children: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # a thread that has ended just now
            children.update(map(int, (task / "children").read_text().split()))
    return children


def is_running(pid: int) -> bool:
    """Neither gone nor a zombie that nobody has asked for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def waited_for(fact: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True

"""A worker process, seen from its parent: asked over a pipe, answers waited for with patience."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import BinaryIO, cast

from docpruner.pages import messages
from docpruner.pages.memory_limit import EXIT_CODE
from docpruner.pages.messages import Message

PIPE_BYTES = 1 << 20

Answers = SimpleQueue[tuple[Message, bytes] | None]


class ChildSlowError(Exception):
    """No answer in time."""


class ChildDeadError(Exception):
    """No answer ever; the message says how the child ended."""


class ChildFullError(Exception):
    """It needed more memory than it may take."""


class Child:
    """A running worker. A thread takes in its answers, so it can work ahead of its parent.

    It is a program of its own and no fork: scripts without a `__main__` guard work too, and
    threads of the parent do no harm. It is ended at the latest with this object.
    """

    def __init__(self, options: list[str]) -> None:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "docpruner.pages.worker", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            start_new_session=True,  # out of the way of the terminal's Ctrl-C
        )
        with suppress(ImportError, AttributeError, OSError):  # on Linux: a picture in fewer parts
            import fcntl

            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)  # type: ignore[arg-type]
        self.file: Path | None = None  # that it has open, as far as its parent knows
        self._process = process
        self._answers: Answers = SimpleQueue()
        pump = threading.Thread(target=_pump, args=(process.stdout, self._answers), daemon=True)
        pump.start()
        self.close = weakref.finalize(self, _end, process, pump)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def waiting(self) -> int:
        """Answers that have come and were not taken."""
        return self._answers.qsize()

    def ask(self, request: Message) -> None:
        """A child that is dead by now says so when its answer is waited for."""
        with suppress(OSError, ValueError):  # ValueError: another thread has closed it
            messages.write(cast(BinaryIO, self._process.stdin), request)

    def answer(self, seconds: float) -> tuple[Message, bytes]:
        try:
            message = self._answers.get(timeout=seconds)
        except Empty:
            raise ChildSlowError from None
        if message is None:
            raise self._end_of_it()
        return message

    def _end_of_it(self) -> Exception:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return ChildDeadError("garbled answer")
        if code == EXIT_CODE:
            return ChildFullError()
        return ChildDeadError(f"signal {-code}" if code < 0 else f"exit code {code}")


def _environment() -> dict[str, str]:
    """The child finds the modules its parent finds; more threads would only reserve memory."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OPENCV_FOR_THREADS_NUM": "1"}
    return {**os.environ, "PYTHONPATH": path, **one_thread}


def _pump(stream: BinaryIO, answers: Answers) -> None:
    with suppress(Exception):  # no message: treated like a crash
        while (message := messages.read(stream)) is not None:
            answers.put(message)
    answers.put(None)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With the program that it runs, if any."""
    if process.poll() is None and hasattr(os, "killpg"):  # not on Windows
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _end(process: subprocess.Popen[bytes], pump: threading.Thread) -> None:
    _kill(process)
    process.wait()
    if threading.current_thread() is not pump:  # garbage is collected in any thread
        pump.join()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()

"""An encoder process of a `DevicePool`: one device, asked over its stdin, answers on its stdout.

While the device runs, the next batch is prepared. It ends when its stdin does: a parent that was
killed closes it too.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable
from queue import Queue
from threading import Thread
from typing import Any, BinaryIO

from docpruner.encoders.registry import Encoder
from docpruner.encoders.steps import EncodesInSteps
from docpruner.errors import DocPrunerError

AHEAD = 1  # batches prepared while the device runs

Work = Callable[[], Any]


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # no library prints into the pipe
    name, options, prompt = pickle.load(sys.stdin.buffer)
    try:
        encoder = options.load(name, prompt=prompt)
    except BaseException as error:
        _answer(answers, _problem(error))
        return
    _answer(answers, ("ready", _about(encoder)))
    ready: Queue[Work] = Queue(AHEAD)
    Thread(target=_prepare, args=(sys.stdin.buffer, encoder, ready), daemon=True).start()
    while True:
        work = ready.get()
        try:
            answer = ("done", (work(), getattr(encoder, "batch_size", 1)))
        except Exception as error:
            answer = _problem(error)
        _answer(answers, answer)


def _about(encoder: Encoder) -> dict[str, Any]:
    names = ("name", "dim", "prompt", "reads", "pixels")
    return {key: getattr(encoder, key) for key in names} | {
        "batch_size": getattr(encoder, "batch_size", 1)
    }


def _prepare(requests: BinaryIO, encoder: Encoder, ready: Queue[Work]) -> None:
    """In a thread of its own, which also sees the end of the requests at once."""
    try:
        while True:
            method, argument = pickle.load(requests)
            ready.put(_work(encoder, method, argument))
    except (EOFError, OSError):
        os._exit(0)


def _work(encoder: Encoder, method: str, argument: Any) -> Work:
    if method != "encode_pages" or not isinstance(encoder, EncodesInSteps):
        return lambda: getattr(encoder, method)(argument)
    try:
        prepared = encoder.prepare(argument)
    except Exception as error:
        problem = error

        def fail() -> Any:
            raise problem

        return fail
    return lambda: encoder.run(prepared)()


def _problem(error: BaseException) -> tuple[str, Any]:
    ours = isinstance(error, DocPrunerError | OSError)
    return ("refused" if ours else "failed", str(error) if ours else repr(error))


def _answer(answers: BinaryIO, message: tuple[str, Any]) -> None:
    try:
        pickle.dump(message, answers)
        answers.flush()
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()

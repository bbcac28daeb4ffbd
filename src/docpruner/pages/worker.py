"""The child process of a `PageReader`: opens files and reads pages, as it is asked on its stdin.

It ends when its stdin does, whatever it is doing: a parent that was killed closes it too.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO

from docpruner.errors import PageError
from docpruner.pages import messages, tesseract
from docpruner.pages.memory_limit import limit_own_memory
from docpruner.pages.messages import Message
from docpruner.pages.problems import printable_path, too_much_memory
from docpruner.types import Ocr

if TYPE_CHECKING:
    from docpruner.pages.document import Document


class Worker:
    """Answers one request at a time. Whatever goes wrong is an answer too."""

    def __init__(self, *, ocr: Ocr, memory: int) -> None:
        self._ocr, self._memory = ocr, memory
        self._document: Document | None = None
        self._path = Path()

    def answer(self, request: Message) -> tuple[Message, bytes]:
        number = request.get("page")
        try:
            if number is None:
                return self._open(request["open"])
            return self._page(number, request["pixels"], words=request["words"])
        except PageError as error:
            problem = error
        except MemoryError:
            problem = too_much_memory(self._path, self._memory, number)
        except Exception as error:
            reason = f"can't be read ({type(error).__name__}: {error})"
            remedy = "get a fresh copy, or print it to a new PDF"
            problem = PageError(printable_path(self._path), reason, remedy, number)
        return messages.problem_header(problem), b""

    def _open(self, path: str) -> tuple[Message, bytes]:
        from docpruner.pages.document import open_document

        if self._document is not None:
            self._document.close()
            self._document = None
        self._path = Path(path)
        self._document = open_document(self._path)
        return {"count": self._document.count}, b""

    def _page(self, number: int, pixels: int | None, *, words: bool) -> tuple[Message, bytes]:
        if self._document is None:
            raise ValueError("no file is open")
        parsed = self._document.parsed_page(number, pixels=pixels, words=words, ocr=self._ocr)
        return messages.parsed_page_header(parsed), parsed.picture.rgb if parsed.picture else b""


def main() -> None:
    options = _options()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle
    warnings.simplefilter("ignore")
    answers = _own_stdout()
    _no_core_dumps()
    limit_own_memory(options.memory, ocr=options.ocr is True)
    tesseract.end_with_this_process()
    requests: SimpleQueue[Message] = SimpleQueue()
    Thread(target=_read_requests, args=(sys.stdin.buffer, requests), daemon=True).start()
    with suppress(Exception):  # while the parent is still getting ready
        import docpruner.pages.document  # noqa: F401
    worker = Worker(ocr=options.ocr, memory=options.memory)
    with suppress(BrokenPipeError):
        for request in _each(requests):
            messages.write(answers, *worker.answer(request))
    os._exit(0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", type=int, required=True)
    parser.add_argument("--ocr", type=json.loads, required=True)
    return parser.parse_args()


def _own_stdout() -> BinaryIO:
    """The pipe to the parent, where no library can print into it."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _no_core_dumps() -> None:
    with suppress(ImportError, ValueError, OSError):  # ImportError: Windows
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read_requests(stream: BinaryIO, requests: SimpleQueue[Any]) -> None:
    """In a thread of its own: the end of `stream` is seen also while pdfium hangs."""
    with suppress(Exception):
        while (message := messages.read(stream)) is not None:
            requests.put(message[0])
    os._exit(0)


def _each(requests: SimpleQueue[Message]) -> Iterator[Message]:
    while True:
        yield requests.get()


if __name__ == "__main__":
    main()

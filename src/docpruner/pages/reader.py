"""Pages of files read in a child process, which a hostile file may crash, hang or bloat."""

from __future__ import annotations

import importlib.util
import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self

from docpruner.errors import MissingExtraError, PageError
from docpruner.pages import messages
from docpruner.pages.child import Child, ChildDeadError, ChildFullError, ChildSlowError
from docpruner.pages.memory_limit import default_limit
from docpruner.pages.messages import GarbledError, Message
from docpruner.pages.parsed_page import DEFAULT_PIXELS
from docpruner.pages.problems import printable_path, too_much_memory
from docpruner.types import Page

if TYPE_CHECKING:
    from PIL.Image import Image

SECONDS = 60.0  # that a page may take
AHEAD = 4  # pages asked for before they are needed
PATIENCE = 3  # pages of a file that may take too long or too much memory until it is given up
GOOD_PAGES = 10  # make up for one of those
OCR_FACTOR = 5  # recognising words takes that much longer
COSTLY = (ChildSlowError, ChildFullError)
FAILURES = (*COSTLY, ChildDeadError, GarbledError)


class PageReader:
    """Reads one file after another; a page that fails costs an entry and nothing else.

    `pixels` is the area an encoder makes use of: a PDF is drawn to it, an image only scaled down.
    With None it reads words, and a page is drawn only when its `render` is called, from the file.
    Without `words`, those of the text layer are left alone: where an encoder looks at pictures and
    the words are not stored, nobody needs them, and cutting a page into words takes longer than
    drawing it. With `ocr`, the
    words of a page that has none are recognised from its picture. A page may take
    `seconds` (five times as many with `ocr`); the child may take `memory` bytes, by default a
    quarter of the machine's but no more than 4 GB (and 1 GB on top with `ocr`).
    """

    def __init__(
        self,
        *,
        pixels: int | None,
        words: bool = True,
        ocr: bool = False,
        seconds: float = SECONDS,
        memory: int | None = None,
    ) -> None:
        if ocr and importlib.util.find_spec("rapidocr") is None:
            raise MissingExtraError("recognising the words on scans", "ocr")
        self._pixels, self._words = pixels, words or ocr
        self._memory = default_limit(ocr=ocr) if memory is None else memory
        self._options = [f"--memory={self._memory}", *(["--ocr"] if ocr else [])]
        self._seconds = seconds * (OCR_FACTOR if ocr else 1)
        self._path: Path | None = None
        self._asked: deque[int] = deque()  # pages that the child has yet to answer
        self._turn = 0  # of the stream of pages that may talk to the child
        self._strain = 0  # that the open file has caused; see GOOD_PAGES
        self._child: Child | None = None
        self._closed = False
        self._starting = Lock()
        with suppress(OSError):  # tried again, and reported, when a file is opened
            self._child = Child(self._options)  # gets ready while the parent does

    def open(self, path: Path) -> int:
        """The number of pages of a file; PageError if it can't be read."""
        self._new_turn()
        self._path = None
        self._strain = 0
        path = Path(os.path.abspath(path))
        _, count = self._open(path)
        self._path = path
        return count

    def pages(
        self, numbers: Iterable[int], *, pixels: int | None = None
    ) -> Iterator[Page | PageError]:
        """The pages of these numbers, in this order, of the file opened last.

        `pixels` draws them to another area than the reader's own.
        """
        if self._path is None:
            raise ValueError("no file is open; call open(path) first")
        self._new_turn()
        pixels = self._pixels if pixels is None else pixels
        return self._stream(self._path, deque(numbers), pixels, self._turn)

    def close(self) -> None:
        """For good, and from any thread: what another one waits for fails at once."""
        with self._starting:
            self._closed = True
            child = self._child
        if child is not None:
            child.close()

    @property
    def closed(self) -> bool:
        return self._closed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _new_turn(self) -> None:
        self._turn += 1
        if self._asked:  # a stream was left midway, and the child is busy with it
            self._drop_child()

    def _drop_child(self) -> None:
        self._asked.clear()
        if self._child is not None:
            self._child.close()
            self._child = None

    def _open(self, path: Path) -> tuple[Child, int]:
        if self._child is not None and not self._child.alive:
            self._drop_child()
        child = self._started(path)
        child.ask({"open": str(path)})
        try:
            header, _ = child.answer(self._seconds)
            if "problem" in header:
                raise messages.problem_of(header, printable_path(path))
            return child, messages.count_of(header)
        except FAILURES as error:
            self._drop_child()
            raise self._failure(path, error) from None

    def _started(self, path: Path) -> Child:
        with self._starting:
            if self._closed:
                raise _stopped(path, None)
            try:
                self._child = self._child or Child(self._options)
            except OSError as error:
                reason = f"can't be read, as the reader won't start ({error})"
                raise PageError(
                    printable_path(path), reason, "check your installation of docpruner"
                ) from None
            return self._child

    def _stream(
        self, path: Path, waiting: deque[int], pixels: int | None, turn: int
    ) -> Iterator[Page | PageError]:
        while waiting or self._asked:
            if turn != self._turn:
                raise ValueError(
                    f"{printable_path(path)}: its reader has moved on to something else"
                )
            if self._strain >= PATIENCE * GOOD_PAGES:
                yield from (_given_up(path, number) for number in waiting)
                return
            try:
                child = self._child or self._open(path)[0]
            except PageError as problem:
                yield from (_on_page(problem, number) for number in waiting)
                return
            while waiting and len(self._asked) < AHEAD:
                self._asked.append(waiting.popleft())
                child.ask({"page": self._asked[-1], "pixels": pixels, "words": self._words})
            number = self._asked[0]
            try:
                answer = self._page(path, number, *child.answer(self._seconds))
                self._asked.popleft()
                self._strain = max(0, self._strain - 1)
            except FAILURES as error:
                answer = self._failure(path, error, number)
                self._strain += GOOD_PAGES if isinstance(error, COSTLY) else 0
                waiting.extendleft(reversed([*self._asked][1:]))
                self._drop_child()
            yield answer

    def _page(self, path: Path, number: int, header: Message, picture: bytes) -> Page | PageError:
        if "problem" in header:
            return _on_page(messages.problem_of(header, printable_path(path)), number)
        parsed = messages.parsed_page_of(header, picture)
        if parsed.number != number:
            raise GarbledError(f"page {parsed.number} instead of {number}")
        return parsed.page(path, partial(_drawn_aside, path, number, self._seconds, self._memory))

    def _failure(self, path: Path, error: Exception, page: int | None = None) -> PageError:
        if self._closed:
            return _stopped(path, page)
        if isinstance(error, ChildSlowError):
            reason = f"took longer than {self._seconds:g} s to read"
            return PageError(printable_path(path), reason, "simplify it, or allow more time", page)
        if isinstance(error, ChildFullError):
            return too_much_memory(path, self._memory, page)
        how = str(error) if isinstance(error, ChildDeadError) else "garbled answer"
        reason = f"crashed the reader ({how})"
        return PageError(
            printable_path(path), reason, "get a fresh copy, or print it to a new PDF", page
        )


def pages_of(path: Path, *, pixels: int | None = None, ocr: bool = False) -> Iterator[Page]:
    """The pages of a file one after another; the first that can't be read is raised.

    See `PageReader` for `pixels` and `ocr`.
    """
    with PageReader(pixels=pixels, ocr=ocr) as reader:
        for page in reader.pages(range(1, reader.open(path) + 1)):
            yield page_or_raise(page)


def page_or_raise(page: Page | PageError) -> Page:
    if isinstance(page, PageError):
        raise page
    return page


def _on_page(problem: PageError, number: int) -> PageError:
    return PageError(problem.path, problem.reason, problem.remedy, number)


def _stopped(path: Path, number: int | None) -> PageError:
    reason = "wasn't read because reading was stopped"
    return PageError(printable_path(path), reason, "read it again", number)


def _given_up(path: Path, number: int) -> PageError:
    reason = "wasn't tried because too many pages before it took too much time or memory"
    return PageError(printable_path(path), reason, "simplify the file", number)


def _drawn_aside(path: Path, number: int, seconds: float, memory: int) -> Image:
    """A page that was read for its words, drawn after all: in a child too."""
    with PageReader(pixels=DEFAULT_PIXELS, seconds=seconds, memory=memory) as reader:
        reader.open(path)
        (page,) = reader.pages([number])
        return page_or_raise(page).render()

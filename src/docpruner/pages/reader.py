"""Pages of files read in a child process, which a hostile file may crash, hang or bloat."""

from __future__ import annotations

import json
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self

from docpruner.errors import PageError
from docpruner.pages import messages
from docpruner.pages.child import Child, ChildDeadError, ChildFullError, ChildSlowError
from docpruner.pages.early_pictures import EarlyPictures
from docpruner.pages.memory_limit import default_limit, most_recognisers
from docpruner.pages.messages import GarbledError, Message
from docpruner.pages.ocr import uses_ocr
from docpruner.pages.parsed_page import DEFAULT_PIXELS, titled
from docpruner.pages.problems import (
    given_up,
    on_page,
    printable_path,
    stopped,
    too_much_memory,
)
from docpruner.types import Ocr, Page, Word

if TYPE_CHECKING:
    from PIL.Image import Image

SECONDS = 60.0  # that a page may take
AHEAD = 4  # pages asked for before they are needed
AHEAD_OCR = 2  # of each child: what one was asked no other can do
PATIENCE = 3  # pages of a file that may take too long or too much memory until it is given up
GOOD_PAGES = 10  # make up for one of those
OCR_FACTOR = 2  # recognising words takes that much longer, on a busy machine
COSTLY = (ChildSlowError, ChildFullError)
FAILURES = (*COSTLY, ChildDeadError, GarbledError)


class PageReader:
    """Reads one file after another; a page that fails costs an entry and nothing else.

    `pixels` is the area an encoder makes use of: a PDF is drawn to it, an image only scaled down.
    With None it reads words, and a page is drawn only when its `render` is called, from the file;
    with `title_page` too, each page comes with the words of the first, for an encoder.
    Without `words`, those of the text layer are left alone: where an encoder looks at pictures and
    the words are not stored, nobody needs them, and cutting a page into words takes longer than
    drawing it. With `ocr`, the words of a page that has none are recognised from its picture, in
    languages of tesseract if it names some, by several children at once: they share a file that has
    such a page, or read pictures ahead, if it is known which come next (see `open`). A page may
    take `seconds` (twice as many with `ocr`); a child may take `memory` bytes, by default a quarter
    of the machine's but no more than 4 GB (and 1 GB on top with `ocr`).
    """

    def __init__(
        self,
        *,
        pixels: int | None,
        words: bool = True,
        ocr: Ocr = False,
        title_page: bool = False,
        seconds: float = SECONDS,
        memory: int | None = None,
    ) -> None:
        uses_ocr(ocr, reads_words=True)  # or says that it is missing
        self._pixels, self._words = pixels, words or bool(ocr)
        self._titled = title_page and pixels is None
        self._memory = default_limit(ocr=bool(ocr)) if memory is None else memory
        self._options = [f"--memory={self._memory}", f"--ocr={json.dumps(ocr)}"]
        self._seconds = seconds * (OCR_FACTOR if ocr else 1)
        self._ahead, self._most = (AHEAD_OCR, most_recognisers()) if ocr else (AHEAD, 1)
        self._path: Path | None = None
        self._asked: deque[tuple[int, Child]] = deque()  # pages, and who has yet to answer
        self._turn = 0  # of the stream of pages that may talk to the children
        self._strain = 0  # that the open file has caused; see GOOD_PAGES
        self._is_scan = False  # the open file: words of it had to be recognised
        self._early = EarlyPictures(self._most)
        self._first: Page | PageError | None = None  # page of the open file, if read already
        self._title: tuple[Word, ...] | None = None  # words of that page, once they are known
        self._children: list[Child] = []
        self._closed = False
        self._starting = Lock()
        with suppress(OSError):  # tried again, and reported, when a file is opened
            self._children.append(Child(self._options))  # gets ready while the parent does

    def open(self, path: Path, *, ahead: Iterable[Path] = ()) -> int:
        """The number of pages of a file; PageError if it can't be read.

        `ahead` are pictures of one page each that may be opened next, in this order: with `ocr`,
        children that would have nothing to do read them meanwhile.
        """
        self._new_turn()
        self._path = self._first = self._title = None
        self._strain, self._is_scan = 0, False
        path = Path(os.path.abspath(path))
        if self._closed:
            raise stopped(path, None)
        dead = {child for child in self._children if not child.alive}
        self._end({child for child in dead if not self._early.pending(child)})
        self._end(self._early.expect(path, ahead))
        for child in self._children:
            child.file = None  # it may have changed
        count = self._open_early(path) if self._early.any_coming else self._open_now(path)
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
        waiting, first = deque(numbers), self._first
        self._first = None
        if first is not None and pixels == self._pixels and [*waiting] == [1]:
            return iter([first])
        self._end({child for child in self._children if self._early.pending(child)})
        if self._titled and pixels is None and waiting:
            return self._with_title(self._path, waiting, self._turn)
        return self._stream(self._path, waiting, pixels, self._turn)

    def close(self) -> None:
        """For good, and from any thread: what another one waits for fails at once."""
        with self._starting:
            self._closed = True
            children = [*self._children]
        for child in children:
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
        if self._asked:  # a stream was left midway, and the children are busy with it
            self._drop_children()

    def _drop_children(self) -> None:
        self._asked.clear()
        self._end({*self._children})

    def _end(self, ended: set[Child]) -> None:
        self._early.forget(ended)
        with self._starting:
            self._children = [child for child in self._children if child not in ended]
        for child in ended:
            child.close()

    def _open_early(self, path: Path) -> int:
        """With page 1, and have other pictures read meanwhile."""
        request = {"page": 1, "pixels": self._pixels, "words": self._words}
        self._early.ask(self._children, lambda: self._started(path), request)
        child = self._early.child_of(path)
        if child is None:
            return self._open_now(path)
        page = None
        try:
            header, _ = child.answer(self._seconds)
            problem = messages.problem_in(header, path)
            count = 1 if problem else messages.count_of(header)
            if count > 1:  # whatever its name says
                return self._open_now(path)
            page = 1
            answer = child.answer(self._seconds)
            self._early.answered(path)
            if problem:
                raise problem
            self._first = self._page(path, 1, *answer)
        except FAILURES as error:
            self._end({child})
            failure = self._failure(path, error, page)
            if page is None:
                raise failure from None
            self._first = failure
        return count

    def _open_now(self, path: Path) -> int:
        self._end({child for child in self._children if self._early.pending(child)})
        return self._open(path, self._children[0] if self._children else self._started(path))

    def _open(self, path: Path, child: Child) -> int:
        child.ask({"open": str(path)})
        try:
            header, _ = child.answer(self._seconds)
            if problem := messages.problem_in(header, path):
                raise problem
            child.file = path
            return messages.count_of(header)
        except FAILURES as error:
            self._drop_children()
            raise self._failure(path, error) from None

    def _started(self, path: Path) -> Child:
        with self._starting:
            if self._closed:
                raise stopped(path, None)
            try:
                self._children.append(Child(self._options))
            except OSError as error:
                reason = f"can't be read, as the reader won't start ({error})"
                raise PageError(
                    printable_path(path), reason, "check your installation of docpruner"
                ) from None
            return self._children[-1]

    def _readers(self, path: Path, pages: int) -> list[Child]:
        """Children that have the file open, for so many pages."""
        wanted = min(self._most, pages) if self._is_scan else 1
        while len(self._children) < wanted:
            self._started(path)
        readers = self._children[:wanted]
        for child in readers:
            if child.file != path:
                self._open(path, child)
        return readers

    def _with_title(self, path: Path, waiting: deque[int], turn: int) -> Iterator[Page | PageError]:
        """Page 1 is read first if its words are not known yet, whether it is wanted or not. If it
        can't be read, the others do without."""
        unasked = self._title is None and waiting[0] != 1
        if unasked:
            waiting.appendleft(1)
        for page in self._stream(path, waiting, None, turn):
            if self._title is None:
                self._title = page.words if isinstance(page, Page) and page.number == 1 else ()
            elif isinstance(page, Page) and page.number != 1 and self._title:
                page = titled(page, self._title)
            if not unasked:
                yield page
            unasked = False

    def _stream(
        self, path: Path, waiting: deque[int], pixels: int | None, turn: int
    ) -> Iterator[Page | PageError]:
        while waiting or self._asked:
            if turn != self._turn:
                raise ValueError(
                    f"{printable_path(path)}: its reader has moved on to something else"
                )
            if self._strain >= PATIENCE * GOOD_PAGES:
                yield from (given_up(path, number) for number in waiting)
                return
            numbers = [*(number for number, _ in self._asked), *waiting]
            try:
                readers = self._readers(path, len(numbers))
            except PageError as problem:
                self._drop_children()
                yield from (on_page(problem, number) for number in numbers)
                return
            self._ask(readers, waiting, pixels)
            number, child = self._asked[0]
            try:
                answer = self._page(path, number, *child.answer(self._seconds))
                self._asked.popleft()
                self._strain = max(0, self._strain - 1)
            except FAILURES as error:
                answer = self._failure(path, error, number)
                self._strain += GOOD_PAGES if isinstance(error, COSTLY) else 0
                waiting = deque(numbers[1:])
                self._drop_children()
            yield answer

    def _ask(self, readers: list[Child], waiting: deque[int], pixels: int | None) -> None:
        """Of each child as many pages as it may have before it; the next page of the idlest."""
        busy = Counter(child for _, child in self._asked)
        while waiting:
            child = min(readers, key=lambda child: busy[child])
            if busy[child] == self._ahead:
                return
            busy[child] += 1
            self._asked.append((waiting.popleft(), child))
            child.ask({"page": self._asked[-1][0], "pixels": pixels, "words": self._words})

    def _page(self, path: Path, number: int, header: Message, picture: bytes) -> Page | PageError:
        if problem := messages.problem_in(header, path):
            return on_page(problem, number)
        parsed = messages.parsed_page_of(header, picture)
        if parsed.number != number:
            raise GarbledError(f"page {parsed.number} instead of {number}")
        self._is_scan |= parsed.words_from == "ocr"
        return parsed.page(path, partial(_drawn_aside, path, number, self._seconds, self._memory))

    def _failure(self, path: Path, error: Exception, page: int | None = None) -> PageError:
        if self._closed:
            return stopped(path, page)
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


def pages_of(path: Path, *, pixels: int | None = None, ocr: Ocr | None = None) -> Iterator[Page]:
    """The pages of a file one after another; the first that can't be read is raised.

    See `PageReader` for `pixels` and `ocr`; None recognises words where that is installed, of pages
    that are read for their words.
    """
    ocr = uses_ocr(ocr, reads_words=pixels is None)
    with PageReader(pixels=pixels, ocr=ocr, title_page=True) as reader:
        for page in reader.pages(range(1, reader.open(path) + 1)):
            yield page_or_raise(page)


def page_or_raise(page: Page | PageError) -> Page:
    if isinstance(page, PageError):
        raise page
    return page


def _drawn_aside(path: Path, number: int, seconds: float, memory: int) -> Image:
    """A page that was read for its words, drawn after all: in a child too."""
    with PageReader(pixels=DEFAULT_PIXELS, seconds=seconds, memory=memory) as reader:
        reader.open(path)
        (page,) = reader.pages([number])
        return page_or_raise(page).render()

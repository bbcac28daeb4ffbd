"""Files of the index read in child processes, a few at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, LifoQueue

from docpruner.errors import PageError
from docpruner.pages.problems import shown, unreachable
from docpruner.pages.reader import PageReader
from docpruner.types import Page, Word
from docpruner.web.kept import Recent

MEMORY = 2 << 30
WORDS_READERS = 2
AT_ONCE = 4  # pages, between looks at the time
WORDS_KEPT = 256  # pages
WORDS_SECONDS, DRAWING_SECONDS = 5.0, 30.0
PATIENCE = 60.0  # seconds until a reader is free

Place = tuple[str, int]  # path of a file, number of a page
FileState = tuple[str, int, int]  # a file as it is now: path, time of change, bytes


def state_of(path: str) -> FileState:
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        raise unreachable(path, error) from None
    return path, found.st_mtime_ns, found.st_size


class Readers:
    """A few `PageReader`s of one kind, each started when it is first needed."""

    def __init__(self, *, pixels: int | None, count: int, seconds: float) -> None:
        self._pixels, self._seconds = pixels, seconds
        self._free: LifoQueue[PageReader | None] = LifoQueue()
        for _ in range(count):
            self._free.put(None)
        self._count = count

    def warm_up(self) -> None:
        """Have all of them ready."""
        with ExitStack() as stack:
            for _ in range(self._count):
                stack.enter_context(self._reader(""))

    def page(self, path: str, number: int) -> Page:
        (page,) = self.pages(path, [number])
        if isinstance(page, PageError):
            raise page
        return page

    def pages(self, path: str, numbers: Sequence[int]) -> list[Page | PageError]:
        with self._reader(path) as reader:
            reader.open(Path(path))
            return list(reader.pages(numbers))

    def close(self) -> None:
        for _ in range(self._count):
            reader = self._free.get()
            if reader is not None:
                reader.close()

    @contextmanager
    def _reader(self, path: str) -> Iterator[PageReader]:
        try:
            reader = self._free.get(timeout=PATIENCE)
        except Empty:
            remedy = "try again in a moment"
            raise PageError(shown(path), "could not be read in time", remedy) from None
        try:
            if reader is None:
                reader = PageReader(pixels=self._pixels, seconds=self._seconds, memory=MEMORY)
            yield reader
        finally:
            self._free.put(reader)


class PageWords:
    """The words of pages, as they stand in the files."""

    def __init__(self) -> None:
        self._readers = Readers(pixels=None, count=WORDS_READERS, seconds=WORDS_SECONDS)
        self._pool = ThreadPoolExecutor(WORDS_READERS, "docpruner-words")
        self._kept: Recent[tuple[FileState, int], tuple[Word, ...]] = Recent(WORDS_KEPT)
        self.warm_up = self._readers.warm_up

    def close(self) -> None:
        self._pool.shutdown()
        self._readers.close()

    def of(self, pages: Iterable[tuple[str, int]], seconds: float) -> dict[Place, tuple[Word, ...]]:
        """Of pages by path and number; none of those that can't be read, or not in time."""
        until = time.monotonic() + seconds
        numbers: dict[str, list[int]] = {}
        for path, number in pages:
            numbers.setdefault(path, []).append(number)
        work = [self._pool.submit(self._of_file, *item, until) for item in numbers.items()]
        return {place: words for done in work for place, words in done.result().items()}

    def _of_file(
        self, path: str, numbers: Sequence[int], until: float
    ) -> dict[Place, tuple[Word, ...]]:
        try:
            state = state_of(path)
            kept = {number: self._kept.get((state, number)) for number in numbers}
            missing = [number for number, words in kept.items() if words is None]
            while missing and time.monotonic() < until:
                some, missing = missing[:AT_ONCE], missing[AT_ONCE:]
                for number, page in zip(some, self._read(path, some), strict=True):
                    kept[number] = () if isinstance(page, PageError) else page.words
                    self._kept.put((state, number), kept[number] or (), 1)
        except PageError:
            return {}
        return {(path, number): words for number, words in kept.items() if words is not None}

    def _read(self, path: str, numbers: Sequence[int]) -> list[Page | PageError]:
        """A file that can't be opened is remembered as one without words."""
        try:
            return self._readers.pages(path, numbers)
        except PageError as problem:
            return [problem] * len(numbers)

"""Files of the index read in child processes, a few at a time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, LifoQueue
from typing import TYPE_CHECKING

from docpruner.errors import PageError
from docpruner.pages.reader import PageReader, page_or_raise
from docpruner.stores.records import DocumentEntry
from docpruner.types import Page, Word
from docpruner.web.error_responses import Refused
from docpruner.web.indexed_files import FileState, IndexedFiles
from docpruner.web.lru_cache import LruCache

if TYPE_CHECKING:
    from PIL.Image import Image

MEMORY = 2 << 30
WORDS_READERS = 2
AT_ONCE = 4  # pages, before the clock is looked at again
WORDS_KEPT = 256  # pages
WORDS_SECONDS, DRAWING_SECONDS = 5.0, 30.0
PATIENCE = 60.0  # seconds until a reader is free

Place = tuple[str, int]  # name of a document, number of a page


class ReaderPool:
    """A few `PageReader`s, each started when it is first needed."""

    def __init__(self, count: int, *, seconds: float) -> None:
        self._count, self._seconds = count, seconds
        self._free: LifoQueue[PageReader | None] = LifoQueue()
        for _ in range(count):
            self._free.put(None)

    def warm_up(self) -> None:
        """Have all of them ready."""
        with ExitStack() as stack:
            for _ in range(self._count):
                stack.enter_context(self._reader())

    def picture(self, path: str, number: int, pixels: int) -> Image:
        with self._reader() as reader:
            reader.open(Path(path))
            (page,) = reader.pages([number], pixels=pixels)
            return page_or_raise(page).render()

    def pages(self, path: str, numbers: Sequence[int]) -> list[Page | PageError]:
        with self._reader() as reader:
            reader.open(Path(path))
            return list(reader.pages(numbers))

    def close(self) -> None:
        for _ in range(self._count):
            reader = self._free.get()
            if reader is not None:
                reader.close()

    @contextmanager
    def _reader(self) -> Iterator[PageReader]:
        try:
            reader = self._free.get(timeout=PATIENCE)
        except Empty:
            raise Refused(429, "the server is busy reading files; try again in a moment") from None
        try:
            if reader is None:
                reader = PageReader(pixels=None, seconds=self._seconds, memory=MEMORY)
            yield reader
        finally:
            self._free.put(reader)


class PageWords:
    """The words of pages, as they stand in the files that were indexed."""

    def __init__(self, files: IndexedFiles) -> None:
        self._files = files
        self._readers = ReaderPool(WORDS_READERS, seconds=WORDS_SECONDS)
        self._threads = ThreadPoolExecutor(WORDS_READERS, "docpruner-words")
        self._kept: LruCache[tuple[FileState, int], tuple[Word, ...]] = LruCache(WORDS_KEPT)
        self.warm_up = self._readers.warm_up

    def close(self) -> None:
        self._threads.shutdown()
        self._readers.close()

    def of(
        self, pages: Iterable[tuple[DocumentEntry, int]], seconds: float
    ) -> dict[Place, tuple[Word, ...]]:
        """The words of pages; none of those that can't be read, or not in time."""
        until = time.monotonic() + seconds
        entries: dict[str, DocumentEntry] = {}
        numbers: dict[str, list[int]] = {}
        for entry, number in pages:
            entries[entry.name] = entry
            numbers.setdefault(entry.name, []).append(number)
        work = [
            self._threads.submit(self._of_file, entries[name], some, until)
            for name, some in numbers.items()
        ]
        return {place: words for done in work for place, words in done.result().items()}

    def _of_file(
        self, entry: DocumentEntry, numbers: Sequence[int], until: float
    ) -> dict[Place, tuple[Word, ...]]:
        try:
            state = self._files.state(entry)
            kept = {number: self._kept.get((state, number)) for number in numbers}
            missing = [number for number, words in kept.items() if words is None]
            while missing and time.monotonic() < until:
                some, missing = missing[:AT_ONCE], missing[AT_ONCE:]
                pages = self._read(state.path, some)
                if self._files.state(entry) != state:  # somebody was at it meanwhile
                    return {}
                for number, page in zip(some, pages, strict=True):
                    kept[number] = () if isinstance(page, PageError) else page.words
                    self._kept.put((state, number), kept[number] or ())
        except (PageError, Refused):
            return {}
        return {(entry.name, number): words for number, words in kept.items() if words is not None}

    def _read(self, path: str, numbers: Sequence[int]) -> list[Page | PageError]:
        """A file that can't be opened is remembered as one without words."""
        try:
            return self._readers.pages(path, numbers)
        except PageError as problem:
            return [problem] * len(numbers)

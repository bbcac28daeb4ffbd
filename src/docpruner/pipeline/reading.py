"""Files to the pages that an index lacks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from docpruner.errors import PageError
from docpruner.index.records import FileRecord
from docpruner.index.store import PageStore
from docpruner.pages.files import find_files
from docpruner.pages.reader import PageReader
from docpruner.pipeline.report import Fate
from docpruner.types import Page


@dataclass(frozen=True, eq=False)
class PageRead:
    """A page that is to be encoded."""

    file: FileRecord
    page: Page


@dataclass(frozen=True)
class DocumentEnd:
    """All pages of a document have come; `changed` if the index has to hear of it."""

    file: FileRecord
    fate: Fate
    changed: bool


Reading = PageRead | DocumentEnd | PageError


class FilesReader:
    """Reads the files of a run one after another, and of each only what is missing."""

    def __init__(
        self,
        store: PageStore,
        reader: PageReader,
        *,
        ocr: bool,
        metadata: Mapping[str, str] | None,
    ) -> None:
        self._store = store
        self._reader = reader
        self._ocr = ocr
        self._metadata = metadata

    def read(self, files: Iterable[Path | PageError]) -> Iterator[Reading]:
        for file in files:
            if isinstance(file, PageError):
                yield file
                continue
            try:
                yield from self._document(file)
            except PageError as problem:
                yield problem
            except OSError as error:
                remedy = "make it readable, or leave it out"
                yield PageError(str(file), f"can't be read ({error.strerror})", remedy)

    def _document(self, path: Path) -> Iterator[Reading]:
        name = str(path)
        status = path.stat()
        with path.open("rb") as content:
            sha256 = hashlib.file_digest(content, "sha256").digest()
        known = self._store.known(name, sha256)
        pages = known.pages if known is not None else self._reader.open(path)
        file = FileRecord(name, sha256, status.st_mtime_ns, status.st_size, pages, self._metadata)
        if known is None:
            fate: Fate = "replaced" if self._store.has(name) else "added"
            yield from self._pages(file, range(1, pages + 1), fate)
            return
        missing = set(range(1, pages + 1)) - known.there
        if self._ocr:
            missing |= known.without_words
        if missing:
            self._reader.open(path)
            yield from self._pages(file, sorted(missing), "completed")
        else:
            changed = self._metadata is not None or not known.whole
            yield DocumentEnd(file, "unchanged", changed)

    def _pages(self, file: FileRecord, numbers: Sequence[int], fate: Fate) -> Iterator[Reading]:
        any_good = fate == "completed"
        for page in self._reader.pages(numbers):
            if isinstance(page, PageError):
                yield page
            else:
                any_good = True
                yield PageRead(file, page)
        if any_good:
            yield DocumentEnd(file, fate, True)


def listed_files(paths: Iterable[str | Path]) -> tuple[list[Path | PageError], int]:
    """The files of a run, and how many bytes they have together."""
    given = list(paths)
    found = list(find_files(given))
    if not found:
        where = ", ".join(map(str, given)) or "nowhere"
        remedy = "give PDF, PNG, JPEG, TIFF or WebP files, or folders with some"
        found = [PageError(where, "holds no document", remedy)]
    return found, sum(_size(file) for file in found if isinstance(file, Path))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # reported when it is read

"""A store of one's own: the whole index in one file. See "Add a store" in CONTRIBUTING.md.

    one-file:///path/to/index.pickle

Every change writes the file anew, so it is for small indexes. Pickles can run code: open only files
that you trust. It leaves to `docpruner.stores.memory` what an index is in memory, and adds where it
is kept; a store on a server would implement `Reader` and `Writer` by itself.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from docpruner.errors import IndexBusyError, IndexClosedError, IndexStateError
from docpruner.stores.contract import WAIT
from docpruner.stores.memory import Contents, Held, MemoryReader, MemoryWriter
from docpruner.stores.settings import Settings

SCHEME = "one-file://"


class OneFileStore:
    def __init__(self, location: str) -> None:
        self.location = location
        self._path = _path(location)
        self._closed = False
        self._load()

    @classmethod
    def create(cls, location: str, settings: Settings) -> OneFileStore:
        if cls.exists(location):
            raise IndexStateError(f"{location} already holds an index; choose another name")
        _save(_path(location), Contents(settings))
        return cls(location)

    @classmethod
    def open(cls, location: str) -> OneFileStore:
        return cls(location)

    @classmethod
    def exists(cls, location: str) -> bool:
        return _path(location).is_file()

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def reader(self) -> Iterator[MemoryReader]:
        yield MemoryReader(self._load())

    @contextmanager
    def writer(self, wait: float = WAIT) -> Iterator[MemoryWriter]:
        try:
            with FileLock(f"{self._path}.lock").acquire(timeout=wait):
                held = Held(self._load(), changed=lambda contents: _save(self._path, contents))
                yield MemoryWriter(held)
        except Timeout:
            raise IndexBusyError(self.location, wait) from None

    def _load(self) -> Contents:
        if self._closed:
            raise IndexClosedError(self.location)
        if not self._path.is_file():
            raise IndexStateError(f"{self.location} holds no index; make one with Index.create")
        contents: Contents = pickle.loads(self._path.read_bytes())
        return contents


def _path(location: str) -> Path:
    return Path(location.removeprefix(SCHEME))


def _save(path: Path, contents: Contents) -> None:
    """The new file takes the place of the old at once, or not at all."""
    draft = path.with_name(f"{path.name}.new")
    draft.write_bytes(pickle.dumps(contents))
    os.replace(draft, path)

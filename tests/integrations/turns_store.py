"""A folder that many processes may write to: each takes its turn at every single change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from docpruner.stores.contract import WAIT
from docpruner.stores.folder.store import FolderStore
from docpruner.stores.records import DocumentPages
from docpruner.stores.settings import Settings

SCHEME = "turns://"
PATIENCE = 60.0  # seconds until it is this one's turn


class TurnsStore:
    several_writers = True

    def __init__(self, location: str, folder: FolderStore) -> None:
        self.location, self._folder = location, folder
        self.reader: Callable[..., Any] = folder.reader

    @classmethod
    def create(cls, location: str, settings: Settings) -> TurnsStore:
        return cls(location, FolderStore.create(location.removeprefix(SCHEME), settings))

    @classmethod
    def open(cls, location: str) -> TurnsStore:
        return cls(location, FolderStore.open(location.removeprefix(SCHEME)))

    @staticmethod
    def exists(location: str) -> bool:
        return FolderStore.exists(location.removeprefix(SCHEME))

    @contextmanager
    def writer(self, wait: float = WAIT) -> Iterator[TurnsWriter]:  # noqa: ARG002  # none waits
        yield TurnsWriter(self._folder)

    def verify(self, **options: Any) -> list[Any]:
        return self._folder.verify(**options)

    def close(self) -> None:
        self._folder.close()

    def __enter__(self) -> TurnsStore:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class TurnsWriter:
    def __init__(self, folder: FolderStore) -> None:
        self._folder = folder
        with folder.reader() as reader:
            self.settings = reader.settings

    def commit(self, batch: Sequence[DocumentPages]) -> None:
        with self._folder.writer(PATIENCE) as writer:
            writer.commit(batch)

"""The shards of a set as they are asked: all of them, each at one moment of its own."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from docpruner.errors import DocPrunerError
from docpruner.stores.contract import Reader, Store
from docpruner.stores.locations import open_store
from docpruner.stores.settings import Settings


class Call(NamedTuple):
    """What a `Reader` is asked: one of its methods, by name."""

    method: str
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = {}

    def of(self, reader: Reader) -> Any:
        return getattr(reader, self.method)(*self.arguments, **self.options)


@dataclass(frozen=True)
class Facts:
    """What has to be known of a shard for it to be one index with the others."""

    version: Hashable
    settings: Settings
    names: Sequence[str] | None  # of its documents; None if they are those of a known version

    @classmethod
    def of(cls, reader: Reader, version: Hashable, known: Hashable) -> Facts:
        return cls(version, reader.settings, None if version == known else list(reader.names()))


class Moment(Protocol):
    """Shards are numbered as they are listed."""

    @property
    def facts(self) -> Mapping[int, Facts]:
        """Of those that are there."""

    @property
    def missing(self) -> Mapping[int, str]:
        """The others, each with the reason; more may join them."""

    @property
    def far(self) -> bool:
        """Every question takes a while, so that it is better to ask for much at once."""

    def ask(self, calls: Mapping[int, Sequence[Call]]) -> dict[int, list[Any]]:
        """The answers of those shards that are there, in their order."""


class Holder(Protocol):
    """Whoever keeps the shards open."""

    def moment(self, known: Mapping[int, Hashable]) -> AbstractContextManager[Moment]:
        """`known` are the versions whose names are known."""

    def close(self) -> None: ...


@dataclass
class NearMoment:
    readers: dict[int, Reader] = field(default_factory=dict)
    facts: dict[int, Facts] = field(default_factory=dict)
    missing: dict[int, str] = field(default_factory=dict)
    far = False

    def ask(self, calls: Mapping[int, Sequence[Call]]) -> dict[int, list[Any]]:
        return {
            shard: [call.of(self.readers[shard]) for call in asked]
            for shard, asked in calls.items()
            if shard in self.readers
        }


class NearShards:
    """All shards in this process. One that can't be opened is tried again with each reader."""

    def __init__(self, locations: Sequence[str]) -> None:
        self._locations = locations
        self._stores: dict[int, Store] = {}
        self._lock = threading.Lock()

    @contextmanager
    def moment(self, known: Mapping[int, Hashable]) -> Iterator[NearMoment]:
        moment = NearMoment()
        with ExitStack() as readers:
            for shard in range(len(self._locations)):
                try:
                    reader = readers.enter_context(self._store(shard).reader())
                    facts = Facts.of(reader, reader.version, known.get(shard))
                except (DocPrunerError, OSError) as error:
                    moment.missing[shard] = str(error)
                else:
                    moment.readers[shard], moment.facts[shard] = reader, facts
            yield moment

    def _store(self, shard: int) -> Store:
        with self._lock:
            if shard not in self._stores:
                self._stores[shard] = open_store(self._locations[shard])
            return self._stores[shard]

    def close(self) -> None:
        with self._lock:
            for store in self._stores.values():
                store.close()
            self._stores.clear()

"""What every store does. `tests/stores/test_contract.py` holds all of them to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, Self, runtime_checkable

from docpruner.stores.records import (
    Damage,
    DocumentEntry,
    DocumentPages,
    FirstStageState,
    IndexVersion,
    KnownDocument,
    PageName,
    RankedPage,
    Stats,
    StoredPage,
    Tuning,
)
from docpruner.stores.settings import Settings
from docpruner.types import Filter, FloatArray, Metadata

Progress = Callable[[int, int], None]
"""Told how much is done, and of how much."""

WAIT = 10.0
"""Seconds to wait for another writer to finish, unless told otherwise."""


class Reader(Protocol):
    """An index at one moment: whatever is written meanwhile, it reads the same."""

    @property
    def version(self) -> Hashable:
        """Another one after every change. Two readers of one store compare theirs."""

    @property
    def settings(self) -> Settings: ...

    def documents(self) -> Sequence[DocumentEntry]:
        """All of them, by name."""

    def document(self, name: str) -> DocumentEntry | None: ...

    def names(self) -> Sequence[str]:
        """Of all documents."""

    def documents_like(self, content_hash: bytes) -> Sequence[str]:
        """The names of documents with this content."""

    def pages(self) -> Sequence[PageName]:
        """All that can be searched, each document's together or not."""

    def page(self, document: str, number: int) -> StoredPage | None: ...

    def rank(
        self,
        queries: Sequence[FloatArray],
        k: int,
        which: Filter,
        among: Sequence[Collection[PageName]] | None = None,
        *,
        exact: bool = True,
        candidates: int | None = None,
    ) -> list[list[RankedPage]]:
        """For each query its best pages by exact MaxSim, the best first.

        Only pages that `which` allows and, if given, that are `among` the candidates of the query.
        Pages of equal score stand by document and number. A store that has a first stage may
        choose pages by it unless `exact`: as many `candidates`, or as it was tuned to. Their scores
        are exact all the same.
        """

    def rank_text(self, query: str, k: int, which: Filter) -> list[RankedPage]:
        """The pages whose stored words fit the query's best, the best first.

        Only pages that `which` allows and that hold at least one of the words. Scores are greater
        where a page fits better, and by no scale that two stores share: BM25 in the folder,
        whatever a server has.
        """

    def known(self, document: str, content_hash: bytes) -> KnownDocument | None:
        """What there is of a document, if there is anything under its name."""

    def page_like(self, content_hash: bytes) -> StoredPage | None:
        """Any page that looks the same to the encoder, also of a version on its way in."""

    def stats(self) -> Stats: ...


class Writer(Protocol):
    """Changes an index; there is one at a time. Each call happens whole or not at all."""

    @property
    def settings(self) -> Settings: ...

    def commit(self, batch: Sequence[DocumentPages]) -> None:
        """Store pages of documents.

        A new document can be searched page by page. A new version of one that is there replaces it
        whole, when it is `finished`; an unfinished version is dropped when yet another comes.
        """

    def delete(self, documents: Iterable[str]) -> None:
        """Remove all versions of documents; their names need not be there."""

    def rename(self, names: Mapping[str, str]) -> None:
        """Give documents other names, which are free; their pages stay as they are."""

    def set_metadata(self, metadata: Mapping[str, Metadata]) -> None:
        """Replace the metadata of documents, by their names."""

    def set_budget(self, budget: str) -> None:
        """Change what the settings say of it, and nothing else; empty is none."""

    def rewrite(
        self,
        change: Callable[[StoredPage], StoredPage],
        settings: Settings,
        progress: Progress | None = None,
    ) -> None:
        """Replace the vectors and provenance of every page, and the settings, all at once."""


class Store(Protocol):
    """An index, open. Any thread may use it."""

    @property
    def location(self) -> str:
        """By which it is opened again, and named in messages."""

    def reader(self) -> AbstractContextManager[Reader]: ...

    def writer(self, wait: float = WAIT) -> AbstractContextManager[Writer]:
        """The right to change the index; waits so many seconds for another writer."""

    def close(self) -> None:
        """Called twice, it does nothing."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...


class StoreKind(Protocol):
    """How stores of one kind are made and found: a class that is a `Store` will do."""

    def create(self, location: str, settings: Settings) -> Store:
        """IndexStateError if there is an index already."""

    def open(self, location: str) -> Store:
        """IndexStateError if there is none."""

    def exists(self, location: str) -> bool: ...


@runtime_checkable
class SeveralWriters(Protocol):
    """A store that any number of processes may write to at once, none of them waiting for another.

    All pages of a document that they commit are in it, and who finishes it comes after them.
    """

    several_writers: bool  # a class attribute will do


@runtime_checkable
class Verifiable(Protocol):
    """A store that can compare its bytes with checksums."""

    def verify(
        self, *, isolate: bool = True, wait: float = WAIT, progress: Progress | None = None
    ) -> list[Damage]:
        """Every page that is not as it was written; with `isolate`, they are taken out."""


@runtime_checkable
class Staged(Protocol):
    """A store with a first stage, so that not every page need be scored."""

    def first_stage(self) -> FirstStageState | None:
        """None if there is none yet, as with few pages."""

    def update_first_stage(
        self, *, renew: bool = False, wait: float = WAIT, progress: Progress | None = None
    ) -> None:
        """Bring it up to date with the pages; train it where it is missing, old, or to `renew`."""

    def tune_first_stage(self, tuning: Tuning, *, wait: float = WAIT) -> None:
        """Choose so many candidates from now on."""


@runtime_checkable
class Versioned(Protocol):
    """A store that can still read what it was before changes."""

    def versions(self) -> Sequence[IndexVersion]:
        """Those that can be read, the oldest first."""

    def at(self, version: int) -> Store:
        """The index as it was, which can't be changed; IndexStateError if it is not there."""


@runtime_checkable
class Sharded(Protocol):
    """A store made of several others, some of which may be out of reach."""

    def missing(self) -> Sequence[str]:
        """The locations of those that the last reader did without; empty if it read them all."""


@runtime_checkable
class Compactable(Protocol):
    """A store that does not give back the room of what was removed by itself."""

    def compact(self, *, wait: float = WAIT, progress: Progress | None = None) -> None: ...

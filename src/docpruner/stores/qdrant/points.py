"""What the store asks of Qdrant's engine, so that a server and Edge can both be it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from docpruner.types import FloatArray

Payload: TypeAlias = dict[str, Any]
Datatype = Literal["float32", "float16"]
Quantization = Literal["scalar", "binary"]
SparseVector: TypeAlias = Mapping[int, float]

MULTIVECTOR, SPARSE = "pages", "words"
"""The names of the vectors of a page: its multivector, and what BM25 makes of its words."""

KEYWORDS = ("kind", "page", "content", "owner")
INTEGERS = ("version", "number", "born", "shown", "died", "died_at", "commit", "beat")
"""What is filtered by, and so indexed."""

MOST_NUMBERS = 1 << 20
"""A point has fewer numbers than this, or the server refuses it."""


@dataclass(frozen=True)
class Among:
    """A field is one of some values; or none of them, if they are `excluded`."""

    key: str
    values: Sequence[str] | Sequence[int]
    excluded: bool = False


@dataclass(frozen=True)
class Between:
    """A field is a number in a range, ends included."""

    key: str
    low: int | None = None
    high: int | None = None


Condition: TypeAlias = Among | Between
Where: TypeAlias = tuple[Condition, ...]  # all of which hold


@dataclass(frozen=True, eq=False)
class Point:
    id: str
    payload: Payload
    vectors: FloatArray | None = None  # (n, dim)
    words: SparseVector = field(default_factory=dict)


class Found(NamedTuple):
    payload: Payload
    vectors: FloatArray | None


class Scored(NamedTuple):
    payload: Payload
    score: float


@dataclass(frozen=True, eq=False)
class Nearest:
    """Asks for the points with the highest scores: MaxSim, or the product with a sparse vector."""

    query: FloatArray | SparseVector
    where: Where
    limit: int
    oversampling: float | None = None  # rescore so many times `limit` by quantised scores; else all


class Engine(Protocol):
    """One collection. What it raises is a `DocPrunerError` that names the location."""

    writing: threading.Lock | None
    """Held by who writes, if nobody but this process can; None if others may, too."""

    def exists(self) -> bool: ...

    def make(self, dim: int, datatype: Datatype, quantization: Quantization | None) -> None:
        """The collection and its indexes; those that are there already are left."""

    def upsert(self, points: Sequence[Point]) -> None: ...

    def put(self, where: Where, payload: Payload) -> None:
        """Set some fields of the points that fit, in one operation."""

    def remove(self, where: Where) -> None: ...

    def scan(
        self, where: Where, fields: Sequence[str] | None = None, *, vectors: bool = False
    ) -> Iterator[Found]:
        """The points that fit, with some or all of their fields."""

    def count(self, where: Where) -> int: ...

    def nearest(self, asked: Sequence[Nearest]) -> list[list[Scored]]:
        """Of each, the best first, with `version` and `number`."""

    def bytes_on_disk(self) -> int | None:
        """None if it can't be told."""

    def settle(self) -> None:
        """After a change: do what a server does in the background."""

    def close(self) -> None: ...

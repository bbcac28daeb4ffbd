"""How large an index may be, and which settings make it small enough.

The settings form a ladder from mild to bold: first fewer bits a number, then fewer patches. It goes
one way, as an index can: each step drops only what the one before still had. As measured
(docs/budget.md), bits are the cheaper thing to give up: all patches in `int1` rank as well as half
of them in `int4`, in little more than half the room. Where the ladder ends, a page has little more
than one vector.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, cast

import numpy as np

from docpruner.codecs import CodecName, bytes_per_vector
from docpruner.errors import BudgetError
from docpruner.pipeline.measured_front import ndcg_kept
from docpruner.reduce import Reducer, reducer
from docpruner.reduce.spec import Stage
from docpruner.reduce.threshold import Statistics, above, adaptive_tau, unwarned
from docpruner.stores.contract import Reader
from docpruner.stores.records import Stats
from docpruner.stores.settings import Settings
from docpruner.types import FloatArray

LADDER: tuple[tuple[float | None, CodecName], ...] = (
    (None, "int8"),
    (None, "int4"),
    (None, "int2"),
    (None, "int1"),
    *((k, "int1") for k in (-0.25, 0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)),
)
"""The k of docpruner, None where nothing is pruned, and the codec."""

UNPRUNED = "none"
MILDEST: tuple[str, CodecName] = (UNPRUNED, "int8")
"""The spec and the codec that a new index with a budget begins with."""

UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?(\s*/\s*page)?", re.IGNORECASE)


@dataclass(frozen=True)
class Budget:
    """What an index may take, all of it or for each page. `str()` is read back the same."""

    bytes: int
    per_page: bool = False

    @classmethod
    def read(cls, text: str | int) -> Budget:
        """`500MB`, `1.5 GiB`, `4kB/page`, or a number of bytes."""
        found = _SIZE.fullmatch(str(text).strip())
        if found is None or (found[3] and not found[2]):
            raise BudgetError(
                f"{text!r} is not a size; write it like 500MB, 2GB, 1.5GiB or 4kB/page"
            )
        number, unit, binary, per_page = found.groups()
        power = [name.lower() for name in UNITS].index(unit.lower())
        size = int(float(number) * (1024**power if binary else 1000**power))
        if size < 1:
            raise BudgetError("a budget of no bytes holds nothing; write it like 500MB or 4kB/page")
        return cls(size, per_page is not None)

    def __str__(self) -> str:
        size, unit = max((size, unit) for unit, size in UNITS.items() if self.bytes % size == 0)
        shown = f"{self.bytes // size}{unit}B"
        return f"{shown}/page" if self.per_page else shown

    def allows(self, stats: Stats) -> int:
        """The bytes of an index of so many pages; what an empty one takes is no page's."""
        return stats.bytes_empty + stats.pages * self.bytes if self.per_page else self.bytes


@dataclass(frozen=True)
class Choice:
    """A setting, and the index under it."""

    spec: str
    codec: CodecName
    vectors: int
    bytes_of_vectors: int
    bytes: int  # on disk, when compacted
    ndcg_kept: float | None  # share of nDCG@5, where it was measured: see `measured_front`
    fits: bool = True  # the budget, if there is one

    @property
    def name(self) -> str:
        return f"{self.spec} in {self.codec}"


class Kept(NamedTuple):
    """What a spec would leave of an index."""

    vectors: int
    map_bytes_freed: int = 0


KeptBy = Callable[[str], Kept]


def steps_from(settings: Settings) -> list[tuple[str, CodecName]]:
    """The specs and codecs that an index can still be given, itself first.

    What is gone does not come back: where a step of the ladder is milder than the index in k or in
    its codec, the index's own counts. Only the codec changes where the index was reduced by
    something else than a k, or stores no importances to judge another by.
    """
    own = (settings.spec, settings.codec)
    steps = [own]
    for k, codec in LADDER:
        step = (_stricter(settings, k), _smaller(settings, codec))
        if step != steps[-1]:
            steps.append(step)
    return steps


def _stricter(settings: Settings, k: float | None) -> str:
    own = reducer(settings.spec)
    if k is None or not settings.importances or len(own.stages) > 1:
        return settings.spec
    (stage,) = own.stages
    if str(own) == UNPRUNED:
        return str(reducer(f"docpruner:k={k}"))
    if stage.strategy.name != "docpruner":
        return settings.spec
    values = dict(stage.values)
    values["k"] = max(k, float(values["k"]))
    return str(Reducer((replace(stage, values=tuple(values.items())),)))


def _smaller(settings: Settings, codec: CodecName) -> CodecName:
    return min(settings.codec, codec, key=partial(bytes_per_vector, dim=settings.dim))


def choices(stats: Stats, kept_by: KeptBy, budget: Budget | None = None) -> Iterator[Choice]:
    """The index as it is, and under every bolder setting that makes it smaller, the mildest first.

    `kept_by` is asked only where patches go, and only when it is that choice's turn.
    """
    settings = stats.settings
    allowed = math.inf if budget is None else budget.allows(stats)
    least = None
    for spec, codec in steps_from(settings):
        kept = Kept(stats.vectors) if spec == settings.spec else kept_by(spec)
        vectors = kept.vectors * bytes_per_vector(codec, settings.dim)
        size = vectors + max(stats.bytes_besides - kept.map_bytes_freed, stats.bytes_empty)
        if least is None or size < least:
            cost = ndcg_kept(spec, codec)
            yield Choice(spec, codec, kept.vectors, vectors, size, cost, size <= allowed)
            least = size


def choose(stats: Stats, kept_by: KeptBy, budget: Budget) -> Choice:
    """The mildest setting that fits; a BudgetError says what the boldest takes."""
    for choice in choices(stats, kept_by, budget):
        if choice.fits:
            return choice
    least = choice.bytes
    if budget.per_page:
        least = -(-(least - stats.bytes_empty) // max(stats.pages, 1))
    what = "bytes a page" if budget.per_page else "bytes"
    raise BudgetError(
        f"{stats.pages:,} pages can't be made to fit {budget}: the least possible is {least:,} "
        f"{what}, as {choice.name}. Allow more, or delete documents"
    )


class PageCounts:
    """What the specs of the ladder would keep of an index, by one pass over its importances."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._kept: dict[str, Kept] = {}

    def __call__(self, spec: str) -> Kept:
        if spec not in self._kept:
            self._count()
        return self._kept[spec]

    def _count(self) -> None:
        settings = self._reader.settings
        specs = [spec for spec, _ in steps_from(settings) if spec != settings.spec]
        stages = [reducer(spec).stages[0] for spec in specs]
        totals = np.zeros(len(specs), np.int64)
        freed = 0
        with unwarned():
            for name in self._reader.pages():
                stored = self._reader.page(*name)
                if stored is None:
                    continue
                origin = stored.provenance
                freed += 0 if origin.global_vector is None else 2 * len(origin.global_vector)
                totals += stored.special
                if origin.importance is not None:
                    importance = origin.importance[origin.patches]
                    totals += [_stay(stage, importance) for stage in stages]
        self._kept = {
            spec: Kept(int(total), freed) for spec, total in zip(specs, totals, strict=True)
        }


def _stay(stage: Stage, importance: FloatArray) -> int:
    """How many patches of a page docpruner would keep; the strategy itself would copy vectors."""
    values = dict(stage.values)
    statistics = cast(Statistics, values["statistics"])
    tau = adaptive_tau(importance, float(values["k"]), statistics)
    return int(above(importance, tau, "", floor=int(values["floor"])).sum())

"""What a reduction leaves of a page, in figures and patch by patch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from docpruner.explain.what_if import judged_by_importance
from docpruner.reduce import Reducer, reducer
from docpruner.reduce.threshold import Statistics, adaptive_tau, importance_by
from docpruner.stores.page_map import rounded
from docpruner.stores.records import StoredPage
from docpruner.types import BoolArray, FloatArray, PageEmbedding

PAPER = "docpruner"  # with the k of the paper


@dataclass(frozen=True, eq=False)
class PruningView:
    """The patches of a page, what they weigh and which of them stay."""

    name: str
    spec: str | None  # None if it is not known how the page was reduced
    boxes: FloatArray  # (patches, 4)
    importance: FloatArray | None  # (patches,), by the signal of the spec; None: not stored
    kept: BoolArray  # (patches,)
    vectors: int | None  # stored for these patches: fewer than are kept if some were merged

    @property
    def patches(self) -> int:
        return len(self.kept)

    @property
    def share(self) -> float:
        """Of the patches that are kept."""
        return float(self.kept.mean())

    @property
    def mean(self) -> float | None:
        return self._at(0)

    @property
    def deviation(self) -> float | None:
        mean, above = self._at(0), self._at(1)
        return None if mean is None or above is None else above - mean

    @property
    def tau(self) -> float | None:
        """The threshold, if there was one of the page's own."""
        k = self._docpruner.get("k")
        return None if k is None else self._at(float(k))

    @property
    def entropy(self) -> float | None:
        """Of the importances, in nats; at most the logarithm of the number of patches."""
        if self.importance is None:
            return None
        count = len(self.importance)
        flat = np.zeros((count, 1), np.float32)
        return PageEmbedding(self.name, flat, self.importance, (1, count)).entropy

    @property
    def figures(self) -> dict[str, float | int | None]:
        return {
            "patches": self.patches,
            "kept": int(self.kept.sum()),
            "vectors": self.vectors,
            "tau": self.tau,
            "mean": self.mean,
            "deviation": self.deviation,
            "entropy": self.entropy,
        }

    @property
    def legend(self) -> list[tuple[str, str]]:
        """The figures as they stand below a picture."""
        kept = int(self.kept.sum())
        pairs = [("patches", f"{self.patches:,}"), ("kept", f"{kept:,} ({self.share:.0%})")]
        if self.vectors is not None and self.vectors != kept:
            pairs.append(("in vectors", f"{self.vectors:,}"))
        named = {"τ": self.tau, "μ": self.mean, "σ": self.deviation, "entropy": self.entropy}
        return pairs + [
            (name, f"{value:.3g}") for name, value in named.items() if value is not None
        ]

    def _at(self, k: float) -> float | None:
        """μ + k·σ, of the statistics that the threshold is taken from."""
        if self.importance is None or not len(self.importance):
            return None
        statistics: Statistics = "paper"
        if self._docpruner.get("statistics") == "robust":
            statistics = "robust"
        return adaptive_tau(self.importance, k, statistics)

    @property
    def _docpruner(self) -> dict[str, float | int | str]:
        """The parameters of a first stage that is DocPruner's; later ones see other patches."""
        first = reducer(self.spec).stages[0] if self.spec is not None else None
        return dict(first.values) if first is not None and first.strategy.name == PAPER else {}


def pruning_view(
    page: PageEmbedding | StoredPage, spec: str | None = None, *, stored_with: str | None = None
) -> PruningView:
    """What `spec` leaves of a page.

    Of a page just encoded, it is what an index would keep; without a spec, at the paper's k. Of a
    stored page, it is what the index has, which was `stored_with` its spec; another spec is a
    what-if from the stored importances, so it must be one that looks at nothing else.
    """
    if isinstance(page, PageEmbedding):
        return _encoded(rounded(page), reducer(spec or PAPER))
    if spec is None or (stored_with is not None and reducer(spec) == reducer(stored_with)):
        return _stored(page, stored_with)
    return _what_if(page, spec)


def with_k(spec: str, k: float) -> str:
    """DocPruner with another k and the rest of its parameters; later stages look at vectors."""
    first = reducer(spec).stages[0]
    values = dict(first.values) if first.strategy.name == PAPER else {}
    written = ",".join(f"{name}={value}" for name, value in {**values, "k": k}.items())
    return str(reducer(f"{PAPER}:{written}"))


def _encoded(page: PageEmbedding, reduce: Reducer) -> PruningView:
    reduction = reduce(page)
    rows = page.patches
    return PruningView(
        name=page.name,
        spec=str(reduce),
        boxes=page.boxes[rows],
        importance=importance_by(page, reduce.signal),
        kept=np.isin(rows, reduction.sources),
        vectors=reduction.patches,
    )


def _stored(page: StoredPage, spec: str | None) -> PruningView:
    rows, importance = page.provenance.patches, page.provenance.importance
    if spec is not None and reducer(spec).signal == "centrality":
        importance = page.provenance.centrality
    return PruningView(
        name=page.name,
        spec=spec,
        boxes=page.provenance.boxes[rows],
        importance=None if importance is None else importance[rows],
        kept=page.provenance.kept[rows],
        vectors=int((~page.provenance.special).sum()),
    )


def _what_if(page: StoredPage, spec: str) -> PruningView:
    origin = page.provenance
    reduce = judged_by_importance(spec, importances=origin.importance is not None)
    flat = np.zeros((len(origin.cells), 1), np.float32)  # nothing looks at them
    rebuilt = PageEmbedding(
        page.name,
        flat,
        flat[:, 0] if origin.importance is None else origin.importance,
        origin.grid,
        origin.cells,
        origin.boxes,
        centrality=origin.centrality,
    )
    return _encoded(rebuilt, reduce)

"""What another spec would keep, from the stored importances: of a page, and of the whole index."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import asdict

from docpruner.explain import Importances, WhatIf, judged_by_importance, pruning_view
from docpruner.facade import Index
from docpruner.pipeline.measured_front import MEASURED_ON
from docpruner.web.index_view import IndexView
from docpruner.web.lru_cache import LruCache
from docpruner.web.schemas import BudgetResponse, ChoiceResponse, ReductionResponse

ANSWERS_KEPT = 64


class Reductions:
    """A slider asks for many, one after another: the importances of all pages are read once, and
    again when the index has changed."""

    def __init__(self, view: IndexView) -> None:
        self._view = view
        self._loaded: Importances | None = None
        self._answers: LruCache[tuple[Hashable, str], WhatIf] = LruCache(ANSWERS_KEPT)
        self._turn = threading.Lock()
        self._budget: tuple[Hashable, BudgetResponse] | None = None

    def of_page(self, document: str, number: int, spec: str) -> ReductionResponse:
        settings = self._view.index.settings
        judged = str(judged_by_importance(spec, importances=settings.importances))
        _, stored = self._view.page(document, number)
        pruning = pruning_view(stored, judged, stored_with=settings.spec)
        vectors = (pruning.vectors or 0) + stored.special
        return ReductionResponse(
            spec=judged,
            kept=pruning.kept.astype(int).tolist(),
            vectors=vectors,
            bytes=vectors * settings.row_bytes,
            threshold=pruning.tau,
        )

    def of_index(self, spec: str) -> WhatIf:
        stored = self._view.index.settings.importances
        judged = str(judged_by_importance(spec, importances=stored))
        with self._turn:
            loaded = self._importances()
            key = (loaded.version, judged)
            answer = self._answers.get(key)
            if answer is None:
                answer = loaded.under(judged)
                self._answers.put(key, answer)
        return answer

    def of_budget(self) -> BudgetResponse:
        """What a budget chooses from; computed once for each version of the index."""
        with self._turn:
            index = self._view.index
            with index.reader() as reader:
                version = reader.version
            if self._budget is None or self._budget[0] != version:
                self._budget = (version, _budget_response(index))
            return self._budget[1]

    def _importances(self) -> Importances:
        with self._view.index.reader() as reader:
            if self._loaded is None or self._loaded.version != reader.version:
                self._loaded = None  # gone before the new ones come
                self._loaded = Importances.load(reader)
        return self._loaded


def _budget_response(index: Index) -> BudgetResponse:
    return BudgetResponse(
        budget=index.settings.budget,
        choices=[ChoiceResponse(**asdict(choice)) for choice in index.budget_choices()],
        measured_on=MEASURED_ON,
    )

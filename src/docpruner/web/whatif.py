"""What-ifs of the whole index, kept ready: a slider asks for many, one after another."""

from __future__ import annotations

import threading

from docpruner.explain import Importances, WhatIf, judged_by_importance
from docpruner.index.store import PageStore
from docpruner.web.kept import Recent

ANSWERS_KEPT = 64


class WhatIfs:
    """Importances are read once, and again when the index has changed."""

    def __init__(self, store: PageStore) -> None:
        self._store = store
        self._loaded: Importances | None = None
        self._answers: Recent[tuple[int, str], WhatIf] = Recent(ANSWERS_KEPT)
        self._one = threading.Lock()

    def answer(self, spec: str) -> WhatIf:
        wanted = str(judged_by_importance(spec, importances=self._store.settings.importances))
        with self._one:
            loaded = self._importances()
            key = (loaded.snapshot.version, wanted)
            found = self._answers.get(key)
            if found is None:
                found = loaded.under(wanted)
                self._answers.put(key, found, 1)
        return found

    def _importances(self) -> Importances:
        if self._loaded is None or self._loaded.snapshot is not self._store.snapshot():
            self._loaded = None  # gone before the new ones come
            self._loaded = Importances.load(self._store)
        return self._loaded

"""Our figures beside the paper's, averaged over the data sets of a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from docpruner.evaluate.paper import MEASURE, reference
from docpruner.evaluate.results import Results


def compared(benchmark: str, done: Sequence[Results]) -> list[dict[str, Any]]:
    """Every setting, averaged, with the paper's figures where it has some in the same measure."""
    rows = []
    for name, (score, pruned) in averages(done).items():
        told = reference(benchmark, done[0].encoder, name)
        row = {"spec": name, "score": score, "pruned": pruned}
        if told is not None and done[0].measure == MEASURE:
            row |= {"paper_score": told.ndcg, "paper_pruned": told.pruned}
            row |= {"difference": score - told.ndcg, "pruned_difference": pruned - told.pruned}
        rows.append(row)
    return rows


def averages(studies: Sequence[Results]) -> dict[str, tuple[float, float]]:
    """Of each setting the mean score and share pruned over data sets, as the paper averages."""
    common = [{setting.name: setting for setting in study.settings} for study in studies]
    return {
        name: (
            float(np.mean([each[name].score for each in common])),
            float(np.mean([each[name].pruned for each in common])),
        )
        for name in common[0]
        if all(name in each for each in common)
    }

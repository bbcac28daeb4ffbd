"""What the paper measured, and ours beside it: nDCG@5 averaged over the data sets of a benchmark,
and the time to encode a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from docpruner.evaluate.measuring.results import Results

MEASURE = "ndcg@5"


@dataclass(frozen=True)
class Reference:
    """A number of the paper, for one model and one setting of a benchmark."""

    benchmark: str
    model: str  # a part of the encoder's name
    spec: str
    ndcg: float
    pruned: float


MODELS = {"colqwen2.5": "ColQwen2.5", "colnomic": "ColNomic", "jina-embeddings-v4": "Jina v4"}
"""How a model is known by its checkpoint's name."""

REFERENCES = (
    Reference("vidore-v2", "ColQwen2.5", "none", 0.5508, 0.0),
    Reference("vidore-v2", "ColQwen2.5", "docpruner:k=-0.25", 0.5470, 0.5155),
    Reference("vidore-v2", "ColNomic", "none", 0.5946, 0.0),
    Reference("vidore-v2", "ColNomic", "docpruner:k=-0.25", 0.5960, 0.4362),
    Reference("vidore-v2", "ColNomic", "sem-cluster:factor=4", 0.5426, 0.75),
    Reference("vidore-v2", "Jina v4", "none", 0.5687, 0.0),
    Reference("vidore-v2", "Jina v4", "docpruner:k=-0.25", 0.5608, 0.5409),
    Reference("jinavdr", "ColNomic", "none", 0.8151, 0.0),
    Reference("jinavdr", "ColNomic", "docpruner:k=-0.25", 0.8191, 0.610),
    Reference("jinavdr", "ColQwen2.5", "none", 0.6877, 0.0),
    Reference("jinavdr", "ColQwen2.5", "docpruner:k=-0.25", 0.6958, 0.540),
)

LONGER = {"ColQwen2.5": 0.60, "ColNomic": 0.6596, "Jina v4": 0.66}
"""How much longer encoding takes with pruning, on ViDoRe-V2."""

PLAIN, PRUNED, OCR = 0.47, 0.77, 7.22
"""Seconds to encode a document: without pruning, with it, and by OCR and BGE-M3."""


def reference(benchmark: str, encoder: str, spec: str) -> Reference | None:
    """What the paper has for this, if anything."""
    model = next((name for part, name in MODELS.items() if part in encoder.lower()), None)
    return next(
        (
            entry
            for entry in REFERENCES
            if (entry.benchmark, entry.model, entry.spec) == (benchmark, model, spec)
        ),
        None,
    )


def compared(benchmark: str, done: Sequence[Results]) -> list[dict[str, Any]]:
    """Every setting, averaged, with the paper's figures where it has some in the same measure."""
    rows = []
    for name, (score, pruned) in averages(done).items():
        papers = reference(benchmark, done[0].encoder, name)
        row = {"spec": name, "score": score, "pruned": pruned}
        if papers is not None and done[0].measure == MEASURE:
            row |= {"paper_score": papers.ndcg, "paper_pruned": papers.pruned}
            row |= {"difference": score - papers.ndcg, "pruned_difference": pruned - papers.pruned}
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

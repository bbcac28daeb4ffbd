"""What the paper measured, to print beside ours: nDCG@5 averaged over the benchmark's data sets,
and the time to encode a document."""

from __future__ import annotations

from dataclasses import dataclass

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

"""What the constants of the rules are chosen by: rarity, page length, repeats.

    python training/rules.py CACHE [EDITION]

Encodes the pages of CACHE/questions.jsonl once, and prints the mean nDCG@5 of the four kinds of
questions for a range of each constant, the others as they are in `builtin_editions.py`: without
pruning for what moves scores, with docpruner:k=0 for what moves importances.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from docpruner import reducer
from docpruner.encoders.builtin import GRID, BuiltinEncoder, cells_of
from docpruner.encoders.builtin_editions import NEWEST, Edition
from docpruner.maxsim import score_pages
from docpruner.stores.bm25 import bm25
from docpruner.types import PageEmbedding
from docpruner.word_forms import words_in

RANGES = {
    "query_rarity_power": (0.5, 0.75, 1.0, 1.25),
    "length_power": (0.05, 0.1, 0.15, 0.2),
    "rarity_power": (0.25, 0.5, 0.75, 1.0),
    "repeat_power": (0.5, 1.0, 2.0),
}
KINDS = ("synonyms", "hidden", "heading", "faq")
OF_IMPORTANCE = ("rarity_power", "repeat_power")


class Held:
    """The pages with the model's raw output, to be finished by the rules of an edition."""

    def __init__(self, cache: Path, encoder: BuiltinEncoder) -> None:
        self.encoder = encoder
        self.pages = [json.loads(line) for line in (cache / "questions.jsonl").open()]
        self.queries = [
            (i, query) for i, page in enumerate(self.pages) for query in page["queries"]
        ]
        self.raw = [encoder._run(page["words"], ("vectors", "importance")) for page in self.pages]
        self.asked = [
            encoder._run(query["text"].split(), ("vectors", "weights")) for _, query in self.queries
        ]

    def finished(self, rules: Edition) -> list[PageEmbedding]:
        self.encoder.edition = rules
        found = []
        for page, (vectors, attention) in zip(self.pages, self.raw, strict=True):
            importance = attention * self.encoder._worth(page["words"])
            boxes = np.zeros((len(vectors), 4), np.float32)
            found.append(
                PageEmbedding(
                    "page", vectors * rules.length_factor(len(vectors)),
                    importance * len(importance) / importance.sum(), GRID, cells_of(boxes), boxes,
                )
            )  # fmt: skip
        return found

    def ndcg(self, rules: Edition, spec: str) -> list[float]:
        reductions = [reducer(spec)(page) for page in self.finished(rules)]
        offsets = np.cumsum([0, *(len(found.vectors) for found in reductions)])
        vectors = np.concatenate([found.vectors for found in reductions])
        kept = [found.sources for found in reductions]
        queries = list(self._weighted(rules))
        scores = score_pages(queries, vectors, offsets)
        for row, (page, query) in enumerate(self.queries):
            first, last = query["source"]
            own = reductions[page].vectors[(kept[page] < first) | (kept[page] >= last)]
            scores[row, page] = (queries[row] @ own.T).max(1).sum() if len(own) else -np.inf
        return self.mean_ndcg(scores)

    def _weighted(self, rules: Edition) -> Iterator[np.ndarray]:
        for (_, query), (vectors, factors) in zip(self.queries, self.asked, strict=True):
            rarity = [max(self.encoder._rarity(word), 0.05) for word in query["text"].split()]
            counts = factors * np.array(rarity) ** rules.query_rarity_power
            yield (vectors * counts[:, None]).astype(np.float32)

    def bm25(self) -> list[float]:
        counts = [Counter(words_in(" ".join(page["words"]))) for page in self.pages]
        rows = []
        for page, query in self.queries:
            first, last = query["source"]
            taken = Counter(words_in(" ".join(self.pages[page]["words"][first:last])))
            own = [*counts[:page], counts[page] - taken, *counts[page + 1 :]]
            rows.append(bm25(query["text"], own))
        return self.mean_ndcg(np.array(rows))

    def mean_ndcg(self, scores: np.ndarray) -> list[float]:
        """Of each kind, and the mean of the kinds. A question has one right page."""
        right = np.array([page for page, _ in self.queries])
        asked = np.array([query["kind"] for _, query in self.queries])
        rank = (scores > scores[np.arange(len(right)), right][:, None]).sum(1)
        gain = np.where(rank < 5, 1 / np.log2(rank + 2), 0.0)
        found = [float(gain[asked == kind].mean()) for kind in KINDS]
        return [*found, float(np.mean(found))]


def main(cache: Path, edition: str = NEWEST.name) -> None:
    encoder = BuiltinEncoder(edition)
    held, rules = Held(cache, encoder), encoder.edition
    print(f"{len(held.pages)} pages, {len(held.queries)} questions")
    print(f"{'':40}", *(f"{kind:>9}" for kind in (*KINDS, "mean")))

    def show(what: str, found: list[float]) -> None:
        print(f"{what:40}", *(f"{ndcg:9.4f}" for ndcg in found), flush=True)

    show("BM25", held.bm25())
    for spec in ("none", "docpruner:k=-0.25", "docpruner:k=0"):
        show(f"{edition}, {spec}", held.ndcg(rules, spec))
    for name, values in RANGES.items():
        spec = "docpruner:k=0" if name in OF_IMPORTANCE else "none"
        for value in values:
            show(f"{name} {value}, {spec}", held.ndcg(replace(rules, **{name: value}), spec))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

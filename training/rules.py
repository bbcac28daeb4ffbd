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
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from docpruner import reducer
from docpruner.encoders.builtin import GRID, BuiltinEncoder, cells_of
from docpruner.encoders.builtin_editions import NEWEST, Edition
from docpruner.maxsim import score_pages
from docpruner.stores.bm25 import bm25
from docpruner.types import FloatArray, PageEmbedding
from docpruner.word_forms import words_in

RANGES = {
    "length_power": (0.05, 0.1, 0.15, 0.2),
    "rarity_power": (0.25, 0.5, 0.75, 1.0),
    "repeat_power": (0.5, 1.0, 2.0),
}
SPECS = ("none", "docpruner:k=-0.25", "docpruner:k=0", "attention-ratio:ratio=0.6")
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

    def reduced(self, number: int, spec: str, hidden: Sequence[int] = (0, 0)) -> FloatArray:
        """The vectors of a page that are kept if these of its words are not there at all."""
        vectors, attention = self.raw[number]
        rest = np.r_[0 : hidden[0], hidden[1] : len(vectors)]
        texts = [self.pages[number]["words"][place] for place in rest]
        importance = attention[rest] * self.encoder._worth(texts)
        boxes = np.zeros((len(rest), 4), np.float32)
        length = self.encoder.edition.length_factor(len(vectors))
        return reducer(spec)(
            PageEmbedding(
                "page", vectors[rest] * length, importance * len(rest) / importance.sum(),
                GRID, cells_of(boxes), boxes,
            )
        ).vectors  # fmt: skip

    def ndcg(self, rules: Edition, spec: str) -> list[float]:
        self.encoder.edition = rules
        kept = [self.reduced(number, spec) for number in range(len(self.pages))]
        self.pruned = 1 - sum(map(len, kept)) / sum(len(vectors) for vectors, _ in self.raw)
        queries = list(self._weighted())
        scores = score_pages(queries, np.concatenate(kept), np.cumsum([0, *map(len, kept)]))
        for row, (page, query) in enumerate(self.queries):
            if query["source"][0] < query["source"][1] <= len(self.raw[page][0]):
                own = self.reduced(page, spec, query["source"])
                scores[row, page] = (queries[row] @ own.T).max(1).sum()
        return self.mean_ndcg(scores)

    def _weighted(self) -> Iterator[FloatArray]:
        for (_, query), (vectors, factors) in zip(self.queries, self.asked, strict=True):
            counts = self.encoder._counts(query["text"].split(), factors)
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
    print(f"{'':40}", *(f"{kind:>9}" for kind in (*KINDS, "mean", "pruned")))

    def show(what: str, found: list[float], pruned: str = "") -> None:
        print(f"{what:40}", *(f"{ndcg:9.4f}" for ndcg in found), pruned, flush=True)

    def try_(what: str, tried: Edition, spec: str) -> None:
        found = held.ndcg(tried, spec)
        show(f"{what}, {spec}", found, f"{held.pruned:9.1%}")

    show("BM25", held.bm25())
    for spec in SPECS:
        try_(edition, rules, spec)
    for name, values in RANGES.items():
        spec = "docpruner:k=0" if name in OF_IMPORTANCE else "none"
        for value in values:
            try_(f"{name} {value}", replace(rules, **{name: value}), spec)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

"""What the shipped encoder scores on real questions: base, BM25 on the same text, pruning curve.

    python training/evaluate.py mmdocir_mmlb [EMBEDDINGS.npz] [EDITION]

The folder holds pdfs/, queries.jsonl (query_id, text) and qrels.jsonl (query_id, doc, page from
1); all pages and all questions count. The second argument keeps the embeddings for the next run, of
an edition other than the newest if that is named.
The data are for measuring only: never train on them. The last line is JSON.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from docpruner import PageEmbedding, reducer
from docpruner.encoders.builtin import GRID, NAME, BuiltinEncoder
from docpruner.maxsim import score_pages
from docpruner.pages.reader import pages_of as pages_of_file
from docpruner.stores.bm25 import bm25
from docpruner.types import Page, Reduction
from docpruner.word_forms import words_in

KS = (-0.5, -0.25, 0, 0.25, 0.5, 1)
RATIOS = (0.5,)
SEEDS = range(2)


def rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.open()]


def pages_of(folder: Path) -> Iterator[Page]:
    for path in sorted((folder / "pdfs").glob("*.pdf")):
        yield from pages_of_file(path, ocr=False)


class Questions:
    """nDCG@5 of a matrix of scores (questions, pages)."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        self.queries = rows(folder / "queries.jsonl")
        number = {name: i for i, name in enumerate(names)}
        self.relevant: dict[str, set[int]] = {}
        for row in rows(folder / "qrels.jsonl"):
            place = number[f"{row['doc']}#{row['page']}"]
            self.relevant.setdefault(row["query_id"], set()).add(place)

    @property
    def texts(self) -> list[str]:
        return [query["text"] for query in self.queries]

    def ndcg(self, scores: np.ndarray) -> float:
        found = []
        for query, row in zip(self.queries, scores, strict=True):
            relevant = self.relevant[query["query_id"]]
            first = np.argsort(-row, kind="stable")[:5]
            gain = sum(1 / np.log2(i + 2) for i, page in enumerate(first) if int(page) in relevant)
            found.append(gain / sum(1 / np.log2(i + 2) for i in range(min(5, len(relevant)))))
        return float(np.mean(found))


def by_text(texts: list[str], queries: list[str]) -> np.ndarray:
    """As an index is searched by text."""
    counts = [Counter(words_in(text)) for text in texts]
    return np.array([bm25(query, counts) for query in queries])


def encode(folder: Path, encoder: BuiltinEncoder) -> tuple[list[PageEmbedding], list[str]]:
    embeddings: list[PageEmbedding] = []
    texts: list[str] = []
    pages = pages_of(folder)
    while some := list(islice(pages, 64)):
        embeddings += encoder.encode_pages(some)
        texts += [" ".join(word.text for word in page.words) for page in some]
        print(f"\r{len(embeddings)} pages", end="", file=sys.stderr, flush=True)
    return embeddings, texts


def save(path: Path, embeddings: list[PageEmbedding], texts: list[str]) -> None:
    np.savez(
        path,
        vectors=np.concatenate([page.vectors for page in embeddings]),
        importance=np.concatenate([page.importance for page in embeddings]),
        cells=np.concatenate([page.cells for page in embeddings]),
        ends=np.cumsum([len(page.vectors) for page in embeddings]),
        names=np.array([page.name for page in embeddings]),
        texts=np.array(json.dumps(texts)),
    )


def load(path: Path) -> tuple[list[PageEmbedding], list[str]]:
    stored = np.load(path)
    ends = stored["ends"][:-1]
    parts = (np.split(stored[name], ends) for name in ("vectors", "importance", "cells"))
    embeddings = [
        PageEmbedding(str(name), vectors, importance, GRID, cells)
        for name, vectors, importance, cells in zip(stored["names"], *parts, strict=True)
    ]
    return embeddings, json.loads(str(stored["texts"]))


def main(folder: Path, kept: Path | None = None, edition: str = NAME) -> None:
    warnings.simplefilter("ignore")  # pages without words: counted below
    encoder = BuiltinEncoder(edition)
    if kept and kept.exists():
        embeddings, texts = load(kept)
    else:
        embeddings, texts = encode(folder, encoder)
        if kept:
            save(kept, embeddings, texts)
    questions = Questions(folder, [page.name for page in embeddings])
    queries = encoder.encode_queries(questions.texts)

    def measure(reduce: Callable[[PageEmbedding], Reduction]) -> tuple[float, float]:
        reductions = [reduce(page) for page in embeddings]
        offsets = np.cumsum([0, *(len(reduction.vectors) for reduction in reductions)])
        vectors = np.concatenate([reduction.vectors for reduction in reductions])
        pruned = 1 - sum(r.patches for r in reductions) / sum(r.page_patches for r in reductions)
        return questions.ndcg(score_pages(queries, vectors, offsets)), pruned

    base, _ = measure(reducer("none"))
    result = {
        "pages": len(embeddings),
        "without_words": sum(not text for text in texts),
        "questions": len(queries),
        "bm25": questions.ndcg(by_text(texts, questions.texts)),
        "base": base,
        "curve": [],
    }
    print(f"\n{encoder.name}: nDCG@5 {base:.4f}, BM25 {result['bm25']:.4f}")
    print(f"{'':18}{'pruned':>7}{'nDCG@5':>8}{'of base':>9}{'att.-ratio':>12}{'random':>8}")
    rules = [f"docpruner:k={k}" for k in KS] + [f"attention-ratio:ratio={r}" for r in RATIOS]
    for rule in rules:
        score, pruned = measure(reducer(rule))
        ratio = score
        if rule.startswith("docpruner"):
            ratio, _ = measure(reducer(f"attention-ratio:ratio={pruned:.4f}"))
        draws = [measure(reducer(f"random:ratio={pruned:.4f},seed={s}"))[0] for s in SEEDS]
        random = float(np.mean(draws))
        result["curve"].append([rule, pruned, score, ratio, random])
        name = rule.replace("attention-ratio:ratio", "att.-ratio")
        print(f"{name:18}{pruned:7.1%}{score:8.4f}{score / base:9.1%}{ratio:12.4f}{random:8.4f}",
              flush=True)  # fmt: skip
    print(json.dumps(result))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]), *sys.argv[3:])

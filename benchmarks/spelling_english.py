"""What spelling changes where the model knows the words: English questions by other people.

    python benchmarks/spelling_english.py mmdocir_mmlb CACHE [builtin-v2]

The folder is that of training/evaluate.py, and is for measuring only: no constant was chosen on
it. Printed is nDCG@5 of the vectors of the model alone and with spelling mixed in, whole and
pruned. The last line is JSON.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from spelling_corpus import Reading, ReadPages, last_line, words_of

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))  # before any other evaluate
from docpruner import PageEmbedding, reducer
from docpruner.encoders.builtin import GRID, NAME
from docpruner.maxsim import score_pages
from evaluate import Questions

RULES = ("none", "docpruner:k=-0.25", "docpruner:k=0")


def embeddings(names: list[str], read: ReadPages, reading: Reading) -> list[PageEmbedding]:
    silent = (
        np.zeros((1, read.vectors[0].shape[1]), np.float32),
        np.ones(1, np.float32),
        GRID,
        np.zeros(1, np.int32),
    )
    return [
        reading.page(name, words, vectors.astype(np.float32), attention)
        if words
        else PageEmbedding(name, *silent)
        for name, words, vectors, attention in zip(
            names, read.words, read.vectors, read.attention, strict=True
        )
    ]


def main(folder: Path, cache: Path, edition: str) -> None:
    alone, spelt = Reading(edition, spelt=False), Reading(edition, spelt=True)
    texts = {path.name: words_of(path) for path in sorted((folder / "pdfs").glob("*.pdf"))}
    names = [f"{name}#{page + 1}" for name, pages in texts.items() for page in range(len(pages))]
    read = alone.pages(cache / folder.name, [page for each in texts.values() for page in each])
    questions = Questions(folder, names)
    result: dict[str, dict[str, dict[str, float]]] = {}
    for name, reading in (("alone", alone), ("spelt", spelt)):
        queries = [reading.query(text) for text in questions.texts]
        pages = embeddings(names, read, reading)
        result[name] = {}
        for rule in RULES:
            reductions = list(map(reducer(rule), pages))
            vectors = np.concatenate([each.vectors for each in reductions])
            offsets = np.cumsum([0, *(len(each.vectors) for each in reductions)])
            pruned = 1 - len(vectors) / sum(len(page.vectors) for page in pages)
            score = questions.ndcg(score_pages(queries, vectors, offsets, threads=2))
            result[name][rule] = {"ndcg@5": score, "pruned": pruned}
            print(f"{name:8}{rule:20}{pruned:8.1%}{score:8.4f}", flush=True)
    last_line(result)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]), *(sys.argv[3:] or [NAME]))

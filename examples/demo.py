"""Every strategy on generated pages: how much goes, and whether the right page still comes first.

The pages are made up (three kinds of layout, blank paper around the content, importances that
favour content, though not perfectly): this shows how strategies behave, not how good they are.

    python examples/demo.py
"""

from __future__ import annotations

import warnings

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from docpruner import PageEmbedding, reducer
from docpruner.codecs import bytes_per_vector, encode
from docpruner.errors import PruningWarning
from docpruner.maxsim import score_pages

GRID = (32, 24)
DIM = 128
CONTENT = {"title": 0.06, "slide": 0.30, "text": 0.75}  # share of patches with content
SPECS = [
    "none",
    "docpruner:k=-0.25",
    "docpruner:k=0.5",
    "random:ratio=0.5",
    "attention-ratio:ratio=0.5",
    "attention-threshold:threshold=0.001",
    "attention-similarity:k=0,alpha=0.5",
    "pivot-threshold:k=-0.25",
    "sem-cluster:factor=4",
    "pool-1d:factor=4",
    "pool-2d:factor=4",
    "docpruner:k=-0.25+sem-cluster:factor=2",
]


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def make_page(
    name: str, share: float, words: np.ndarray, blank: np.ndarray, rng: np.random.Generator
) -> PageEmbedding:
    patches = GRID[0] * GRID[1]
    content = rng.random(patches) < share
    content[0] = True
    own = words[rng.choice(len(words), 40, replace=False)][rng.integers(0, 40, patches)]
    noise = 0.06 * rng.normal(size=(patches, DIM))
    vectors = unit(np.where(content[:, None], own, blank) + noise)
    attention = rng.gamma(2.0, np.where(content, 1.0, 0.2))
    summary = unit(vectors[content].mean(axis=0))
    return PageEmbedding(name, vectors, attention / attention.sum(), GRID, global_vector=summary)


def make_corpus(rng: np.random.Generator, pages_of_each: int) -> list[PageEmbedding]:
    blank, *words = unit(rng.normal(size=(501, DIM)))
    return [
        make_page(f"{kind} {number}", share, np.array(words), blank, rng)
        for number in range(pages_of_each)
        for kind, share in CONTENT.items()
    ]


def ask(page: PageEmbedding, rng: np.random.Generator) -> np.ndarray:
    """A query of five tokens near content of the page, blurred so that it isn't too easy."""
    best = np.argsort(-page.importance)[: len(page.patches) // 20]
    chosen = page.vectors[rng.choice(best, 5)]
    return unit(chosen + 0.15 * rng.normal(size=chosen.shape))


def main() -> None:
    rng = np.random.default_rng(7)
    pages = make_corpus(rng, pages_of_each=20)
    queries = [ask(page, rng) for page in pages]
    table = Table(title=f"{len(pages)} generated pages, {len(queries)} queries", box=box.SIMPLE)
    table.add_column("reduction", style="cyan", no_wrap=True)
    for column in (*CONTENT, "KiB", "right 1st"):
        table.add_column(column, justify="right")
    for spec in SPECS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PruningWarning)
            reductions = [reducer(spec)(page) for page in pages]
        offsets = np.concatenate([[0], np.cumsum([len(r.vectors) for r in reductions])])
        corpus = encode(np.concatenate([r.vectors for r in reductions]), "int8")
        first = score_pages(queries, corpus, offsets).argmax(axis=1)
        pruned = [
            np.mean([r.pruned for r in reductions if r.name.startswith(kind)]) for kind in CONTENT
        ]
        kib = corpus.nbytes / len(pages) / 1024
        right = np.mean(first == np.arange(len(pages)))
        table.add_row(spec, *(f"{p:.0%}" for p in pruned), f"{kib:.0f}", f"{right:.0%}")
    console = Console()
    console.print(table)
    full = GRID[0] * GRID[1] * bytes_per_vector("float16", DIM) / 1024
    console.print(
        "title, slide, text: how much of such pages was pruned. KiB: of a page,\n"
        f"stored as int8 (unpruned float16: {full:.0f}). All strategies: docpruner strategies"
    )


if __name__ == "__main__":
    main()

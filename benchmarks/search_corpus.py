"""The pages and queries of `search.py`: made up, the same at every call and for every system."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

DIM, TOPICS, TOKENS, K = 128, 4000, 20, 10
PATCHES, SPREAD = 400, 0.6
SPEC = "docpruner:k=-0.25"
PAGES_A_DOCUMENT, BATCH = 20, 200
BLUR_OF_PAGES, BLUR_OF_QUERIES = 0.06, 0.12
QUERIES = 50
GRID = (32, 24)


@dataclass(frozen=True)
class Pages:
    """A batch of pages: their vectors one after another, and ours also as records."""

    numbers: range
    vectors: np.ndarray  # float32
    offsets: np.ndarray
    embeddings: list[Any]
    reductions: list[Any]


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def topics() -> np.ndarray:
    return unit(np.random.default_rng(0).normal(size=(TOPICS, DIM)))


def word_boxes(rng: np.random.Generator, count: int) -> np.ndarray:
    """Lines of words, as a text layer has them: letters rise and fall by different amounts."""
    widths = rng.uniform(0.02, 0.11, count)
    line, left = np.divmod(np.cumsum(widths + 0.008) - widths, 0.8)
    pitch = 0.9 / (line[-1] + 1)
    top = 0.05 + line * pitch + rng.choice([0.1, 0.2, 0.3], count) * pitch
    bottom = 0.05 + line * pitch + rng.choice([0.7, 0.8], count) * pitch
    return np.stack([0.05 + left, top, 0.05 + left + widths, bottom], 1).clip(0, 1)


def page(number: int, around: np.ndarray) -> tuple[Any, Any]:
    """A page as an encoder gives it, and what is left of it: the same at every call."""
    from docpruner.reduce import reducer
    from docpruner.stores.page_map import rounded_importance
    from docpruner.types import PageEmbedding

    rng = np.random.default_rng((1, number))
    mean = np.log(PATCHES) - SPREAD**2 / 2
    count = int(np.clip(rng.lognormal(mean, SPREAD), 10, 3000))
    noise = BLUR_OF_PAGES * rng.standard_normal((count, DIM), np.float32)
    boxes = word_boxes(rng, count)
    row, column = ((boxes[:, [1, 0]] + boxes[:, [3, 2]]) / 2 * GRID).astype(np.int32).T
    encoded = PageEmbedding(
        name=f"{number}",
        vectors=unit(around[rng.integers(0, TOPICS, count)] + noise),
        importance=rng.exponential(size=count),
        grid=GRID,
        cells=np.minimum(row, GRID[0] - 1) * GRID[1] + np.minimum(column, GRID[1] - 1),
        boxes=boxes,
    )
    encoded = replace(encoded, importance=rounded_importance(encoded))
    return encoded, reducer(SPEC)(encoded)


def corpus(count: int) -> Iterator[Pages]:
    around = topics()
    numbers = iter(range(count))
    while some := list(islice(numbers, BATCH)):
        embeddings, reductions = zip(*(page(number, around) for number in some), strict=True)
        vectors = [reduction.vectors for reduction in reductions]
        yield Pages(
            range(some[0], some[-1] + 1),
            np.concatenate(vectors),
            np.cumsum([0, *map(len, vectors)]),
            list(embeddings),
            list(reductions),
        )


def questions(count: int) -> tuple[list[int], list[np.ndarray]]:
    """The right page of each query, and the query."""
    rng, around = np.random.default_rng(2), topics()
    right = rng.integers(0, count, QUERIES).tolist()
    queries = []
    for number in right:
        kept = page(number, around)[1].vectors
        tokens = kept[rng.integers(0, len(kept), TOKENS)]
        queries.append(unit(tokens + BLUR_OF_QUERIES * rng.normal(size=tokens.shape)))
    return right, queries


def truth(folder: Path, count: int) -> dict[str, Any]:
    """The best pages of each query by float32 vectors, and how many vectors there are.

    Leaves the queries themselves in a file, so that asking them takes nothing but reading it.
    """
    from docpruner.maxsim import score_pages

    right, queries = questions(count)
    np.save(folder.with_suffix(".npy"), queries)
    scores, vectors = [], 0
    for batch in corpus(count):
        scores.append(score_pages(queries, batch.vectors, batch.offsets))
        vectors += len(batch.vectors)
    best = np.argsort(-np.concatenate(scores, axis=1), axis=1, kind="stable")[:, :K]
    return {"right": right, "best": best.tolist(), "vectors": vectors}


def path_of(number: int) -> str:
    return f"/documents/report-{number // PAGES_A_DOCUMENT:05d}.pdf"

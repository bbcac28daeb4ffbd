"""What a codec costs in precision: similarities, scores and rankings against float32.

Synthetic data, made to be hard: 400 pages of 200 unit vectors of 128 numbers that gather around 500
shared topics, so that many pages resemble each other; 200 queries of 20 blurred vectors of a page.

    python benchmarks/codecs.py
"""

from __future__ import annotations

import argparse
import json

import numpy as np
from rich.console import Console
from rich.table import Table

from docpruner.codecs import CODEC_NAMES, bytes_per_vector, encode
from docpruner.maxsim import score_pages

DIM, PAGES, VECTORS, QUERIES, TOKENS = 128, 400, 200, 200, 20


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    rng = np.random.default_rng(0)
    topics = unit(rng.normal(size=(500, DIM)))
    chosen = topics[rng.integers(0, len(topics), PAGES * VECTORS)]
    vectors = unit(chosen + 0.06 * rng.normal(size=chosen.shape))
    offsets = np.arange(0, PAGES * VECTORS + 1, VECTORS)
    queries = []
    for page in rng.integers(0, PAGES, QUERIES):
        tokens = vectors[page * VECTORS + rng.integers(0, VECTORS, TOKENS)]
        queries.append(unit(tokens + 0.12 * rng.normal(size=tokens.shape)))
    exact_similarities = queries[0] @ vectors.T
    exact = score_pages(queries, vectors, offsets)
    table = Table(title="Against float32")
    for column in (
        "codec",
        "bytes/vector",
        "similarity error, rms",
        "max",
        "same 1st",
        "same top 5",
    ):
        table.add_column(column, justify="left" if column == "codec" else "right")
    results = {}
    for codec in CODEC_NAMES:
        encoded = encode(vectors, codec)
        error = queries[0] @ encoded.decode().T - exact_similarities
        scores = score_pages(queries, encoded, offsets)
        top, exact_top = np.argsort(-scores)[:, :5], np.argsort(-exact)[:, :5]
        same = [len(set(a) & set(b)) / 5 for a, b in zip(top, exact_top, strict=True)]
        results[codec] = {
            "bytes": bytes_per_vector(codec, DIM),
            "rms_error": float(np.sqrt(np.mean(error**2))),
            "max_error": float(np.abs(error).max()),
            "same_first": float(np.mean(top[:, 0] == exact_top[:, 0])),
            "same_top5": float(np.mean(same)),
        }
        found = results[codec]
        table.add_row(
            codec,
            str(found["bytes"]),
            f"{found['rms_error']:.1e}",
            f"{found['max_error']:.1e}",
            f"{found['same_first']:.1%}",
            f"{found['same_top5']:.1%}",
        )
    Console().print(table)
    print(json.dumps(results))


if __name__ == "__main__":
    main()

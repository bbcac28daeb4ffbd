"""MaxSim: our kernels beside what people use now, and beside the machine's limit.

Synthetic corpus: 2,000 pages of 100 to 600 unit vectors of 128 numbers (`--dim`); one query of 20
vectors.
All contenders score the same pages, taking turns; each one's best round counts.

The limit of a codec is the larger of two bounds measured in the same run, on all cores:
- multiplying: the corpus's products at the rate of a large float32 matrix product (numpy's BLAS);
  for integers that rate times the products one integer instruction does where one float
  instruction does one: 2 with AVX2, 4 with AVX-512 VNNI;
- reading: the corpus's bytes at the rate at which they can be read.

    pip install -r benchmarks/requirements.txt      # for the competitors
    python benchmarks/maxsim.py
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from rich.console import Console
from rich.table import Table
from torchvision_on_cpu import make_torchvision_importable

from docpruner.codecs import CODEC_NAMES, encode
from docpruner.cores import usable_cores
from docpruner.maxsim import kernels, score_pages

TOKENS = 20
CORES = usable_cores()
INTEGER_SPEED = {"avx512vnni": 4, "avx2": 2}


def unit_vectors(rng: np.random.Generator, count: int, dim: int) -> np.ndarray:
    drawn = rng.standard_normal((count, dim), dtype=np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def seconds(work: Callable[[], object]) -> float:
    time.sleep(0.1)  # until the threads of whoever ran before have stopped spinning
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def matrix_product() -> Callable[[], object]:
    a = np.random.default_rng(0).standard_normal((PRODUCT_SIZE, PRODUCT_SIZE), dtype=np.float32)
    out = np.empty_like(a)
    return lambda: np.matmul(a, a, out=out)


PRODUCT_SIZE = 1536


def reading(rows: np.ndarray) -> Callable[[], object]:
    parts = np.array_split(rows.reshape(-1), CORES)

    def read() -> None:
        with ThreadPoolExecutor(CORES) as pool:
            list(pool.map(np.max, parts))

    return read


def competitors(query: np.ndarray, pages: list[np.ndarray]) -> dict[str, Callable[[], object]]:
    found: dict[str, Callable[[], object]] = {}
    if importlib.util.find_spec("maxsim_cpu"):
        import maxsim_cpu

        found["maxsim-cpu"] = lambda: maxsim_cpu.maxsim_scores_variable(query, pages)
    if importlib.util.find_spec("colpali_engine"):
        import torch

        score = padded_scoring()
        tensors = [torch.from_numpy(page) for page in pages]
        found["colpali-engine"] = lambda: score([torch.from_numpy(query)], tensors, device="cpu")
    return found


def padded_scoring() -> Callable[..., object]:
    make_torchvision_importable()
    from colpali_engine.utils.processing_utils import BaseVisualRetrieverProcessor

    return BaseVisualRetrieverProcessor.score_multi_vector


def measure(pages: int, rounds: int, dim: int) -> dict[str, float]:
    """Best time in ms of everything, by name."""
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(100, 601, pages))])
    vectors, query = (unit_vectors(rng, count, dim) for count in (int(offsets[-1]), TOKENS))
    stored = {codec: encode(vectors, codec) for codec in CODEC_NAMES}
    work: dict[str, Callable[[], object]] = {"matrix product": matrix_product()}
    for codec, corpus in stored.items():
        work[f"read {codec}"] = reading(corpus.rows)
        work[f"docpruner {codec}"] = lambda corpus=corpus: score_pages([query], corpus, offsets)
    work["numpy"] = lambda: score_pages([query], vectors, offsets, kernel="numpy")
    work |= competitors(query, np.split(vectors, offsets[1:-1]))
    best = dict.fromkeys(work, np.inf)
    slow = {"colpali-engine"}
    for turn in range(rounds + 1):  # the first only warms up
        for name, run in work.items():
            if turn <= 3 or name not in slow:
                best[name] = min(best[name], seconds(run)) if turn else np.inf
    best["vectors"] = len(vectors) / 1e3
    return {name: 1e3 * value for name, value in best.items()}


def limits(best: dict[str, float], dim: int) -> dict[str, tuple[float, str]]:
    """The limit of each codec in ms, and which bound it is."""
    products = best["vectors"] * TOKENS * dim
    rate = PRODUCT_SIZE**3 / best["matrix product"]
    integer = INTEGER_SPEED.get(kernels().names[0], 1)
    found = {}
    for codec in CODEC_NAMES:
        faster = 1 if codec.startswith("float") else integer
        bounds = {"multiplying": products / rate / faster, "reading": best[f"read {codec}"]}
        bound = max(bounds, key=lambda name: bounds[name])
        found[codec] = bounds[bound], bound
    return found


def report(best: dict[str, float], dim: int) -> dict[str, object]:
    limit = limits(best, dim)
    table = Table(title=f"One query of {TOKENS} vectors against {best['vectors']:,.0f} vectors")
    for column in ("kernel", "ms", "× limit", "limit, ms", "bound by"):
        table.add_column(column, justify="left" if column in ("kernel", "bound by") else "right")
    rivals = [name for name in ("numpy", "maxsim-cpu", "colpali-engine") if name in best]
    for name in [f"docpruner {codec}" for codec in CODEC_NAMES] + rivals:
        bound, why = limit[name.split()[-1] if name.startswith("docpruner") else "float32"]
        row = f"{best[name]:.1f}", f"{best[name] / bound:.1f}", f"{bound:.1f}", why
        table.add_row(name, *row, style="bold" if name == "docpruner int8" else "")
    Console().print(table, f"kernel: {kernels().names[0]}, {CORES} cores", sep="\n")
    ours = {f"{codec}_ms": best[f"docpruner {codec}"] for codec in CODEC_NAMES}
    rival = best.get("maxsim-cpu")
    return {
        "limit_ms": limit["int8"][0],
        "limits_ms": {codec: bound for codec, (bound, _) in limit.items()},
        "ours": ours,
        "maxsim_cpu_ms": rival,
        "colpali_engine_ms": best.get("colpali-engine"),
        "numpy_ms": best["numpy"],
        "int8_over_limit": ours["int8_ms"] / limit["int8"][0],
        "float16_over_limit": ours["float16_ms"] / limit["float16"][0],
        "float32_over_limit": ours["float32_ms"] / limit["float32"][0],
        "speedup_over_maxsim_cpu": rival / ours["int8_ms"] if rival else None,
        "kernel": kernels().names[0],
    }


def rounded(value: object) -> object:
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    return round(value, 2) if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--dim", type=int, default=128)
    arguments = parser.parse_args()
    best = measure(arguments.pages, arguments.rounds, arguments.dim)
    print(json.dumps(rounded(report(best, arguments.dim))))


if __name__ == "__main__":
    main()

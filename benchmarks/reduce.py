"""What each reduction costs on one page of 1024 patches of 128 dimensions.

Every round runs every strategy once, so that a busy moment of the machine hits them all; the best
round counts. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from docpruner import PageEmbedding, Reducer, reducer
from docpruner.reduce import STRATEGIES

GRID = (32, 32)
PATCHES = GRID[0] * GRID[1]
DIM = 128
CLUSTERS = 40

SEM_CLUSTER = "sem-cluster:factor=4"
SPECS = [
    *(  # the strategies that need a threshold get the mean attention
        f"{name}:threshold={1 / PATCHES}" if "threshold" in strategy.parameters else name
        for name, strategy in STRATEGIES.items()
    ),
    "docpruner:k=-0.25+sem-cluster:factor=2",
]
THRESHOLDS = {
    "docpruner",
    "attention-similarity",
    "pivot-threshold",
    "attention-threshold",
    "attention-threshold-nfp",
}
THRESHOLD_BUDGET_MS = 0.5
SEM_CLUSTER_BUDGET_MS = 60.0

EXAMPLE = """\
example:
  python benchmarks/reduce.py --rounds 100
  OPENBLAS_NUM_THREADS=1 python benchmarks/reduce.py     steadier where other work is running
"""


def realistic_page(seed: int = 0) -> PageEmbedding:
    """Unit vectors in clusters of unequal size; attention with a long tail, summing to 1.

    DocPruner drops about half of it, as of the pages of the paper.
    """
    random = np.random.default_rng(seed)
    centres = random.normal(size=(CLUSTERS, DIM))
    sizes = random.dirichlet(np.full(CLUSTERS, 0.5))
    vectors = centres[random.choice(CLUSTERS, PATCHES, p=sizes)]
    vectors = vectors + 0.5 * random.normal(size=vectors.shape)
    importance = random.lognormal(sigma=1.0, size=PATCHES)
    return PageEmbedding(
        "benchmark",
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
        importance / importance.sum(),
        GRID,
        global_vector=vectors.mean(axis=0),
        prompt="noise-filtering",
    )


def best_of_rounds(reducers: list[Reducer], page: PageEmbedding, rounds: int) -> list[float]:
    """Milliseconds of the fastest run of each."""
    best = [float("inf")] * len(reducers)
    for _ in range(rounds):
        for i, reduce in enumerate(reducers):
            start = time.perf_counter()
            reduce(page)
            best[i] = min(best[i], 1000 * (time.perf_counter() - start))
    return best


def budget(reduce: Reducer) -> float | None:
    """The most that a reduction may cost, if it has a limit."""
    names = {stage.strategy.name for stage in reduce.stages}
    if "sem-cluster" in names:
        return SEM_CLUSTER_BUDGET_MS
    return THRESHOLD_BUDGET_MS if names <= THRESHOLDS else None


def table(costs: dict[str, float], budgets: dict[str, float | None]) -> Table:
    shown = Table(title=f"One page of {PATCHES}×{DIM}")
    shown.add_column("strategy")
    for heading in ("ms", "budget", "ok"):
        shown.add_column(heading, justify="right")
    for spec, cost in costs.items():
        limit = budgets[spec]
        verdict = "–" if limit is None else "yes" if cost < limit else "[red]no[/]"
        shown.add_row(spec, f"{cost:.3f}", "–" if limit is None else f"{limit:g}", verdict)
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=50, help="runs of each strategy (%(default)s)"
    )
    rounds = parser.parse_args().rounds
    if rounds < 1:
        parser.error(f"--rounds {rounds}: at least one")
    reducers = [reducer(spec) for spec in SPECS]
    measured = best_of_rounds(reducers, realistic_page(), rounds)
    costs = {str(reduce): round(ms, 4) for reduce, ms in zip(reducers, measured, strict=True)}
    budgets = {str(reduce): budget(reduce) for reduce in reducers}
    Console().print(table(costs, budgets))
    threshold_max = max(costs[spec] for spec, ms in budgets.items() if ms == THRESHOLD_BUDGET_MS)
    summary = {"threshold_max_ms": threshold_max, "sem_cluster_ms": costs[SEM_CLUSTER]}
    print(json.dumps({**costs, **summary}))


if __name__ == "__main__":
    main()

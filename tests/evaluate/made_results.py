"""Results as an evaluation would give them, without one: shaped like the paper's curves."""

from dataclasses import dataclass

import numpy as np

from docpruner.codecs import CODEC_NAMES, CodecName, bytes_per_vector
from docpruner.evaluate.measuring.latency import Latency
from docpruner.evaluate.measuring.measures import MEASURES
from docpruner.evaluate.measuring.results import Results, SettingResult

BASE, PAGES, QUERIES, PATCHES, DIM = 0.439, 640, 228, 742, 128
DEFAULT = "docpruner:k=-0.25"
LATENCY = Latency(8, DEFAULT, plain=0.5, importance=0.7, pruned=0.8, ocr=6.0, ocr_pages=3)


@dataclass(frozen=True)
class Curve:
    """The score falls from the base's by `loss` of it, the faster the more is pruned."""

    kind: str
    loss: float
    power: float
    spread: float = 0.0  # of the pages' ratios
    correlation: float | None = None
    ms: float = 0.15


CURVES = {
    "none": Curve("base", 0, 1),
    "docpruner": Curve("adaptive pruning", 0.24, 4.2, 0.13, 0.71),
    "attention-similarity": Curve("adaptive pruning", 0.46, 2.4, 0.05, 0.22, 0.31),
    "pivot-threshold": Curve("adaptive pruning", 0.26, 3.6, 0.14, 0.66, 0.41),
    "random": Curve("pruning", 0.62, 2.6),
    "attention-ratio": Curve("pruning", 0.40, 3.4),
    "attention-threshold": Curve("pruning", 0.72, 1.8, 0.24, -0.31, 0.07),
    "sem-cluster": Curve("merging", 0.33, 4.6, ms=19),
    "pool-1d": Curve("merging", 0.74, 2.1, ms=0.65),
    "pool-2d": Curve("merging", 0.60, 2.3, ms=0.65),
    "docpruner+sem-cluster": Curve("merging", 0.25, 5.4, 0.08, 0.69, 4.8),
}
CODEC_LOSS = {"float32": 0.0, "float16": 0.0, "int8": 0.001, "binary": 0.055}
RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9)
DOCPRUNER = dict(
    zip((-0.5, -0.25, 0, 0.25, 0.5, 1), (0.31, 0.514, 0.62, 0.71, 0.77, 0.86), strict=True)
)


def made_settings() -> list[SettingResult]:
    rng = np.random.default_rng(7)
    points: list[tuple[str, float, CodecName]] = [("none", 0.0, "float16")]
    points += [(f"docpruner:k={k}", pruned, "float16") for k, pruned in DOCPRUNER.items()]
    points += [
        (f"attention-similarity:k={k},alpha=0.5", pruned - 0.02, "float16")
        for k, pruned in DOCPRUNER.items()
    ]
    points += [
        (f"attention-similarity:k=-0.25,alpha={a}", 0.43 + 0.1 * a, "float16")
        for a in (0.1, 0.3, 0.7, 0.9)
    ]
    points += [
        (f"pivot-threshold:k={k},k_dup=1,num_pivots=10", 1 - (1 - pruned) * 0.85, "float16")
        for k, pruned in DOCPRUNER.items()
    ]
    points += [
        (f"pivot-threshold:k=-0.25,k_dup={d},num_pivots=10", 0.77 - 0.11 * d, "float16")
        for d in (-0.5, 0, 0.5)
    ]
    points += [(f"random:ratio={r}", r, "float16") for r in RATIOS]
    points += [(f"attention-ratio:ratio={r}", r, "float16") for r in RATIOS]
    points += [
        (f"attention-threshold:threshold={r / 700:.4g}", r, "float16")
        for r in (0.2, 0.45, 0.6, 0.8)
    ]
    points += [(f"sem-cluster:factor={f}", 1 - 1 / f, "float16") for f in (2, 4, 9, 16, 25)]
    points += [(f"pool-1d:factor={f}", 1 - 1 / f, "float16") for f in (2, 4, 9, 16, 25)]
    points += [(f"pool-2d:factor={f}", 1 - 1 / f, "float16") for f in (4, 9, 16, 25)]
    points += [(f"{DEFAULT}+sem-cluster:factor={f}", 1 - 0.486 / f, "float16") for f in (2, 4)]
    codecs: tuple[CodecName, ...] = ("int8", "binary")
    points += [("none", 0.0, codec) for codec in codecs]
    points += [(f"docpruner:k={k}", DOCPRUNER[k], c) for k in (-0.25, 0.5) for c in codecs]
    return [made_setting(spec, pruned, codec, rng) for spec, pruned, codec in points]


def made_setting(
    spec: str, pruned: float, codec: CodecName, rng: np.random.Generator
) -> SettingResult:
    method = "+".join(part.split(":")[0] for part in spec.split("+"))
    curve = CURVES[method]
    noise = rng.normal(0, 0.0025) if pruned else 0.0
    score = BASE * (1 - curve.loss * pruned**curve.power - CODEC_LOSS[codec]) + noise
    by_page = np.clip(rng.normal(pruned, curve.spread, PAGES), 0, 0.995)
    vectors = PATCHES * (1 - pruned)
    measures = {name: min(1.0, score * (1 + 0.05 * at)) for at, name in enumerate(MEASURES)}
    r = None
    if curve.correlation is not None:
        r = float(np.clip(curve.correlation + rng.normal(0, 0.05), -1, 1))
    return SettingResult(
        method=method,
        kind=curve.kind,
        spec=spec,
        codec=codec,
        measures=measures,
        score=score,
        ci=(score - 0.047, score + 0.049),
        relative=score / BASE,
        p=float(np.clip(np.exp(-abs(score - BASE) * 230), 0.0005, 1)),
        pruned=pruned,
        pruned_by_page={
            f"{q:g}": float(np.quantile(by_page, q)) for q in (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)
        },
        pruned_histogram=np.histogram(by_page, 20, (0, 1))[0].tolist(),
        vectors_per_page=vectors,
        bytes_per_page={c: vectors * bytes_per_vector(c, DIM) for c in CODEC_NAMES},
        reduce_ms=curve.ms,
        search_time=max(0.03, 1 - 0.97 * pruned),
        entropy_correlation=r,
        by_language={"en": score + 0.031, "de": score - 0.058 - 0.06 * pruned},
    )


def made_results(texts: dict[str, str] | None = None) -> Results:
    """228 queries in two languages, of which `texts` replaces some."""
    rng = np.random.default_rng(11)
    settings = made_settings()
    topics = ["revenue of 2023", "water use in Ohio", "Figure 4", "the roadmap", "tissue growth"]
    ids = [f"q{number:03}" for number in range(QUERIES)]
    before = {query: float(rng.choice([0, 0.39, 0.63, 1])) for query in ids}
    moved = rng.choice([-0.37, 0, 0, 0, 0, 0.24], QUERIES)
    after = {
        query: float(np.clip(value + change, 0, 1))
        for (query, value), change in zip(before.items(), moved, strict=True)
    }
    return Results(
        data="esg_reports_v2",
        encoder="vidore/colqwen2.5-v0.2",
        measure="ndcg@5",
        pages=PAGES,
        queries=QUERIES,
        languages={"en": 152, "de": 76},
        settings=settings,
        per_query={"none": before, DEFAULT: after},
        texts={
            query: f"What does the report say about {topics[number % 5]}, part {number}?"
            for number, query in enumerate(ids)
        }
        | (texts or {}),
        seconds=38.2,
        versions={"docpruner": "0.1.0", "numpy": "2.4.6", "ir-measures": "0.4.1", "python": "3.12"},
        notes=["2 pages that answer queries are not among the pages read: a.pdf#3, b.pdf#1"],
    )

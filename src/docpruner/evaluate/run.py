"""One evaluation: encode what is not, sweep, measure."""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

import numpy as np
import numpy.typing as npt

from docpruner.codecs import CODEC_NAMES, bytes_per_vector, encode
from docpruner.errors import DataError
from docpruner.evaluate.encoded import EncodedData, as_encoded
from docpruner.evaluate.latency import Latency, seconds_of
from docpruner.evaluate.measures import Values, interval, p_value, per_query
from docpruner.evaluate.results import Results, SettingResult
from docpruner.evaluate.settings import RATIOS, Setting
from docpruner.evaluate.sweep import Progress, Swept, reduced, sweep
from docpruner.index.store import PageStore
from docpruner.maxsim import score_pages
from docpruner.types import FloatArray, PageEmbedding

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
STEPS = 20  # of a histogram
DEFAULT = "docpruner:k=-0.25"
TIMED_PAGES, TIMED_QUERIES, TIMES, TIMED_SECONDS = 64, 32, 5, 0.15
SAMPLED_PAGES = 200  # whose importances say where a global threshold lies


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured, and the main measure of every query under each setting."""

    results: Results
    values: list[Values]


def thresholds(data: EncodedData) -> tuple[float, ...]:
    """Importances below which a tenth, three tenths … of all patches lie."""
    chosen = np.linspace(0, len(data.rows) - 1, min(SAMPLED_PAGES, len(data.rows))).astype(int)
    with PageStore(data.folder) as store:
        stored = [store.page(data.rows[place]) for place in chosen]
    pages = [as_encoded(page, data.encoder) for page in stored if page is not None]
    importances = np.concatenate([page.importance[page.patches] for page in pages])
    return tuple(float(f"{value:.4g}") for value in np.quantile(importances, RATIOS))


def evaluate(
    data: EncodedData,
    settings: Sequence[Setting],
    *,
    filtered: EncodedData | None = None,
    notes: Sequence[str] = (),
    latency: Latency | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Measure every setting; the first is what the others are compared with.

    `filtered` is the same pages under the noise-filtering prompt, for settings that are for it.
    """
    queries = data.data.judged
    if not queries:
        raise DataError(f"{data.data.name}: no query has an answer; fill qrels.jsonl")
    began = time.monotonic()
    ids = [query.id for query in queries]
    groups = [(data, [s for s in settings if s.reducer.prompt == "default"])]
    if filtered is not None:
        groups.append((filtered, [s for s in settings if s.reducer.prompt != "default"]))
    measured: dict[Setting, _Measured] = {}
    for group, some in groups:
        swept = sweep(group, some, workers=workers, progress=progress)
        times = _search_times(group, [settings[0], *some])
        for number, setting in enumerate(some):
            run = _run(swept.top[number], ids, group)
            values = per_query(run, data.data.qrels, ids)
            taken = times[number + 1]
            measured[setting] = _Measured(setting, swept, number, values, data.data.measure, taken)
    settings = [setting for setting in settings if setting in measured]
    base, languages = measured[settings[0]], [query.lang for query in queries]
    dim = data.queries[0].shape[1]
    shown = {str(setting): measured[setting].scores.tolist() for setting in settings}
    results = Results(
        data=data.data.name,
        encoder=data.encoder,
        measure=data.data.measure,
        pages=len(data.rows),
        queries=len(queries),
        languages=dict(Counter(filter(None, languages))),
        settings=[measured[setting].result(base, languages, dim) for setting in settings],
        per_query={
            spec: dict(zip(ids, shown[spec], strict=True))
            for spec in (str(settings[0]), DEFAULT)
            if spec in shown
        },
        texts={query.id: query.text for query in queries},
        seconds=time.monotonic() - began,
        versions={
            **{name: version(name) for name in ("docpruner", "numpy", "ir-measures")},
            "python": platform.python_version(),
        },
        notes=[*notes, *_unknown_answers(data)],
        latency=latency,
    )
    return Measured(results, [measured[setting].scores for setting in settings])


def _run(
    top: npt.NDArray[np.int64], queries: Sequence[str], data: EncodedData
) -> dict[str, list[str]]:
    return {
        query: [data.page_ids[place] for place in places if place >= 0]
        for query, places in zip(queries, top.tolist(), strict=True)
    }


@dataclass(frozen=True, eq=False)
class _Measured:
    """One setting of a sweep, with its measures of every query."""

    setting: Setting
    swept: Swept
    number: int  # in the sweep
    values: dict[str, Values]
    main: str  # which of these measures counts
    search_time: float

    @property
    def scores(self) -> Values:
        return self.values[self.main]

    def result(self, base: _Measured, languages: Sequence[str], dim: int) -> SettingResult:
        own, of_base = self.scores, base.scores
        pruned, kept = self.swept.pruned[self.number], self.swept.kept[self.number]
        stored = float((kept + self.swept.special).mean())
        sure = interval(own)
        return SettingResult(
            method=self.setting.method,
            kind=self.setting.kind,
            spec=self.setting.spec,
            codec=self.setting.codec,
            measures={name: float(each.mean()) for name, each in self.values.items()},
            score=float(own.mean()),
            ci=(sure.low, sure.high),
            relative=float(own.mean() / of_base.mean()) if of_base.any() else 1.0,
            p=p_value(own, of_base),
            pruned=float(1 - kept.sum() / self.swept.patches.sum()),
            pruned_by_page={f"{q:g}": float(np.quantile(pruned, q)) for q in QUANTILES},
            pruned_histogram=np.histogram(pruned, STEPS, (0, 1))[0].tolist(),
            vectors_per_page=stored,
            bytes_per_page={codec: stored * bytes_per_vector(codec, dim) for codec in CODEC_NAMES},
            reduce_ms=float(self.swept.seconds[self.number]) * 1000,
            search_time=self.search_time,
            entropy_correlation=_correlation(self.swept.entropy, 1 - pruned),
            by_language={
                language: float(own[[told == language for told in languages]].mean())
                for language in dict.fromkeys(filter(None, languages))
            },
        )


def _correlation(entropy: FloatArray, kept: FloatArray) -> float | None:
    """Spearman's; none where one of the two is the same on every page."""
    from scipy.stats import spearmanr

    if len(kept) < 3 or np.ptp(kept) < 1e-6 or np.ptp(entropy) < 1e-6:
        return None
    return float(spearmanr(entropy, kept).statistic)


def _search_times(data: EncodedData, settings: Sequence[Setting]) -> list[float]:
    """Of exact search over the same pages in int8, as a share of the first setting's."""
    chosen = np.linspace(0, len(data.rows) - 1, min(TIMED_PAGES, len(data.rows))).astype(int)
    queries = data.queries[:TIMED_QUERIES]
    with PageStore(data.folder) as store:
        stored = [store.page(data.rows[place]) for place in chosen]
    pages = [as_encoded(page, data.encoder) for page in stored if page is not None]
    search = {setting.spec: _search_of(pages, setting, queries) for setting in settings}
    base = search[settings[0].spec]
    times = {spec: _ratio(way, base) for spec, way in search.items()}
    return [times[setting.spec] for setting in settings]


def _search_of(
    pages: Sequence[PageEmbedding], setting: Setting, queries: Sequence[FloatArray]
) -> Callable[[], object]:
    vectors = [reduced(page, setting).vectors for page in pages]
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in vectors])])
    return partial(score_pages, queries, encode(np.concatenate(vectors), "int8"), offsets)


def _ratio(way: Callable[[], object], base: Callable[[], object]) -> float:
    """The two take turns, for other work on the machine to weigh on both, and the best counts."""
    if way is base:
        return 1.0
    took: list[tuple[float, float]] = []
    while len(took) < TIMES or sum(map(sum, took)) < TIMED_SECONDS:
        took.append((seconds_of(way), seconds_of(base)))
    return min(own for own, _ in took) / min(of_base for _, of_base in took)


def _unknown_answers(data: EncodedData) -> list[str]:
    """Pages that are said to answer a query but could not be read, or do not exist."""
    there = set(data.page_ids)
    gone = sorted(
        {
            page
            for query in data.data.judged
            for page, relevance in data.data.qrels[query.id].items()
            if relevance and page not in there
        }
    )
    if not gone:
        return []
    named = ", ".join(gone[:3]) + (" …" if len(gone) > 3 else "")
    return [f"{len(gone)} pages that answer queries are not among the pages read: {named}"]

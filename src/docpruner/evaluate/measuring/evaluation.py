"""One evaluation: every setting swept over the encoded pages, and measured."""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import numpy.typing as npt

from docpruner.codecs import CODEC_NAMES, bytes_per_vector
from docpruner.evaluate.measuring.encoded import EncodedData
from docpruner.evaluate.measuring.latency import Latency
from docpruner.evaluate.measuring.measures import Values, interval, p_value, per_query
from docpruner.evaluate.measuring.methods import DEFAULT, RATIOS, Setting
from docpruner.evaluate.measuring.notes import nothing_found, unknown_answers
from docpruner.evaluate.measuring.results import Results, SettingResult
from docpruner.evaluate.measuring.search_time import search_times
from docpruner.evaluate.measuring.sweep import Swept, sweep
from docpruner.evaluate.measuring.text_baseline import text_results
from docpruner.stores.contract import Progress
from docpruner.types import FloatArray

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
STEPS = 20  # of a histogram
SAMPLED_PAGES = 200  # whose importances say where a global threshold lies


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The results, and the main measure of every query under each setting."""

    results: Results
    values: list[Values]


def thresholds(data: EncodedData) -> tuple[float, ...]:
    """Importances below which a tenth, three tenths … of all patches lie."""
    pages = data.embeddings(data.some_pages(SAMPLED_PAGES))
    importances = np.concatenate([page.importance[page.patches] for page in pages])
    return tuple(float(f"{value:.4g}") for value in np.quantile(importances, RATIOS))


def evaluate(
    data: EncodedData,
    settings: Sequence[Setting],
    *,
    latency: Latency | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure every setting; the first is what the others are compared with.

    `workers` are processes, of which there are as many as cores. Settings for the noise-filtering
    prompt are left out if the data is not encoded under it.
    """
    began = time.monotonic()
    measured = _measured(data, settings, workers, progress)
    settings = [setting for setting in settings if setting in measured]
    queries, base = data.data.judged, measured[settings[0]]
    languages = [query.lang for query in queries]
    dim = data.queries[0].shape[1]
    by_text, left_out = text_results(data, base.scores)
    results = Results(
        data=data.data.name,
        encoder=data.encoder,
        measure=data.data.measure,
        pages=len(data.pages),
        queries=len(queries),
        languages=dict(Counter(filter(None, languages))),
        settings=[measured[setting].result(base, languages, dim) for setting in settings],
        per_query={
            str(setting): _by_query(data, measured[setting].scores)
            for setting in (settings[0], DEFAULT)
            if setting in measured
        },
        texts={query.id: query.text for query in queries},
        seconds=time.monotonic() - began,
        versions={
            **{name: version(name) for name in ("docpruner", "numpy", "ir-measures")},
            "python": platform.python_version(),
        },
        notes=[
            *data.notes,
            *left_out,
            *unknown_answers(data),
            *nothing_found(data.data, base.scores),
        ],
        latency=latency,
        text=by_text,
    )
    return Evaluation(results, [measured[setting].scores for setting in settings])


def _measured(
    data: EncodedData,
    settings: Sequence[Setting],
    workers: int | None,
    progress: Progress | None,
) -> dict[Setting, _Measured]:
    ids = [query.id for query in data.data.judged]
    groups = [(data, [s for s in settings if s.reducer.prompt == "default"])]
    if data.filtered is not None:
        groups.append((data.filtered, [s for s in settings if s.reducer.prompt != "default"]))
    measured: dict[Setting, _Measured] = {}
    for group, some in groups:
        swept = sweep(group, some, workers=workers, progress=progress)
        times = search_times(group, some, base=settings[0])
        page_ids = group.page_ids
        for number, setting in enumerate(some):
            ranked = [
                [page_ids[place] for place in places if place >= 0]
                for places in swept.top[number].tolist()
            ]
            values = per_query(dict(zip(ids, ranked, strict=True)), data.data.qrels, ids)
            measured[setting] = _Measured(
                setting, swept, number, values, data.data.measure, times[setting]
            )
    return measured


def _by_query(data: EncodedData, scores: Values) -> dict[str, float]:
    ids = (query.id for query in data.data.judged)
    return dict(zip(ids, scores.tolist(), strict=True))


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
            relative=float(own.mean() / of_base.mean()) if of_base.any() else None,
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
                language: float(own[_places_of(language, languages)].mean())
                for language in dict.fromkeys(filter(None, languages))
            },
        )


def _places_of(language: str, languages: Sequence[str]) -> npt.NDArray[np.bool_]:
    return np.array([each == language for each in languages])


def _correlation(entropy: FloatArray, kept: FloatArray) -> float | None:
    """Spearman's; none where one of the two is the same on every page."""
    from scipy.stats import spearmanr

    if len(kept) < 3 or np.ptp(kept) < 1e-6 or np.ptp(entropy) < 1e-6:
        return None
    return float(spearmanr(entropy, kept).statistic)

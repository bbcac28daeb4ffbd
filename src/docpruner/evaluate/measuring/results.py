"""What was measured, as it is printed, saved and drawn.

`results.json` holds one `Results`: everything the report shows can be made again from it.
"""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from docpruner.errors import DataError
from docpruner.evaluate.measuring.latency import Latency
from docpruner.evaluate.measuring.measures import MEASURES, measure_name
from docpruner.evaluate.measuring.methods import BASE_CODEC
from docpruner.evaluate.measuring.text_baseline import TextResult

SCHEMA = 1


@dataclass(frozen=True)
class SettingResult:
    """One setting, measured."""

    method: str  # docpruner, docpruner+sem-cluster …
    kind: str  # base, pruning, adaptive pruning or merging
    spec: str
    codec: str
    measures: dict[str, float]  # means over queries: ndcg@5, ndcg@10, recall@5, … mrr
    score: float  # the mean of the main measure, which Results names
    ci: tuple[float, float]  # of the score, 95 %
    relative: float | None  # the score as a share of the base's, if that is not 0
    p: float  # that the difference from the base's score is chance
    pruned: float  # share of all patch vectors that need not be stored
    pruned_by_page: dict[str, float]  # quantiles over pages: 0, 0.1, 0.25, 0.5, 0.75, 0.9, 1
    pruned_histogram: list[int]  # pages in twenty equal steps from 0 to 1
    vectors_per_page: float
    bytes_per_page: dict[str, float]  # for each codec
    reduce_ms: float  # a page
    search_time: float  # as a share of the base's, int8
    entropy_correlation: float | None  # Spearman, of a page's H(p) and its share kept
    by_language: dict[str, float] = field(default_factory=dict)  # scores

    @property
    def name(self) -> str:
        """As a setting is written: its spec, and its codec unless that is the base's."""
        return self.spec if self.codec == BASE_CODEC else f"{self.spec}@{self.codec}"

    @property
    def stored_bytes(self) -> float:
        """A page, with its own codec."""
        return self.bytes_per_page[self.codec]

    def as_json(self) -> dict[str, Any]:
        """With the measures beside the rest."""
        values = asdict(self)
        return {**{k: values.pop(k) for k in ("method", "kind", "spec", "codec", "score")},
                **values.pop("measures"), **values}  # fmt: skip


@dataclass(frozen=True)
class Results:
    """All settings on one data set with one encoder. The first is the base: nothing pruned."""

    data: str
    encoder: str
    measure: str  # the main one of the data set: ndcg@5, or ndcg@10 for ViDoRe V3
    pages: int
    queries: int
    languages: dict[str, int]  # queries of each
    settings: list[SettingResult]
    per_query: dict[str, dict[str, float]]  # of the base and the default setting: queries' scores
    texts: dict[str, str]  # of the queries
    seconds: float  # of the sweep and its measures, the pages being encoded
    versions: dict[str, str]
    notes: list[str] = field(default_factory=list)  # what was left out, and why
    latency: Latency | None = None  # of encoding, if that was timed
    text: list[TextResult] = field(default_factory=list)  # the same queries by full-text search

    @property
    def measure_name(self) -> str:
        return measure_name(self.measure)

    @property
    def base(self) -> SettingResult:
        return self.settings[0]

    def save(self, folder: Path) -> list[Path]:
        """results.json and results.csv."""
        folder.mkdir(parents=True, exist_ok=True)
        values = asdict(self) | {"settings": [s.as_json() for s in self.settings]}
        as_json, as_csv = folder / "results.json", folder / "results.csv"
        text = json.dumps({"schema": SCHEMA, **values}, indent=1, ensure_ascii=False)
        as_json.write_text(text, encoding="utf-8")
        with as_csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            rows = [_flat(setting) for setting in self.settings]
            writer.writerow(rows[0])
            writer.writerows(row.values() for row in rows)
        return [as_json, as_csv]

    @classmethod
    def load(cls, path: Path) -> Results:
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if values.pop("schema") != SCHEMA:
                raise ValueError("it is from another version of docpruner; evaluate again")
            settings = [_read(setting) for setting in values.pop("settings")]
            latency = values.pop("latency")
            timed = None if latency is None else Latency(**latency)
            text = [
                TextResult(**each | {"ci": tuple(each["ci"])}) for each in values.pop("text", [])
            ]
            return cls(settings=settings, latency=timed, text=text, **values)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} can't be read as results ({error})") from None


def _read(values: dict[str, Any]) -> SettingResult:
    measures = {name: values.pop(name) for name in MEASURES}
    values["ci"] = tuple(values["ci"])
    return SettingResult(measures=measures, **values)


def _flat(setting: SettingResult) -> dict[str, object]:
    """A row of a table: numbers only."""
    return {
        "method": setting.method,
        "kind": setting.kind,
        "spec": setting.spec,
        "codec": setting.codec,
        "score": setting.score,
        **setting.measures,
        "ci_low": setting.ci[0],
        "ci_high": setting.ci[1],
        "relative": setting.relative,
        "p": setting.p,
        "pruned": setting.pruned,
        "vectors_per_page": setting.vectors_per_page,
        **{f"bytes_per_page_{codec}": b for codec, b in setting.bytes_per_page.items()},
        "reduce_ms": setting.reduce_ms,
        "search_time": setting.search_time,
        "entropy_correlation": setting.entropy_correlation,
    }

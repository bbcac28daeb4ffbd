"""An evaluation from a name to a report: data, encoder and methods in, files out."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from docpruner.encoders.registry import Encoder
from docpruner.errors import EncoderError, MissingExtraError, PageError, PruningWarning
from docpruner.evaluate.calibrate import candidates
from docpruner.evaluate.data import DataSet
from docpruner.evaluate.encoded import EncodedData, as_encoded, encode_data
from docpruner.evaluate.latency import Latency, measure_latency
from docpruner.evaluate.results import Results
from docpruner.evaluate.run import DEFAULT, Measured, evaluate, thresholds
from docpruner.evaluate.settings import Setting, read_methods, read_setting
from docpruner.evaluate.sweep import Progress
from docpruner.index.store import PageStore
from docpruner.pipeline.add import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from docpruner.evaluate.report import Example

EXAMPLES = 6  # pages drawn for the report


LIBRARIES = ("ir_measures", "jinja2", "matplotlib", "scipy")


def require_libraries() -> None:
    """Fails at once for what is missing, not after minutes of encoding."""
    if any(importlib.util.find_spec(name) is None for name in LIBRARIES):
        raise MissingExtraError("measuring", "eval")


@dataclass(frozen=True)
class Study:
    """How to measure; what to measure it on comes with each call.

    `filtering` loads the encoder with the noise-filtering prompt, or is None if it has no prompt.
    `latency` is on how many pages encoding is timed.
    """

    encoder: Encoder
    methods: str
    cache: Path | None = None
    ocr: bool = False
    workers: int | None = None
    filtering: Callable[[], Encoder] | None = None
    latency: int = 0

    def encode(self, data: DataSet, watch: Watch | None = None) -> None:
        """Fill the cache; what comes after finds everything there."""
        encode_data(data, self.encoder, cache=self.cache, ocr=self.ocr, watch=watch)

    def measure(
        self, data: DataSet, *, progress: Progress | None = None
    ) -> tuple[EncodedData, Measured]:
        encoded = self._encoded(data, self.encoder)
        filtered, notes = None, []
        settings = self.settings(encoded)
        if any(setting.reducer.prompt != "default" for setting in settings):
            try:
                assert self.filtering is not None  # else there are no such settings
                filtered = self._encoded(data, self.filtering())
            except EncoderError as error:
                notes.append(f"attention-threshold-nfp was left out: {error}")
        elif self.methods in ("paper", "all"):
            name = self.encoder.name
            notes.append(f"attention-threshold-nfp was left out: {name} takes no prompt")
        if self.encoder.pixels is None:
            notes += _wordless_answers(encoded)
        measured = evaluate(
            encoded,
            settings,
            filtered=filtered,
            notes=notes,
            latency=self.timed(data) if self.latency else None,
            workers=self.workers,
            progress=progress,
        )
        return encoded, measured

    def timed(self, data: DataSet) -> Latency:
        """Encoding some pages in each of its ways, with the default's pruning."""
        pixels = self.encoder.pixels
        ocr = self.ocr and pixels is None
        pages = data.source.some_pages(self.latency, pixels=pixels, ocr=ocr)
        return measure_latency(pages, self.encoder, read_setting(DEFAULT).reducer)

    def settings(self, encoded: EncodedData) -> list[Setting]:
        if self.methods == "front":
            return candidates()
        return read_methods(self.methods, thresholds(encoded), prompts=self.filtering is not None)

    def _encoded(self, data: DataSet, encoder: Encoder) -> EncodedData:
        return encode_data(data, encoder, cache=self.cache, ocr=self.ocr)


def _wordless_answers(encoded: EncodedData) -> list[str]:
    """How many queries an encoder that reads words can only fail on."""
    names = dict(zip(encoded.rows, encoded.page_ids, strict=True))
    with PageStore(encoded.folder) as store:
        wordless = {names[row.id] for row, _ in store.rows() if row.words_from == "nowhere"}
    judged, qrels = encoded.data.judged, encoded.data.qrels
    answers = [{page for page, relevance in qrels[q.id].items() if relevance} for q in judged]
    lost = sum(pages <= wordless for pages in answers)
    if not lost:
        return []
    pages = f"{len(wordless):,} of {len(names):,} pages have no words"
    return [f"{pages}, and {lost:,} of {len(judged):,} queries no other answer; --ocr reads them"]


def write_all(encoded: EncodedData, results: Results, folder: Path) -> Path:
    """Tables, figures and the report, which is returned."""
    from docpruner.evaluate.figures import draw_all
    from docpruner.evaluate.report import write_report

    results.save(folder)
    figures = draw_all(results, folder / "figures")
    return write_report(results, folder, figures, examples(encoded, results))


def examples(encoded: EncodedData, results: Results) -> list[Example]:
    """Pages as the default setting keeps them: of the queries it hurts, helps and leaves alone."""
    from docpruner.evaluate.report import Example, png
    from docpruner.explain import look, page_picture

    shown = results.per_query.get(DEFAULT)
    if shown is None:
        return []
    base = results.per_query[results.base.spec]
    change = {query: shown[query] - base[query] for query in shown}
    ranked = sorted(change, key=lambda query: (change[query], query))
    chosen = [*ranked[:2], *ranked[len(ranked) // 2 - 1 : len(ranked) // 2 + 1], *ranked[-2:]]
    places = {page: place for place, page in enumerate(encoded.page_ids)}
    found: dict[str, Example] = {}
    with PageStore(encoded.folder) as store:
        for query in dict.fromkeys(chosen):
            answer = next((p for p in encoded.data.qrels[query] if p in places), None)
            if answer is None or answer in found:
                continue
            stored = store.page(encoded.rows[places[answer]])
            if stored is None:
                continue
            page = as_encoded(stored, encoded.encoder)
            try:
                picture = encoded.data.source.picture(stored.document, stored.number)
            except PageError:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PruningWarning)
                drawn = page_picture(look(page, DEFAULT), picture)
            caption = f"“{results.texts[query]}” {base[query]:.2f} → {shown[query]:.2f}"
            found[answer] = Example(answer, caption, png(drawn))
    return list(found.values())[:EXAMPLES]

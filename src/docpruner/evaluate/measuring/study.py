"""How to measure: an encoder, its settings, and where encoded pages are kept."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from docpruner.encoders.registry import Encoder
from docpruner.errors import EncoderError, MissingExtraError, SpecError
from docpruner.evaluate.data.data_sets import DataSet
from docpruner.evaluate.measuring.calibration import candidates
from docpruner.evaluate.measuring.encoded import EncodedData, encode_data
from docpruner.evaluate.measuring.evaluation import Evaluation, evaluate, thresholds
from docpruner.evaluate.measuring.latency import Latency, measure_latency
from docpruner.evaluate.measuring.methods import DEFAULT, RATIOS, Setting, read_methods
from docpruner.evaluate.measuring.notes import wordless_answers
from docpruner.pages.ocr import uses_ocr
from docpruner.pipeline.add_report import ProgressCallback
from docpruner.stores.contract import Progress
from docpruner.types import Ocr

LIBRARIES = ("ir_measures", "jinja2", "matplotlib", "scipy")


def require_libraries() -> None:
    """Fails at once for what is missing, not after minutes of encoding."""
    if any(importlib.util.find_spec(name) is None for name in LIBRARIES):
        raise MissingExtraError("measuring", "eval")


def read_settings(
    methods: str, at: tuple[float, ...] = RATIOS, *, prompts: bool = True
) -> list[Setting]:
    """`front`, or what `read_methods` understands; `at` are the global thresholds."""
    if methods == "front":
        return candidates()
    return read_methods(methods, at, prompts=prompts)


@dataclass(frozen=True)
class Study:
    """How to measure; what to measure it on comes with each call.

    encoder: makes the vectors.
    methods: `paper`, `all`, `front`, `signals`, or settings with commas between them.
    cache: the folder that keeps encoded data; the user's cache by default.
    ocr: recognise the words of pages without any, if the encoder reads words; None where it is
        installed, languages for tesseract.
    workers: processes that measure; as many as cores by default.
    filtering: loads the encoder with the noise-filtering prompt; None if it takes no prompt.
    latency: on how many pages encoding is timed.
    """

    encoder: Encoder
    methods: str
    cache: Path | None = None
    ocr: Ocr | None = None
    workers: int | None = None
    filtering: Callable[[], Encoder] | None = None
    latency: int = 0

    def encode(self, data: DataSet, progress: ProgressCallback | None = None) -> EncodedData:
        """Bring the cache up to date with the data."""
        filtered = self._settings_for_filtering()
        encoded = self._encoded(data, self.encoder, progress)
        if filtered and self.filtering is not None:
            try:
                second = self._encoded(data, self.filtering(), progress)
                encoded = replace(encoded, filtered=second)
            except EncoderError as error:
                encoded = encoded.noted(f"attention-threshold-nfp was left out: {error}")
        elif self.methods in ("paper", "all"):
            name = self.encoder.name
            encoded = encoded.noted(f"attention-threshold-nfp was left out: {name} takes no prompt")
        if self.encoder.reads == "words":
            encoded = encoded.noted(*wordless_answers(encoded, ocr=bool(self._recognises)))
        return encoded

    def measure(self, encoded: EncodedData, progress: Progress | None = None) -> Evaluation:
        """Measure every setting on what `encode` returned."""
        at, prompts = thresholds(encoded), self.filtering is not None
        return evaluate(
            encoded,
            read_settings(self.methods, at, prompts=prompts),
            latency=self.timed(encoded.data) if self.latency else None,
            workers=self.workers,
            progress=progress,
        )

    def timed(self, data: DataSet) -> Latency:
        """Encoding some pages in each of its ways, with the default's pruning."""
        pixels = self.encoder.pixels
        pages = data.pages.some_pages(self.latency, pixels=pixels, ocr=self._recognises)
        return measure_latency(pages, self.encoder, DEFAULT.reducer)

    @property
    def _recognises(self) -> Ocr:
        return self.encoder.reads == "words" and uses_ocr(self.ocr, reads_words=True)

    def _settings_for_filtering(self) -> list[Setting]:
        """Those under the noise-filtering prompt; SpecError if they can't be measured."""
        settings = read_settings(self.methods, prompts=self.filtering is not None)
        filtered = [setting for setting in settings if setting.reducer.prompt != "default"]
        if filtered and self.filtering is None:
            raise SpecError(
                f"{filtered[0]} needs the noise-filtering prompt, which {self.encoder.name} does "
                "not take; leave it out, or use an encoder that takes a prompt"
            )
        return filtered

    def _encoded(
        self, data: DataSet, encoder: Encoder, progress: ProgressCallback | None
    ) -> EncodedData:
        return encode_data(data, encoder, cache=self.cache, ocr=self.ocr, progress=progress)

"""Ways to recognise the words of scans: what each costs, and what is found with its words.

    python benchmarks/recognition.py DATA CACHE [WAY ...] [--models FOLDER] [--every N]

DATA is a folder as `docpruner evaluate` takes it. Its pages without words are recognised in each
WAY (default: as docpruner does it) by as many processes as there are cores, and encoded by the
built-in encoder; questions are then asked of all pages, unpruned. What was recognised is kept in
CACHE, with the vectors of the other pages. FOLDER holds the models of ways that need others than
rapidocr's wheel has; the way `tesseract` needs that program. N takes every n-th of the pages, and
asks no questions. The way `reader` is no other: the same pages by the page reader, document after
document, as `docpruner index` has them. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from docpruner.cores import usable_cores
from docpruner.encoders.builtin import BuiltinEncoder
from docpruner.evaluate.data.own_folder import load_folder
from docpruner.evaluate.measuring.encoded import EncodedData, encode_data
from docpruner.maxsim import maxsim
from docpruner.pages import ocr
from docpruner.pages.document import OCR_PIXELS, open_document
from docpruner.pages.reader import PageReader
from docpruner.stores.locations import open_store
from docpruner.types import Filter, Page, Word

ONE = "EngineConfig.onnxruntime.intra_op_num_threads"
ALL_THREADS, PLAIN = {ONE: -1}, {"Det.limit_type": "min", "Det.limit_side_len": 736}
WIDE = {"Rec.rec_img_shape": [3, 48, 320]}
TINY = {
    "Det.model_path": "PP-OCRv6_det_tiny.onnx",
    "Rec.model_path": "PP-OCRv6_rec_tiny.onnx",
}
MOBILE = {
    "Det.model_path": "ch_PP-OCRv4_det_infer.onnx",
    "Rec.model_path": "ch_PP-OCRv4_rec_infer.onnx",
}
WAYS: dict[str, dict[str, Any]] = {
    "docpruner": {},
    "960": {"Det.limit_side_len": 960},
    "1600": {"Det.limit_side_len": 1600},
    "rapidocr": {**PLAIN, **WIDE},  # its defaults, but for one thread
    "rapidocr-threads": {**PLAIN, **WIDE, **ALL_THREADS},
    "tiny": TINY,
    "tiny-960": {**TINY, "Det.limit_side_len": 960},
    "mobile-v4": {**MOBILE, "Det.limit_side_len": 960},
    "tesseract": {"ocr": "eng"},
}
NamedPage = tuple[str, int]  # file and number
Recognised = dict[str, Any]  # words, CPU seconds


def recognise(task: tuple[Path, int, dict[str, Any]]) -> Recognised:
    path, number, changes = task
    parameters = {**changes}
    by = parameters.pop("ocr", True)
    ocr.PARAMETERS.update(parameters)
    with open_document(path) as document, document._open_page(number) as page:
        began = time.process_time() + _children_cpu()
        words = ocr.recognised_words(page.draw(OCR_PIXELS).image(), by)
        cpu = time.process_time() + _children_cpu() - began
        return {"words": [(w.text, *w.box) for w in words], "cpu": cpu}


def recognised(folder: Path, pages: list[NamedPage], changes: dict[str, Any]) -> dict[str, Any]:
    """Of all pages, in their order, and how long it took."""
    os.environ["OPENCV_FOR_THREADS_NUM"] = "1"
    at_once = 1 if ONE in changes else usable_cores()
    spawn = multiprocessing.get_context("spawn")
    tasks = [(folder / name, number, changes) for name, number in pages]
    with ProcessPoolExecutor(at_once, mp_context=spawn) as pool:
        list(pool.map(recognise, tasks[:at_once]))  # loads the models
        began = time.monotonic()
        done = list(pool.map(recognise, tasks))
        seconds = time.monotonic() - began
    return {"seconds": seconds, "pages": done, "load": os.getloadavg()[0]}


def by_reader(folder: Path, pages: list[NamedPage]) -> dict[str, Any]:
    """As `recognised`, with the processes and limits that indexing has."""
    done: list[Recognised] = []
    began, cpu = time.monotonic(), _children_cpu()
    with PageReader(pixels=None, ocr=True) as reader:
        for name, some in groupby(pages, key=lambda page: page[0]):
            reader.open(folder / name)
            for page in reader.pages([number for _, number in some]):
                words = page.words if isinstance(page, Page) else ()
                done.append({"words": [(w.text, *w.box) for w in words], "cpu": 0.0})
    seconds = time.monotonic() - began
    done = [each | {"cpu": (_children_cpu() - cpu) / len(done)} for each in done]
    return {"seconds": seconds, "pages": done, "load": os.getloadavg()[0]}


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Questions:
    """nDCG@5, with the words of some pages recognised."""

    def __init__(self, encoded: EncodedData, silent: list[NamedPage]) -> None:
        data = encoded.data
        self._queries = encoded.queries
        self._encoder = BuiltinEncoder()
        place = {page: number for number, page in enumerate(encoded.pages)}
        self._columns = [place[page] for page in encoded.pages if _named(page) in set(silent)]
        self._scores = np.zeros((len(self._queries), len(encoded.pages)), np.float32)
        with open_store(encoded.location) as store, store.reader() as reader:
            for row, ranked in zip(
                self._scores, reader.rank(self._queries, len(place), Filter()), strict=True
            ):
                row[[place[page.name] for page in ranked]] = [page.score for page in ranked]
        at = {page: number for number, page in enumerate(encoded.page_ids)}
        qrels = [data.qrels[query.id] for query in data.judged]
        self._right = [{at[page] for page, grade in each.items() if grade} for each in qrels]
        self.silent = np.array([right <= set(self._columns) for right in self._right])

    def ndcg(self, words: list[tuple[Word, ...]] | None) -> np.ndarray:
        """Of each question."""
        scores = self._scores.copy()
        if words is not None:
            pages = [Page(f"page {n}", lambda: None, each) for n, each in enumerate(words)]  # type: ignore[arg-type,return-value]
            vectors = [page.vectors for page in self._encoder.encode_pages(pages)]
            for row, query in zip(scores, self._queries, strict=True):
                row[self._columns] = maxsim(query, vectors)
        gains = 1 / np.log2(np.arange(2, 7))
        best = np.argsort(-scores, axis=1, kind="stable")[:, :5].tolist()
        pairs = list(zip(best, self._right, strict=True))
        found = np.array([[page in right for page in row] for row, right in pairs])
        return (found * gains).sum(axis=1) / [gains[: len(right)].sum() for right in self._right]


def _named(page: Any) -> NamedPage:
    return Path(page.document).name, page.number


def silent_pages(encoded: EncodedData) -> Iterator[NamedPage]:
    with open_store(encoded.location) as store, store.reader() as reader:
        for page in encoded.pages:
            stored = reader.page(*page)
            if stored is not None and stored.words_from == "nowhere":
                yield _named(page)


def main() -> None:
    warnings.simplefilter("ignore")  # pages without words
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("ways", nargs="*", default=["docpruner"])
    parser.add_argument("--models", type=Path, default=Path())
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    data = load_folder(options.data)
    encoded = encode_data(data, BuiltinEncoder(), cache=options.cache, ocr=False)
    silent = list(silent_pages(encoded))
    questions = Questions(encoded, silent) if options.every == 1 else None
    result: dict[str, Any] = {"cores": usable_cores(), "pages": len(silent[:: options.every])}
    if questions is not None:
        result["questions"] = [len(questions.silent), int(questions.silent.sum())]
        result["none"] = _told("none", questions, None)
    for way in options.ways:
        kept = options.cache / f"words-{way}-{options.every}.json"
        if not kept.exists():
            folder, some = options.data / "pdfs", silent[:: options.every]
            if way == "reader":
                read = by_reader(folder, some)
            else:
                read = recognised(folder, some, _changes(way, options.models))
            kept.write_text(json.dumps(read))
        result[way] = _told(way, questions, json.loads(kept.read_text()))
    print(json.dumps(result))


def _changes(way: str, models: Path) -> dict[str, Any]:
    return {
        name: str(models / value) if name.endswith("model_path") else value
        for name, value in WAYS[way].items()
    }


def _told(way: str, questions: Questions | None, read: dict[str, Any] | None) -> dict[str, float]:
    told: dict[str, float] = {}
    words = None
    if read is not None:
        cpu = [page["cpu"] for page in read["pages"]]
        words = [
            tuple(Word(text, tuple(box)) for text, *box in page["words"])  # type: ignore[arg-type]
            for page in read["pages"]
        ]
        told = {
            "CPU s a page": float(np.mean(cpu)),
            "at most": max(cpu),
            "s a page": read["seconds"] / len(cpu),
            "words a page": float(np.mean([len(each) for each in words])),
            "load": read["load"],
        }
    if questions is not None:
        values = questions.ndcg(words)
        told["nDCG@5 of them"] = float(values[questions.silent].mean())
        told["nDCG@5 of all"] = float(values.mean())
    print(f"{way:18}", *(f"{value:8.3f} {name}" for name, value in told.items()), flush=True)
    return told


if __name__ == "__main__":
    main()

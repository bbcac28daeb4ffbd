"""How fast the built-in encoder is, from PDF files to vectors, on every core of this machine.

    python benchmarks/builtin_encoder.py FOLDER [--pages 200] [--edition builtin-v1]

Takes about that many pages evenly from the PDFs of the folder; those without words are left
out. On a busy machine compare editions by the processor's time. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import NoReturn

import pypdfium2

from docpruner.encoders.builtin import ARTEFACTS, NAME, BuiltinEncoder
from docpruner.encoders.builtin_editions import EDITIONS
from docpruner.pages.text_layer import words_of_page
from docpruner.types import Page

QUERIES = [
    "What was the net revenue in the third quarter?",
    "How do I reset the device to factory settings?",
    "Which country had the highest share of renewable energy in 2019?",
    "figure comparing the accuracy of the models",
]
BATCH = 32


def sample(folder: Path, count: int) -> list[tuple[Path, int]]:
    places = []
    for path in sorted(folder.rglob("*.pdf")):
        with pypdfium2.PdfDocument(path) as document:
            places += [(path, index) for index in range(len(document))]
    return places[:: max(1, len(places) // count)]


def read(path: Path, index: int) -> Page:
    with pypdfium2.PdfDocument(path) as document:
        page = document[index]
        words = words_of_page(page)
    return Page(f"{path.name}#{index + 1}", not_drawn, words)


def not_drawn() -> NoReturn:
    raise NotImplementedError("the built-in encoder draws no page")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--edition", choices=EDITIONS, default=NAME)
    given = parser.parse_args()
    encoder = BuiltinEncoder(given.edition)
    encoder.encode_queries(QUERIES)
    places = sample(given.folder, given.pages)
    pages = vectors = 0
    reading = encoding = processor = 0.0
    batch: list[Page] = []
    for number, place in enumerate(places):
        start = time.perf_counter()
        page = read(*place)
        spent = time.perf_counter() - start
        if page.words:
            reading += spent
            batch.append(page)
        if batch and (len(batch) == BATCH or number == len(places) - 1):
            start, before = time.perf_counter(), time.process_time()
            vectors += sum(len(found.vectors) for found in encoder.encode_pages(batch))
            encoding += time.perf_counter() - start
            processor += time.process_time() - before
            pages += len(batch)
            batch = []
    start = time.perf_counter()
    for query in QUERIES * 5:
        encoder.encode_queries([query])
    query_ms = (time.perf_counter() - start) / (5 * len(QUERIES)) * 1000
    files = json.loads((ARTEFACTS / f"{given.edition}.json").read_text())["sha256"]
    size = sum((ARTEFACTS / name).stat().st_size for name in files) / 1e6
    print(f"{pages} pages with words, {encoder.threads} threads")
    print(f"reading text layers  {reading / pages * 1000:7.1f} ms a page (one core)")
    print(f"encoding             {encoding / pages * 1000:7.1f} ms a page (all cores)")
    print(f"a query              {query_ms:7.1f} ms")
    print(f"… processor time    {processor / pages * 1000:7.1f} ms a page")
    result = {
        "edition": given.edition,
        "pages_per_s": round(pages / (reading + encoding), 2),
        "processor_ms_per_page": round(processor / pages * 1000, 1),
        "vectors_per_page": round(vectors / pages, 1),
        "query_ms": round(query_ms, 2),
        "model_mb": round(size, 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()

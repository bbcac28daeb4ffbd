"""A process that indexes files on a cluster: `python -m integrations.ray_driver JOB`.

JOB is JSON. It says `committed N` whenever N pages are in, each problem it is told of, and at the
end what it has done. Batches are tiny, so that there are many commits and a lot under way.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from docpruner.facade import Index
from docpruner.integrations.ray import RayWorkers
from docpruner.pipeline import add, page_workers
from docpruner.pipeline.add_report import AddReport
from docpruner.types import Page, PageEmbedding
from faults.words import WordEncoder

DEADLY = "deadly"
"""A page with this word ends whoever encodes it."""


class DeadlyEncoder(WordEncoder):
    def encode_pages(self, pages: Sequence[Page]) -> list[PageEmbedding]:
        if any(word.text == DEADLY for page in pages for word in page.words):
            os._exit(1)
        return super().encode_pages(pages)


def main() -> None:
    job = json.loads(sys.argv[1])
    add.MOST_PAGES, page_workers.PAGES = 4, job.get("pages", 2)
    encoder = DeadlyEncoder(job.get("seconds", 0.0))
    with (
        RayWorkers(job["address"]) as workers,
        Index.open_or_create(job["index"], encoder=encoder) as index,
    ):
        report = index.add(job["files"], progress=told, workers=workers)
        damaged = index.verify()
    counts = {"pages": report.pages, "documents": dict(report.documents)}
    print(json.dumps({**counts, "damaged": len(damaged), "outcome": report.outcome}), flush=True)


def told(report: AddReport) -> None:
    print(f"committed {report.pages}", flush=True)
    for problem in report.problems:
        print(f"problem {problem}", flush=True)


if __name__ == "__main__":
    main()

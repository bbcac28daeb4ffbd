"""A Ray Data pipeline of one's own: `python -m integrations.ray_pipeline ADDRESS INDEX FILES`."""

from __future__ import annotations

import json
import sys

import ray

from docpruner.facade import Index
from docpruner.integrations.ray import PageEncoder, missing_pages, write_pages
from faults.words import WordEncoder


def main() -> None:
    address, location, files = sys.argv[1:]
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    encoder = WordEncoder()
    with Index.open_or_create(location, encoder=encoder) as index:
        rows = missing_pages(index, files)
        told = {"asked": len(rows)}
        if rows:
            made = ray.data.from_items(rows).map_batches(
                PageEncoder,
                fn_constructor_kwargs={"settings": index.settings, "encoder": encoder},
                batch_size=4,
                concurrency=(1, 2),
            )
            report = write_pages(index, made)
            told |= {"pages": report.pages, "documents": dict(report.documents)}
            told |= {"problems": [str(problem) for problem in report.problems]}
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()

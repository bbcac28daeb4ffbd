"""A process inside a cluster's network that reads a set of shards: `python -m … LOCATION`.

For each line on its input, which names a question, it answers with a line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

from docpruner.errors import DocPrunerError
from docpruner.facade import Index
from docpruner.stores.contract import Reader
from docpruner.stores.records import PageName
from docpruner.types import Filter
from stores.test_shards import FILTERS, QUERIES


def rankings(reader: Reader) -> Any:
    """All that is asked in `stores/test_shards.py` of a set in one process."""
    among = [sorted(reader.pages())[::3], [], [PageName("nowhere.pdf", 1)]]
    return [
        [reader.rank(QUERIES, k, which) for which in FILTERS for k in (1, 3, 1000)],
        reader.rank(QUERIES, 7, Filter(pages=(1, 2)), among),
    ]


def contents(reader: Reader) -> Any:
    """Every document and page, and what is found by text."""
    stored = [reader.page(*name) for name in sorted(reader.pages())]
    return [
        [repr(entry) for entry in reader.documents()],
        [repr(reader.document(name)) for name in reader.names()],
        [(page.document, page.number, page.fingerprint, page.text.plain) for page in stored],
        sorted(page.name for page in reader.rank_text("tide", 1000, Filter())),
        reader.stats().vectors,
        repr(reader.settings),
    ]


def hits(index: Index) -> Any:
    found = index.search(vectors=QUERIES[1], k=1000)
    return [(hit.document, hit.page, hit.score, len(hit.matches)) for hit in found]


def slow(index: Index) -> Any:
    """A reader that stays open while something happens to the cluster."""
    with index.reader() as reader:
        before = reader.rank(QUERIES, 3, Filter())
        print(json.dumps("reading"), flush=True)
        sys.stdin.readline()
        return [before, reader.rank(QUERIES, 3, Filter())]


def answer(index: Index, question: str) -> Any:
    if question in ("hits", "slow"):
        return {"hits": hits, "slow": slow}[question](index)
    with index.reader() as reader:
        return {"rankings": rankings, "contents": contents}[question](reader)


def main() -> None:
    with Index.open(sys.argv[1]) as index:
        print(json.dumps("open"), flush=True)
        for line in sys.stdin:
            began, told = time.monotonic(), {}
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    told = {"answer": answer(index, line.strip())}
                except DocPrunerError as error:
                    told = {"error": f"{type(error).__name__}: {error}"}
            told["warned"] = [f"{each.category.__name__}: {each.message}" for each in warned]
            told["missing"] = index.missing_shards()
            told["seconds"] = time.monotonic() - began
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()

"""A process that changes an index, to be disturbed: `python -m faults.jobs words|builtin`.

It says `ready`, takes one job as a line of JSON, says `committed N` whenever it is told that N
pages are in, and `done` at the end. Batches are tiny, so that there are many commits.
"""

from __future__ import annotations

import json
import sys

from docpruner.encoders.registry import Encoder
from docpruner.errors import DocPrunerError
from docpruner.facade import Index
from docpruner.pipeline import add
from docpruner.pipeline.add_report import AddReport
from faults.words import WordEncoder


def main() -> None:
    add.FIRST_BATCH, add.MOST_PAGES = 1, 2
    encoder = _encoder(sys.argv[1])
    say("ready")
    job = json.loads(sys.stdin.readline())
    try:
        run(encoder, job["index"], job["do"], job.get("of", ""))
    except DocPrunerError as error:
        say(f"{type(error).__name__} {error}")
        sys.exit(3)
    say("done")


def _encoder(name: str) -> Encoder:
    if name == "words":
        return WordEncoder(seconds=0.004)
    from docpruner.encoders.builtin import BuiltinEncoder

    return BuiltinEncoder(threads=1)


def run(encoder: Encoder, location: str, do: str, of: str) -> None:
    there = Index.exists(location)
    make = Index.open if there else Index.create
    with make(location, encoder=encoder) as index:
        if do == "add":
            report = index.add(of, progress=told)
            assert report.problems == []
        elif do == "delete":
            index.delete(of)
        elif do == "prune":
            index.prune(of)
        elif do == "fit":
            (size,) = [each.bytes for each in index.budget_choices() if each.name == of]
            index.prune(budget=size)
        elif do == "compact":
            index.compact()
        elif do == "verify":
            say(f"damaged {len(index.verify())}")


def told(report: AddReport) -> None:
    say(f"committed {report.pages}")


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()

"""From nothing to the shipped artefact, in one command.

    python training/run.py CACHE [ARTEFACTS]

CACHE is any folder outside the repository (2 GB). Steps whose result is there are skipped; delete
the result to run a step again. ARTEFACTS is the package's own folder unless given.
"""

from __future__ import annotations

import sys
from pathlib import Path

import backbone
import corpus
import export
import features
import mine
import questions
import rarity
import train

from docpruner.encoders.builtin import ARTEFACTS


def main(cache: Path, artefacts: Path = ARTEFACTS) -> None:
    steps = [
        ("backbone", backbone.main),
        ("pdfs", corpus.main),
        ("mined.jsonl", mine.main),
        ("rarity-v2.tsv", rarity.main),
        ("features.npz", features.main),
        ("heads.pt", train.main),
        ("questions.jsonl", questions.main),
    ]
    for result, step in steps:
        if not (cache / result).exists():
            print(f"→ {result}", flush=True)
            step(cache)
    export.main(cache, artefacts)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))

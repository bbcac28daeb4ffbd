"""What `scale.py` asks: the questions of a data set, or lines of the pages themselves."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import numpy as np
from scale_pages import SEED, RealPages, encoder

from search import timed

sys.path.append(str(Path(__file__).parents[1] / "training"))
import mine

from docpruner.types import Word

EACH = 100  # headings, and as many sentences


def questions(real: RealPages, data: Path | None) -> list[str]:
    """The data set's if there is one; else headings and whole sentences, half of each."""
    if data is not None:
        lines = (data / "queries.jsonl").read_text().splitlines()
        return [json.loads(line)["text"] for line in lines]
    chance = random.Random(SEED)
    found: dict[str, list[str]] = {"heading": [], "sentence": []}
    words = real.words()
    for page in chance.sample(range(len(real)), len(real)):
        if all(len(texts) >= EACH for texts in found.values()):
            break
        if mine.is_english(words[page]):
            boxes = real.boxes[real.starts[page] : real.starts[page + 1]].tolist()
            placed = tuple(Word(*both) for both in zip(words[page], map(tuple, boxes), strict=True))
            for query in mine.mine(placed, chance):
                if query.kind in found and len(found[query.kind]) < EACH:
                    found[query.kind].append(query.text)
                    break  # one of a page
    texts = found["heading"] + found["sentence"]
    chance.shuffle(texts)
    return texts


def write_queries(path: Path, texts: list[str], edition: str) -> float:
    """Their vectors to a file; the median time to encode one, in milliseconds."""
    asked = encoder(edition)
    both = [timed(lambda text=text: asked.encode_queries([text])[0]) for text in texts]
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, *(vectors for vectors, _ in both))
    return float(np.median([spent for _, spent in both]))

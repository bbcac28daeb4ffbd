"""How often "nothing really matches" is said of questions that the pages answer, and of queries
whose words stand on none of them.

    python benchmarks/nothing_matches.py DATA INDEX

DATA is a folder as `docpruner evaluate` takes it, INDEX is made from its PDFs if it is not there.
The other queries are three words each, drawn from those that the built-in encoder knows the rarity
of and no page has. Counted are queries of which no word comes as near as each of some closenesses
to a word of the best page; `docpruner search` goes by 0.6. The last line is JSON.
"""

from __future__ import annotations

import json
import random
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from docpruner import Index
from docpruner.encoders.builtin import ARTEFACTS
from docpruner.encoders.builtin_editions import NEWEST
from docpruner.encoders.builtin_rarity import Rarity, bare
from docpruner.evaluate.data.own_folder import load_folder
from docpruner.explain.answers import NEAR_ENOUGH, WEIGHTY_ENOUGH

SEED = 20
QUERIES, WORDS = 300, 3
LETTERS = 5  # that a word has at least
CLOSENESSES = (0.5, 0.55, NEAR_ENOUGH, 0.65, 0.7)


def strange_queries(index: Index) -> list[str]:
    """Of words that stand on no page."""
    known = Rarity.read((ARTEFACTS / NEWEST.rarity_file).read_text()).seen
    with index.reader() as reader:
        pages = [reader.page(*name) for name in reader.pages()]
    on_pages = {bare(word.text) for page in pages if page for word in page.text.words}
    words = sorted(
        word for word in known if word.isalpha() and len(word) >= LETTERS and word not in on_pages
    )
    chance = random.Random(SEED)
    return [" ".join(chance.sample(words, WORDS)) for _ in range(QUERIES)]


def nearest(index: Index, queries: Sequence[str]) -> np.ndarray:
    """How near the best page of each query comes to the word that it is nearest to."""
    found = []
    for query in queries:
        (hit,) = index.search(query, k=1)
        near = [match.closeness for match in hit.matches if match.weight >= WEIGHTY_ENOUGH]
        found.append(max(near, default=0.0))
    return np.array(found)


def main(data: Path, location: Path) -> None:
    warnings.simplefilter("ignore")
    with Index.open_or_create(location) as index:
        if not len(index):
            index.add(data / "pdfs", ocr=False)
        asked = [query.text for query in load_folder(data).judged]
        of = {
            "questions": nearest(index, asked),
            "strange": nearest(index, strange_queries(index)),
        }
    print(f"{len(of['questions'])} questions, {len(of['strange'])} queries of strange words")
    print("closeness   questions unmatched   strange queries unmatched")
    shares = {
        closeness: {kind: float((near < closeness).mean()) for kind, near in of.items()}
        for closeness in CLOSENESSES
    }
    for closeness, share in shares.items():
        print(f"{closeness:9.2f}   {share['questions']:19.1%}   {share['strange']:25.1%}")
    print(json.dumps(shares))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))

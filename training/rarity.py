"""How rare words are, for builtin-v2: counted on the mined pages, and on general English.

    python training/rarity.py CACHE

Manuals of programs hardly know words that are common elsewhere: on the mined pages alone,
*revenue* is as rare as a word that was never seen. So as many pages of general English are counted
as there are mined ones. They are imagined: BERT's vocabulary stands in the order of how often its
words occur in Wikipedia and in books, and Zipf's law makes shares of ranks. Writes
CACHE/rarity-v2.tsv.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

from features import seen_on_pages, tokenizer

from docpruner.encoders.builtin_editions import V2
from docpruner.encoders.builtin_rarity import Rarity

FIRST_WORD = "the"  # what stands before it are signs, letters and unused numbers
ZIPF = 10.0  # the word of rank r is one of about 10 (r + 2.7) words


def share_of_pages(rank: int) -> float:
    """That hold the word of this rank, if a page has the usual number of words."""
    return 1 - math.exp(-V2.usual_words / (ZIPF * (rank + 2.7)))


def main(cache: Path) -> None:
    mined = (json.loads(line)["words"] for line in (cache / "mined.jsonl").open())
    seen, pages = seen_on_pages(mined)
    vocabulary = tokenizer(cache).get_vocab()
    before = vocabulary[FIRST_WORD] - 1
    for word, number in vocabulary.items():
        if number > before:
            seen[word] += round(pages * share_of_pages(number - before))
    (cache / "rarity-v2.tsv").write_text(Rarity(seen, 2 * pages).written())


if __name__ == "__main__":
    main(Path(sys.argv[1]))

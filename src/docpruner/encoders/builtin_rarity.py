"""How rare a word is, counted on the pages that the built-in encoder was trained on."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

SEEN_AT_LEAST = 2  # pages; what is rarer is as good as never seen


def bare(word: str) -> str:
    return re.sub(r"\W+", "", word.lower())


class Rarity:
    """BM25's inverse document frequency; signs alone have none."""

    def __init__(self, seen: Mapping[str, int], pages: int) -> None:
        self.seen = {word: count for word, count in seen.items() if count >= SEEN_AT_LEAST}
        self.pages = pages

    def __call__(self, word: str) -> float:
        bared = bare(word)
        if not bared:
            return 0.0
        seen = self.seen.get(bared, 0)
        return math.log(1 + (self.pages - seen + 0.5) / (seen + 0.5))

    def written(self) -> str:
        """One word a line with the number of pages it stands on; the first line counts pages."""
        ordered = sorted(self.seen.items(), key=lambda item: (-item[1], item[0]))
        lines = [f"\t{self.pages}", *(f"{word}\t{count}" for word, count in ordered)]
        return "\n".join(lines) + "\n"

    @classmethod
    def read(cls, text: str) -> Rarity:
        rows = (line.split("\t") for line in text.splitlines())
        counts = {word: int(count) for word, count in rows}
        return cls(counts, counts.pop(""))

"""What answers each word of a query, in words of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from docpruner.errors import DocPrunerError, PageError
from docpruner.hits import Hit, Match, is_within
from docpruner.pictures.lettering import bare
from docpruner.types import Box, Word

COUNTS = 0.35  # of the best word's score: what a word of the query needs to be worth mentioning
MOST_WORDS = 4  # of the page, for one word of the query

# What a word needs for a page to match. By the built-in encoder on 2,465 pages, that is called
# nothing of 85 % of the queries whose words are on no page, and of 1.3 % of questions about them
# (benchmarks/nothing_matches.py).
NEAR_ENOUGH = 0.6
WEIGHTY_ENOUGH = 0.1  # signs and words like "the" weigh less: their neighbours mean nothing


@dataclass(frozen=True, slots=True)
class Answer:
    """What a page has to say to one word of the query."""

    number: int  # of the word in the query, from 0
    word: str
    score: float
    patches: int  # behind the stored vector that matches it best: several if it was merged
    text: str  # under these patches; where there is none, the part of the page where they lie
    counts: bool  # whether it is worth mentioning beside the best one


def answers(hit: Hit, words: Sequence[Word] | None = None) -> list[Answer]:
    """One for each word of the query that has a place on the page, the best first.

    The `words` of the page are those of the hit if they are not given, which may read its file;
    where there are none, or when the file is gone, the place is named.
    """
    if words is None:
        try:
            words = hit.words()
        except PageError:
            words = ()
    placed = [(number, match) for number, match in enumerate(hit.matches) if match.boxes]
    ranked = sorted(placed, key=lambda one: -one[1].score)
    return [
        Answer(
            number=number,
            word=bare(match.word) or match.word,
            score=match.score,
            patches=len(match.boxes),
            text=_shown(match.found or _words_in(words, match.boxes)) or region(match),
            counts=match.score >= COUNTS * ranked[0][1].score,
        )
        for number, match in ranked
    ]


def matched_words(hit: Hit, words: Sequence[Word] | None = None) -> list[tuple[str, str]]:
    """The words of the query that count most, the best first, each with what answers it.

    None if it was asked by a picture or by vectors, which have no words.
    """
    if not any(match.word for match in hit.matches):
        return []
    return [(answer.word, answer.text) for answer in answers(hit, words) if answer.counts]


def really_matches(hit: Hit) -> bool:
    """Whether any word of the query has something near it on the page, rather than the nearest of
    what there is. Holds for an encoder that reads words."""
    return any(
        match.closeness >= NEAR_ENOUGH and match.weight >= WEIGHTY_ENOUGH for match in hit.matches
    )


def word_number(hit: Hit, word: str) -> int:
    """The number of a word in the query, from 0; of several that are equal the best."""
    wanted = bare(word).casefold()
    texts = [bare(match.word.strip("▁Ġ")).casefold() for match in hit.matches]
    found = [number for number, text in enumerate(texts) if text == wanted]
    if not found:
        known = ", ".join(dict.fromkeys(match.word.strip() for match in hit.matches))
        raise DocPrunerError(f"no word {word!r} in the query; it has: {known}")
    return max(found, key=lambda number: (hit.matches[number].score, -number))


def region(match: Match) -> str:
    """Where on the page a match is, in words such as `top left`."""
    boxes = np.array(match.boxes)
    x, y = ((boxes[:, :2] + boxes[:, 2:]) / 2).mean(axis=0)
    row = ("top", "middle", "bottom")[min(int(3 * y), 2)]
    column = ("left", "centre", "right")[min(int(3 * x), 2)]
    return f"{row} {column}"


def _words_in(words: Sequence[Word], boxes: Sequence[Box]) -> list[str]:
    return [word.text for word in words if is_within(word.box, boxes)]


def _shown(words: Sequence[str]) -> str:
    return bare(" ".join(words[:MOST_WORDS])) + (" …" if len(words) > MOST_WORDS else "")

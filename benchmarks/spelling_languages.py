"""How well headings find their pages in seven languages, with spelling mixed in and without.

    python benchmarks/spelling_languages.py CACHE [--guide maintainers] [--edition builtin-v2]

Debian's installation guide (or its new maintainers' guide, on which the constants were chosen) in
English and six translations. Queries are the titles of the PDF's bookmarks that occur once, the
right page is the one that the bookmark leads to; the pages up to the end of the table of contents
are left out. The bookmarks of translations stand in the same order, so that an English title can
also be asked for its page of another language. The heading itself stands on its page, which is
exact matching; "hidden" takes those words off the page. The last line is JSON.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
from spelling_corpus import (
    LANGUAGES,
    Heading,
    Manual,
    Reading,
    installation_guide,
    last_line,
    maint_guide,
    manual,
)

from docpruner import reducer
from docpruner.encoders.builtin_editions import EDITIONS, NEWEST
from docpruner.encoders.builtin_rarity import bare
from docpruner.maxsim import score_pages
from docpruner.stores.bm25 import bm25
from docpruner.word_forms import words_in

GUIDES = {"installation": installation_guide, "maintainers": maint_guide}


def hidden(page: list[str], heading: list[str]) -> list[int]:
    """The places of the page's words without those of the heading, wherever it stands in a row."""
    wanted = [word for word in map(bare, heading) if word]
    places = [place for place, word in enumerate(page) if bare(word)]
    forms = [bare(page[place]) for place in places]
    gone: set[int] = set()
    for start in range(len(forms) - len(wanted) + 1):
        if forms[start : start + len(wanted)] == wanted:
            gone |= set(places[start : start + len(wanted)])
    return [place for place in range(len(page)) if place not in gone]


def measures(scores: np.ndarray, headings: list[Heading]) -> dict[str, float]:
    """A heading has one right page."""
    ranks = np.array([int(np.flatnonzero(np.argsort(-row, kind="stable") == heading.page)[0])
                      for row, heading in zip(scores, headings, strict=True)])  # fmt: skip
    gains = np.where(ranks < 5, 1 / np.log2(ranks + 2), 0)
    return {"ndcg@5": float(gains.mean()), "mrr": float((1 / (ranks + 1)).mean())}


class ByVectors:
    """Not pruned, unless a rule is given."""

    def __init__(self, guide: Manual, reading: Reading, rule: str = "none") -> None:
        self.guide, self.reading = guide, reading
        read, reduce = guide.pages, reducer(rule)
        self.pages = [
            reduce(reading.page("", words, vectors.astype(np.float32), attention)).vectors
            if words
            else np.zeros((1, vectors.shape[1]), np.float32)
            for words, vectors, attention in zip(
                read.words, read.vectors, read.attention, strict=True
            )
        ]

    def scores(self, queries: list[str]) -> np.ndarray:
        offsets = np.cumsum([0, *map(len, self.pages)])
        asked = [self.reading.query(query) for query in queries]
        return score_pages(asked, np.concatenate(self.pages), offsets, threads=2)

    def without_heading(self, heading: Heading) -> float:
        """The score of its page, if the heading did not stand on it."""
        words = self.reading.encoder.query_words(heading.text)
        left = self.pages[heading.page][hidden(self.guide.pages.words[heading.page], words)]
        if not len(left):
            return 0.0
        return float(score_pages([self.reading.query(heading.text)], left, [0, len(left)])[0, 0])


class ByText:
    def __init__(self, guide: Manual, reading: Reading) -> None:
        self.guide, self.encoder = guide, reading.encoder
        self.counts = [Counter(words_in(" ".join(words))) for words in guide.pages.words]

    def scores(self, queries: list[str]) -> np.ndarray:
        return np.array([bm25(query, self.counts) for query in queries])

    def without_heading(self, heading: Heading) -> float:
        words = self.guide.pages.words[heading.page]
        left = hidden(words, self.encoder.query_words(heading.text))
        counts = list(self.counts)
        counts[heading.page] = Counter(words_in(" ".join(words[place] for place in left)))
        return float(bm25(heading.text, counts)[heading.page])


def measured(
    guide: Manual, way: ByVectors | ByText, english: list[Heading]
) -> dict[str, dict[str, float]]:
    scores = way.scores([heading.text for heading in guide.headings])
    found = {"heading": measures(scores, guide.headings)}
    scores = scores.copy()
    for row, heading in enumerate(guide.headings):
        scores[row, heading.page] = way.without_heading(heading)
    found["hidden"] = measures(scores, guide.headings)
    there = {heading.place: heading for heading in guide.headings}
    pairs = [(each.text, there[each.place]) for each in english if each.place in there]
    scores = way.scores([text for text, _ in pairs])
    found["english"] = measures(scores, [heading for _, heading in pairs])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cache", type=Path)
    parser.add_argument("--guide", choices=GUIDES, default="installation")
    parser.add_argument("--edition", choices=EDITIONS, default=NEWEST.name)
    given = parser.parse_args()
    alone, spelt = (Reading(given.edition, spelt=spelt) for spelt in (False, True))
    guides = {language: manual(given.cache, GUIDES[given.guide](given.cache, language), alone)
              for language in LANGUAGES}  # fmt: skip
    english = guides["en"].headings
    result = {}
    print(f"{'nDCG@5':8}{'pages':>6}{'headings':>9}   {'heading':^24}{'pruned':^16}"
          f"{'heading hidden':^24}{'English heading':^24}")  # fmt: skip
    three = f"{'alone':>8}{'spelt':>8}{'BM25':>8}"
    print(f"{'':26}{three}{'spelt':>8}{'by':>8}{three}{three}")
    for language, guide in guides.items():
        ways = {
            "alone": ByVectors(guide, alone), "spelt": ByVectors(guide, spelt),
            "bm25": ByText(guide, alone),
        }  # fmt: skip
        found = {name: measured(guide, way, english) for name, way in ways.items()}
        fewer = ByVectors(guide, spelt, "docpruner:k=-0.25")
        left = measures(fewer.scores([each.text for each in guide.headings]), guide.headings)
        words = sum(map(len, guide.pages.words))
        found["pruned"] = {"heading": left, "share": 1 - sum(map(len, fewer.pages)) / words}
        result[language] = {
            "pages": len(guide.pages.words),
            "headings": len(guide.headings),
        } | found
        whole, hid, asked = (
            "".join(f"{found[way][what]['ndcg@5']:8.3f}" for way in ways)
            for what in ("heading", "hidden", "english")
        )
        print(f"{language:8}{len(guide.pages.words):6}{len(guide.headings):9}   {whole}"
              f"{left['ndcg@5']:8.3f}{found['pruned']['share']:8.1%}{hid}{asked}",
              flush=True)  # fmt: skip
    last_line({"edition": given.edition, "guide": given.guide, "languages": result})


if __name__ == "__main__":
    main()

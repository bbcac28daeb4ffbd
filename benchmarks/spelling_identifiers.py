"""Whether exact identifiers are found among 10,000 pages that hold others like them.

    python benchmarks/spelling_identifiers.py CACHE [--edition builtin-v2]

Each page is a span of 40 to 80 words drawn from Debian's installation guide and new maintainers'
guide in English (encoded once; spans of different pages overlap, so that the words around an
identifier say nothing) with one line put in that names an identifier: a part number, a serial
number, a date or a version. The line is encoded for itself. Identifiers come in families of five
that differ in one character and stand on five pages. Asked is the bare identifier, and a question
that holds it. Printed is the share of queries whose page comes first: by the model's vectors
alone, with spelling mixed in, the same pruned and stored in 2 bits, and by BM25. The last line is
JSON.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from spelling_corpus import Reading, installation_guide, last_line, maint_guide, manual

from docpruner import reducer
from docpruner.codecs import encode
from docpruner.encoders.builtin_editions import EDITIONS, NEWEST
from docpruner.maxsim import score_pages
from docpruner.stores.bm25 import bm25
from docpruner.word_forms import words_in

SEED = 18
FAMILY = 5
LINES = (
    "Please order {} from the usual supplier in time.",
    "The change is recorded under {} in the log.",
    "See {} for the details of this step.",
    "It was tested with {} and found to work.",
    "{} replaces all that was delivered before.",
)
QUESTIONS = (
    "Which page mentions {}?",
    "What does the manual say about {}?",
    "where is {} described",
    "How do I install {} on my computer?",
)
LETTERS, DIGITS = "ABCDEFGHJKLMNPRSTUVWXYZ", "0123456789"
SHAPES = {
    "part number": "AA-0000-A",
    "serial number": "AA0000000000",
    "date": "2000-00-00",
    "version": "0.00.0-rc0",
}


@dataclass(frozen=True)
class Asked:
    kind: str
    page: int
    identifier: str


def drawn(shape: str, draw: random.Random) -> str:
    """Of this shape: A is any letter, 0 any digit."""
    signs = {"A": LETTERS, "0": DIGITS}
    return "".join(draw.choice(signs[s]) if s in signs else s for s in shape)


def dated(draw: random.Random) -> str:
    return f"{draw.randint(1800, 2199)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"


def family(kind: str, draw: random.Random) -> list[str]:
    """Identifiers that differ from the first in one character."""
    first = dated(draw) if kind == "date" else drawn(SHAPES[kind], draw)
    found = [first]
    while len(found) < FAMILY:
        place = draw.randrange(len(first))
        if first[place] not in LETTERS + DIGITS:
            continue
        signs = DIGITS if first[place] in DIGITS else LETTERS
        other = first[:place] + draw.choice(signs) + first[place + 1 :]
        if other not in found:
            found.append(other)
    return found


def identifiers(count: int, draw: random.Random) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    kinds = list(SHAPES)
    while len(seen) < count:
        kind = kinds[len(seen) // FAMILY % len(kinds)]
        for each in family(kind, draw):
            if each not in seen and len(seen) < count:
                seen.add(each)
                yield kind, each


class Corpus:
    """Pages as words with what the model alone says of each; one identifier on each."""

    def __init__(self, cache: Path, pages: int, reading: Reading) -> None:
        draw = random.Random(SEED)
        manuals = [
            manual(cache, pdf(cache, "en"), reading).pages
            for pdf in (installation_guide, maint_guide)
        ]
        texts = [(read, i) for read in manuals for i in range(len(read.words))
                 if len(read.words[i]) > 100]  # fmt: skip
        self.asked: list[Asked] = []
        self.pages: list[tuple[list[str], np.ndarray, np.ndarray]] = []
        self.places: list[int] = []
        for number, (kind, identifier) in enumerate(identifiers(pages, draw)):
            line = draw.choice(LINES).format(identifier).split()
            vectors, attention = reading.model(line)
            read, page = draw.choice(texts)
            length = draw.randint(40, 80)
            start = draw.randint(0, len(read.words[page]) - length)
            cut = start + draw.randint(0, length)
            parts = (slice(start, cut), slice(cut, start + length))
            before, after = (read.words[page][part] for part in parts)
            self.pages.append((
                [*before, *line, *after],
                put_in(read.vectors[page], parts, vectors),
                put_in(read.attention[page], parts, attention),
            ))  # fmt: skip
            self.places.append(len(before) + [identifier in word for word in line].index(True))
            self.asked.append(Asked(kind, number, identifier))


def put_in(array: np.ndarray, parts: tuple[slice, slice], line: np.ndarray) -> np.ndarray:
    return np.concatenate([array[parts[0]], line, array[parts[1]]]).astype(np.float32)


def by_kind(first: np.ndarray, asked: list[Asked]) -> dict[str, float]:
    right = np.array([page == each.page for page, each in zip(first, asked, strict=True)])
    kinds = np.array([each.kind for each in asked])
    return {kind: float(right[kinds == kind].mean()) for kind in SHAPES} | {
        "all": float(right.mean())
    }


def measure(
    corpus: Corpus, reading: Reading, asked: list[Asked], questions: list[list[str]]
) -> dict[str, list[dict[str, float]] | float]:
    """For each set of questions the share found first: all vectors, pruned, pruned in 2 bits."""
    queries = [[reading.query(text) for text in texts] for texts in questions]
    pages = [reading.page(f"page {i}", *page) for i, page in enumerate(corpus.pages)]
    prune = reducer("docpruner:k=-0.25")
    reductions = [prune(page) for page in pages]
    found: dict[str, list[dict[str, float]] | float] = {
        "all vectors": scored([page.vectors for page in pages], queries, asked, None),
        "pruned": scored([r.vectors for r in reductions], queries, asked, None),
        "pruned, int2": scored([r.vectors for r in reductions], queries, asked, "int2"),
        "pruned share": float(np.mean([r.pruned for r in reductions])),
        "identifiers kept": float(
            np.mean(
                [place in r.sources for r, place in zip(reductions, corpus.places, strict=True)]
            )
        ),
    }
    return found


def scored(
    vectors: list[np.ndarray],
    queries: list[list[np.ndarray]],
    asked: list[Asked],
    codec: str | None,
) -> list[dict[str, float]]:
    offsets = np.cumsum([0, *map(len, vectors)])
    stored = np.concatenate(vectors)
    corpus = encode(stored, codec) if codec else stored  # type: ignore[arg-type]
    return [by_kind(score_pages(some, corpus, offsets, threads=2).argmax(axis=1), asked)
            for some in queries]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cache", type=Path)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=50, help="of each kind of identifier")
    parser.add_argument("--edition", choices=EDITIONS, default=NEWEST.name)
    given = parser.parse_args()
    alone, spelt = (Reading(given.edition, spelt=spelt) for spelt in (False, True))
    corpus = Corpus(given.cache, given.pages, alone)
    draw = random.Random(SEED + 1)
    asked = [each for kind in SHAPES for each in
             draw.sample([a for a in corpus.asked if a.kind == kind], given.queries)]  # fmt: skip
    bare = [each.identifier for each in asked]
    within = [draw.choice(QUESTIONS).format(identifier) for identifier in bare]
    results = {
        "model alone": measure(corpus, alone, asked, [bare, within]),
        "with spelling": measure(corpus, spelt, asked, [bare, within]),
    }
    counts = [Counter(words_in(" ".join(page[0]))) for page in corpus.pages]
    text = [by_kind(np.array([bm25(query, counts).argmax() for query in some]), asked)
            for some in (bare, within)]  # fmt: skip
    print(f"{given.pages} pages, {len(asked)} identifiers asked for; first, bare / in a question")
    print(f"{'':28}" + "".join(f"{kind:>16}" for kind in [*SHAPES, "all"]))
    rows = [(f"{name}, {how}", pair) for name, result in results.items()
            for how, pair in result.items() if isinstance(pair, list)]  # fmt: skip
    for name, (one, other) in [*rows, ("BM25", text)]:
        cells = (f"{one[kind]:.1%} / {other[kind]:.1%}" for kind in [*SHAPES, "all"])
        print(f"{name:28}" + "".join(f"{cell:>16}" for cell in cells))
    for name, result in results.items():
        print(f"{name}: {result['pruned share']:.1%} pruned, "
              f"{result['identifiers kept']:.1%} of the identifiers kept")  # fmt: skip
    last_line(
        {
            "edition": given.edition,
            "pages": given.pages,
            "queries": len(asked),
            **results,
            "bm25": text,
        }
    )


if __name__ == "__main__":
    main()

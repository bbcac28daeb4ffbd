"""Queries for pages, mined without labels from the PDFs of the cache.

    python training/mine.py CACHE

From each page of English running text: its headings, its captions, whole sentences and questions
made of a phrase of the page. Writes CACHE/mined.jsonl: pages in document order (hard negatives are
neighbours of the same document), each with its words and its queries.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pypdfium2

from docpruner.pages.text_layer import words_of_page
from docpruner.types import Word

SEED = 4
PAGES_PER_DOCUMENT = 36
BLOCK = 4  # neighbouring pages, so that every page has hard negatives of its own document
PAGES_PER_PACKAGE = 260
COMMON = (
    "the of and to in a is that for on with as by this are be it or from at an which can not we you"
    " if will has have was were their its these used use when all may also more one other into any"
    " than but your each such only they then there between our where so no do does been i"
)
STOPWORDS = frozenset(COMMON.split())
QUESTIONS = (
    "what is {}?", "what are {}?", "how does {} work?", "how many {}?", "which {}?", "who {}?",
    "what does the document say about {}?", "according to the report, what is {}?",
    "in the table, what is the value of {}?", "what is the difference between {} and {}?",
    "when was {}?", "where is {} described?", "how to {}?", "why {}?", "list the {}",
    "what percentage of {}?", "in the figure, which {} is the highest?", "what is the name of {}?",
    "how is {} related to {}?", "describe {}", "{}", "{} {}", "what does {} show?",
)  # fmt: skip
CAPTION = re.compile(r"^(figure|fig\.?|table|listing|example|exhibit|chart)$", re.IGNORECASE)
NUMBERED = re.compile(r"^(\d+|[A-Z])(\.\d+)*\.?$")


@dataclass(frozen=True)
class Mined:
    """A query, and the words of the page it was made of: the half-open range `source`."""

    text: str
    kind: str  # heading, caption, sentence, question
    source: tuple[int, int]


@dataclass(frozen=True)
class MinedPage:
    document: str
    number: int
    words: tuple[str, ...]
    queries: tuple[Mined, ...]


def is_held_out(document: str) -> bool:
    """Every fourth document is never trained on: it tells when to stop, and what to choose."""
    return zlib.crc32(document.encode()) % 4 == 0


def lines_of(words: tuple[Word, ...]) -> list[tuple[int, int]]:
    """Ranges of words that follow one another on one line."""
    lines, start = [], 0
    for i in range(1, len(words) + 1):
        if i < len(words):
            before, here = words[i - 1].box, words[i].box
            middle = (here[1] + here[3]) / 2
            same = before[1] - 0.004 <= middle <= before[3] + 0.004 and here[0] >= before[0]
        if i == len(words) or not same:
            lines.append((start, i))
            start = i
    return lines


def is_english(texts: list[str]) -> bool:
    lower = [text.lower() for text in texts]
    share = sum(text in STOPWORDS for text in lower) / len(lower)
    return share > 0.22 and sum(text.isascii() for text in texts) > 0.93 * len(texts)


def structure(words: tuple[Word, ...]) -> Iterator[Mined]:
    """Headings and captions."""
    heights = sorted(word.box[3] - word.box[1] for word in words)
    usual = heights[len(heights) // 2]
    for start, end in lines_of(words):
        texts = [word.text for word in words[start:end]]
        line = " ".join(texts)
        letters = sum(c.isalpha() or c == " " for c in line)
        if letters < 0.8 * len(line) or ". ." in line or "..." in line:
            continue
        if CAPTION.match(texts[0]) and len(texts) >= 5:
            yield Mined(" ".join(texts[2:24]), "caption", (start, end))
        elif 2 <= len(texts) <= 10 and texts[-1][-1] not in ".,;:":
            tall = sum(w.box[3] - w.box[1] for w in words[start:end]) / len(texts) > 1.3 * usual
            numbered = bool(NUMBERED.match(texts[0])) and texts[1][0].isupper()
            title = texts[1:] if numbered else texts
            if (tall or numbered) and sum(len(text) > 3 for text in title) >= 1:
                yield Mined(" ".join(title), "heading", (start, end))


def sentences(texts: list[str]) -> Iterator[tuple[int, int]]:
    start = 0
    for i, text in enumerate(texts):
        if text[-1] in ".?!" and len(text) > 2:
            if 8 <= i + 1 - start <= 32 and texts[start][0].isupper():
                letters = sum(map(str.isalpha, texts[start : i + 1]))
                if letters > 0.6 * (i + 1 - start):
                    yield start, i + 1
            start = i + 1


def phrase(texts: list[str], start: int, end: int, chance: random.Random) -> str:
    """Two to six words in a row that begin and end with a word of content."""
    content = [
        i for i in range(start, end)
        if len(texts[i]) > 2 and texts[i].strip(".,;:()").lower() not in STOPWORDS
    ]  # fmt: skip
    if not content:
        return ""
    first = chance.choice(content)
    lasts = [i for i in content if first <= i < first + 6]
    return " ".join(texts[first : chance.choice(lasts) + 1]).strip(".,;:()[]\"'")


def mine(words: tuple[Word, ...], chance: random.Random) -> tuple[Mined, ...]:
    texts = [word.text for word in words]
    found = list(structure(words))
    found = chance.sample(found, min(len(found), 5))
    spans = list(sentences(texts))
    chance.shuffle(spans)
    found += [Mined(" ".join(texts[a:b]), "sentence", (a, b)) for a, b in spans[:3]]
    for a, b in spans[:8]:
        template = chance.choice(QUESTIONS)
        phrases = [phrase(texts, a, b, chance) for _ in range(template.count("{}"))]
        if all(phrases):
            found.append(Mined(template.format(*phrases), "question", (a, b)))
    return tuple(found)


def chosen_pages(count: int, chance: random.Random) -> list[int]:
    blocks = [range(i, min(i + BLOCK, count)) for i in range(0, count, BLOCK)]
    picked = chance.sample(blocks, min(len(blocks), PAGES_PER_DOCUMENT // BLOCK))
    return sorted(page for block in picked for page in block)


def mine_document(path: Path, chance: random.Random) -> Iterator[MinedPage]:
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError:
        return
    for index in chosen_pages(len(document), chance):
        words = words_of_page(document[index])
        texts = [word.text for word in words]
        if 60 <= len(texts) <= 900 and is_english(texts):
            queries = mine(words, chance)
            if len(queries) >= 2:
                yield MinedPage(path.name, index + 1, tuple(texts), queries)


def main(cache: Path) -> None:
    chance, seen, pages = random.Random(SEED), set(), []
    for package in sorted((cache / "pdfs").iterdir()):
        of_package: list[MinedPage] = []
        paths = sorted(package.glob("*.pdf"))
        chance.shuffle(paths)
        for path in paths:
            if len(of_package) >= PAGES_PER_PACKAGE:
                break
            for page in mine_document(path, chance):
                digest = hashlib.sha256(" ".join(page.words).encode()).digest()
                if digest not in seen:
                    seen.add(digest)
                    of_package.append(page)
        pages += of_package
    with (cache / "mined.jsonl").open("w") as file:
        file.writelines(json.dumps(asdict(page)) + "\n" for page in pages)
    kinds = [query.kind for page in pages for query in page.queries]
    counts = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    print(f"{len(pages)} pages of {len({p.document for p in pages})} documents, queries: {counts}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

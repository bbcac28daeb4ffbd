"""Questions to choose the encoder's constants by, of four kinds.

    python training/questions.py CACHE

- synonyms: three to five words of content of one sentence, about half of them exchanged for a
  synonym of WordNet (Debian's wordnet-base), in one of the templates of `mine.py`: the page holds
  some of the question's words, and others only by their meaning.
- hidden: a phrase of a sentence in a template; the sentence is taken off its page.
- heading: headings and captions; their line is taken off the page.
- faq: the questions that people ask, from the FAQs of Debian and of R; as headings.

Writes CACHE/questions.jsonl: blocks of four neighbouring pages of a fourth of the mined documents,
and all pages of the FAQs.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pypdfium2
from corpus import unpack
from mine import NUMBERED, QUESTIONS, STOPWORDS, lines_of, sentences

from docpruner.pages.text_layer import words_of_page

SEED = 11
BLOCK = 4
EVERY = 4  # of the mined documents
BLOCKS_OF_A_DOCUMENT = 2
OF_A_PAGE = 2  # of each kind
FAQS = ("debian-faq", "debian-faq.en.pdf"), ("r-doc-pdf", "R-FAQ.pdf")
SYNONYMS = 0.5
ENDINGS = (("", ""), ("s", ""), ("es", ""), ("ies", "y"), ("ed", ""), ("ed", "e"),
           ("ing", ""), ("ing", "e"), ("ly", ""))  # fmt: skip


def package(name: str, cache: Path) -> Path:
    debs = cache / "debs"
    if not list(debs.glob(f"{name}_*.deb")):
        subprocess.run(["apt-get", "download", "--quiet", name], cwd=debs, check=True)
    return sorted(debs.glob(f"{name}_*.deb"))[-1]


def wordnet(cache: Path) -> dict[str, list[str]]:
    """For each lemma the single words of its first two meanings."""
    deb = package("wordnet-base", cache)
    files: dict[str, list[str]] = {}
    with (
        subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as dpkg,
        tarfile.open(fileobj=dpkg.stdout, mode="r|") as archive,
    ):
        for member in archive:
            if re.search(r"/(data|index)\.(noun|verb|adj|adv)$", member.name):
                stream = archive.extractfile(member)
                lines = stream.read().decode("latin1").splitlines() if stream else []
                files[Path(member.name).name] = [line for line in lines if line[0] != " "]
    found: dict[str, list[str]] = {}
    for kind in ("noun", "verb", "adj", "adv"):
        meanings = {}
        for fields in map(str.split, files[f"data.{kind}"]):
            words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            meanings[fields[0]] = [re.sub(r"\(.*\)", "", word).lower() for word in words]
        for fields in map(str.split, files[f"index.{kind}"]):
            first = fields[6 + int(fields[3]) :][:2]
            others = dict.fromkeys(word for number in first for word in meanings[number])
            single = [word for word in others if word != fields[0] and word.isalpha()]
            if single:
                found.setdefault(fields[0], []).extend(single[:3])
    return found


def synonym(word: str, synonyms: dict[str, list[str]], chance: random.Random) -> str:
    """One of the word, or of the form it seems to come from; the word itself if it has none."""
    lower = word.lower()
    for ending, instead in ENDINGS:
        if lower.endswith(ending) and len(lower) - len(ending) > 2:
            stem = lower.removesuffix(ending) + instead
            if stem in synonyms:
                return chance.choice(synonyms[stem])
    return word


def question(words: list[str], synonyms: dict[str, list[str]], chance: random.Random) -> str:
    content = [
        place for place, word in enumerate(words)
        if len(word) > 2 and word[0].isalnum() and word.strip(".,;:()").lower() not in STOPWORDS
    ]  # fmt: skip
    if len(content) < 3:
        return ""
    picked = sorted(chance.sample(content, min(len(content), chance.randint(3, 5))))
    said = [words[place].strip(".,;:()[]\"'") for place in picked]
    said = [synonym(w, synonyms, chance) if chance.random() < SYNONYMS else w for w in said]
    template = chance.choice(QUESTIONS)
    half = len(said) // 2
    parts = (said[:half], said[half:]) if template.count("{}") == 2 else (said,)
    return template.format(*map(" ".join, parts))


def questions(page: dict, synonyms: dict[str, list[str]], chance: random.Random) -> Iterator[dict]:
    words, given = page["words"], 0
    spans = list(sentences(words))
    chance.shuffle(spans)
    for first, last in spans:
        text = question(words[first:last], synonyms, chance)
        if text and given < OF_A_PAGE:
            given += 1
            yield {"text": text, "kind": "synonyms", "source": [0, 0]}
    for kind, named in (("hidden", ("question",)), ("heading", ("heading", "caption"))):
        given = [query for query in page["queries"] if query["kind"] in named
                 and sum(len(word) > 3 for word in query["text"].split()) >= 2]  # fmt: skip
        for query in given[:OF_A_PAGE]:
            yield {**query, "kind": kind}


def faq_pages(name: str, file: str, cache: Path) -> Iterator[dict]:
    """Pages of running text, with the questions that are headings on them."""
    folder = cache / "faqs" / name
    unpack(package(name, cache), folder)
    (path,) = folder.glob(f"*{file}")
    for number, page in enumerate(pypdfium2.PdfDocument(path)):
        words = words_of_page(page)
        texts = [word.text for word in words]
        if len(texts) >= 60 and " ".join(texts).count(". . .") <= 2:  # no contents
            found = [
                {"text": " ".join(texts[first + 1 : last]), "kind": "faq", "source": [first, last]}
                for first, last in question_lines(texts, lines_of(words))
            ]
            yield {"document": file, "number": number + 1, "words": texts, "queries": found}


def question_lines(texts: list[str], lines: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Numbered lines that end with a question mark, or whose next line does."""
    for (first, last), (_, after) in zip(lines, [*lines[1:], (0, 0)], strict=True):
        if NUMBERED.match(texts[first]) and last - first > 2:
            if not texts[last - 1].endswith("?") and last < after < last + 12:
                last = after
            if texts[last - 1].endswith("?"):
                yield first, last


def main(cache: Path) -> None:
    chance, synonyms = random.Random(SEED), wordnet(cache)
    documents: dict[str, list[dict]] = {}
    for line in (cache / "mined.jsonl").open():
        page = json.loads(line)
        documents.setdefault(page["document"], []).append(page)
    chosen = []
    for name, pages in documents.items():
        if zlib.crc32(name.encode()) % EVERY == 0 and len(pages) >= BLOCK:
            blocks = [pages[i : i + BLOCK] for i in range(0, len(pages) - BLOCK + 1, BLOCK)]
            picked = chance.sample(blocks, min(len(blocks), BLOCKS_OF_A_DOCUMENT))
            chosen += [page for block in picked for page in block]
    for page in chosen:
        page["queries"] = list(questions(page, synonyms, chance))
    chosen += [page for name, file in FAQS for page in faq_pages(name, file, cache)]
    with (cache / "questions.jsonl").open("w") as file:
        file.writelines(json.dumps(page) + "\n" for page in chosen)
    count = sum(len(page["queries"]) for page in chosen)
    print(f"{len(chosen)} pages, {count} questions")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

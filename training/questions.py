"""Questions for pages that nobody trained on, to choose the encoder's constants by.

    python training/questions.py CACHE

A question is three to five words of content of one sentence, about half of them exchanged for a
synonym of WordNet (Debian's wordnet-base), in one of the templates of `mine.py`: so a page holds
some of its question's words, and others only by their meaning, as with people's questions. Headings
and captions are searched without the line they were taken from. Writes CACHE/questions.jsonl: blocks
of four neighbouring pages of the documents that are held out of training.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

from mine import QUESTIONS, STOPWORDS, is_held_out, sentences

SEED = 11
BLOCK = 4
BLOCKS_OF_A_DOCUMENT = 3
OF_A_PAGE = 2
SYNONYMS = 0.5
ENDINGS = (("", ""), ("s", ""), ("es", ""), ("ies", "y"), ("ed", ""), ("ed", "e"),
           ("ing", ""), ("ing", "e"), ("ly", ""))  # fmt: skip


def wordnet(cache: Path) -> dict[str, list[str]]:
    """For each lemma the single words of its first two meanings."""
    debs = cache / "debs"
    if not list(debs.glob("wordnet-base_*.deb")):
        subprocess.run(["apt-get", "download", "--quiet", "wordnet-base"], cwd=debs, check=True)
    (deb,) = debs.glob("wordnet-base_*.deb")
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
            yield {"text": text, "kind": "question", "source": [0, 0]}
    lines = [query for query in page["queries"] if query["kind"] in ("heading", "caption")
             and sum(len(word) > 3 for word in query["text"].split()) >= 2]  # fmt: skip
    if lines:
        yield chance.choice(lines)


def main(cache: Path) -> None:
    chance, synonyms = random.Random(SEED), wordnet(cache)
    documents: dict[str, list[dict]] = {}
    for line in (cache / "mined.jsonl").open():
        page = json.loads(line)
        documents.setdefault(page["document"], []).append(page)
    chosen = []
    for name, pages in documents.items():
        if is_held_out(name) and len(pages) >= BLOCK:
            blocks = [pages[i : i + BLOCK] for i in range(0, len(pages) - BLOCK + 1, BLOCK)]
            picked = chance.sample(blocks, min(len(blocks), BLOCKS_OF_A_DOCUMENT))
            chosen += [page for block in picked for page in block]
    with (cache / "questions.jsonl").open("w") as file:
        for page in chosen:
            page["queries"] = list(questions(page, synonyms, chance))
            file.write(json.dumps(page) + "\n")
    count = sum(len(page["queries"]) for page in chosen)
    print(f"{len(chosen)} pages of {len({p['document'] for p in chosen})} documents, {count} queries")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

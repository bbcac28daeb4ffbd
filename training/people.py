"""Questions with the pages that answer them, to choose by what mined questions can't tell.

    python training/people.py CACHE FINANCEBENCH CHALLENGE HANDBOOKS [EDITION ...]

FINANCEBENCH is a checkout of github.com/patronus-ai/financebench (CC BY-NC), CHALLENGE one of
github.com/trustbit/enterprise-rag-challenge (its second round), both asked by people of annual
reports; HANDBOOKS one of github.com/Azure-Samples/azure-search-openai-demo (MIT), whose questions
about an employer's handbooks were in part written by a model. They are measured with, never trained
on. Of each annual report the pages that answer a question, the first, and some others are searched,
of the handbooks all pages; documents that are missing from the checkout, or named in
CACHE/left-out.txt, are left out. Prints nDCG@5 of each edition, with and without the words of title
pages, pruned and rounded, and with other powers of a page's length.
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pypdfium2

from docpruner import reducer
from docpruner.codecs import CodecName, bytes_per_vector, encode
from docpruner.encoders.builtin import BuiltinEncoder
from docpruner.encoders.builtin_editions import EDITIONS, Edition
from docpruner.maxsim import score_pages
from docpruner.pages.text_layer import words_of_page
from docpruner.stores.bm25 import bm25
from docpruner.types import FloatArray, Page, PageEmbedding, Word
from docpruner.word_forms import words_in

SEED = 5
SOME = 9  # other pages of each document
ALL = 1000
LENGTH_POWERS = (0.05, 0.1, 0.12, 0.15, 0.2)
CODECS: tuple[CodecName, ...] = ("float16", "int4", "int2", "int1")
SPECS = ("none", "docpruner:k=-0.5", "docpruner:k=-0.25", "docpruner:k=0")
CITED = re.compile(r"\[([^][#]*\.pdf)#page=(\d+)")
NO_ANSWER = re.compile(r" If (data|there).*?return '?(N/A|False)'?\.?")

Place = tuple[str, int]  # a document, and the number of a page from 0


@dataclass(frozen=True)
class Asked:
    text: str
    answered_on: frozenset[Place]


@dataclass(frozen=True)
class QuestionSet:
    """Questions with the rows of the pages that answer them, one at least."""

    name: str
    pages: list[Page]
    asked: list[str]
    right: list[set[int]]


def financebench(folder: Path) -> Iterator[Asked]:
    for line in (folder / "data" / "financebench_open_source.jsonl").open():
        row = json.loads(line)
        places = {(f"pdfs/{e['doc_name']}.pdf", e["evidence_page_num"]) for e in row["evidence"]}
        yield Asked(row["question"], frozenset(places))


def challenge(folder: Path) -> Iterator[Asked]:
    for text, answer in json.loads((folder / "round2" / "answers.json").read_text()).items():
        if len(answer["reference_pools"]) == 1:  # several companies are compared otherwise
            pairs = [place.split(":") for place in answer["reference_pools"][0]]
            places = {(f"round2/pdfs/{name}.pdf", int(number)) for name, number in pairs}
            yield Asked(NO_ANSWER.sub("", text), frozenset(places))


def handbooks(folder: Path) -> Iterator[Asked]:
    paths = {path.name: str(path.relative_to(folder)) for path in folder.glob("data/**/*.pdf")}
    for kind in ("", "_multimodal"):
        for line in (folder / "evals" / f"ground_truth{kind}.jsonl").open():
            row = json.loads(line)
            places = {
                (paths[name], int(number) - 1) for name, number in CITED.findall(row["truth"])
            }
            yield Asked(row["question"], frozenset(places))


def pages_of(
    folder: Path, wanted: set[Place], others_of_each: int, chance: random.Random
) -> Iterator[tuple[Place, Page]]:
    for document in sorted({document for document, _ in wanted}):
        if not (folder / document).exists():
            continue
        pdf = pypdfium2.PdfDocument(folder / document)
        asked = {0, *(number for name, number in wanted if name == document)} & {*range(len(pdf))}
        others = [number for number in range(len(pdf)) if number not in asked]
        title: tuple[Word, ...] = ()
        for number in sorted({*asked, *chance.sample(others, min(others_of_each, len(others)))}):
            words = words_of_page(pdf[number])
            yield (document, number), Page(document, _not_drawn, words, title_page=title)
            title = title if number else words


def _not_drawn() -> object:
    raise ValueError("its words are enough")


def ndcg(scores: np.ndarray, right: Sequence[set[int]]) -> float:
    gains = []
    for row, rows in zip(scores, right, strict=True):
        best = np.argsort(-row, kind="stable")[:5]
        found = sum(1 / math.log2(i + 2) for i, page in enumerate(best) if int(page) in rows)
        gains.append(found / sum(1 / math.log2(i + 2) for i in range(min(5, len(rows)))))
    return float(np.mean(gains))


def of_vectors(
    queries: list[FloatArray], pages: list[FloatArray], right: Sequence[set[int]]
) -> float:
    ends = np.cumsum([0, *map(len, pages)])
    return ndcg(score_pages(queries, np.concatenate(pages), ends), right)


def measure(questions: QuestionSet, editions: Sequence[str]) -> None:
    pages, asked, right = questions.pages, questions.asked, questions.right
    print(f"{questions.name}: {len(pages)} pages, {len(asked)} questions")
    counts = [Counter(words_in(" ".join(word.text for word in page.words))) for page in pages]
    print(f"  BM25 {ndcg(np.array([bm25(text, counts) for text in asked]), right):.3f}")
    for edition in editions:
        encoder = BuiltinEncoder(edition)
        queries = encoder.encode_queries(asked)
        encoded = encoder.encode_pages(pages)
        whole = of_vectors(queries, [page.vectors for page in encoded], right)
        alone = of_vectors(queries, [page.vectors[page.patches] for page in encoded], right)
        print(f"  {edition} {whole:.3f}, without title pages {alone:.3f}", flush=True)
        for spec in SPECS:
            kept = [reducer(spec)(page) for page in encoded]
            pruned = np.mean([page.pruned for page in kept])
            print(f"    {spec}: {pruned:.1%} pruned")
            for codec in CODECS:
                stored = rounded([page.vectors for page in kept], codec)
                found = of_vectors(queries, stored, right)
                size = bytes_per_vector(codec, encoder.dim)
                print(f"      {codec}, {size} bytes {found:.3f}, {found / whole:.1%}", flush=True)
        for power in LENGTH_POWERS:
            found = of_vectors(queries, with_length_power(encoder.edition, power, encoded), right)
            print(f"    length_power {power} {found:.3f}")


def rounded(pages: list[FloatArray], codec: CodecName) -> list[FloatArray]:
    """As they come back from an index."""
    ends = np.cumsum([len(vectors) for vectors in pages])[:-1]
    return np.split(encode(np.concatenate(pages), codec).decode(), ends)


def with_length_power(
    edition: Edition, power: float, encoded: Sequence[PageEmbedding]
) -> list[FloatArray]:
    """The vectors that these pages would have with another power."""
    other = replace(edition, length_power=power)
    words = [len(page.patches) for page in encoded]
    factors = [other.length_factor(n) / edition.length_factor(n) for n in words]
    return [page.vectors * factor for page, factor in zip(encoded, factors, strict=True)]


def question_sets(
    cache: Path, reports: Path, more_reports: Path, books: Path
) -> Iterator[QuestionSet]:
    listed = cache / "left-out.txt"
    left_out = set(listed.read_text().split()) if listed.exists() else set()
    for name, folder, read, others in (
        ("FinanceBench", reports, financebench, SOME),
        ("Enterprise RAG Challenge", more_reports, challenge, SOME),
        ("handbooks", books, handbooks, ALL),
    ):
        places = [
            {place for place in question.answered_on if Path(place[0]).name not in left_out}
            for question in read(folder)
        ]
        found = list(pages_of(folder, set().union(*places), others, random.Random(SEED)))
        row_of = {place: row for row, (place, _) in enumerate(found)}
        answered = [
            (question.text, rows)
            for question, wanted in zip(read(folder), places, strict=True)
            if (rows := {row_of[place] for place in wanted if place in row_of})
        ]
        asked, right = [text for text, _ in answered], [rows for _, rows in answered]
        yield QuestionSet(name, [page for _, page in found], asked, right)


def main(cache: Path, reports: Path, more_reports: Path, books: Path, *editions: str) -> None:
    warnings.simplefilter("ignore")
    for questions in question_sets(cache, reports, more_reports, books):
        measure(questions, editions or [*EDITIONS])


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:5]), *sys.argv[5:])

"""Exact search: scores are the sums they should be, and matches say where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from docpruner.codecs import CODEC_NAMES, Encoded, encode
from docpruner.errors import ScoringError
from docpruner.reduce import reducer
from docpruner.reduce.keep import merge_patches
from docpruner.search.searcher import Question, find, questions
from docpruner.stores.page_map import map_of
from docpruner.stores.records import PageName, StoredPage
from docpruner.types import SPECIAL, Filter, PageEmbedding
from stores.made import X, Y, Z, commit, create_folder, document, made_page, unit_vectors

EXACTNESS = dict.fromkeys(CODEC_NAMES, 1e-4) | {"float32": 1e-6, "float16": 1e-6}  # a query vector


class Lookup:
    """An encoder whose queries are known; it reads no pages."""

    name, prompt, pixels, reads = "made", "default", None, "words"

    def __init__(self, queries: Mapping[str, np.ndarray]) -> None:
        self._queries = {text: np.float32(np.atleast_2d(q)) for text, q in queries.items()}
        self.dim = next(iter(self._queries.values())).shape[1]

    def query_words(self, text: str) -> list[str]:
        return [f"{text} {number}" for number in range(len(self._queries[text]))]

    def encode_queries(self, texts) -> list[np.ndarray]:
        return [self._queries[text] for text in texts]


XYZ = Lookup({"x": X, "y": Y, "z": Z, "xy": np.stack([X, Y])})


@pytest.fixture
def store(tmp_path):
    with create_folder(tmp_path / "index") as made:
        yield made


def reference(queries: np.ndarray, pages: Mapping[str, Encoded]) -> dict[str, float]:
    """MaxSim by its definition, in float64."""
    scores = {}
    for name, page in pages.items():
        similarities = queries.astype(np.float64) @ page.decode().astype(np.float64).T
        scores[name] = similarities.max(axis=1).sum()
    return scores


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_scores_are_those_of_the_definition(tmp_path, codec):
    pages = {f"a.pdf#{n}": unit_vectors(n * 3, 128, seed=n) for n in range(1, 31)}
    records = [made_page(n, v, codec=codec) for n, v in enumerate(pages.values(), 1)]
    query = unit_vectors(12, 128, seed=77)
    with create_folder(tmp_path, dim=128, codec=codec) as store:
        commit(store, document("a.pdf", records))
        (hits,) = search_many(store, Lookup({"q": query}), ["q"], k=30)
    wanted = reference(query, {name: encode(v, codec) for name, v in pages.items()})
    got = {hit.name: hit.score for hit in hits}
    assert got == {n: pytest.approx(w, abs=12 * EXACTNESS[codec]) for n, w in wanted.items()}
    assert [hit.score for hit in hits] == sorted(got.values(), reverse=True)
    for hit in hits:
        parts = sum(match.score for match in hit.matches)
        assert hit.score == pytest.approx(parts, abs=12 * EXACTNESS[codec])


def test_many_queries_give_what_each_gives_alone(tmp_path):
    queries = Lookup({f"q{n}": unit_vectors(1 + n, 16, seed=50 + n) for n in range(9)})
    texts = [f"q{n}" for n in range(9)]
    with create_folder(tmp_path, dim=16, codec="int8") as store:
        pages = [made_page(n, unit_vectors(5, 16, seed=n), codec="int8") for n in range(1, 21)]
        commit(store, document("a.pdf", pages))
        together = search_many(store, queries, texts, k=7)
        alone = [search_many(store, queries, [text], k=7)[0] for text in texts]
    assert together == alone


def test_a_hit_says_what_each_word_of_the_query_matched_and_where(store):
    commit(store, document("/docs/a.pdf", [[Y, Z, X, 0.5 * X]], metadata={"year": "2024"}))
    ((hit,),) = search_many(store, XYZ, ["xy"])
    assert (hit.document, hit.page, hit.name) == ("/docs/a.pdf", 1, "a.pdf#1")
    assert hit.metadata == {"year": "2024"}
    assert [(match.word, match.score) for match in hit.matches] == [("xy 0", 1.0), ("xy 1", 1.0)]
    assert [match.boxes for match in hit.matches] == [
        ((0.5, 0.0, 0.75, 1.0),),  # X, the third of four patches
        ((0.0, 0.0, 0.25, 1.0),),
    ]


def test_pruned_patches_are_neither_matched_nor_shown(store):
    page = made_page(1, [X, Y, 0.5 * X, 0.5 * Y], spec="attention-ratio:ratio=0.5")
    commit(store, document("a.pdf", [page]))  # the right half matters more
    ((hit,),) = search_many(store, XYZ, ["x"])
    (match,) = hit.matches
    assert (hit.score, match.score, match.boxes) == (0.5, 0.5, ((0.5, 0.0, 0.75, 1.0),))


def search_many(store, encoder, texts, k=10, which=None):
    return find(store, questions(encoder, texts), k, which)


def merged_record(vectors, labels, cells=None) -> StoredPage:
    grid = (1, len(vectors) if cells is None else max(cells) + 1)
    page = PageEmbedding("made", vectors, np.ones(len(vectors)), grid, cells)
    reduction = merge_patches(page, np.array(labels, np.int32))
    return stored_page(page, reduction)


def stored_page(page, reduction) -> StoredPage:
    vectors = encode(reduction.vectors, "float32")
    return StoredPage("made", 1, (1, 1), "text layer", vectors, map_of(page, reduction))


def test_a_merged_vector_lights_all_its_patches(store):
    commit(store, document("a.pdf", [merged_record([X, Y, X, Z], [0, 1, 0, 1])]))
    ((hit,),) = search_many(store, XYZ, ["xy"])
    assert [match.score for match in hit.matches] == [1.0, 0.5]  # Y is the mean of Y and Z
    assert [match.boxes for match in hit.matches] == [
        ((0.0, 0.0, 0.25, 1.0), (0.5, 0.0, 0.75, 1.0)),
        ((0.25, 0.0, 0.5, 1.0), (0.75, 0.0, 1.0, 1.0)),
    ]


def test_a_special_token_is_scored_and_lights_nothing(store):
    record = merged_record([Y, X], [0], cells=[0, SPECIAL])
    commit(store, document("a.pdf", [record]))
    ((hit,),) = search_many(store, XYZ, ["x"])
    assert (hit.score, hit.matches[0].boxes) == (1.0, ())


@pytest.mark.parametrize("spec", ["none", "docpruner:k=0", "sem-cluster:factor=3"])
def test_match_boxes_are_those_of_the_best_stored_vector(store, spec):
    vectors = unit_vectors(12, 4, seed=3)
    page = PageEmbedding("made", vectors, np.arange(12), (3, 4))
    reduction = reducer(spec)(page)
    commit(store, document("a.pdf", [stored_page(page, reduction)]))
    ((hit,),) = search_many(store, XYZ, ["x"])
    best = int(np.argmax(reduction.vectors @ X))
    boxes = page.boxes[reduction.sources_of(best)].tolist()
    assert [list(box) for box in hit.matches[0].boxes] == boxes


def test_a_filter_reaches_the_search(store):
    commit(store, document("/a/x.pdf", [[X], [X]]), document("/b/x.pdf", [[X]]))
    which = Filter(documents=("a/*",), pages=(2, None))
    ((hit,),) = search_many(store, XYZ, ["x"], which=which)
    assert (hit.document, hit.page) == ("/a/x.pdf", 2)


def test_an_empty_index_gives_no_hits_for_each_query(store):
    assert search_many(store, XYZ, ["x", "y"]) == [[], []]


def test_no_queries_give_nothing(store):
    assert search_many(store, XYZ, []) == []


@pytest.mark.parametrize("k", [0, -1])
def test_k_is_at_least_one(store, k):
    with pytest.raises(ScoringError, match=f"k={k} must be at least 1"):
        search_many(store, XYZ, ["x"], k)


def test_a_query_of_another_dimension_is_refused(store):
    commit(store, document("a.pdf", [[X]]))
    with pytest.raises(ScoringError, match=r"query 0 has shape \(1, 3\), expected \(tokens, 4\)"):
        search_many(store, Lookup({"q": np.ones(3)}), ["q"])


def test_a_store_is_searched_from_any_thread(store):
    commit(store, document("a.pdf", [[X], [Y]]))
    with ThreadPoolExecutor(1) as pool:
        ((hit, _),) = pool.submit(search_many, store, XYZ, ["x"]).result()
    assert hit.name == "a.pdf#1"


def test_a_question_may_be_vectors_alone(store):
    commit(store, document("a.pdf", [[X], [Y]]))
    ((hit, _),) = find(store, [Question.of(np.float32([Y]))])
    assert (hit.name, hit.score, hit.matches[0].word) == ("a.pdf#2", 1.0, "")


def test_a_glob_that_is_the_name_of_a_document_means_that_document(store):
    commit(store, document("/d/a[1].pdf", [[X]]), document("/d/a1.pdf", [[X]]))
    ((hit,),) = search_many(store, XYZ, ["x"], which=Filter(documents=("a[1].pdf",)))
    assert hit.document == "/d/a[1].pdf"


class FirstPages:
    """A first stage that thinks well of the first page of each document, and of no other."""

    def candidates(self, reader, queries, which):  # noqa: ARG002
        first = [name for name in reader.pages() if name.number == 1]
        return [first for _ in queries]


def test_a_first_stage_chooses_what_is_scored_and_scores_stay_exact(store):
    commit(store, document("a.pdf", [[Y], [X]]), document("b.pdf", [[0.5 * X], [X]]))
    (hits,) = find(store, questions(XYZ, ["x"]), first_stage=FirstPages())
    assert [(hit.name, hit.score) for hit in hits] == [("b.pdf#1", 0.5), ("a.pdf#1", 0.0)]
    which = Filter(documents=("a.pdf",))
    ((hit,),) = find(store, questions(XYZ, ["x"]), 5, which, first_stage=FirstPages())
    assert hit.name == "a.pdf#1"


def test_one_page_is_asked_by_being_the_only_candidate(store):
    commit(store, document("a.pdf", [[X], [Y]]))
    ((hit,),) = find(store, questions(XYZ, ["x"]), among=[[PageName("a.pdf", 2)]])
    assert (hit.name, hit.score) == ("a.pdf#2", 0.0)


def test_text_instead_of_a_list_of_queries_is_refused():
    with pytest.raises(ScoringError, match=r"takes a list of queries; for one, call search\('x'\)"):
        questions(XYZ, "x")

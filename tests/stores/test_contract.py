"""What every store does, the same for all. A new store is a line in `LOCATIONS`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from docpruner.codecs import CODEC_NAMES, encode
from docpruner.errors import (
    CodecError,
    IndexBusyError,
    IndexClosedError,
    IndexStateError,
    ScoringError,
)
from docpruner.pipeline.copying import copy_index
from docpruner.pipeline.prune import prune
from docpruner.stores.contract import Store
from docpruner.stores.locations import create_store, open_store, store_exists
from docpruner.stores.page_text import PageText
from docpruner.stores.records import PageName
from docpruner.types import Filter
from stores.made import (
    X,
    Y,
    Z,
    commit,
    content_of,
    document,
    documents_of,
    found,
    known,
    made_page,
    page_of,
    placed,
    said,
    settings_of,
    stats_of,
    unit_vectors,
)

LOCATIONS = {
    "folder": "{}/index",
    "lance": "lance://{}/index",
    "lance-s3": "lance+s3://indexes{}/index",
    "memory": "memory://{}",
    "one-file": "one-file://{}/index.pickle",  # examples/one_file_store.py
    "postgres": "",  # on the server that the tests start
    "qdrant": "qdrant://127.0.0.1:{qdrant_port}/{name}",  # no server: see qdrant_stand_in.py
    "qdrant-edge": "qdrant+edge://{fast_folder}/edge",
}

SEVERAL_WRITERS = "several processes may write to it at once; tests/stores/test_lance.py has them"
RARITY = "the engine judges how rare a word is by all points there are, also newer ones"
NEED_NOT = {
    ("lance", "test_a_second_writer_waits_in_vain_and_says_so"): SEVERAL_WRITERS,
    ("lance-s3", "test_a_second_writer_waits_in_vain_and_says_so"): SEVERAL_WRITERS,
    ("qdrant", "test_a_reader_searches_the_text_of_its_moment"): RARITY,
    ("qdrant-edge", "test_a_reader_searches_the_text_of_its_moment"): RARITY,
}
"""What a store does not do, and why: the only tests that are left out."""

EXACTNESS = dict.fromkeys(CODEC_NAMES, 1e-4) | {"float32": 1e-6, "float16": 1e-6}  # a query vector
QDRANT_HALF = 1e-4  # Qdrant rounds the query to float16 too, where it stores that
REPORT, NOTES = "/data/2024/report.pdf", "/data/2023/notes [old].pdf"


@pytest.fixture(params=LOCATIONS)
def location(request, tmp_path, other_package, monkeypatch) -> str:  # noqa: ARG001  # brings its store
    reason = NEED_NOT.get((request.param, request.function.__name__))
    if reason is not None:
        pytest.skip(reason)
    if request.param == "lance-s3":
        for name, value in request.getfixturevalue("s3").environment.items():
            monkeypatch.setenv(name, value)
    if request.param == "postgres":
        return request.getfixturevalue("postgres").new_location()
    location = LOCATIONS[request.param]
    needs = (each for each in ("qdrant_port", "fast_folder") if f"{{{each}}}" in location)
    given = {each: request.getfixturevalue(each) for each in needs}
    return location.format(tmp_path, name=tmp_path.name, **given)


@pytest.fixture
def store(location):
    with create_store(location, settings_of()) as made:
        yield made


def names(store: Store) -> list[str]:
    return [entry.name for entry in documents_of(store)]


# ---------------------------------------------------------------------- locations


def test_a_store_is_there_once_it_is_made(location):
    assert not store_exists(location)
    with create_store(location, settings_of(spec="docpruner:k=0")) as store:
        assert store_exists(location)
        assert store.location == location
    with open_store(location) as again, again.reader() as reader:
        assert reader.settings == settings_of(spec="docpruner:k=0")


@pytest.mark.usefixtures("store")
def test_a_store_is_not_made_over_another(location):
    with pytest.raises(IndexStateError, match="already holds an index"):
        create_store(location, settings_of())


def test_a_store_that_is_not_there_says_how_to_make_one(location):
    with pytest.raises(IndexStateError, match="holds no index; make one"):
        open_store(location)


def test_what_is_committed_is_there_after_opening_again(location):
    with create_store(location, settings_of()) as store:
        commit(store, document("a.pdf", [[X]]))
    with open_store(location) as again:
        assert found(again) == [("a.pdf#1", 1.0)]


def test_a_closed_store_says_so(store):
    store.close()
    with pytest.raises(IndexClosedError, match="is closed; open it again"), store.reader():
        pass
    with pytest.raises(IndexClosedError, match="is closed; open it again"), store.writer():
        pass
    store.close()


def test_a_budget_changes_and_goes_and_nothing_else_does(location):
    with create_store(location, settings_of()) as store:
        commit(store, document("a.pdf", [[X]]))
        for budget in ("2GB", "4kB/page", ""):
            with store.writer() as writer:
                writer.set_budget(budget)
                assert writer.settings == replace(settings_of(), budget=budget)
            with open_store(location) as again, again.reader() as reader:
                assert reader.settings == replace(settings_of(), budget=budget)
            assert found(store) == [("a.pdf#1", 1.0)]


# ---------------------------------------------------------------------- documents


def test_what_is_committed_is_found_and_read_back(store):
    commit(store, document("a.pdf", [[X, Y], [Z]], metadata={"year": 2024, "tags": ["a", "b"]}))
    assert found(store) == [("a.pdf#1", 1.0), ("a.pdf#2", 0.0)]
    (entry,) = documents_of(store)
    assert (entry.name, entry.pages, entry.content_hash) == ("a.pdf", 2, content_of("first"))
    assert entry.metadata == {"year": 2024, "tags": ["a", "b"]}
    page = page_of(store, "a.pdf", 1)
    assert (page.document, page.number, page.size) == ("a.pdf", 1, (600.0, 800.0))
    assert page.vectors.decode().tolist() == [X.tolist(), Y.tolist()]
    assert page.provenance.boxes_of(1) == ((0.5, 0.0, 1.0, 1.0),)
    with store.reader() as reader:
        assert sorted(reader.pages()) == [PageName("a.pdf", 1), PageName("a.pdf", 2)]


def test_provenance_comes_back_with_importances_and_recognised_words(store):
    page = made_page(1, [X, Y, Z], spec="attention-ratio:ratio=0.5", words_from="ocr")
    page = replace(page, provenance=replace(page.provenance, words=("eins", "zwei", "drei")))
    commit(store, document("a.tiff", [page]))
    back = page_of(store, "a.tiff", 1)
    assert back.words_from == "ocr"
    assert back.provenance.words == ("eins", "zwei", "drei")
    assert back.provenance.kept.tolist() == [False, True, True]
    assert back.provenance.importance.tolist() == pytest.approx([0, 1, 2], rel=1e-3)
    assert (back.patches, back.special) == (3, 0)


def test_what_is_not_there_is_none(store):
    commit(store, document("a.pdf", [[X]]))
    assert page_of(store, "a.pdf", 2) is None
    assert page_of(store, "b.pdf", 1) is None
    assert known(store, "b.pdf") is None
    assert known(store, "a.pdf", "another").same is False
    with store.reader() as reader:
        assert reader.page_like(b"another") is None


def test_the_old_version_is_searched_until_the_new_one_is_finished(store):
    commit(store, document("a.pdf", [[X], [Y]]))
    new = {"version": "second", "of": 2}
    commit(store, document("a.pdf", [[Z]], finished=False, **new))
    assert found(store, Z) == [("a.pdf#1", 0.0), ("a.pdf#2", 0.0)]
    assert page_of(store, "a.pdf", 1).vectors.decode().tolist() == [X.tolist()]
    commit(store, document("a.pdf", [made_page(2, [X])], **new))
    assert found(store, Z) == [("a.pdf#1", 1.0), ("a.pdf#2", 0.0)]
    assert names(store) == ["a.pdf"]


def test_a_page_of_an_unfinished_version_is_not_there_yet(store):
    commit(store, document("a.pdf", [[X]]))
    commit(store, document("a.pdf", [[Y], [Z]], of=3, version="second", finished=False))
    assert page_of(store, "a.pdf", 2) is None
    assert [entry.pages for entry in documents_of(store)] == [1]


def test_a_new_document_is_searched_page_by_page(store):
    commit(store, document("a.pdf", [[X]], of=2, finished=False))
    assert found(store) == [("a.pdf#1", 1.0)]


def test_a_run_that_was_stopped_goes_on_where_it_was(store):
    commit(store, document("a.pdf", [[X]], of=3, finished=False))
    state = known(store, "a.pdf")
    assert (state.same, state.pages, state.there, state.whole) == (True, 3, {1}, False)
    commit(store, document("a.pdf", [made_page(2, [Y]), made_page(3, [Z])], of=3))
    assert known(store, "a.pdf").whole


def test_a_third_version_takes_the_place_of_an_unfinished_second(store):
    commit(store, document("a.pdf", [[X]]))
    commit(store, document("a.pdf", [[Y]], version="second", finished=False))
    third = {"of": 2, "version": "third"}
    commit(store, document("a.pdf", [[Z]], finished=False, **third))
    assert not known(store, "a.pdf", "second").same
    assert found(store) == [("a.pdf#1", 1.0)]
    commit(store, document("a.pdf", [made_page(2, [Y])], **third))
    assert found(store, Z) == [("a.pdf#1", 1.0), ("a.pdf#2", 0.0)]


def test_a_file_that_is_as_before_again_drops_its_unfinished_version(store):
    commit(store, document("a.pdf", [[X]]))
    commit(store, document("a.pdf", [[Y]], of=2, version="second", finished=False))
    assert not known(store, "a.pdf").whole
    commit(store, document("a.pdf", [], of=1))
    assert known(store, "a.pdf").whole
    assert found(store) == [("a.pdf#1", 1.0)]


def test_known_says_which_pages_are_in_and_which_have_no_words(store):
    silent = made_page(2, [Y], words_from="nowhere")
    commit(store, document("a.pdf", [made_page(1, [X]), silent], of=3, metadata={"n": 1}))
    state = known(store, "a.pdf")
    assert (state.pages, state.there, state.without_words) == (3, {1, 2}, {2})
    assert (state.whole, state.metadata) == (False, {"n": 1})
    assert known(store, "a.pdf", "second").metadata == {"n": 1}


def test_metadata_stays_unless_it_is_given(store):
    commit(store, document("a.pdf", [[X]], metadata={"year": "2023"}))
    commit(store, document("a.pdf", [[Y]], version="second"))
    assert documents_of(store)[0].metadata == {"year": "2023"}
    commit(store, document("a.pdf", [], of=1, version="second", metadata={"lang": "日本"}))
    assert documents_of(store)[0].metadata == {"lang": "日本"}


def test_metadata_is_set_without_touching_pages(store):
    commit(store, document("a.pdf", [[X]], metadata={"year": 2023}), document("b.pdf", [[Y]]))
    with store.writer() as writer:
        writer.set_metadata({"a.pdf": {"year": 2024, "final": True}})
    metadata = {entry.name: entry.metadata for entry in documents_of(store)}
    assert metadata == {"a.pdf": {"year": 2024, "final": True}, "b.pdf": {}}
    assert found(store, which=Filter(metadata={"year": 2024})) == [("a.pdf#1", 1.0)]


def test_a_page_committed_twice_is_there_once(store):
    commit(store, document("a.pdf", [[X]]))
    commit(store, document("a.pdf", [[Y]]))
    assert found(store, Y) == [("a.pdf#1", 1.0)]


def test_pages_that_look_alike_are_found_by_their_content(store):
    page = made_page(3, [X, Y], content_hash=b"looks")
    commit(store, document("a.pdf", [page], of=3))
    commit(store, document("a.pdf", [[Z]], of=2, version="second", finished=False))
    with store.reader() as reader:
        like = reader.page_like(b"looks")
    assert np.array_equal(like.vectors.rows, page.vectors.rows)
    assert (like.document, like.number, like.patches) == ("a.pdf", 3, 2)


def test_a_renamed_document_keeps_its_pages(store):
    commit(store, document("old/a.pdf", [[X, Y], [Z]], metadata={"year": 2024}))
    commit(store, document("old/a.pdf", [[Z]], of=2, version="second", finished=False))
    with store.writer() as writer:
        writer.rename({"old/a.pdf": "new/a.pdf"})
    assert names(store) == ["new/a.pdf"]
    assert found(store) == [("new/a.pdf#1", 1.0), ("new/a.pdf#2", 0.0)]
    assert page_of(store, "new/a.pdf", 1).document == "new/a.pdf"
    assert known(store, "old/a.pdf") is None
    assert known(store, "new/a.pdf", "second").there == {1}
    assert documents_of(store)[0].metadata == {"year": 2024}


def test_deleting_removes_all_versions_of_a_document_and_only_those(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[Y]]))
    commit(store, document("a.pdf", [[Z]], of=2, version="second", finished=False))
    with store.writer() as writer:
        writer.delete(["a.pdf", "never there.pdf"])
    assert names(store) == ["b.pdf"]
    assert known(store, "a.pdf", "second") is None
    assert found(store) == [("b.pdf#1", 0.0)]
    assert stats_of(store).vectors == 1


# ---------------------------------------------------------------------- moments


def test_a_reader_sees_one_moment_whatever_is_written(store):
    commit(store, document("a.pdf", [[X]]), document("c.pdf", [[Y]]))
    with store.reader() as reader:
        before = reader.version
        query = [np.float32([X])]
        first = reader.rank(query, 10, Filter())
        commit(store, document("b.pdf", [[X]]), document("a.pdf", [[Z]], version="second"))
        with store.writer() as writer:
            writer.delete(["c.pdf"])
        assert reader.rank(query, 10, Filter()) == first
        assert [entry.name for entry in reader.documents()] == ["a.pdf", "c.pdf"]
        assert reader.page("a.pdf", 1).vectors.decode().tolist() == [X.tolist()]
        assert reader.page("c.pdf", 1) is not None
        assert (reader.page("b.pdf", 1), reader.version) == (None, before)
        assert reader.stats().pages == 2
    assert found(store) == [("b.pdf#1", 1.0), ("a.pdf#1", 0.0)]


def test_versions_tell_a_change_from_none(store):
    def version():
        with store.reader() as reader:
            return reader.version

    first = version()
    assert version() == first
    commit(store, document("a.pdf", [[X]]))
    second = version()
    assert second != first
    with store.writer() as writer:
        writer.set_metadata({"a.pdf": {"year": 1}})
    assert version() != second


def test_an_open_store_sees_what_another_has_written(store, location):
    with open_store(location) as other:
        assert found(other) == []
        commit(store, document("a.pdf", [[X]]))
        assert found(other) == [("a.pdf#1", 1.0)]
        commit(other, document("b.pdf", [[X]]))
    assert found(store) == [("a.pdf#1", 1.0), ("b.pdf#1", 1.0)]


def test_searches_from_many_threads_beside_a_writer_see_whole_documents(store):
    """Each document has three equal pages: a search sees all of them or none."""
    commit(store, document("0.pdf", [[X]] * 3))

    def search(_: int) -> list[int]:
        with store.reader() as reader:
            (best,) = reader.rank([np.float32([X])], 100, Filter())
            there = [page for page in best if reader.page(page.document, page.number)]
        assert len(there) == len(best)
        counts: dict[str, int] = {}
        for page in best:
            counts[page.document] = counts.get(page.document, 0) + 1
        return list(counts.values())

    with ThreadPoolExecutor(4) as pool:
        searches = pool.map(search, range(60))
        for number in range(1, 12):
            commit(store, document(f"{number}.pdf", [[X]] * 3))
        assert {count for counts in searches for count in counts} == {3}
    assert len(found(store, k=100)) == 36


def test_a_second_writer_waits_in_vain_and_says_so(store):
    with (
        store.writer(),
        pytest.raises(IndexBusyError, match=r"another process is writing.*\(waited 0\.1 s\)"),
        store.writer(wait=0.1),
    ):
        pytest.fail("two writers at once")


# ---------------------------------------------------------------------- search


@pytest.fixture
def two_years(store) -> Store:
    """Three pages of a report, two of notes, all alike."""
    commit(
        store,
        document(REPORT, [[X]] * 3, metadata={"year": 2024, "lang": "en", "tags": ["a", "b"]}),
        document(NOTES, [[X]] * 2, metadata={"year": "2023", "lang": "en", "final": True}),
    )
    return store


@pytest.mark.parametrize(
    ("which", "pages"),
    [
        (Filter(), ["notes#1", "notes#2", *(f"report#{n}" for n in (1, 2, 3))]),
        (Filter(documents=("report*",)), ["report#1", "report#2", "report#3"]),
        (Filter(documents=("report*", "2023/*"), pages=(2, 2)), ["notes#2", "report#2"]),
        (Filter(pages=(2, None)), ["notes#2", "report#2", "report#3"]),
        (Filter(pages=(3, 2)), []),
        (Filter(metadata={"year": "2023"}), ["notes#1", "notes#2"]),
        (Filter(metadata={"year": 2023}), ["notes#1", "notes#2"]),
        (Filter(metadata={"year": "2024"}, pages=(1, 1)), ["report#1"]),
        (Filter(metadata={"tags": "b"}, pages=(1, 1)), ["report#1"]),
        (Filter(metadata={"final": "true"}), ["notes#1", "notes#2"]),
        (Filter(metadata={"lang": "en"}, pages=(3, 9)), ["report#3"]),
        (Filter(metadata={"year": "2024", "lang": "de"}), []),
        (Filter(metadata={"author": "me"}), []),
        (Filter(metadata={"author": None}), []),
        (Filter(documents=("*.png",)), []),
    ],
)
def test_only_pages_that_every_part_of_a_filter_allows_are_found(two_years, which, pages):
    short = {REPORT: "report", NOTES: "notes"}
    best = (name.rpartition("#") for name, _ in found(two_years, which=which))
    assert [f"{short[document]}#{number}" for document, _, number in best] == pages


def test_pages_of_equal_score_stand_by_document_and_number(store):
    """Whatever the order in which they were stored."""
    backwards = [made_page(number, [X]) for number in range(11, 0, -1)]
    commit(store, document("b.pdf", backwards), document("a.pdf", [[Y], [X]]))
    ranked = ["a.pdf#2", *(f"b.pdf#{number}" for number in range(1, 12)), "a.pdf#1"]
    assert [name for name, _ in found(store, k=20)] == ranked


@pytest.mark.parametrize("k", [1, 2, 5])
def test_fewer_pages_are_the_beginning_of_more(store, k):
    commit(store, *(document(name, [[Y], [X], [X]]) for name in ("c.pdf", "a.pdf", "b.pdf")))
    assert found(store, k=k) == found(store, k=9)[:k]


def test_a_page_that_matches_badly_is_still_a_page(store):
    commit(store, document("a.pdf", [[-X]]))
    assert found(store) == [("a.pdf#1", -1.0)]


def test_an_empty_index_finds_nothing_for_each_query(store):
    with store.reader() as reader:
        assert reader.rank([np.float32([X]), np.float32([Y])], 5, Filter()) == [[], []]


def test_only_candidates_are_ranked_for_each_query_its_own(store):
    commit(store, document("a.pdf", [[X], [X], [Y]]), document("b.pdf", [[X]]))
    among = [
        {PageName("a.pdf", 2), PageName("b.pdf", 1), PageName("gone.pdf", 9)},
        {PageName("a.pdf", 3)},
    ]
    with store.reader() as reader:
        first, second = reader.rank(
            [np.float32([X]), np.float32([Y])], 5, Filter(documents=("a*",)), among
        )
    assert [page.name for page in first] == [("a.pdf", 2)]
    assert [(page.name, page.score) for page in second] == [(("a.pdf", 3), 1.0)]


def test_a_query_of_another_dimension_is_refused(store):
    commit(store, document("a.pdf", [[X]]))
    with (
        store.reader() as reader,
        pytest.raises(ScoringError, match=r"query 0 has shape \(1, 3\), expected \(tokens, 4\)"),
    ):
        reader.rank([np.ones((1, 3), np.float32)], 5, Filter())


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_scores_are_those_of_the_definition_in_every_codec(location, codec):
    """MaxSim in float64 of what the codec gives back."""
    pages = {n: unit_vectors(1 + n % 7, 128, seed=n) for n in range(1, 41)}
    queries = [unit_vectors(count, 128, seed=70 + count) for count in (1, 12, 20)]
    with create_store(location, settings_of(dim=128, codec=codec)) as store:
        some = [made_page(n, v, codec=codec) for n, v in pages.items()]
        commit(store, document("a.pdf", some[:25], of=40, finished=False))
        commit(store, document("a.pdf", some[25:], of=40))
        with store.reader() as reader:
            ranked = reader.rank(queries, 40, Filter())
    decoded = {n: encode(v, codec).decode().astype(np.float64) for n, v in pages.items()}
    for query, best in zip(queries, ranked, strict=True):
        exact = {n: (query @ v.T).max(axis=1).sum() for n, v in decoded.items()}
        rounded = codec == "float16" and location.startswith("qdrant")
        close = len(query) * (QDRANT_HALF if rounded else EXACTNESS[codec])
        assert {page.number: page.score for page in best} == pytest.approx(exact, abs=close)
        assert [page.score for page in best] == sorted((p.score for p in best), reverse=True)


# ---------------------------------------------------------------------- text


def spoken(*texts: str):
    """Pages that say so."""
    return [made_page(number, [X], text=text) for number, text in enumerate(texts, 1)]


def test_the_words_of_a_page_come_back_with_their_places(store):
    page = made_page(1, [X, Y], text="Mooring fees\nQuay 7 €120")
    silent = replace(made_page(2, [X]), text=PageText.of(()))
    commit(store, document("a.pdf", [page, silent, made_page(3, [X])]))
    back = page_of(store, "a.pdf", 1)
    assert back.text.packed == page.text.packed
    assert back.text.plain == "Mooring fees\nQuay 7 €120"
    wanted = placed(back.text.plain)
    assert [word.text for word in back.words] == [word.text for word in wanted]
    for one, other in zip(back.words, wanted, strict=True):
        assert one.box == pytest.approx(other.box, abs=0.001)
    second, third = page_of(store, "a.pdf", 2).text, page_of(store, "a.pdf", 3).text
    assert (second.is_stored, second.plain) == (True, "")
    assert (third.is_stored, third.plain) == (False, "")
    assert stats_of(store).pages_with_text == 2
    assert stats_of(store).bytes_of_text >= len(page.text.packed)


def test_pages_are_ranked_by_their_words(store):
    """The second has the rare word, the third only the one that most have."""
    commit(store, document("a.pdf", spoken("the quay", "the quay crane", "the tide", "the pilot")))
    commit(store, document("b.pdf", [[X]]))
    assert said(store, "which CRANE at the quay?")[:2] == ["a.pdf#2", "a.pdf#1"]
    assert said(store, "Crâne") == ["a.pdf#2"]
    assert said(store, "lighthouse") == []
    assert said(store, "?!") == []
    assert said(store, "quay", k=1) == ["a.pdf#1"]


def test_chinese_is_found_without_spaces(store):
    commit(store, document("a.pdf", spoken("北京 年报", "上海", "Kiel")))
    assert said(store, "北京年报")[0] == "a.pdf#1"


@pytest.mark.parametrize(
    "query", ['"', "a OR", "NEAR(a b)", "text: a", "a*", "-a", "^a", "(", "'; DROP TABLE pages --"]
)
def test_signs_in_a_query_mean_nothing(store, query):
    commit(store, document("a.pdf", spoken("a", "b drop")))
    assert set(said(store, query)) <= {"a.pdf#1", "a.pdf#2"}
    assert said(store, "a")[0] == "a.pdf#1"


def test_filters_come_before_the_best_are_taken(store):
    """Of the words asked for, the report has more than the notes."""
    commit(
        store,
        document(REPORT, spoken("tide tide", "tide tide"), metadata={"year": 2024}),
        document(NOTES, spoken("tide and more", "tide or less"), metadata={"year": 2023}),
    )
    assert said(store, "tide", 1) == [f"{REPORT}#1"]
    assert said(store, "tide", 1, Filter(documents=("notes*",))) == [f"{NOTES}#1"]
    assert said(store, "tide", 1, Filter(metadata={"year": 2023}, pages=(2, None))) == [
        f"{NOTES}#2"
    ]
    assert said(store, "tide", 5, Filter(pages=(2, 2))) == [f"{REPORT}#2", f"{NOTES}#2"]
    assert said(store, "tide", 5, Filter(documents=("*.png",))) == []


def test_text_search_follows_every_change(store):
    commit(store, document("a.pdf", spoken("tide", "quay")), document("b.pdf", spoken("tide")))
    commit(store, document("a.pdf", spoken("crane"), version="second", of=2, finished=False))
    assert said(store, "tide crane") == ["a.pdf#1", "b.pdf#1"]
    commit(store, document("a.pdf", [made_page(2, [Y], text="pilot")], version="second", of=2))
    assert said(store, "tide quay") == ["b.pdf#1"]
    assert said(store, "pilot") == ["a.pdf#2"]
    with store.writer() as writer:
        writer.rename({"a.pdf": "c.pdf"})
        writer.delete(["b.pdf"])
    assert said(store, "tide pilot crane") == ["c.pdf#1", "c.pdf#2"]
    prune(store, "random:ratio=0.5")
    assert said(store, "crane") == ["c.pdf#1"]
    assert page_of(store, "c.pdf", 1).text.plain == "crane"


def test_a_reader_searches_the_text_of_its_moment(store):
    commit(store, document("a.pdf", spoken("tide")))
    with store.reader() as reader:
        before = reader.rank_text("tide quay", 5, Filter())
        commit(store, document("b.pdf", spoken("tide quay")), document("a.pdf", [], version="2"))
        assert reader.rank_text("tide quay", 5, Filter()) == before
        assert [page.document for page in before] == ["a.pdf"]


# ---------------------------------------------------------------------- one change or none


def test_a_change_that_fails_halfway_did_not_happen_and_the_writer_goes_on(store):
    class Broken:
        name = content_hash = pages = property(lambda _: 1 / 0)

    with store.writer() as writer:
        writer.commit([document("a.pdf", [[X]])])
        with pytest.raises(ZeroDivisionError):
            writer.commit(
                [document("b.pdf", [[Y]]), replace(document("c.pdf", []), document=Broken())]
            )
        writer.commit([document("d.pdf", [[Z]])])
    assert names(store) == ["a.pdf", "d.pdf"]
    assert found(store, Z) == [("d.pdf#1", 1.0), ("a.pdf#1", 0.0)]


def first_only(page):
    kept = made_page(page.number, page.vectors.decode()[:1])
    return replace(page, vectors=kept.vectors, provenance=kept.provenance)


def test_rewriting_changes_every_page_and_the_settings_at_once(store):
    commit(store, document("a.pdf", [[X, Y]]), document("b.pdf", [[Y, Z]]))
    commit(store, document("b.pdf", [[Z, X]], of=2, version="second", finished=False))
    progress = []
    with store.writer() as writer:
        new = replace(writer.settings, spec="random:ratio=0.5")
        writer.rewrite(first_only, new, lambda done, of: progress.append((done, of)))
        assert writer.settings == new
    assert progress == [(1, 3), (2, 3), (3, 3)]
    assert found(store, Y) == [("b.pdf#1", 1.0), ("a.pdf#1", 0.0)]
    with store.reader() as reader:
        assert reader.settings == new
    commit(store, document("b.pdf", [made_page(2, [Y])], of=2, version="second"))
    assert page_of(store, "b.pdf", 1).vectors.decode().tolist() == [Z.tolist()]


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_an_index_is_rewritten_in_another_codec(store, location, codec):
    vectors = [unit_vectors(5, 4, seed=n) for n in range(6)]
    commit(store, document("a.pdf", [made_page(n, v) for n, v in enumerate(vectors, 1)]))

    def recoded(page):
        return replace(page, vectors=encode(page.vectors.decode(), codec))

    with store.writer() as writer:
        writer.rewrite(recoded, replace(writer.settings, codec=codec))
        writer.commit([document("b.pdf", [made_page(1, vectors[0], codec=codec)])])
    query = unit_vectors(1, 4, seed=9)
    scores = {
        **{f"a.pdf#{n}": v for n, v in enumerate(vectors, 1)},
        "b.pdf#1": vectors[0],
    }
    exact = {n: (encode(v, codec).decode() @ query[0]).max() for n, v in scores.items()}
    with open_store(location) as again:
        assert dict(found(again, query)) == pytest.approx(exact, abs=1e-4)


def test_a_rewriting_that_fails_changes_nothing(store):
    commit(store, document("a.pdf", [[X, Y]]), document("b.pdf", [[Y]]))

    def only_a(page):
        if page.document == "b.pdf":
            raise ValueError("not b")
        return first_only(page)

    with store.writer() as writer, pytest.raises(ValueError, match="not b"):
        writer.rewrite(only_a, replace(writer.settings, spec="random:ratio=0.5"))
    assert found(store, Y) == [("a.pdf#1", 1.0), ("b.pdf#1", 1.0)]
    with store.reader() as reader:
        assert reader.settings.spec == "none"


def test_pruning_leaves_what_indexing_with_the_spec_would_have(store):
    spec = "attention-ratio:ratio=0.5"
    vectors = [unit_vectors(4 + n, 4, seed=n) for n in range(5)]
    commit(store, document("a.pdf", [made_page(n, v) for n, v in enumerate(vectors, 1)]))
    tried = prune(store, spec, dry_run=True)
    assert stats_of(store).vectors == tried.before == sum(map(len, vectors))
    assert prune(store, spec) == tried
    for number, each in enumerate(vectors, 1):
        page, fresh = page_of(store, "a.pdf", number), made_page(number, each, spec=spec)
        assert np.array_equal(page.vectors.rows, fresh.vectors.rows)
        assert page.provenance.sources.tolist() == fresh.provenance.sources.tolist()
    assert stats_of(store).vectors == tried.after
    with store.reader() as reader:
        assert reader.settings.spec == spec


@pytest.mark.parametrize("codec", ["int8", "int4", "int2", "int1"])
def test_an_index_gets_another_codec_and_a_stricter_spec_at_once(store, codec):
    vectors = [unit_vectors(8, 4, seed=n) for n in range(5)]
    commit(store, document("a.pdf", [made_page(n, v) for n, v in enumerate(vectors, 1)]))
    tried = prune(store, "attention-ratio:ratio=0.5", codec=codec, dry_run=True)
    done = prune(store, "attention-ratio:ratio=0.5", codec=codec)
    assert done == tried
    assert (done.before, done.after) == (40, 20)
    assert done.bytes_after == stats_of(store).bytes_of_vectors < done.bytes_before == 40 * 16
    page = page_of(store, "a.pdf", 1)
    fresh = made_page(1, vectors[0], spec="attention-ratio:ratio=0.5", codec=codec)
    assert np.array_equal(page.vectors.rows, fresh.vectors.rows)
    with store.reader() as reader:
        assert reader.settings.codec == codec


def test_a_codec_that_there_is_not_is_refused_and_those_that_there_are_are_named(store):
    with pytest.raises(CodecError, match="no codec 'int3'; there are: float32, float16, int8"):
        prune(store, codec="int3")


# ---------------------------------------------------------------------- what it holds


def test_what_an_index_holds_and_saves_adds_up(store):
    vectors = unit_vectors(10, 4)
    page = made_page(1, vectors, spec="attention-ratio:ratio=0.7")  # keeps 3 of 10
    silent = made_page(2, vectors[:2], words_from="nowhere")  # keeps 2 of 2
    commit(store, document("a.pdf", [page, silent], of=3), document("b.pdf", [[X]]))
    with store.writer() as writer:
        writer.delete(["b.pdf"])
    stats = stats_of(store)
    assert (stats.documents, stats.pages, stats.missing_pages) == (1, 2, 1)
    assert stats.pages_without_words == 1
    assert (stats.vectors, stats.vectors_unpruned) == (3 + 2, 10 + 2)
    assert stats.bytes_of_vectors == 5 * 16
    assert stats.bytes_unpruned_float16 == 12 * 8
    assert stats.bytes_on_disk >= stats.bytes_of_vectors
    assert stats.pruned == pytest.approx(7 / 12)
    assert stats.pruned_by_page["0"] == 0.0
    assert stats.pruned_by_page["0.5"] == pytest.approx(0.35)
    assert stats.pruned_by_page["1"] == pytest.approx(0.7)
    assert sum(stats.pruned_histogram) == 2


def test_an_empty_index_has_numbers_too(store):
    stats = stats_of(store)
    assert (stats.documents, stats.pages, stats.vectors, stats.pruned) == (0, 0, 0, 0.0)
    assert stats.pruned_by_page == {}
    assert sum(stats.pruned_histogram) == 0


# ---------------------------------------------------------------------- copies


@pytest.mark.parametrize("codec", ["float16", "int4"])
def test_a_copy_to_it_and_back_has_every_byte(location, codec, tmp_path):
    settings = settings_of(codec=codec)
    with create_store(str(tmp_path / "source"), settings) as source:
        pages = [
            made_page(n, unit_vectors(4, 4, seed=n), codec=codec, text=f"harbour {n}")
            for n in (1, 2, 3)
        ]
        commit(source, document(REPORT, pages, metadata={"year": 2024}), document(NOTES, pages[:1]))
        assert copy_index(source, location).compared == 4
        with open_store(location) as there:
            assert copy_index(there, str(tmp_path / "back")).compared == 4
            with there.reader() as reader:
                assert {page.document for page in reader.rank_text("3", 9, Filter())} == {REPORT}
        with open_store(str(tmp_path / "back")) as back:
            assert documents_of(back) == documents_of(source)
            for name in (PageName(REPORT, 1), PageName(REPORT, 3), PageName(NOTES, 1)):
                page, original = page_of(back, *name), page_of(source, *name)
                assert page.vectors.rows.tobytes() == original.vectors.rows.tobytes()
                assert page.text.plain == original.text.plain
                assert page.fingerprint == original.fingerprint

"""Full-text search of a folder: in step with what is stored, whatever happened to it."""

from __future__ import annotations

import sqlite3
import warnings
import zlib
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docpruner.errors import DamagedIndexError, DamageWarning, IndexStateError
from docpruner.stores.bm25 import bm25
from docpruner.stores.folder import text_index
from docpruner.stores.folder.catalogue import ADDED, FORMAT, NAME
from docpruner.stores.folder.store import FolderStore
from docpruner.stores.folder.text_index import match_of
from docpruner.stores.page_text import PageText
from docpruner.types import Filter, Word
from docpruner.word_forms import words_in
from stores.made import (
    X,
    commit,
    create_folder,
    document,
    documents_of,
    found,
    made_page,
    page_of,
    said,
    stats_of,
)

TEXTS = ("the tide at the quay", "the quay crane", "the pilot", "the tide and the pilot's tide")


@pytest.fixture
def store(tmp_path):
    with create_folder(tmp_path / "index") as made:
        commit(made, document("a.pdf", spoken(*TEXTS)))
        yield made


def spoken(*texts: str):
    return [made_page(number, [X], text=text) for number, text in enumerate(texts, 1)]


def run(store: FolderStore, *statements: str) -> list[tuple]:
    """In the catalogue, behind the store's back."""
    with closing(sqlite3.connect(store.folder / NAME)) as connection, connection:
        text_index.prepare(connection)
        return [connection.execute(statement).fetchall() for statement in statements][-1]


def test_scores_are_those_of_the_definition(store):
    with store.reader() as reader:
        ranked = reader.rank_text("Quay, tide or the crane?", 10, Filter())
    scores = bm25("Quay, tide or the crane?", [words_in(text) for text in TEXTS])
    assert {page.number: page.score for page in ranked} == pytest.approx(
        {number: float(score) for number, score in enumerate(scores, 1)}, rel=1e-5
    )


def test_what_verify_and_compact_see_is_in_step(store):
    commit(store, document("b.pdf", spoken("crane")), document("a.pdf", spoken("x"), version="2"))
    with store.writer() as writer:
        writer.delete(["b.pdf"])
        writer.compact()
    assert store.verify() == []
    assert said(store, "crane tide x") == ["a.pdf#1"]
    assert run(store, "SELECT count(*) FROM unlisted") == [(0,)]


def test_an_index_without_text_has_no_full_text_index(tmp_path):
    with create_folder(tmp_path / "index") as store:
        commit(store, document("a.pdf", [[X]]))
        assert said(store, "tide") == []
        assert run(store, "SELECT count(*) FROM sqlite_master WHERE name GLOB 'words*'") == [(0,)]
        assert stats_of(store).bytes_of_text == 0


def test_a_document_deleted_and_added_in_one_change_is_in_step(store):
    with store.writer() as writer:
        twice = [document("b.pdf", spoken("crane")), document("b.pdf", spoken("rudder"))]
        writer.commit(twice)
    assert said(store, "rudder") == ["b.pdf#1"]
    assert store.verify() == []


# ---------------------------------------------------------------------- damage


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM words_data WHERE id > 10",
        "UPDATE words_data SET block = zeroblob(length(block)) WHERE id > 10",
        "INSERT INTO words (words, rowid, text) VALUES ('delete', 2, 'the quay crane')",
        "INSERT INTO words (rowid, text) VALUES (99, 'of no page')",
        "DROP TABLE words",
    ],
)
def test_a_damaged_full_text_index_is_told_and_made_anew(store, damage):
    run(store, damage)
    with pytest.warns(DamageWarning, match="full-text index of .* docpruner compact"):
        assert store.verify() == []
    with store.writer() as writer:
        writer.compact()
    assert store.verify() == []
    assert said(store, "crane") == ["a.pdf#2"]


def test_a_search_in_a_damaged_full_text_index_says_what_to_do(store):
    run(store, "DELETE FROM words_data WHERE id > 10")
    with pytest.raises(DamagedIndexError, match="make it anew with: docpruner compact"):
        said(store, "crane")
    assert found(store)[0] == ("a.pdf#1", 1.0)


def test_a_damaged_full_text_index_does_not_keep_a_writer_from_its_work(store):
    run(store, "UPDATE words_data SET block = zeroblob(length(block)) WHERE id > 10")
    with store.writer() as writer:
        writer.delete(["a.pdf"])
        writer.commit([document("b.pdf", spoken("crane"))])
        writer.compact()
    assert said(store, "crane") == ["b.pdf#1"]
    assert store.verify() == []


@pytest.mark.parametrize("flip", [0, 8, -1])
def test_a_damaged_text_is_a_damaged_page(store, flip):
    packed = bytearray(page_of(store, "a.pdf", 2).text.packed)
    packed[flip] ^= 4
    run(store, f"UPDATE texts SET packed = x'{packed.hex()}' WHERE page = 2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamageWarning)
        (damage,) = store.verify()
    assert (damage.document, damage.page) == ("a.pdf", 2)
    assert store.verify() == []
    assert said(store, "crane") == []
    commit(store, document("a.pdf", [made_page(2, [X], text=TEXTS[1])], of=4))
    assert said(store, "crane") == ["a.pdf#2"]
    assert store.verify() == []


def test_a_text_that_is_gone_is_damage(store):
    run(store, "DELETE FROM texts WHERE page = 3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamageWarning)
        assert [damage.page for damage in store.verify()] == [3]


# ---------------------------------------------------------------------- without FTS5


def test_without_fts5_all_but_text_search_works_and_the_next_writer_catches_up(store, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(text_index, "has_fts5", lambda _: False)
        commit(store, document("b.pdf", spoken("rudder")), document("c.pdf", spoken("crane")))
        with store.writer() as writer:
            writer.delete(["c.pdf"])
            writer.compact()
        assert len(found(store)) == 5
        assert page_of(store, "b.pdf", 1).text.plain == "rudder"
        with pytest.raises(IndexStateError, match="built without FTS5"):
            said(store, "crane")
    with pytest.raises(IndexStateError, match=r"no full-text search \(FTS5\).*docpruner compact"):
        said(store, "crane")
    with store.writer() as writer:
        writer.compact()
    assert said(store, "crane rudder") == ["b.pdf#1", "a.pdf#2"]
    assert store.verify() == []


# ---------------------------------------------------------------------- older formats


def as_format(store: FolderStore, number: int) -> None:
    """The catalogue as docpruner wrote it when that was the format."""
    store.close()
    path = store.folder / NAME
    old = path.with_name("old.sqlite")
    with closing(sqlite3.connect(old, isolation_level=None)) as made:
        made.executescript("".join(ADDED[n] for n in range(1, number + 1)))
        made.execute("ATTACH ? AS now", (str(path),))
        for table in ("settings", "segments", "documents", "pages", "maps"):
            made.execute(f"INSERT INTO main.{table} SELECT * FROM now.{table}")
        made.execute(f"PRAGMA user_version = {number}")
        made.execute("PRAGMA journal_mode = WAL")
    for left in store.folder.glob(f"{NAME}*"):
        left.unlink()
    old.rename(path)


@pytest.mark.parametrize("number", [1, 2])
def test_an_older_format_is_read_as_it_is_and_gets_what_it_lacks_from_its_first_writer(
    tmp_path, number
):
    with create_folder(tmp_path / "index") as store:
        commit(store, document("a.pdf", [[X], [X]], metadata={"year": 2024}))
    as_format(store, number)
    with FolderStore.open(store.location) as opened:
        assert len(found(opened)) == 2
        assert not page_of(opened, "a.pdf", 1).text.is_stored
        assert said(opened, "tide") == []
        assert stats_of(opened).pages_with_text == 0
        assert opened.verify() == []
        assert run(opened, "PRAGMA user_version") == [(number,)]
        commit(opened, document("b.pdf", spoken("tide")))
        assert run(opened, "PRAGMA user_version") == [(FORMAT,)]
        assert said(opened, "tide") == ["b.pdf#1"]
        assert opened.verify() == []
        in_2024 = Filter(metadata={"year": "2024"})
        assert [name for name, _ in found(opened, which=in_2024)] == ["a.pdf#1", "a.pdf#2"]
        with opened.writer() as writer:
            writer.rename({"a.pdf": "c.pdf"})
            writer.compact()
        assert [entry.name for entry in documents_of(opened)] == ["b.pdf", "c.pdf"]
        assert opened.verify() == []


# ---------------------------------------------------------------------- any text


@given(st.text(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_query_is_a_search_for_its_words(query):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize='ascii')")
        connection.execute("INSERT INTO t VALUES (?)", (" ".join(words_in(query)),))
        connection.execute("INSERT INTO t VALUES ('unlike')")
        match = match_of(query)
        rows = connection.execute("SELECT rowid FROM t WHERE t MATCH ?", (match,)) if match else []
        wanted = [(1,)] if match else []
        assert [row for row in rows if row != (2,)] == wanted


@given(st.lists(st.tuples(st.text(), *[st.floats(0, 1)] * 4), max_size=20))
@settings(max_examples=200, deadline=None)
def test_any_words_come_back(parts):
    words = [Word(text, (min(a, c), min(b, d), max(a, c), max(b, d))) for text, a, b, c, d in parts]
    back = PageText.of(words).words
    assert len(back) == len(words)
    for one, other in zip(back, words, strict=True):
        assert one.text.split() == other.text.replace("\0", " ").split()
        assert one.box == pytest.approx(other.box, abs=0.001)


@given(st.binary(max_size=60))
def test_bytes_that_are_no_text_are_damage(packed):
    try:
        zlib.decompress(packed)
    except zlib.error:
        if len(packed) > 1:
            with pytest.raises(DamagedIndexError, match="the stored words of a page are damaged"):
                _ = PageText(packed).words

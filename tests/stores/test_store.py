"""What is committed is there, what isn't is not, and searches see one or the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from docpruner.codecs import encode
from docpruner.errors import DamagedIndexError, IndexStateError
from docpruner.index import segments
from docpruner.index.health import measure
from docpruner.index.store import PageStore
from index.made import (
    X,
    Y,
    Z,
    commit,
    create_store,
    document,
    found,
    page_record,
    segment_files,
    unit_vectors,
)

ROW = 16  # bytes of a float32 vector of 4


@pytest.fixture
def store(tmp_path):
    with create_store(tmp_path / "index") as made:
        yield made


def page_ids(store: PageStore) -> list[int]:
    return store.snapshot().ids.tolist()


# ---------------------------------------------------------------------- documents


def test_what_is_committed_is_found_and_read_back(store):
    commit(store, document("a.pdf", [[X, Y], [Z]], metadata={"year": "2024"}))
    assert found(store) == [("a.pdf#1", 1.0), ("a.pdf#2", 0.0)]
    (entry,) = store.documents()
    assert (entry.path, entry.pages, entry.metadata) == ("a.pdf", 2, {"year": "2024"})
    page = store.page_of("a.pdf", 1)
    assert page.vectors.decode().tolist() == [X.tolist(), Y.tolist()]
    assert page.map.boxes_of(1) == ((0.5, 0.0, 1.0, 1.0),)


def test_it_is_there_after_opening_again(tmp_path):
    with create_store(tmp_path) as store:
        commit(store, document("a.pdf", [[X]]))
    with PageStore(tmp_path) as again:
        assert found(again) == [("a.pdf#1", 1.0)]


def test_what_is_not_there_is_none(store):
    commit(store, document("a.pdf", [[X]]))
    assert store.page_of("a.pdf", 2) is None
    assert store.page_of("b.pdf", 1) is None
    assert store.page(99) is None
    assert store.known("a.pdf", b"another") is None
    assert store.page_like(b"another") is None
    assert not store.has("b.pdf")


def test_the_old_version_is_searched_until_the_new_one_is_finished(store):
    commit(store, document("a.pdf", [[X], [Y]]))
    new = {"version": "second", "of": 2}
    commit(store, document("a.pdf", [[Z]], finished=False, **new))
    assert found(store, Z) == [("a.pdf#1", 0.0), ("a.pdf#2", 0.0)]
    assert store.page_of("a.pdf", 1).vectors.decode().tolist() == [X.tolist()]
    commit(store, document("a.pdf", [page_record(2, [X])], **new))
    assert found(store, Z) == [("a.pdf#1", 1.0), ("a.pdf#2", 0.0)]
    assert len(store.documents()) == 1


def test_a_page_of_an_unfinished_version_is_not_there_yet(store):
    commit(store, document("a.pdf", [[X]]))
    commit(store, document("a.pdf", [[Y], [Z]], of=3, version="second", finished=False))
    assert store.page_of("a.pdf", 2) is None
    assert [entry.pages for entry in store.documents()] == [1]


def test_a_new_document_is_searched_page_by_page(store):
    commit(store, document("a.pdf", [[X]], of=2, finished=False))
    assert found(store) == [("a.pdf#1", 1.0)]


def test_a_third_version_takes_the_place_of_an_unfinished_second(store):
    commit(store, document("a.pdf", [[X]]))
    second, third = document("a.pdf", [[Y]], version="second"), {"of": 2, "version": "third"}
    commit(store, replace(second, finished=False))
    commit(store, document("a.pdf", [[Z]], finished=False, **third))
    assert store.known("a.pdf", second.file.sha256) is None
    assert found(store) == [("a.pdf#1", 1.0)]
    commit(store, document("a.pdf", [page_record(2, [Y])], **third))
    assert found(store, Z) == [("a.pdf#1", 1.0), ("a.pdf#2", 0.0)]
    assert measure(store.folder).bytes_reclaimable == 2 * ROW


def test_a_file_that_is_as_before_again_drops_its_unfinished_version(store):
    first = document("a.pdf", [[X]])
    commit(store, first)
    commit(store, document("a.pdf", [[Y]], of=2, version="second", finished=False))
    assert not store.known("a.pdf", first.file.sha256).whole
    commit(store, document("a.pdf", [], of=1))
    assert store.known("a.pdf", first.file.sha256).whole
    assert found(store) == [("a.pdf#1", 1.0)]


def test_known_says_which_pages_are_in_and_which_have_no_words(store):
    silent = page_record(2, [Y], words_from="nowhere")
    part = document("a.pdf", [page_record(1, [X]), silent], of=3)
    commit(store, part)
    known = store.known("a.pdf", part.file.sha256)
    assert (known.pages, known.there, known.without_words) == (3, {1, 2}, {2})
    assert not known.whole


def test_metadata_stays_unless_it_is_given(store):
    commit(store, document("a.pdf", [[X]], metadata={"year": "2023"}))
    commit(store, document("a.pdf", [[Y]], version="second"))
    assert store.documents()[0].metadata == {"year": "2023"}
    commit(store, document("a.pdf", [], of=1, version="second", metadata={"lang": "日本"}))
    assert store.documents()[0].metadata == {"lang": "日本"}


def test_a_page_committed_twice_is_there_once(store):
    commit(store, document("a.pdf", [[X]]))
    commit(store, document("a.pdf", [[Y]]))
    assert found(store, Y) == [("a.pdf#1", 1.0)]


def test_pages_that_look_alike_are_found_by_their_content(store):
    record = page_record(3, [X, Y], content=b"looks")
    commit(store, document("a.pdf", [record], of=3))
    like = store.page_like(b"looks")
    assert np.array_equal(like.rows, record.rows)
    assert (like.map, like.size, like.patches) == (record.map, record.size, record.patches)


def test_deleting_removes_all_versions_of_a_document_and_only_those(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[Y]]))
    commit(store, document("a.pdf", [[Z]], of=2, version="second", finished=False))
    with store.writer() as writer:
        writer.delete_documents(["a.pdf"])
    assert store.paths() == ["b.pdf"]
    assert found(store) == [("b.pdf#1", 0.0)]
    assert measure(store.folder).vectors == 1


def test_a_document_that_lost_pages_is_no_longer_whole(store):
    part = document("a.pdf", [[X], [Y]])
    commit(store, part)
    with store.writer() as writer:
        writer.delete_pages(page_ids(store)[:1])
    known = store.known("a.pdf", part.file.sha256)
    assert known.there == {2}
    assert not known.whole
    assert measure(store.folder).missing_pages == 1


# ---------------------------------------------------------------------- one change or none


def test_a_change_that_fails_halfway_did_not_happen(store):
    commit(store, document("a.pdf", [[X]]))
    before = segment_files(store.folder)
    unwritable = document("c.pdf", [[Z]], metadata={"year": object()})
    with (
        store.writer() as writer,
        pytest.raises(TypeError, match="not JSON serializable"),
    ):
        writer.commit([document("b.pdf", [[Y]]), unwritable])
    assert segment_files(store.folder) == before
    assert found(store, Y) == [("a.pdf#1", 0.0)]


def test_a_writer_goes_on_after_a_change_that_failed(store):
    with store.writer() as writer:
        writer.commit([document("a.pdf", [[X]])])
        with pytest.raises(TypeError, match="not JSON serializable"):
            writer.commit([document("b.pdf", [[Y]], metadata={"year": object()})])
        writer.commit([document("c.pdf", [[Z]])])
    assert found(store, Z) == [("c.pdf#1", 1.0), ("a.pdf#1", 0.0)]
    assert segment_files(store.folder) == {"00000001.rows": 2 * ROW}


def test_rows_that_were_never_committed_are_cut_off_by_the_next_writer(store):
    commit(store, document("a.pdf", [[X]]))
    folder = store.folder / "segments"
    with (folder / "00000001.rows").open("ab") as file:
        file.write(b"x" * 1000)
    (folder / "00000007.rows").write_bytes(b"x" * 1000)
    assert found(store) == [("a.pdf#1", 1.0)]
    commit(store, document("b.pdf", [[Y]]))
    assert segment_files(store.folder) == {"00000001.rows": 2 * ROW}
    assert found(store, Y) == [("b.pdf#1", 1.0), ("a.pdf#1", 0.0)]


def test_an_open_store_sees_what_another_has_written(store):
    with PageStore(store.folder) as other:
        assert found(other) == []
        commit(store, document("a.pdf", [[X]]))
        assert found(other) == [("a.pdf#1", 1.0)]
        commit(other, document("b.pdf", [[X]]))
    assert found(store) == [("a.pdf#1", 1.0), ("b.pdf#1", 1.0)]


def test_pages_are_listed_again_only_after_a_change(store):
    commit(store, document("a.pdf", [[X]]))
    snapshot = store.snapshot()
    assert store.snapshot() is snapshot
    commit(store, document("b.pdf", [[X]]))
    assert store.snapshot() is not snapshot
    assert len(snapshot) == 1


# ---------------------------------------------------------------------- segments


def many(first: int, last: int):
    return [document(f"{n:02}.pdf", [unit_vectors(3, 4, seed=n)]) for n in range(first, last)]


def test_a_full_segment_is_followed_by_another(store, monkeypatch):
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 6 * ROW)
    commit(store, *many(0, 5))
    assert segment_files(store.folder) == {
        "00000001.rows": 6 * ROW,
        "00000002.rows": 6 * ROW,
        "00000003.rows": 3 * ROW,
    }
    for number in range(5):
        first = unit_vectors(3, 4, seed=number)[0]
        assert found(store, first)[0] == (f"{number:02}.pdf#1", pytest.approx(1.0))


def test_the_next_writer_goes_on_in_the_last_segment(store, monkeypatch):
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 6 * ROW)
    commit(store, *many(0, 3))
    commit(store, *many(3, 4))
    assert segment_files(store.folder) == {"00000001.rows": 6 * ROW, "00000002.rows": 6 * ROW}


def test_compaction_gives_back_the_room_and_changes_no_result(store):
    commit(store, *many(0, 8))
    with store.writer() as writer:
        writer.delete_documents([f"{n:02}.pdf" for n in (0, 3, 7)])
    query = unit_vectors(1, 4, seed=5)
    before = found(store, query)
    assert len(before) == 5
    with store.writer() as writer:
        writer.compact()
    assert segment_files(store.folder) == {"00000002.rows": 15 * ROW}
    assert found(store, query) == before
    assert measure(store.folder).bytes_reclaimable == 0


def test_compaction_leaves_full_segments_alone_and_tells_how_far_it_is(store, monkeypatch):
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 6 * ROW)
    commit(store, *many(0, 6))  # 0 and 1 in the first segment, 2 and 3 in the second …
    told = []
    with store.writer() as writer:
        writer.delete_documents(["02.pdf"])
        writer.compact(lambda done, of: told.append((done, of)))
    assert list(segment_files(store.folder)) == ["00000001.rows", "00000003.rows", "00000004.rows"]
    assert told == [(1, 1)]


def test_compaction_keeps_versions_that_are_on_their_way_in(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[X]]))
    commit(store, document("a.pdf", [[Z]], of=2, version="second", finished=False))
    with store.writer() as writer:
        writer.delete_documents(["b.pdf"])
        writer.compact()
    commit(store, document("a.pdf", [page_record(2, [Y])], of=2, version="second"))
    assert found(store, Z) == [("a.pdf#1", 1.0), ("a.pdf#2", 0.0)]


def test_an_index_that_lost_all_its_documents_can_be_compacted_and_filled_again(store):
    commit(store, document("a.pdf", [[X]]))
    with store.writer() as writer:
        writer.delete_documents(["a.pdf"])
        writer.compact()
    assert sum(segment_files(store.folder).values()) == 0
    assert found(store) == []
    commit(store, document("b.pdf", [[Y]]))
    assert found(store, Y) == [("b.pdf#1", 1.0)]


def test_a_page_read_before_a_compaction_stays_readable(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[Y]]))
    page = store.page_of("b.pdf", 1)
    with store.writer() as writer:
        writer.delete_documents(["a.pdf"])
        writer.compact()
    assert page.vectors.decode().tolist() == [Y.tolist()]


def test_transforming_changes_all_rows_and_the_settings_at_once(store):
    commit(store, document("a.pdf", [[X, Y]]), document("b.pdf", [[Y, Z]]))
    settings = store.settings

    def first_only(_, rows):
        return rows[:1], page_record(1, rows[:1]).map

    with store.writer() as writer:
        writer.transform(first_only, settings)
    assert found(store, Y) == [("b.pdf#1", 1.0), ("a.pdf#1", 0.0)]
    assert segment_files(store.folder) == {"00000002.rows": 2 * ROW}


def test_a_transformation_that_fails_changes_nothing(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[Y]]))
    before = segment_files(store.folder)

    def only_a(page, _):
        if page.path == "b.pdf":
            raise ValueError("not b")
        return encode([Z], "float32").rows, page.map

    with store.writer() as writer, pytest.raises(ValueError, match="not b"):
        writer.transform(only_a, store.settings)
    assert segment_files(store.folder) == before
    assert found(store) == [("a.pdf#1", 1.0), ("b.pdf#1", 0.0)]


def test_what_is_damaged_is_not_carried_into_a_new_segment(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[Y]]))
    path = store.folder / "segments" / "00000001.rows"
    path.write_bytes(b"x" + path.read_bytes()[1:])
    with store.writer() as writer:
        writer.delete_documents(["b.pdf"])
        with pytest.raises(DamagedIndexError, match=r"a\.pdf#1 is damaged; run: docpruner verify"):
            writer.compact()


def test_a_second_writer_of_the_same_process_waits_in_vain(store):
    with (
        store.writer(),
        pytest.raises(IndexStateError, match=r"another process is writing.*waited for 0\.1 s"),
        store.writer(wait=0.1),
    ):
        pytest.fail("two writers at once")

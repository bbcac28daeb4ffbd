"""What is special about the folder: what lies on the disk, and what of it is believed."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from docpruner.errors import DamagedIndexError
from docpruner.stores.folder import scoring, segments
from docpruner.stores.folder import store as folder_store
from docpruner.stores.folder.store import FolderStore
from docpruner.types import Filter
from stores.made import (
    X,
    Y,
    Z,
    commit,
    create_folder,
    document,
    documents_of,
    found,
    known,
    made_page,
    page_of,
    segment_files,
    settings_of,
    stats_of,
    unit_vectors,
)

ROW = 16  # bytes of a float32 vector of 4


@pytest.fixture
def store(tmp_path):
    with create_folder(tmp_path / "index") as made:
        yield made


def delete_pages(store: FolderStore, *places: int) -> None:
    with store.writer() as writer:
        rows = writer._run("SELECT id FROM pages ORDER BY segment, start").fetchall()
        writer.delete_pages([rows[place][0] for place in places])


def test_a_document_that_lost_pages_is_no_longer_whole(store):
    commit(store, document("a.pdf", [[X], [Y]]))
    delete_pages(store, 0)
    state = known(store, "a.pdf")
    assert (state.there, state.whole) == ({2}, False)
    assert stats_of(store).missing_pages == 1


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


def test_a_change_that_fails_leaves_no_rows_behind(store):
    commit(store, document("a.pdf", [[X]]))
    before = segment_files(store.folder)
    unwritable = document("c.pdf", [[Z]], metadata={"year": object()})
    with store.writer() as writer, pytest.raises(TypeError, match="not JSON serializable"):
        writer.commit([document("b.pdf", [[Y]]), unwritable])
    assert segment_files(store.folder) == before


def test_pages_are_listed_again_only_after_a_change(store, monkeypatch):
    commit(store, document("a.pdf", [[X]]))
    listed = []
    original = folder_store.list_pages
    monkeypatch.setattr(
        "docpruner.stores.folder.store.list_pages",
        lambda *args, **more: listed.append(1) or original(*args, **more),
    )
    found(store), found(store), documents_of(store)
    assert len(listed) == 1
    commit(store, document("b.pdf", [[X]]))
    assert len(found(store)) == 2
    assert len(listed) == 2


def test_a_reader_keeps_its_rows_when_a_writer_compacts_them_away(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[Y]]))
    with store.reader() as reader:
        assert len(reader.pages()) == 2
        with store.writer() as writer:
            writer.delete(["a.pdf"])
            writer.compact()
        assert reader.page("a.pdf", 1).vectors.decode().tolist() == [X.tolist()]
        (best,) = reader.rank([np.float32([Y])], 5, Filter())
        assert [page.document for page in best] == ["b.pdf", "a.pdf"]


def test_a_reader_that_has_read_nothing_moves_on_to_what_was_compacted(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[Y]]))
    with store.reader() as reader:
        with store.writer() as writer:
            writer.delete(["a.pdf"])
            writer.compact()
        assert reader.page("b.pdf", 1).vectors.decode().tolist() == [Y.tolist()]
        assert [entry.name for entry in reader.documents()] == ["b.pdf"]


CREATE = """
import sys
from docpruner.errors import IndexStateError
from docpruner.stores.folder.store import FolderStore
from docpruner.stores.settings import Settings
print("ready", flush=True)
sys.stdin.read()
try:
    FolderStore.create(sys.argv[1], Settings.new("made", 4, "none", "float32"))
    print("made")
except IndexStateError as error:
    print(error)
"""


def created_at_once(folder, processes: int = 4) -> list[str]:
    """What each of some processes says that were let go at the same time."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", CREATE, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(processes)
    ]
    for process in running:  # each is ready when it says so
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.close()
    outcomes = []
    for process in running:
        with process:
            outcomes.append(process.stdout.read().strip())
    return sorted(outcomes, key=lambda outcome: outcome != "made")


@pytest.mark.parametrize("attempt", range(int(os.environ.get("DOCPRUNER_CREATIONS", "3"))))
def test_of_processes_that_create_an_index_at_once_one_does(tmp_path, attempt):
    outcomes = created_at_once(tmp_path / f"index{attempt}")
    assert len(outcomes) == 4
    assert outcomes[0] == "made"
    assert all("already holds an index" in outcome for outcome in outcomes[1:])
    with FolderStore.open(str(tmp_path / f"index{attempt}")) as store:
        commit(store, document("a.pdf", [[X]]))
        assert found(store) == [("a.pdf#1", 1.0)]


def test_a_renamed_document_stays_verifiable_and_damage_stays_damage(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[Y]]))
    path = store.folder / "segments" / "00000001.rows"
    data = path.read_bytes()
    path.write_bytes(data[:ROW] + b"x" + data[ROW + 1 :])  # of b.pdf
    with store.writer() as writer:
        writer.rename({"a.pdf": "new/a.pdf", "b.pdf": "new/b.pdf"})
    damaged = store.verify(isolate=False)
    assert [(damage.document, damage.page) for damage in damaged] == [("new/b.pdf", 1)]


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
        writer.delete([f"{n:02}.pdf" for n in (0, 3, 7)])
    query = unit_vectors(1, 4, seed=5)
    before = found(store, query)
    assert len(before) == 5
    with store.writer() as writer:
        writer.compact()
    assert segment_files(store.folder) == {"00000002.rows": 15 * ROW}
    assert found(store, query) == before
    assert stats_of(store).bytes_reclaimable == 0


def test_compaction_leaves_full_segments_alone_and_tells_how_far_it_is(store, monkeypatch):
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 6 * ROW)
    commit(store, *many(0, 6))  # 0 and 1 in the first segment, 2 and 3 in the second …
    told = []
    with store.writer() as writer:
        writer.delete(["02.pdf"])
        writer.compact(lambda done, of: told.append((done, of)))
    assert list(segment_files(store.folder)) == ["00000001.rows", "00000003.rows", "00000004.rows"]
    assert told == [(1, 1)]


def test_compaction_keeps_versions_that_are_on_their_way_in(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[X]]))
    commit(store, document("a.pdf", [[Z]], of=2, version="second", finished=False))
    with store.writer() as writer:
        writer.delete(["b.pdf"])
        writer.compact()
    commit(store, document("a.pdf", [made_page(2, [Y])], of=2, version="second"))
    assert found(store, Z) == [("a.pdf#1", 1.0), ("a.pdf#2", 0.0)]


def test_an_index_that_lost_all_its_documents_can_be_compacted_and_filled_again(store):
    commit(store, document("a.pdf", [[X]]))
    with store.writer() as writer:
        writer.delete(["a.pdf"])
        writer.compact()
    assert sum(segment_files(store.folder).values()) == 0
    assert found(store) == []
    commit(store, document("b.pdf", [[Y]]))
    assert found(store, Y) == [("b.pdf#1", 1.0)]


def test_a_page_read_before_a_compaction_stays_readable(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[Y]]))
    page = page_of(store, "b.pdf", 1)
    with store.writer() as writer:
        writer.delete(["a.pdf"])
        writer.compact()
    assert page.vectors.decode().tolist() == [Y.tolist()]


def test_rewriting_leaves_no_old_segment(store):
    commit(store, document("a.pdf", [[X, Y]]), document("b.pdf", [[Y, Z]]))

    def first_only(page):
        kept = made_page(1, page.vectors.decode()[:1])
        return replace(page, vectors=kept.vectors, provenance=kept.provenance)

    with store.writer() as writer:
        writer.rewrite(first_only, writer.settings)
    assert segment_files(store.folder) == {"00000002.rows": 2 * ROW}


def test_a_rewriting_that_fails_leaves_no_new_segment(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[Y]]))
    before = segment_files(store.folder)

    def only_a(page):
        if page.document == "b.pdf":
            raise ValueError("not b")
        return page

    with store.writer() as writer, pytest.raises(ValueError, match="not b"):
        writer.rewrite(only_a, settings_of(codec="int8"))
    assert segment_files(store.folder) == before
    commit(store, document("c.pdf", [[Z]]))
    assert found(store, Z)[0] == ("c.pdf#1", 1.0)


def test_what_is_damaged_is_not_carried_into_a_new_segment(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[Y]]))
    path = store.folder / "segments" / "00000001.rows"
    path.write_bytes(b"x" + path.read_bytes()[1:])
    with store.writer() as writer:
        writer.delete(["b.pdf"])
        with pytest.raises(DamagedIndexError, match=r"a\.pdf#1 is damaged; run: docpruner verify"):
            writer.compact()


# ---------------------------------------------------------------------- passes


@pytest.mark.parametrize("share", [1, 5, 1 << 40])
@pytest.mark.parametrize("segment_rows", [7, 1 << 20])
def test_scores_are_the_same_in_however_many_parts(store, monkeypatch, share, segment_rows):
    """Wherever the work is cut for threads, and wherever segments end."""
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 16 * segment_rows)
    monkeypatch.setattr(scoring, "LEAST", share)
    pages = {n: unit_vectors(1 + n % 4, 4, seed=n) for n in range(20)}
    records = [made_page(n, vectors) for n, vectors in pages.items()]
    commit(store, document("a.pdf", records[:10], of=20, finished=False))
    commit(store, document("a.pdf", records[10:], of=20))
    delete_pages(store, 4, 5, 13)
    query = unit_vectors(1, 4, seed=99)
    for which in (Filter(), Filter(pages=(3, 11)), Filter(pages=(16, 16))):
        first, last = which.pages or (0, 19)
        wanted = {
            f"a.pdf#{n}": pytest.approx((vectors @ query[0]).max(), abs=1e-6)
            for n, vectors in pages.items()
            if first <= n <= last and n not in (4, 5, 13)
        }
        assert dict(found(store, query, 20, which)) == wanted


def test_the_bytes_on_disk_are_those_of_all_files(store):
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[X]]))
    with store.writer() as writer:
        writer.delete(["b.pdf"])
    files = [path for path in store.folder.rglob("*") if path.is_file()]
    stats = stats_of(store)
    assert stats.bytes_on_disk == sum(path.stat().st_size for path in files)
    assert stats.bytes_reclaimable == ROW

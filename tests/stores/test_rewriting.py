"""All pages anew: some at a time, seen at once, gone on with after a stop."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from docpruner.codecs import encode
from docpruner.stores.folder import rewriting, segments
from docpruner.stores.folder import writer as folder_writer
from docpruner.stores.folder.store import FolderStore
from docpruner.types import Filter
from stores.made import (
    commit,
    content_of,
    create_folder,
    document,
    documents_of,
    found,
    made_page,
    page_of,
    segment_files,
    settings_of,
    stats_of,
    unit_vectors,
)

DIM, PAGES = 8, 20
ROUNDED = settings_of(dim=DIM, codec="int8")


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Ten documents of two pages; three pages are rewritten at a time, seven fill a segment."""
    monkeypatch.setattr(rewriting, "BATCH", 3)
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 7 * 3 * 4 * DIM)
    with create_folder(tmp_path / "index", dim=DIM) as made:
        for n in range(10):
            pages = [made_page(m, unit_vectors(3, DIM, seed=2 * n + m)) for m in (1, 2)]
            commit(made, document(f"{n}.pdf", pages, version=str(n)))
        yield made


class Rounding:
    """To int8; stops when it has done so many pages."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after, self.seen = stop_after, []

    def __call__(self, page):
        if len(self.seen) == self.stop_after:
            raise KeyboardInterrupt
        self.seen.append((page.document, page.number))
        return replace(page, vectors=encode(page.vectors.decode(), "int8"))


def rewrite(store: FolderStore, change, settings=ROUNDED) -> None:
    with store.writer() as writer:
        writer.rewrite(change, settings)


def stop(store: FolderStore, after: int) -> Rounding:
    change = Rounding(stop_after=after)
    with pytest.raises(KeyboardInterrupt):
        rewrite(store, change)
    return change


def count(store: FolderStore, table: str) -> int:
    with closing(sqlite3.connect(store.folder / "catalogue.sqlite")) as connection:
        return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def codec_of(store: FolderStore) -> str:
    with store.reader() as reader:
        return reader.settings.codec


def contents(store: FolderStore) -> dict[tuple[str, int], bytes]:
    with store.reader() as reader:
        return {tuple(name): reader.page(*name).vectors.rows.tobytes() for name in reader.pages()}


def test_one_that_was_stopped_goes_on_where_it_was(store):
    before = contents(store)
    first = stop(store, after=8)
    assert contents(store) == before
    assert codec_of(store) == "float32"
    assert count(store, "moved") == 6  # two batches; the third was not finished
    second = Rounding()
    rewrite(store, second)
    assert first.seen[:6] + second.seen == sorted(before)
    assert codec_of(store) == "int8"
    wanted = {
        name: encode(np.frombuffer(rows, np.float32).reshape(-1, DIM), "int8").rows.tobytes()
        for name, rows in before.items()
    }
    assert contents(store) == wanted
    assert count(store, "moved") == count(store, "moved_segments") == 0
    assert sum(segment_files(store.folder).values()) == PAGES * 3 * (DIM + 2)
    assert store.verify() == []


def test_what_is_written_so_far_is_not_counted_as_the_indexs_own(tmp_path, monkeypatch):
    monkeypatch.setattr(rewriting, "BATCH", 100)
    with create_folder(tmp_path / "index", dim=DIM) as store:
        pages = [made_page(n, unit_vectors(40, DIM, seed=n)) for n in range(1, 401)]
        commit(store, document("a.pdf", pages))
        before, size = stats_of(store), catalogue_size(store)

        def ten_only(page):
            if page.number > 350:
                raise KeyboardInterrupt
            kept = made_page(page.number, page.vectors.decode()[:10])
            return replace(page, vectors=kept.vectors, provenance=kept.provenance)

        with pytest.raises(KeyboardInterrupt):
            rewrite(store, ten_only, settings_of(dim=DIM, spec="random:ratio=0.75"))
        after = stats_of(store)
        assert count(store, "moved") == 300
        assert catalogue_size(store) > size + 20_000
        assert abs(after.bytes_besides - before.bytes_besides) <= 2 * 4096


def catalogue_size(store: FolderStore) -> int:
    with closing(sqlite3.connect(store.folder / "catalogue.sqlite")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return (store.folder / "catalogue.sqlite").stat().st_size


def test_readers_see_the_old_or_the_new(store):
    seen = []

    def looking(page):
        with FolderStore.open(store.location) as other:
            seen.append((codec_of(other), len(found(other, unit_vectors(1, DIM)))))
        return Rounding()(page)

    with store.reader() as reader:
        hits = reader.rank([unit_vectors(2, DIM)], 5, Filter())
        rewrite(store, looking)
        assert reader.rank([unit_vectors(2, DIM)], 5, Filter()) == hits
        assert reader.settings.codec == "float32"
    assert set(seen) == {("float32", 10)}
    assert codec_of(store) == "int8"


def test_what_was_taken_over_is_read_before_it_is_written_into_the_pages(store, monkeypatch):
    """As after a kill between the two."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    query = unit_vectors(2, DIM, seed=99)
    with monkeypatch.context() as patched:
        patched.setattr(rewriting, "finish", killed)
        with pytest.raises(KeyboardInterrupt):
            rewrite(store, Rounding())
    assert count(store, "moved") == PAGES
    with FolderStore.open(store.location) as fresh:
        assert codec_of(fresh) == "int8"
        between = contents(fresh), found(fresh, query[0])
        with fresh.reader() as reader:
            stats = reader.stats()
    assert (stats.pages, stats.vectors, stats.bytes_reclaimable) == (PAGES, 3 * PAGES, 0)
    assert store.verify() == []
    commit(store, document("new.pdf", [made_page(1, unit_vectors(3, DIM), codec="int8")]))
    assert count(store, "moved") == 0
    after = contents(store)
    assert {name: rows for name, rows in after.items() if name[0] != "new.pdf"} == between[0]
    assert [hit for hit in found(store, query[0], 50) if hit[0] != "new.pdf#1"][:10] == between[1]


def test_what_changes_meanwhile_is_seen_to(store):
    stop(store, after=12)
    with store.writer() as writer:
        writer.delete(["0.pdf"])
        writer.rename({"1.pdf": "renamed.pdf"})
    commit(store, document("2.pdf", [unit_vectors(3, DIM, seed=77)], version="other"))
    second = Rounding()
    rewrite(store, second)
    assert ("renamed.pdf", 1) in second.seen
    assert ("2.pdf", 1) in second.seen
    assert ("3.pdf", 1) not in second.seen
    assert len(contents(store)) == PAGES - 2 - 1
    assert "0.pdf" not in {entry.name for entry in documents_of(store)}
    assert page_of(store, "renamed.pdf", 1).vectors.codec == "int8"
    assert store.verify() == []
    assert documents_of(store)[0].content_hash == content_of("other")


def test_another_setting_begins_anew_and_compaction_gives_the_room_back(store):
    size = sum(segment_files(store.folder).values())
    stop(store, after=12)
    assert sum(segment_files(store.folder).values()) > size
    rewrite(store, lambda page: page, settings_of(dim=DIM, spec="docpruner:k=0"))
    assert sum(segment_files(store.folder).values()) == size
    assert codec_of(store) == "float32"
    stop(store, after=12)
    with store.writer() as writer:
        writer.compact()
    assert sum(segment_files(store.folder).values()) == size
    assert count(store, "moved") == 0


def test_what_a_full_disk_stopped_gives_its_room_back(store, monkeypatch):
    size = sum(segment_files(store.folder).values())
    append, calls = segments.SegmentWriter.append, []

    def full(self, rows):
        calls.append(rows)
        if len(calls) > 8:
            raise OSError(28, os.strerror(28))
        return append(self, rows)

    monkeypatch.setattr(segments.SegmentWriter, "append", full)
    with pytest.raises(folder_writer.IndexWriteError, match="make room and run again"):
        rewrite(store, Rounding())
    assert sum(segment_files(store.folder).values()) == size
    assert count(store, "moved") == 0
    assert codec_of(store) == "float32"

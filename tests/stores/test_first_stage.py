"""The first stage: what it chooses, how it follows the index, and what happens without it."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from docpruner.errors import DamagedIndexError, SlowSearchWarning
from docpruner.similarities import as_rows
from docpruner.stores.first_stage import centroids as centroids_module
from docpruner.stores.first_stage import inverted_lists
from docpruner.stores.first_stage.centroids import Centroids, centroids_for, train
from docpruner.stores.first_stage.inverted_lists import InvertedLists, Probe
from docpruner.stores.folder import (
    first_stage,
    first_stage_build,
    first_stage_files,
    moment,
    segments,
)
from docpruner.stores.folder import store as folder_store
from docpruner.stores.folder.array_file import read_arrays, write_arrays
from docpruner.stores.folder.catalogue import ADDED
from docpruner.stores.folder.store import FolderStore
from docpruner.stores.records import Tuning
from docpruner.types import Filter
from stores.made import commit, create_folder, document, made_page, unit_vectors

DIM, VECTORS, TOPICS = 16, 6, 40


def page_vectors(seed: int, count: int = VECTORS) -> np.ndarray:
    """Near a few of the same forty topics, as words of real pages are."""
    rng = np.random.default_rng(seed)
    topics = unit_vectors(TOPICS, DIM, seed=12345)
    noise = rng.normal(scale=0.08, size=(count, DIM))
    return (topics[rng.integers(0, TOPICS, count)] + noise).astype(np.float32)


def pages(seeds, codec="float32"):
    return [made_page(n, page_vectors(seed), codec=codec) for n, seed in enumerate(seeds, 1)]


def ranked(store, query, k=10, which=None, **how):
    with store.reader() as reader:
        (best,) = reader.rank([query], k, which or Filter(), **how)
    return [(f"{page.document}#{page.number}", page.score) for page in best]


def query(seed=1):
    return page_vectors(1000 + seed, 5)


@pytest.fixture
def small(monkeypatch):
    """Everything that is large in real indexes, small."""
    monkeypatch.setattr(first_stage_build, "WORTH_IT", 300)
    monkeypatch.setattr(first_stage_build, "OUTSIDE", 60)
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 150 * 4 * DIM)


@pytest.fixture
def store(tmp_path, small):  # noqa: ARG001
    with create_folder(tmp_path / "index", dim=DIM) as made:
        commit(made, *(document(f"{n}.pdf", pages(range(10 * n, 10 * n + 10))) for n in range(20)))
        made.update_first_stage()
        yield made


# ---------------------------------------------------------------------- centroids and lists


def test_centroids_lie_where_the_vectors_are():
    vectors = np.concatenate([page_vectors(seed) for seed in range(300)])
    centroids = train(vectors, 64)
    assert 56 <= len(centroids) <= 64  # never more: their numbers have to fit
    labels, error = centroids.nearest(as_rows(vectors))
    distances = ((vectors[:, None] - centroids.points[None]) ** 2).sum(axis=2)
    assert (labels == distances.argmin(axis=1)).mean() > 0.95
    assert error == pytest.approx(
        distances[np.arange(len(vectors)), labels].sum() / (vectors**2).sum(), rel=1e-3
    )
    assert error < 0.1
    assert centroids.error == pytest.approx(error, rel=0.3)


def test_the_error_of_many_vectors_is_judged_by_some_of_all(monkeypatch):
    monkeypatch.setattr(centroids_module, "JUDGED", 300)
    scattered, near = unit_vectors(400, DIM, seed=1), page_vectors(2, 1200)
    centroids = train(page_vectors(3, 2000), 64)
    _, of_scattered = centroids.nearest(as_rows(scattered))
    _, of_near = centroids.nearest(as_rows(near))
    _, of_both = centroids.nearest(as_rows(np.concatenate([scattered, near])))
    assert of_scattered > 3 * of_near
    assert of_both == pytest.approx((of_scattered + 3 * of_near) / 4, rel=0.1)


def test_few_and_equal_vectors_have_centroids_too():
    assert len(train(np.ones((1, DIM), np.float32), 1)) == 1
    same = train(np.ones((50, DIM), np.float32), 4)
    labels, error = same.nearest(as_rows(np.ones((3, DIM), np.float32)))
    assert len(set(labels.tolist())) == 1
    assert error == pytest.approx(0, abs=1e-6)
    assert [centroids_for(n) for n in (0, 31, 3200, 4_000_000, 10**9)] == [1, 1, 100, 16384, 65536]


def lists_and_probe(each: int, seed: int = 0) -> tuple[InvertedLists, Probe, Centroids]:
    vectors = np.concatenate([page_vectors(s) for s in range(200)])
    centroids = train(vectors, 48)
    labels, _ = centroids.nearest(as_rows(vectors))
    lists = InvertedLists.of(labels, np.full(200, VECTORS), len(centroids))
    inverted_lists.PROBED, before = each, inverted_lists.PROBED
    try:
        return lists, Probe.of(query(seed), centroids), centroids
    finally:
        inverted_lists.PROBED = before


@pytest.mark.parametrize("each", [1, 8, 1000])
def test_gains_are_the_best_owned_centroids_of_each_token(each, monkeypatch):
    lists, probe, centroids = lists_and_probe(each)
    worth = np.zeros((len(probe.centroids), len(centroids)), np.int64)
    np.put_along_axis(worth, probe.centroids.astype(np.int64), probe.worths.astype(np.int64), 1)
    owned = [
        np.flatnonzero(
            [
                page in lists.pages[a:b]
                for a, b in zip(lists.offsets, lists.offsets[1:], strict=False)
            ]
        )
        for page in range(200)
    ]
    wanted = [int(worth[:, own].max(axis=1).sum()) for own in owned]
    assert lists.gains(probe).tolist() == wanted
    monkeypatch.setattr(inverted_lists, "_probe", None)
    assert lists.gains(probe).tolist() == wanted


def test_lists_grow_as_if_made_at_once():
    vectors = np.concatenate([page_vectors(s) for s in range(200)])
    centroids = train(vectors, 48)
    labels, _ = centroids.nearest(as_rows(vectors))
    whole = InvertedLists.of(labels, np.full(200, VECTORS), len(centroids))
    cut = 70 * VECTORS
    first = InvertedLists.of(labels[:cut], np.full(70, VECTORS), len(centroids))
    both = InvertedLists.of(labels[cut:], np.full(130, VECTORS), len(centroids)).after(first)
    assert np.array_equal(both.offsets, whole.offsets)
    assert np.array_equal(both.pages, whole.pages)
    assert both.count == 200


@pytest.mark.parametrize("native", [True, False])
def test_damaged_lists_are_noticed_before_they_are_used(native, monkeypatch):
    lists, probe, _ = lists_and_probe(1000)
    if not native:
        monkeypatch.setattr(inverted_lists, "_probe", None)
    beyond = lists.pages.copy()
    beyond[5] = 60000
    with pytest.raises(DamagedIndexError, match="damaged"):
        InvertedLists(lists.offsets, beyond, 200).gains(probe)
    if native:
        for value in (1 << 30, 0):
            wrong = lists.offsets.copy()
            wrong[7] = value
            with pytest.raises(DamagedIndexError, match="damaged"):
                InvertedLists(wrong, lists.pages, 200).gains(probe)


def test_array_files_come_back_and_damage_is_seen(tmp_path):
    path = tmp_path / "arrays"
    arrays = {"a": np.arange(7, dtype=np.uint16), "b": np.ones((3, 5), np.float32)}
    write_arrays(path, {"error": 0.25}, arrays)
    read = read_arrays(path)
    read.check()
    assert read.values == {"error": 0.25}
    assert all(np.array_equal(read.arrays[name], array) for name, array in arrays.items())
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        try:
            changed = read_arrays(path)
            changed.check()
        except DamagedIndexError:
            continue
        assert whole[place] == 0  # between the arrays
        assert all(np.array_equal(changed.arrays[name], array) for name, array in arrays.items())
    path.write_bytes(whole[:-4])
    with pytest.raises(DamagedIndexError, match="is damaged"):
        read_arrays(path)


# ---------------------------------------------------------------------- in an index


def test_small_indexes_have_none(tmp_path, small):  # noqa: ARG001
    with create_folder(tmp_path / "index", dim=DIM) as store:
        commit(store, document("a.pdf", pages(range(10))))
        store.update_first_stage()
        assert store.first_stage() is None
        assert ranked(store, query(), exact=False) == ranked(store, query())
        store.update_first_stage(renew=True)  # unless it is asked for
        assert store.first_stage().pages == 10


def test_hits_are_exact_scores_and_nearly_the_exact_hits(store):
    state = store.first_stage()
    assert (state.pages, state.pages_outside) == (200, 0)
    assert state.error < 0.2
    found = kept = 0
    for seed in range(20):
        exact = dict(ranked(store, query(seed), k=200))
        staged = ranked(store, query(seed), exact=False, candidates=30)
        assert [score for _, score in staged] == sorted((s for _, s in staged), reverse=True)
        assert all(exact[name] == score for name, score in staged)
        best = [name for name, _ in ranked(store, query(seed))]
        kept += len(set(best) & {name for name, _ in staged})
        found += len(best)
    assert 0.9 < kept / found < 1


def test_candidates_are_narrowed_by_their_vectors_near_the_query(store, monkeypatch):
    """Few are ranked of the many that are looked at, and they are the right ones."""
    monkeypatch.setattr(first_stage, "LEAST_RANKED", 12)
    asked, ranked_pages = [], []
    scored = moment.scores_of

    def counting(listing, queries, chosen):
        ranked_pages.append(sum(int(mask.sum()) for mask in chosen.values()))
        return scored(listing, queries, chosen)

    monkeypatch.setattr(moment, "scores_of", counting)
    kept = 0
    for seed in range(20):
        asked.append({name for name, _ in ranked(store, query(seed), k=5)})
        ranked_pages.clear()
        kept += len(
            asked[-1] & {n for n, _ in ranked(store, query(seed), 5, exact=False, candidates=90)}
        )
        assert ranked_pages[0] in range(12, 20)  # equals stay together
    assert kept / 100 > 0.9


def test_with_as_many_candidates_as_pages_it_is_the_exact_search(store):
    for seed in range(5):
        exact = ranked(store, query(seed))
        assert ranked(store, query(seed), exact=False, candidates=200) == exact
        assert ranked(store, query(seed), exact=False, candidates=199) == exact
        assert ranked(store, query(seed), exact=False, candidates=10_000) == exact


def test_filters_come_first_so_that_few_pages_are_all_scored(store):
    for which in (Filter(documents=("3.pdf",)), Filter(documents=("1*.pdf",), pages=(2, 4))):
        exact = ranked(store, query(), 30, which)
        assert len(exact) in (10, 30)
        assert ranked(store, query(), 30, which, exact=False, candidates=30) == exact


def test_commits_keep_it_up_and_what_it_lacks_is_always_scored(store):
    commit(store, document("new.pdf", pages([777])))
    assert store.first_stage().pages_outside == 1
    target = page_vectors(777)
    assert ranked(store, target, 1, exact=False, candidates=1)[0][0] == "new.pdf#1"
    for n in range(12):
        commit(store, document(f"more{n}.pdf", pages([800 + n])))
    state = store.first_stage()
    assert state.pages + state.pages_outside == 213
    assert state.pages_outside * VECTORS <= 60
    for n in range(12):
        best = ranked(store, page_vectors(800 + n), 1, exact=False, candidates=20)
        assert best[0][0] == f"more{n}.pdf#1"


def test_an_index_that_is_open_sees_what_a_fresh_one_sees(store):
    """Whatever is done to it in between, with and without the lists of the first stage."""
    rng = np.random.default_rng(5)
    names = [f"{n}.pdf" for n in range(20)]
    for step in range(40):
        action = rng.integers(0, 7)
        name = str(rng.choice(names))
        with store.writer() as writer:
            if action == 0:
                names.append(f"s{step}.pdf")
                writer.commit([document(names[-1], pages(rng.integers(0, 10**6, 15)))])
            elif action == 1:
                writer.delete([name])
            elif action == 2:  # another version, page by page, visible when it is whole
                parts = pages(rng.integers(0, 10**6, 4))
                writer.commit([document(name, parts[:2], version=f"v{step}", of=4, finished=False)])
                compare(store)
                rest = [made_page(n, page_vectors(step * 100 + n)) for n in (3, 4)]
                writer.commit([document(name, rest, version=f"v{step}", of=4)])
            elif action == 3:
                names.append(f"r{step}.pdf")
                writer.rename({name: names[-1]})
            elif action == 4:
                writer.compact()
            elif action == 5:
                writer.update_first_stage(renew=bool(rng.integers(0, 2)), progress=None)
            else:
                writer.commit([document(f"one{step}.pdf", pages([step]), version=f"v{step}")])
        compare(store)


def compare(store):
    with FolderStore.open(store.location) as fresh:
        for seed in range(3):
            exact = ranked(fresh, query(seed), 20)
            assert ranked(store, query(seed), 20) == exact
            assert ranked(store, query(seed), 20, exact=False, candidates=10_000) == exact
            staged = ranked(store, query(seed), 20, exact=False, candidates=40)
            assert staged == ranked(fresh, query(seed), 20, exact=False, candidates=40)
        with store.reader() as ours, fresh.reader() as theirs:
            assert sorted(ours.pages()) == sorted(theirs.pages())
            assert ours.documents() == theirs.documents()


@pytest.mark.parametrize("what", ["all", "centroids", "lists", "flipped", "cut", "foreign"])
def test_without_it_or_with_it_damaged_searches_are_exact(store, what):
    place = first_stage_files.generations(store.folder)[-1]
    lists = sorted(path for path in place.iterdir() if path.name.startswith("0000"))
    exact = [ranked(store, query(seed)) for seed in range(4)]
    if what == "all":
        shutil.rmtree(place.parent)
    elif what == "centroids":
        (place / "centroids").write_bytes(b"x")
    elif what == "lists":
        lists[0].unlink()
    elif what == "flipped":
        for path in lists:
            data = bytearray(path.read_bytes())
            data[len(data) // 3] ^= 16
            path.write_bytes(bytes(data))
    elif what == "cut":
        for path in lists:
            path.write_bytes(path.read_bytes()[:-40])
    else:
        for path in lists:
            path.write_bytes(b"DPARRAY1" + bytes(3000))
    with FolderStore.open(store.location) as opened:
        few = [ranked(opened, query(seed), exact=False, candidates=30) for seed in range(4)]
        if what not in ("lists", "flipped"):
            assert few == exact
        for one, best in zip(few, exact, strict=True):
            assert one[0] == best[0]
        opened.update_first_stage()
        assert opened.first_stage().pages == 200


def test_a_large_index_without_it_says_so_once(store, monkeypatch):
    monkeypatch.setattr(folder_store, "WORTH_IT", 300)
    monkeypatch.setattr(folder_store, "OUTSIDE", 60)
    ranked(store, query(), exact=False)
    shutil.rmtree(store.folder / "first_stage")
    with FolderStore.open(store.location) as opened:
        ranked(opened, query())
        with pytest.warns(SlowSearchWarning, match="100% of its vectors are in no list.*compact"):
            ranked(opened, query(), exact=False)
        ranked(opened, query(), exact=False)


def test_verify_finds_damaged_lists_and_takes_them_out(store):
    place = first_stage_files.generations(store.folder)[-1]
    victim = min(path for path in place.iterdir() if path.name.startswith("0000"))
    data = bytearray(victim.read_bytes())
    data[-3] ^= 1  # in the lists, which no search compares with their checksum
    victim.write_bytes(bytes(data))
    with pytest.warns(UserWarning, match=r"first stage .* damaged.*docpruner compact"):
        assert store.verify() == []
    assert not victim.exists()
    with FolderStore.open(store.location) as opened:
        assert opened.first_stage().pages_outside > 0
        assert ranked(opened, query(), exact=False, candidates=30)[0] == ranked(opened, query())[0]


def test_it_is_trained_anew_when_the_index_has_outgrown_it(store):
    before = store.first_stage()
    many = [document(f"g{n}.pdf", pages(range(3000 + 30 * n, 3030 + 30 * n))) for n in range(110)]
    commit(store, *many)
    assert store.first_stage().centroids == before.centroids
    store.update_first_stage()
    after = store.first_stage()
    assert after.centroids >= 4 * before.centroids
    assert after.pages == 3500
    assert len(first_stage_files.generations(store.folder)) == 1


def test_it_is_trained_anew_when_the_pages_are_about_something_else(store):
    before = store.first_stage()
    other = np.random.default_rng(3).normal(size=(40, 30, DIM)).astype(np.float32)
    commit(store, *(document(f"o{n}.pdf", [other[n]]) for n in range(40)))
    assert store.first_stage().error > 1.2 * before.error_when_trained
    store.update_first_stage()
    after = store.first_stage()
    assert after.error <= 1.2 * after.error_when_trained
    assert len(first_stage_files.generations(store.folder)) == 1


def test_a_build_that_was_killed_leaves_the_old_one(store):
    code = f"""
import os
from docpruner.stores.folder import first_stage_build
from docpruner.stores.folder.store import FolderStore
first_stage_build.finish_generation = lambda *_: os._exit(9)
FolderStore.open({store.location!r}).update_first_stage(renew=True)
"""
    before = ranked(store, query(), exact=False, candidates=30)
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert (store.folder / "first_stage" / "new").is_dir()
    with FolderStore.open(store.location) as opened:
        assert ranked(opened, query(), exact=False, candidates=30) == before
        opened.update_first_stage(renew=True)
        assert not (store.folder / "first_stage" / "new").exists()
        assert opened.first_stage().pages == 200


def test_who_reads_an_older_one_reads_on(store):
    with store.reader() as reader:
        before = reader.rank([query()], 10, Filter(), exact=False, candidates=30)
        with FolderStore.open(store.location) as other:
            other.update_first_stage(renew=True)
        assert reader.rank([query()], 10, Filter(), exact=False, candidates=30) == before


def test_what_was_tuned_is_remembered_and_used(store):
    tuning = Tuning(17, 0.99, (0.98, 1.0), 50, 0, 200, 1.5, 20.0)
    store.tune_first_stage(tuning)
    with FolderStore.open(store.location) as opened:
        state = opened.first_stage()
        assert (state.tuning, state.candidates) == (tuning, 17)
        staged = ranked(opened, query(), exact=False)
        assert staged == ranked(opened, query(), exact=False, candidates=17)
        assert len(ranked(opened, query(), 200, exact=False)) == 200


def test_pages_without_end_fill_several_lists(tmp_path, monkeypatch):
    monkeypatch.setattr(first_stage_build, "MOST_PAGES", 30)
    monkeypatch.setattr(first_stage_build, "OUTSIDE", 10)
    with create_folder(tmp_path / "index", dim=DIM) as store:
        commit(store, *(document(f"{n}.pdf", pages([n])) for n in range(100)))
        store.update_first_stage(renew=True)
        commit(store, *(document(f"{n}.pdf", pages([n])) for n in range(100, 111)))
        assert (store.first_stage().pages, store.first_stage().pages_outside) == (111, 0)
        names = first_stage_files.read_blocks(
            first_stage_files.generations(store.folder)[-1], store.first_stage().centroids, {}
        )
        assert [len(block) for blocks in names.values() for block in blocks] == [30, 30, 30, 21]
        for n in (0, 29, 30, 89, 105, 110):
            assert (
                ranked(store, page_vectors(n), 1, exact=False, candidates=8)[0][0] == f"{n}.pdf#1"
            )


def test_a_catalogue_of_the_first_version_gets_what_it_lacks(store):
    """As long as nobody has written to it, it is read as it is."""
    with store.writer() as writer:
        writer.set_metadata({"3.pdf": {"year": 2024, "tags": ["a", "b"]}})
    expected = ranked(store, query())
    store.close()
    with sqlite3.connect(store.folder / "catalogue.sqlite") as old:
        since = ADDED[2] + ADDED[3]
        added = re.findall(r"CREATE (TRIGGER|INDEX|VIEW|TABLE) (\w+)", since)
        for kind, name in added[::-1]:
            old.execute(f"DROP {kind} IF EXISTS {name}")
        old.execute("PRAGMA user_version = 1")
    by_year = Filter(metadata={"year": "2024", "tags": "b"})
    with FolderStore.open(store.location) as opened:
        assert ranked(opened, query(), exact=False) == expected
        assert {name.partition("#")[0] for name, _ in ranked(opened, query(), 20, by_year)} == {
            "3.pdf"
        }
        assert opened.verify() == []
        commit(opened, document("new.pdf", pages([5])))
        assert {name.partition("#")[0] for name, _ in ranked(opened, query(), 20, by_year)} == {
            "3.pdf"
        }
        assert opened.verify() == []
        assert len(ranked(opened, query(), 500)) == 201

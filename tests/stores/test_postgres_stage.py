"""The first stage of an index in PostgreSQL: what it chooses, and how it follows the index."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from docpruner.stores.contract import Staged
from docpruner.stores.locations import create_store, open_store
from docpruner.stores.postgres import candidate_building
from docpruner.stores.postgres.postgres_location import read_location
from docpruner.stores.records import Tuning
from docpruner.types import Filter
from stores.made import commit, document, made_page, settings_of, unit_vectors

DIM, VECTORS, TOPICS, PAGES = 16, 6, 40, 40
TUNED = Tuning(25, 0.99, (0.98, 1.0), 50, 0, 400, 1.5, 9.5)


def page_vectors(seed: int, count: int = VECTORS) -> np.ndarray:
    """Near a few of the same forty topics, as words of real pages are."""
    rng = np.random.default_rng(seed)
    topics = unit_vectors(TOPICS, DIM, seed=12345)
    noise = rng.normal(scale=0.08, size=(count, DIM))
    return (topics[rng.integers(0, TOPICS, count)] + noise).astype(np.float32)


def made(name: str, first: int, **how):
    pages = [made_page(n, page_vectors(first + n)) for n in range(1, PAGES + 1)]
    return document(name, pages, **how)


def query(seed: int = 1) -> np.ndarray:
    return page_vectors(100_000 + seed, 5)


def ranked(store, asked, k=10, which=None, **how):
    with store.reader() as reader:
        (best,) = reader.rank([asked], k, which or Filter(), **how)
    return [(f"{page.document}#{page.number}", page.score) for page in best]


def recall(store, which=None, **how) -> float:
    """Of the exact ten best; whatever is found has its exact score."""
    hits = 0
    for seed in range(10):
        exact = dict(ranked(store, query(seed), which=which))
        found = ranked(store, query(seed), which=which, exact=False, **how)
        everything = dict(ranked(store, query(seed), 10_000, which))
        assert all(everything[name] == score for name, score in found)
        hits += len(exact.keys() & dict(found).keys())
    return hits / 100


@pytest.fixture
def store(postgres, monkeypatch):
    """Four hundred pages, which are many here."""
    monkeypatch.setattr(candidate_building, "WORTH_IT", 600)
    monkeypatch.setattr(candidate_building, "OUTSIDE", 300)
    monkeypatch.setattr(candidate_building, "HELD", 500)
    monkeypatch.setattr(candidate_building, "SENT", 7)
    with create_store(postgres.new_location(), settings_of(dim=DIM)) as made_store:
        for number in range(10):
            metadata = {"even": number % 2 == 0}
            commit(made_store, made(f"{number}.pdf", 100 * number, metadata=metadata))
        yield made_store


def test_a_small_index_has_none_and_is_searched_exactly(store, monkeypatch):
    monkeypatch.setattr(candidate_building, "WORTH_IT", 1_000_000)
    assert isinstance(store, Staged)
    store.update_first_stage()
    assert store.first_stage() is None
    assert recall(store) == 1.0


def test_few_candidates_hold_the_best_pages(store):
    told = []
    store.update_first_stage(progress=lambda *each: told.append(each))
    state = store.first_stage()
    assert (state.pages, state.pages_outside, state.candidates) == (400, 0, 1000)
    assert state.centroids > 16
    assert 0 < state.error < 0.5
    assert told[-1] == (2400, 2400)
    assert recall(store, candidates=60) >= 0.95
    assert 0 < recall(store, candidates=10) < 1.0  # so that it was the lists that chose
    assert recall(store) == 1.0  # a thousand are more than there are
    with open_store(store.location) as again:
        assert ranked(again, query(), candidates=60, exact=False) == ranked(
            store, query(), candidates=60, exact=False
        )


def test_pages_in_no_list_are_always_ranked(store):
    store.update_first_stage()
    best = query(3)
    commit(store, document("new.pdf", [made_page(1, best)]))
    assert store.first_stage().pages_outside == 1
    assert ranked(store, best, 1, exact=False, candidates=1)[0][0] == "new.pdf#1"


def test_the_lists_keep_up_with_what_is_added(store):
    store.update_first_stage()
    commit(store, made("new.pdf", 5000))
    assert store.first_stage().pages_outside == PAGES
    commit(store, made("newer.pdf", 6000))  # now they are more than may be outside
    state = store.first_stage()
    assert (state.pages, state.pages_outside) == (400 + 2 * PAGES, 0)
    assert recall(store, candidates=70) >= 0.95


def test_pages_that_are_gone_take_no_place(store):
    store.update_first_stage()
    with store.writer() as writer:
        writer.delete([f"{number}.pdf" for number in range(6)])
    assert store.first_stage().pages == 160
    found = ranked(store, query(), 30, exact=False, candidates=10)
    assert len(found) == 30
    assert recall(store, candidates=40) >= 0.95


def test_filters_choose_before_the_lists_do(store):
    store.update_first_stage()
    for which in (
        Filter(metadata={"even": True}),
        Filter(pages=(1, 20)),
        Filter(documents=("1*",)),
    ):
        assert recall(store, which, candidates=36) >= 0.9
    assert recall(store, Filter(documents=("1.pdf",), pages=(1, 10)), candidates=10) == 1.0


def test_a_version_on_its_way_in_is_not_found(store):
    store.update_first_stage()
    asked = query(4)
    commit(store, document("1.pdf", [made_page(1, asked)], version="2", of=2, finished=False))
    store.update_first_stage(renew=True)
    best = ranked(store, asked, 5, exact=False, candidates=50)
    assert best == ranked(store, asked, 5)


def test_another_spec_makes_other_lists(store):
    store.update_first_stage()
    with store.writer() as writer:
        writer.rewrite(lambda page: page, replace(writer.settings, spec="random:ratio=0.1"))
    assert store.first_stage() is None
    assert recall(store) == 1.0
    store.update_first_stage()
    assert store.first_stage().pages == 400


def test_what_was_tuned_is_kept_until_it_is_trained_anew(store):
    store.update_first_stage()
    store.tune_first_stage(TUNED)
    with open_store(store.location) as again:
        assert again.first_stage().tuning == TUNED
        assert again.first_stage().candidates == 25
    store.update_first_stage(renew=True)
    assert store.first_stage().tuning is None


def test_a_training_that_is_stopped_leaves_what_was_there(store):
    store.update_first_stage()
    before = store.first_stage()

    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.update_first_stage(renew=True, progress=stop)
    assert store.first_stage() == before
    assert recall(store, candidates=60) >= 0.95


@pytest.mark.parametrize(
    "damage",
    [
        "first_stage SET points = substring(points FROM 5)",
        "first_stage SET tuning = '{}'",
        "first_stage_lists SET pages = substring(pages FROM 2)",
        r"first_stage_lists SET pages = '\xffffffff'",
    ],
)
def test_where_it_is_damaged_searches_are_exact(postgres, store, damage):
    store.update_first_stage()
    schema = read_location(store.location).schema
    table, _, rest = damage.partition(" ")
    postgres.run(f'UPDATE "{schema}".{table} {rest}')
    with open_store(store.location) as again:
        assert recall(again, candidates=10) == 1.0
        again.update_first_stage(renew=True)
        assert recall(again, candidates=60) >= 0.95


def test_readers_of_one_moment_see_its_lists(store):
    store.update_first_stage()
    with store.reader() as reader:
        before = reader.rank([query()], 5, Filter(), exact=False, candidates=50)
        store.update_first_stage(renew=True)
        with store.writer() as writer:
            writer.delete(["0.pdf"])
        assert reader.rank([query()], 5, Filter(), exact=False, candidates=50) == before

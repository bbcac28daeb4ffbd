"""Which stored vectors are nearest to others, and which of others to them."""

import numpy as np
import pytest

from docpruner import similarities
from docpruner.codecs import CODEC_NAMES, encode
from docpruner.similarities import as_rows, best, nearest, turned
from stores.made import unit_vectors

EXACTNESS = {"float32": 1e-6, "float16": 1e-6}


@pytest.fixture(params=[True, False], ids=["native", "numpy"])
def _either(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(similarities, "_maxsim", None)


@pytest.mark.usefixtures("_either")
@pytest.mark.parametrize("codec", CODEC_NAMES)
@pytest.mark.parametrize(
    ("tokens", "rows", "each", "dim"), [(1, 1, 1, 8), (20, 37, 5, 128), (50, 300, 128, 20)]
)
def test_the_best_have_the_largest_products(codec, tokens, rows, each, dim):
    asked, corpus = unit_vectors(tokens, dim, seed=1), encode(unit_vectors(rows, dim), codec)
    products = asked @ corpus.decode().T
    places, values = best(turned(asked, corpus), corpus, each)
    exactness = EXACTNESS.get(codec, 1e-4)
    assert values == pytest.approx(-np.sort(-products, axis=1)[:, :each], abs=exactness)
    assert np.take_along_axis(products, places.astype(int), 1) == pytest.approx(
        values, abs=exactness
    )
    assert all(len(set(row)) == each for row in places.tolist())


def test_many_rows_are_shared_by_threads_and_equals_stand_in_their_order(monkeypatch):
    asked, corpus = unit_vectors(7, 16, seed=1), as_rows(np.tile(unit_vectors(10_000, 16), (3, 1)))
    monkeypatch.setattr(similarities, "usable_cores", lambda: 1)
    alone = best(asked, corpus, 50)
    monkeypatch.setattr(similarities, "usable_cores", lambda: 3)
    together = best(asked, corpus, 50)
    assert np.array_equal(alone[0], together[0])
    assert np.array_equal(alone[1], together[1])
    assert alone[0][0, 0] + 10_000 == alone[0][0, 1]


@pytest.mark.usefixtures("_either")
@pytest.mark.parametrize("codec", CODEC_NAMES)
@pytest.mark.parametrize(("points", "each"), [(1, 1), (5, 5), (256, 1), (300, 4)])
def test_nearest_are_the_points_at_the_least_distance(codec, points, each):
    dim = 32
    lengths = np.linspace(0.5, 2, points)[:, None]  # so that the nearest is no largest product
    centres = (unit_vectors(points, dim, seed=2) * lengths).astype(np.float32)
    corpus = encode(unit_vectors(90, dim, seed=3), codec)
    picks = np.array([89, 3, 3, 0, 41])
    places, values = nearest(turned(centres, corpus), corpus, picks, each)
    vectors = corpus.decode()[picks]
    distances = ((vectors[:, None] - centres[None]) ** 2).sum(axis=2)
    found = (vectors**2).sum(axis=1)[:, None] - 2 * values
    assert found == pytest.approx(np.sort(distances, axis=1)[:, :each], abs=1e-3)
    assert np.take_along_axis(distances, places.astype(int), 1) == pytest.approx(found, abs=1e-3)


def test_of_points_equally_near_the_first_is_taken():
    same = np.ones((4, 8), np.float32)
    places, _ = nearest(same, as_rows(same), np.arange(4), 2)
    assert places.tolist() == [[0, 1]] * 4


def test_the_extension_refuses_rows_outside_its_buffers():
    corpus = as_rows(unit_vectors(3, 8))
    for pick in (3, -1):
        with pytest.raises(ValueError, match="out of range"):
            nearest(unit_vectors(2, 8), corpus, np.array([pick]))
    with pytest.raises(ValueError, match="wrong size"):
        nearest(unit_vectors(2, 8), corpus, np.array([0]), each=3)

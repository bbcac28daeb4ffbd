"""Products of stored vectors with others, and which of these are nearest."""

import numpy as np
import pytest

from docpruner import similarities
from docpruner.codecs import CODEC_NAMES, encode
from docpruner.similarities import as_rows, nearest, products, turned
from stores.made import unit_vectors

EXACTNESS = {"float32": 1e-6, "float16": 1e-6}


@pytest.fixture(params=[True, False], ids=["native", "numpy"])
def _either(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(similarities, "_maxsim", None)


@pytest.mark.usefixtures("_either")
@pytest.mark.parametrize("codec", CODEC_NAMES)
@pytest.mark.parametrize(("tokens", "rows", "dim"), [(1, 1, 8), (20, 37, 128), (50, 9, 20)])
def test_products_are_those_with_what_is_decoded(codec, tokens, rows, dim):
    asked, corpus = unit_vectors(tokens, dim, seed=1), encode(unit_vectors(rows, dim), codec)
    wanted = asked @ corpus.decode().T
    assert products(asked, corpus) == pytest.approx(wanted, abs=EXACTNESS.get(codec, 1e-4))


def test_products_of_many_rows_are_shared_by_threads(monkeypatch):
    monkeypatch.setattr(similarities, "usable_cores", lambda: 3)
    asked, corpus = unit_vectors(7, 16, seed=1), as_rows(unit_vectors(30_001, 16))
    assert products(asked, corpus) == pytest.approx(asked @ corpus.decode().T, abs=1e-6)


@pytest.mark.usefixtures("_either")
@pytest.mark.parametrize("codec", CODEC_NAMES)
@pytest.mark.parametrize(("points", "each"), [(1, 1), (5, 5), (256, 1), (300, 4)])
def test_nearest_are_the_points_at_the_least_distance(codec, points, each):
    dim = 32
    lengths = np.linspace(0.5, 2, points)[
        :, None
    ]  # so that the nearest is no largest product
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

"""Strategies that need no attention, against a naive computation of their rule."""

import numpy as np
import pytest

from docpruner import PageEmbedding, reducer
from docpruner.reduce.unattended import most_covering


def page(vectors):
    vectors = np.asarray(vectors, np.float32)
    return PageEmbedding("a.pdf#1", vectors, np.zeros(len(vectors)), (1, len(vectors)))


def test_what_differs_from_the_page_is_kept_or_dropped():
    three_alike_and_one_not = page([[1, 0], [1, 0.1], [0, 1], [1, 0]])
    unlike = reducer("mean-similarity:ratio=0.75")(three_alike_and_one_not)
    like = reducer("mean-similarity:ratio=0.75,keep=like")(three_alike_and_one_not)
    assert unlike.sources.tolist() == [2]  # mean is (0.75, 0.275): cosine 0.34
    assert like.sources.tolist() == [1]  # 0.97; the other two 0.94


def test_of_two_groups_facility_location_keeps_one_each():
    two_groups = page([[1, 0, 0], [1, 0.01, 0], [1, 0, 0.01], [0, 1, 0.02], [0, 1, 0]])
    kept = reducer("facility-location:ratio=0.6")(two_groups).sources.tolist()
    assert len(kept) == 2
    assert kept[0] in (0, 1, 2)
    assert kept[1] in (3, 4)


def naive(vectors, count):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    likeness = np.maximum(np.round(unit @ unit.T, 9), 0)
    taken = []
    for _ in range(count):
        gains = [
            -1.0 if place in taken else round(likeness[[*taken, place]].max(axis=0).sum(), 7)
            for place in range(len(vectors))
        ]
        taken.append(int(np.argmax(gains)))
    return sorted(taken)


@pytest.mark.parametrize("seed", range(5))
def test_the_lazy_choice_is_the_greedy_one(seed):
    vectors = np.random.default_rng(seed).normal(size=(40, 8))
    for count in (1, 7, 20, 40):
        taken = most_covering(vectors.astype(np.float32), count)
        assert np.flatnonzero(taken).tolist() == naive(vectors.astype(np.float32), count)


def test_importances_play_no_part():
    vectors = np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32)
    for spec in ("mean-similarity:ratio=0.5", "facility-location:ratio=0.5"):
        flat = reducer(spec)(page(vectors))
        steep = reducer(spec)(PageEmbedding("a.pdf#1", vectors, np.arange(30), (1, 30)))
        assert flat.sources.tolist() == steep.sources.tolist()


def test_the_papers_comparison_leaves_them_out():
    pytest.importorskip("ir_measures", reason="the extra eval is not installed")
    from docpruner.evaluate.measuring.methods import read_methods

    paper = {s.method for s in read_methods("paper", (0.1,), prompts=True)}
    everything = {s.method for s in read_methods("all", (0.1,), prompts=True)}
    assert everything - paper == {"mean-similarity", "facility-location"}

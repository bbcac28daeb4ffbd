"""Measures by hand on small rankings, intervals and tests on known distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from docpruner.evaluate.measuring.measures import interval, p_value, per_query

QRELS = {"a": {"p1": 1}, "b": {"p1": 1, "p2": 2}, "c": {"p3": 1}}


def test_measures_of_a_ranking():
    values = per_query({"a": ["p9", "p1"], "b": ["p2", "p1"]}, QRELS, ["a", "b", "c"])
    assert values["ndcg@5"] == pytest.approx([1 / math.log2(3), 1, 0])
    assert values["mrr"] == pytest.approx([0.5, 1, 0])
    assert values["recall@5"] == pytest.approx([1, 1, 0])


def test_a_query_without_results_counts_as_zero():
    values = per_query({"a": ["p1"], "b": []}, QRELS, ["a", "b", "c"])
    assert values["ndcg@5"].tolist() == [1, 0, 0]


def test_equal_scores_stand_as_they_were_ranked():
    first = per_query({"a": ["p1", "p2"]}, QRELS, ["a"])["ndcg@5"]
    second = per_query({"a": ["p2", "p1"]}, QRELS, ["a"])["ndcg@5"]
    assert first > second


def test_the_interval_of_a_mean_is_the_one_of_the_normal_distribution():
    values = np.random.default_rng(1).normal(0.5, 0.2, 400)
    sure = interval(values)
    half = 1.96 * 0.2 / 20
    assert sure.low == pytest.approx(values.mean() - half, abs=0.004)
    assert sure.high == pytest.approx(values.mean() + half, abs=0.004)


def test_one_query_has_no_interval():
    assert interval(np.array([0.3])).low == interval(np.array([0.3])).high == 0.3


def test_p_is_small_for_a_loss_everywhere_and_large_for_noise():
    rng = np.random.default_rng(2)
    base = rng.random(200)
    assert p_value(base - 0.05, base) < 0.01
    assert p_value(base + rng.normal(0, 0.1, 200), base) > 0.05
    assert p_value(base, base) == 1.0

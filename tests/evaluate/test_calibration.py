"""Which setting is chosen, and how honest its promise is, on data whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from docpruner.errors import DataError
from docpruner.evaluate.measuring.calibration import candidates, choose
from docpruner.evaluate.measuring.results import SettingResult

QUERIES = 300


def setting(size: float) -> SettingResult:
    return SettingResult(
        *("docpruner", "adaptive pruning", f"docpruner:k={size}", "float16"),
        measures={"ndcg@5": 0.5},
        score=0.5,
        ci=(0.4, 0.6),
        relative=1.0,
        p=1.0,
        pruned=0.5,
        pruned_by_page={},
        pruned_histogram=[],
        vectors_per_page=1.0,
        bytes_per_page={"float16": size},
        reduce_ms=1.0,
        search_time=1.0,
        entropy_correlation=None,
    )


@pytest.fixture
def base() -> np.ndarray:
    return np.random.default_rng(0).random(QUERIES)


def test_the_smallest_that_keeps_enough_is_chosen(base):
    sizes, kept = (100, 50, 25, 10), (1.0, 0.999, 0.995, 0.9)
    values = [base * share for share in kept]
    choice = choose(list(map(setting, sizes)), values, target=0.99, confidence=0.95)
    assert choice.setting.stored_bytes == 25
    assert (choice.confidence, choice.passing, choice.candidates) == (1.0, 3, 4)
    assert choice.held_out == 1.0
    assert choice.held_out_relative == pytest.approx(0.995)


def test_one_that_is_good_on_average_but_unsure_is_not(base):
    rng = np.random.default_rng(1)
    noisy = np.clip(base * 0.992 + rng.normal(0, 0.3, QUERIES), 0, 1)
    noisy *= 0.992 * base.mean() / noisy.mean()
    settings = [setting(100), setting(10)]
    choice = choose(settings, [base, noisy], target=0.99, confidence=0.95)
    assert choice.setting.stored_bytes == 100
    assert choose(settings, [base, noisy], target=0.99, confidence=0.5).setting is settings[1]


def test_a_choice_among_many_lucky_ones_is_seen_through(base):
    """Two hundred settings that lose 2 % on average, each with luck of its own."""
    rng = np.random.default_rng(2)
    lucky = [base * 0.98 + rng.normal(0, 0.15, QUERIES) for _ in range(200)]
    settings = [setting(1000), *(setting(size) for size in rng.permutation(200) + 1)]
    choice = choose(settings, [base, *lucky], target=0.98, confidence=0.8)
    assert choice.held_out < choice.confidence


def test_too_few_queries_are_refused(base):
    with pytest.raises(DataError, match="19 queries with answers are too few"):
        choose([setting(1)], [base[:19]], target=0.99, confidence=0.95)


def test_without_any_answer_found_there_is_nothing_to_keep(base):
    with pytest.raises(DataError, match="nothing is found even without pruning"):
        choose([setting(1)], [base * 0], target=0.99, confidence=0.95)


def test_candidates_are_pruned_merged_and_rounded():
    specs = list(map(str, candidates()))
    assert specs[0] == "none"
    assert "docpruner:k=-0.25+sem-cluster:factor=2@int8" in specs
    assert "none@int1" in specs
    assert len(specs) == len(set(specs)) == 6 * 3 * 5
    assert replace(setting(1), codec="int8").name == "docpruner:k=1@int8"

"""Which settings a word such as `paper` stands for."""

from __future__ import annotations

import pickle
from collections import Counter

import pytest

from docpruner.errors import SpecError
from docpruner.evaluate.measuring.methods import BASE, read_methods, read_setting

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)


def test_the_paper_has_these_strategies_and_grids():
    settings = read_methods("paper", THRESHOLDS, prompts=True)
    assert settings[0] == BASE
    assert Counter(setting.method for setting in settings) == {
        "none": 1,
        "docpruner": 6,
        "random": 5,
        "attention-ratio": 5,
        "attention-threshold": 5,
        "attention-threshold-nfp": 5,
        "attention-similarity": 10,  # 6 k at the default α, 5 α at the default k
        "pivot-threshold": 14,  # 6 k, 6 k_dup and 4 numbers of pivots around one centre
        "sem-cluster": 5,
        "pool-1d": 5,
        "pool-2d": 4,
    }


def test_all_has_every_combination():
    settings = read_methods("all", THRESHOLDS, prompts=False)
    counts = Counter(setting.method for setting in settings)
    assert counts["attention-similarity"] == 6 * 5
    assert counts["pivot-threshold"] == 6 * 6 * 4
    assert "attention-threshold-nfp" not in counts
    assert len(set(settings)) == len(settings)


def test_signals_has_both_and_chance_at_the_same_ratios():
    counts = Counter(setting.method for setting in read_methods("signals", (), prompts=False))
    assert counts == {
        "none": 1,
        "random": 7,
        "attention-ratio": 7,
        "attention-ratio:signal=centrality": 7,
        "docpruner": 6,
        "docpruner:signal=centrality": 6,
    }


def test_commas_within_a_spec_are_told_from_those_between_two():
    text = "attention-similarity:k=0,alpha=0.5, docpruner:k=0@int8,none"
    settings = read_methods(text, (), prompts=False)
    assert list(map(str, settings)) == [
        "none",
        "attention-similarity:k=0,alpha=0.5",
        "docpruner:k=0@int8",
    ]


@pytest.mark.parametrize("text", ["docpruner:k=0@int3", "dokpruner", "docpruner:k=0,", "@int8"])
def test_what_is_no_setting_is_an_error(text):
    with pytest.raises(SpecError):
        read_methods(text, (), prompts=False)


@pytest.mark.parametrize(
    ("text", "method", "kind"),
    [
        ("docpruner:k=0", "docpruner", "adaptive pruning"),
        ("docpruner:k=0+sem-cluster:factor=2@binary", "docpruner+sem-cluster", "merging"),
        (
            "docpruner:k=0,signal=centrality+sem-cluster:factor=2",
            "docpruner:signal=centrality+sem-cluster",
            "merging",
        ),
    ],
)
def test_a_setting_knows_its_method_and_comes_back_from_another_process(text, method, kind):
    setting = read_setting(text)
    assert (setting.method, setting.kind, str(setting)) == (method, kind, text)
    assert str(pickle.loads(pickle.dumps(setting))) == text

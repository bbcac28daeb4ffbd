import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docpruner.errors import DocPrunerError, ReductionError, SpecError
from docpruner.reduce import STRATEGIES, adaptive_threshold, attention_ratio, pool_2d, reducer
from docpruner.reduce.keep import reduced_page
from docpruner.reduce.strategy import REQUIRED
from docpruner.types import SPECIAL, PageEmbedding

few = settings(
    max_examples=100,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def page(importance, vectors=None, *, grid=None, cells=None, **more):
    count = len(importance)
    return PageEmbedding(
        "scan.pdf#7",
        np.eye(count) if vectors is None else vectors,
        importance,
        grid or (1, count),
        cells,
        **more,
    )


def groups(reduction):
    return [reduction.sources_of(i).tolist() for i in range(len(reduction.vectors))]


# Reading and printing

CANONICAL = [
    "none",
    "random:ratio=0.5",
    "random:ratio=0.5,seed=3",
    "docpruner:k=-0.25",
    "docpruner:k=0",
    "docpruner:k=1",
    "docpruner:k=1e-05",
    "docpruner:k=-0.25,statistics=robust",
    "attention-similarity:k=0,alpha=0.5",
    "attention-similarity:k=0.25,alpha=0.1,scale=minmax",
    "attention-similarity:k=0.25,alpha=0.1,scale=minmax,statistics=robust",
    "pivot-threshold:k=-0.25,k_dup=1,num_pivots=10",
    "pivot-threshold:k=0.5,k_dup=-0.5,num_pivots=20,statistics=robust",
    "attention-ratio:ratio=0.9",
    "attention-threshold:threshold=0.002",
    "attention-threshold-nfp:threshold=0.002",
    "sem-cluster:factor=2",
    "pool-1d:factor=9",
    "pool-1d:factor=9,padding=zero",
    "pool-2d:factor=25",
    "docpruner:k=-0.25+sem-cluster:factor=2",
    "random:ratio=0.1,seed=1+docpruner:k=0+pool-2d:factor=4",
]


@pytest.mark.parametrize("spec", CANONICAL)
def test_a_canonical_spec_is_printed_as_it_was_read(spec):
    assert str(reducer(spec)) == spec


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("random", "random:ratio=0.5"),
        ("docpruner", "docpruner:k=-0.25"),
        ("attention-similarity", "attention-similarity:k=0,alpha=0.5"),
        ("pivot-threshold", "pivot-threshold:k=-0.25,k_dup=1,num_pivots=10"),
        ("pivot-threshold:num_pivots=5", "pivot-threshold:k=-0.25,k_dup=1,num_pivots=5"),
        ("attention-ratio", "attention-ratio:ratio=0.5"),
        ("sem-cluster", "sem-cluster:factor=4"),
        ("pool-1d", "pool-1d:factor=4"),
        ("pool-2d", "pool-2d:factor=4"),
        ("docpruner+sem-cluster", "docpruner:k=-0.25+sem-cluster:factor=4"),
    ],
)
def test_defaults_are_filled_in(short, full):
    assert str(reducer(short)) == full
    assert reducer(short) == reducer(full)


@pytest.mark.parametrize(
    ("spec", "canonical"),
    [
        ("docpruner:k=-0.250", "docpruner:k=-0.25"),
        ("docpruner:k=1.0", "docpruner:k=1"),
        ("docpruner:k=-0", "docpruner:k=0"),
        ("docpruner:k=-25e-2", "docpruner:k=-0.25"),
        ("docpruner:k=0,statistics=paper", "docpruner:k=0"),
        ("docpruner:statistics=robust,k=0", "docpruner:k=0,statistics=robust"),
        (
            " docpruner : k = -0.25 + sem-cluster:factor=2 ",
            "docpruner:k=-0.25+sem-cluster:factor=2",
        ),
        ("sem-cluster:factor=2.0", "sem-cluster:factor=2"),
        ("pool-1d:padding=none", "pool-1d:factor=4"),
        ("random:seed=0", "random:ratio=0.5"),
    ],
)
def test_ways_to_write_the_same_reduction_print_alike(spec, canonical):
    assert str(reducer(spec)) == canonical
    assert reducer(spec) == reducer(canonical)


def test_other_parameters_make_another_reducer():
    assert reducer("docpruner:k=0") != reducer("docpruner:k=0.25")
    assert reducer("docpruner:k=0") != reducer("docpruner:k=0,statistics=robust")
    assert reducer("docpruner") != reducer("docpruner+none")


def values(parameter):
    """What may be written for a parameter."""
    if parameter.choices:
        return st.sampled_from(parameter.choices)
    low, high = max(parameter.low, -1000), min(parameter.high, 1000)
    if parameter.square:
        return st.integers(1, 100).map(lambda side: side * side)
    if parameter.type is int:
        return st.integers(int(low), int(high))
    return st.floats(low, high)


@st.composite
def stages(draw):
    """A strategy with some of its parameters, in any order, and always those without default."""
    strategy = draw(st.sampled_from(list(STRATEGIES.values())))
    parameters = draw(st.permutations(list(strategy.parameters.values())))
    given = {
        parameter.name: draw(values(parameter))
        for parameter in parameters
        if parameter.default is REQUIRED or draw(st.booleans())
    }
    written = ",".join(f"{name}={value}" for name, value in given.items())
    return strategy, given, strategy.name + (":" + written if written else "")


@few
@given(st.lists(stages(), min_size=1, max_size=3))
def test_what_is_printed_reads_back_as_the_same_reduction(drawn):
    read = reducer("+".join(text for _, _, text in drawn))
    assert reducer(str(read)) == read
    assert str(reducer(str(read))) == str(read)


@few
@given(stages())
def test_every_parameter_has_the_value_given_or_its_default(drawn):
    strategy, given, text = drawn
    (stage,) = reducer(text).stages
    assert stage.strategy is strategy
    defaults = {name: parameter.default for name, parameter in strategy.parameters.items()}
    assert dict(stage.values) == {**defaults, **given}
    assert list(dict(stage.values)) == list(strategy.parameters)


def test_whole_numbers_stay_whole_and_others_are_floats():
    values = dict(reducer("pivot-threshold:k=1,num_pivots=5.0").stages[0].values)
    assert [type(values[name]) for name in ("k", "k_dup", "num_pivots")] == [float, float, int]


# Errors list what exists

EVERY_NAME = ", ".join(STRATEGIES)
WRONG = {
    "unknown": ("prune", rf"no strategy 'prune' in 'prune'\..*There are: {EVERY_NAME}$"),
    "misspelt": (
        "docprunner:k=1",
        rf"no strategy 'docprunner' .*Did you mean 'docpruner'\? There are: {EVERY_NAME}$",
    ),
    "misspelt in a pipeline": (
        "docpruner+sem-clusters",
        r"no strategy 'sem-clusters' in 'docpruner\+sem-clusters'\. Did you mean 'sem-cluster'\?",
    ),
    "empty": ("", rf"no strategy '' in ''\. There are: {EVERY_NAME}$"),
    "open end": ("docpruner+", r"no strategy 'docpruner\+' in"),
    "unknown parameter": (
        "docpruner:j=1",
        r"docpruner has no parameter 'j'; it has: k, statistics, floor, signal$",
    ),
    "parameter of another": (
        "sem-cluster:ratio=0.5",
        r"sem-cluster has no parameter 'ratio'; it has: factor$",
    ),
    "parameter where there is none": ("none:k=1", r"none has no parameter 'k'; it has: none$"),
    "missing": (
        "attention-threshold",
        r"attention-threshold needs threshold \(one importance for every page.*\): "
        r"write attention-threshold:threshold=…",
    ),
    "not a number": ("docpruner:k=low", r"docpruner: k=low must be a number$"),
    "not finite": ("docpruner:k=nan", r"docpruner: k=nan must be a number$"),
    "infinite": ("docpruner:k=inf", r"docpruner: k=inf must be a number$"),
    "too low": ("random:ratio=-0.1", r"random: ratio=-0\.1 must be a number from 0 to 1$"),
    "too high": (
        "attention-ratio:ratio=50",
        r"attention-ratio: ratio=50 must be a number from 0 to 1$",
    ),
    "negative": (
        "attention-threshold:threshold=-1",
        r"attention-threshold: threshold=-1 must be a number of at least 0$",
    ),
    "zero factor": (
        "sem-cluster:factor=0",
        r"sem-cluster: factor=0 must be a whole number of at least 1$",
    ),
    "half a factor": ("pool-1d:factor=2.5", r"pool-1d: factor=2\.5 must be a whole number"),
    "not square": (
        "pool-2d:factor=8",
        r"pool-2d: factor=8 must be a square whole number of at least 1$",
    ),
    "no such choice": (
        "docpruner:statistics=median",
        r"docpruner: statistics=median must be paper or robust$",
    ),
    "no such padding": ("pool-1d:padding=same", r"pool-1d: padding=same must be none or zero$"),
    "twice": ("docpruner:k=1,k=2", r"k is given twice in 'docpruner:k=1,k=2'$"),
    "no value": ("docpruner:k=", r"'k=' in 'docpruner:k=' is not parameter=value$"),
    "no name": ("docpruner:=1", r"'=1' in 'docpruner:=1' is not parameter=value$"),
    "no equals sign": ("docpruner:0.5", r"'0\.5' in 'docpruner:0\.5' is not parameter=value$"),
    "comma at the end": ("docpruner:k=1,", r"'' in 'docpruner:k=1,' is not parameter=value$"),
    "colon at the end": (
        "docpruner:",
        r"'docpruner:' ends with a colon; write docpruner or docpruner:parameter=value$",
    ),
}


@pytest.mark.parametrize(("spec", "says"), WRONG.values(), ids=WRONG)
def test_a_wrong_spec_says_what_was_expected(spec, says):
    with pytest.raises(SpecError, match="^" + says):
        reducer(spec)


def test_a_spec_error_is_one_of_ours_and_a_value_error():
    assert issubclass(SpecError, DocPrunerError)
    assert issubclass(SpecError, ValueError)


def test_functions_called_directly_check_their_parameters_too():
    scan = page([1, 2, 3, 4])
    with pytest.raises(SpecError, match="docpruner: k=high must be a number"):
        adaptive_threshold(scan, k="high")
    with pytest.raises(SpecError, match="attention-ratio: ratio=2 must be a number from 0 to 1"):
        attention_ratio(scan, ratio=2)
    with pytest.raises(SpecError, match="pool-2d has no parameter 'size'; it has: factor"):
        pool_2d(scan, size=4)


# What there is


def test_the_strategies_stand_in_the_order_of_the_paper():
    assert {name: each.kind for name, each in STRATEGIES.items() if each.paper} == {
        "none": "base",
        "random": "pruning",
        "docpruner": "adaptive pruning",
        "attention-similarity": "adaptive pruning",
        "pivot-threshold": "adaptive pruning",
        "attention-ratio": "pruning",
        "attention-threshold": "pruning",
        "attention-threshold-nfp": "pruning",
        "sem-cluster": "merging",
        "pool-1d": "merging",
        "pool-2d": "merging",
    }


def test_the_grids_are_those_of_the_paper():
    k, ratios = (-0.5, -0.25, 0, 0.25, 0.5, 1), (0.1, 0.3, 0.5, 0.7, 0.9)
    grids = {
        (strategy.name, parameter.name): parameter.grid
        for strategy in STRATEGIES.values()
        for parameter in strategy.parameters.values()
        if parameter.grid and strategy.paper
    }
    assert grids == {
        ("random", "ratio"): ratios,
        ("docpruner", "k"): k,
        ("attention-similarity", "k"): k,
        ("attention-similarity", "alpha"): ratios,
        ("pivot-threshold", "k"): k,
        ("pivot-threshold", "k_dup"): k,
        ("pivot-threshold", "num_pivots"): (5, 10, 15, 20),
        ("attention-ratio", "ratio"): ratios,
        ("sem-cluster", "factor"): (2, 4, 9, 16, 25),
        ("pool-1d", "factor"): (2, 4, 9, 16, 25),
        ("pool-2d", "factor"): (4, 9, 16, 25),
    }


def test_every_strategy_and_parameter_says_what_it_is():
    for strategy in STRATEGIES.values():
        assert re.fullmatch(r"[A-Z].*[.:]", strategy.summary), strategy.name
        assert all(parameter.help for parameter in strategy.parameters.values()), strategy.name


def test_a_reducer_knows_the_prompt_it_needs():
    assert reducer("attention-threshold:threshold=1").prompt == "default"
    assert reducer("attention-threshold-nfp:threshold=1").prompt == "noise-filtering"
    spec = "random:ratio=0.1+attention-threshold-nfp:threshold=1"
    assert reducer(spec).prompt == "noise-filtering"


# Pipelines


def test_pruning_then_merging_merges_only_what_was_kept():
    # μ = 2 keeps rows 1, 2, 4, 5; windows of two then join 1 with 2 and 4 with 5.
    vectors = [[9], [1], [3], [9], [5], [7]]
    reduction = reducer("docpruner:k=0+pool-1d:factor=2")(page([0, 3, 3, 0, 3, 3], vectors))
    assert groups(reduction) == [[1, 2], [4, 5]]
    assert reduction.vectors.tolist() == [[2], [6]]
    assert reduction.pruned == 1 - 2 / 6  # of the page's patches, not of the four in between


def test_merging_then_pruning_goes_by_the_mean_importance_of_the_merged():
    # Pairs have importance 2, 5, 2: μ = 3 keeps the middle one.
    vectors = [[1], [3], [5], [7], [9], [11]]
    reduction = reducer("pool-1d:factor=2+docpruner:k=0")(page([4, 0, 5, 5, 0, 4], vectors))
    assert groups(reduction) == [[2, 3]]
    assert reduction.vectors.tolist() == [[6]]
    assert reduction.pruned == 1 - 1 / 6


def test_merging_twice_traces_back_to_the_rows_of_the_page():
    # The grid, and the 2×2 windows that become one row each, in order of their first patch:
    #  0  1 | 2  3
    #  4  5 | 6  7
    vectors = np.arange(8.0)[:, None]
    reduction = reducer("pool-2d:factor=4+pool-1d:factor=2")(page([1] * 8, vectors, grid=(2, 4)))
    assert groups(reduction) == [[0, 1, 4, 5, 2, 3, 6, 7]]
    assert reduction.vectors.tolist() == [[3.5]]


def test_windows_of_two_twice_are_windows_of_four():
    vectors = np.arange(10.0)[:, None]
    twice = reducer("pool-1d:factor=2+pool-1d:factor=2")(page([1] * 10, vectors))
    once = reducer("pool-1d:factor=4")(page([1] * 10, vectors))
    assert groups(twice) == groups(once) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert twice.vectors.tolist() == once.vectors.tolist()


def test_three_stages_trace_back_too():
    # Keep 1..6, join 1+2, 3+4, 5+6 (importances 4, 6, 8), keep what is above 6.
    importance = [0, 4, 4, 6, 6, 8, 8, 0]
    reduction = reducer("docpruner:k=-0.5+pool-1d:factor=2+docpruner:k=0")(page(importance))
    assert groups(reduction) == [[5, 6]]
    assert reduction.pruned == 1 - 1 / 8


def test_special_tokens_pass_through_every_stage():
    scan = page(
        [9, 0, 3, 9, 3, 3],
        [[7, 7], [1, 0], [2, 0], [8, 8], [4, 0], [6, 0]],
        grid=(2, 2),
        cells=[SPECIAL, 0, 1, SPECIAL, 2, 3],
    )
    reduction = reducer("docpruner:k=0+pool-1d:factor=2")(scan)  # μ = 9 / 4
    assert groups(reduction) == [[0], [2, 4], [3], [5]]
    assert reduction.special.tolist() == [True, False, True, False]
    assert reduction.vectors.tolist() == [[7, 7], [3, 0], [8, 8], [6, 0]]
    assert reduction.pruned == 1 - 2 / 4


def test_a_merged_patch_has_the_box_around_its_patches_and_the_cell_of_the_first():
    # Cells 1, 2 of the first row and 5 below cell 1; the last patch, cell 7, stays alone.
    scan = page([1, 2, 6, 4], grid=(2, 4), cells=[1, 2, 5, 7])
    merged = reduced_page(scan, reducer("pool-1d:factor=3")(scan))
    assert merged.importance.tolist() == [3, 4]  # (1 + 2 + 6) / 3
    assert merged.cells.tolist() == [1, 7]
    assert merged.boxes.tolist() == [[0.25, 0, 0.75, 1], [0.75, 0.5, 1, 1]]
    assert merged.grid == (2, 4)


def test_later_stages_see_grid_prompt_and_global_vector():
    scan = page(
        [1, 2, 3, 4],
        [[0, 1], [1, 0], [1, 0], [0, 1]],
        grid=(2, 2),
        global_vector=[1, 0],
        prompt="noise-filtering",
    )
    # Rows 1, 2, 3 exceed 1; of their cosines 1, 1, 0 the first two exceed 2/3; one window has both.
    spec = "attention-threshold-nfp:threshold=1+attention-similarity:alpha=0+pool-2d:factor=4"
    assert groups(reducer(spec)(scan)) == [[1, 2]]
    spec = "docpruner:k=0+attention-threshold-nfp:threshold=3"
    assert groups(reducer(spec)(scan)) == [[3]]


def test_a_later_stage_names_the_page_it_refuses():
    with pytest.raises(ReductionError, match=r"page scan\.pdf#7: attention-similarity needs"):
        reducer("attention-ratio:ratio=0.5+attention-similarity")(page([1, 2, 3, 4]))


@pytest.mark.parametrize(("spec", "same"), [("docpruner:k=+0.5", 0.5), ("docpruner:k=1e+1", 10)])
def test_a_plus_in_a_number_does_not_join(spec, same):
    assert reducer(spec) == reducer(f"docpruner:k={same}")


def test_reducers_can_be_keys():
    assert len({reducer("none"), reducer("none"), reducer("docpruner")}) == 2


def test_large_seeds_stay_exact():
    assert str(reducer("random:seed=9007199254740993")).endswith("seed=9007199254740993")

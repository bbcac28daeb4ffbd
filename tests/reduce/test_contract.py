"""What every strategy promises, on pages of every kind."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docpruner.reduce import STRATEGIES, reducer
from docpruner.types import SPECIAL, PageEmbedding

pytestmark = pytest.mark.filterwarnings("ignore::docpruner.errors.PruningWarning")

K = (-0.5, -0.25, 0, 0.25, 0.5, 1)
RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9)

PRUNING = [
    "none",
    *(f"docpruner:k={k}" for k in (*K, -100, 100)),
    "docpruner:k=-0.25,statistics=robust",
    *(f"random:ratio={ratio},seed=7" for ratio in (*RATIOS, 0, 1)),
    *(f"attention-ratio:ratio={ratio}" for ratio in (*RATIOS, 0, 1)),
    *(f"attention-threshold:threshold={threshold}" for threshold in (0, 0.03, 9)),
    *(f"attention-threshold-nfp:threshold={threshold}" for threshold in (0, 0.03, 9)),
    *(f"attention-similarity:k={k},alpha={a}" for k, a in zip(K, (*RATIOS, 1), strict=True)),
    "attention-similarity:k=0,alpha=0",
    "attention-similarity:k=0,alpha=0.5,scale=minmax",
    "attention-similarity:k=-0.25,alpha=0.5,scale=minmax,statistics=robust",
    *(f"pivot-threshold:k={k},k_dup=1,num_pivots=10" for k in K),
    *(
        f"pivot-threshold:k=-1,k_dup={k_dup},num_pivots={pivots}"
        for k_dup, pivots in zip(K, (1, 2, 5, 15, 20, 1000), strict=True)
    ),
    "pivot-threshold:k=-0.25,k_dup=1,num_pivots=1,statistics=robust",
    *(f"mean-similarity:ratio={ratio}" for ratio in (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1)),
    "mean-similarity:ratio=0.5,keep=like",
    *(f"facility-location:ratio={ratio}" for ratio in (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1)),
    "docpruner:k=-0.25+attention-ratio:ratio=0.5",
    "random:ratio=0.3+pivot-threshold:k=0,k_dup=0,num_pivots=1",
]
MERGING = [
    *(f"sem-cluster:factor={factor}" for factor in (1, 2, 4, 9, 16, 25, 1000)),
    *(f"pool-1d:factor={factor}" for factor in (1, 2, 4, 9, 16, 25, 1000)),
    *(f"pool-1d:factor={factor},padding=zero" for factor in (1, 4, 1000)),
    *(f"pool-2d:factor={factor}" for factor in (1, 4, 9, 16, 25, 10_000)),
]
PRUNING_THEN_MERGING = [
    "docpruner:k=-0.25+sem-cluster:factor=2",
    "attention-ratio:ratio=0.5+pool-2d:factor=4",
    "random:ratio=0.3+pool-1d:factor=3",
]
MERGING_THEN_PRUNING = ["pool-2d:factor=4+docpruner:k=0", "sem-cluster:factor=2+random:ratio=0.5"]
MERGING_TWICE = ["pool-1d:factor=2+sem-cluster:factor=2+pool-2d:factor=9"]
MEANS = MERGING + PRUNING_THEN_MERGING + MERGING_THEN_PRUNING
ALL = PRUNING + MEANS + MERGING_TWICE


def embedding(vectors, importance, grid, cells=None, *, name="drawn"):
    """A page that has what any strategy may ask for."""
    towards = np.linspace(1, -1, np.shape(vectors)[1])
    return PageEmbedding(
        name,
        vectors,
        importance,
        grid,
        cells,
        global_vector=towards,
        prompt="noise-filtering",
    )


def _normal(*shape):
    return np.random.default_rng(1).normal(size=shape)


EDGES = {
    "one patch": ([[0.6, 0.8]], [0.5], (1, 1)),
    "one patch without importance": ([[0.6, 0.8]], [0], (1, 1)),
    "one patch among special tokens": (_normal(3, 2), [1, 0, 2], (4, 4), [-1, 5, -1]),
    "two patches": (np.eye(2), [0.25, 0.75], (1, 2)),
    "equal importances": (_normal(12, 8), np.full(12, 0.1), (3, 4)),
    "no importance": (_normal(12, 8), np.zeros(12), (3, 4)),
    "blank, equal vectors": (np.full((30, 8), 0.3), _normal(30) ** 2, (5, 6)),
    "blank, equal in everything": (np.full((30, 8), 0.3), np.full(30, 0.1), (5, 6)),
    "blank, zero vectors": (np.zeros((9, 4)), np.zeros(9), (3, 3)),
    "one patch has all the attention": (_normal(16, 4), np.eye(16)[3], (4, 4)),
    "one column": (_normal(26, 4), _normal(26) ** 2, (26, 1)),
    "one row": (_normal(26, 4), _normal(26) ** 2, (1, 26)),
    "one shared cell": (_normal(7, 4), _normal(7) ** 2, (2, 3), [4] * 7),
    "opposite vectors": (np.kron(_normal(4, 3), [[1], [-1]]), np.arange(8), (2, 4)),
    "special tokens at both ends and between": (
        _normal(9, 4),
        np.arange(9),
        (2, 3),
        [-1, -1, 0, 1, -1, 2, 3, 5, -1],
    ),
}
EDGE_PAGES = [embedding(*arrays, name=name) for name, arrays in EDGES.items()]

VECTORS = {
    "random": lambda random, shape: random.normal(size=shape),
    "clustered": lambda random, shape: (
        random.normal(size=(3, shape[1]))[random.integers(0, 3, shape[0])]
        + 0.1 * random.normal(size=shape)
    ),
    "repeated": lambda random, shape: random.normal(size=(3, shape[1]))[
        random.integers(0, 3, shape[0])
    ],
    "equal": lambda random, shape: np.repeat(random.normal(size=(1, shape[1])), shape[0], axis=0),
    "some zero": lambda random, shape: (
        random.normal(size=shape) * random.integers(0, 2, (shape[0], 1))
    ),
}
IMPORTANCES = {
    "skewed": lambda random, count: random.exponential(size=count) ** 2 / count,
    "tied": lambda random, count: random.integers(0, 3, count) / 100,
    "equal": lambda _, count: np.full(count, 1 / count),
    "one sink": lambda random, count: (
        1e-3 * random.random(count) + np.eye(count)[random.integers(count)]
    ),
}


@st.composite
def pages(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    if draw(st.booleans()):
        cells = np.arange(rows * columns)
    else:  # holes, and cells that several vectors share
        cells = random.integers(0, rows * columns, size=random.integers(1, 40))
    specials = draw(st.integers(0, 4))
    cells = np.insert(cells, random.integers(0, len(cells) + 1, specials), SPECIAL)
    shape = len(cells), draw(st.sampled_from([1, 2, 16, 128]))
    vectors = VECTORS[draw(st.sampled_from(list(VECTORS)))](random, shape)
    importance = IMPORTANCES[draw(st.sampled_from(list(IMPORTANCES)))](random, len(cells))
    return embedding(vectors, importance, (rows, columns), cells)


def on_every_page(fact):
    """Check `fact(spec, page)` on the edge cases by name, then on drawn pages."""
    on_drawn_pages = settings(
        max_examples=4, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
    )(given(page=pages())(fact))

    def test(spec):
        for page in EDGE_PAGES:
            fact(spec, page)
        on_drawn_pages(spec)

    return test


def groups(reduction):
    return [reduction.sources_of(i).tolist() for i in range(len(reduction.vectors))]


def fields(page):
    return [page.vectors, page.importance, page.cells, page.boxes, page.global_vector]


def outcome(reduction):
    """A reduction, to the bit."""
    arrays = [reduction.vectors, reduction.sources, reduction.offsets, reduction.special]
    return [array.tobytes() for array in arrays]


def without_specials(page):
    rows = page.patches
    return embedding(
        page.vectors[rows], page.importance[rows], page.grid, page.cells[rows], name=page.name
    )


@pytest.mark.parametrize("spec", ALL)
@on_every_page
def test_a_reduction_fits_together_and_says_whose_it_is(spec, page):
    reduction = reducer(spec)(page)
    stored = len(reduction.vectors)
    assert reduction.name == page.name
    assert reduction.page_patches == len(page.patches)
    assert reduction.vectors.shape == (stored, page.dim)
    assert reduction.vectors.dtype == np.float32
    assert reduction.sources.dtype == reduction.offsets.dtype == np.int32
    assert reduction.special.dtype == np.bool_
    assert reduction.special.shape == (stored,)
    assert reduction.offsets.shape == (stored + 1,)


@pytest.mark.parametrize("spec", ALL)
@on_every_page
def test_at_least_one_patch_stays_and_never_more_than_there_were(spec, page):
    reduction = reducer(spec)(page)
    assert 1 <= reduction.patches <= len(page.patches)
    assert reduction.pruned == 1 - reduction.patches / len(page.patches)


@pytest.mark.parametrize("spec", ALL)
@on_every_page
def test_stored_vectors_are_finite_and_read_only(spec, page):
    reduction = reducer(spec)(page)
    assert np.isfinite(reduction.vectors).all()
    arrays = [reduction.vectors, reduction.sources, reduction.offsets, reduction.special]
    assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize("spec", ALL)
@on_every_page
def test_the_same_page_gives_the_same_bits_and_is_left_untouched(spec, page):
    before = [array.copy() for array in fields(page)]
    first = reducer(spec)(page)
    vectors, importance, cells, *_ = before
    again = reducer(spec)(embedding(vectors, importance, page.grid, cells, name=page.name))
    assert outcome(first) == outcome(again)
    assert [a.tobytes() for a in fields(page)] == [a.tobytes() for a in before]


@pytest.mark.parametrize("spec", ALL)
@on_every_page
def test_special_tokens_pass_through_in_order_to_the_bit(spec, page):
    reduction = reducer(spec)(page)
    rows = np.flatnonzero(page.cells == SPECIAL)
    assert reduction.vectors[reduction.special].tobytes() == page.vectors[rows].tobytes()
    passed = [reduction.sources_of(i).tolist() for i in np.flatnonzero(reduction.special)]
    assert passed == [[row] for row in rows]


@pytest.mark.parametrize("spec", ALL)
@on_every_page
def test_special_tokens_change_nothing_for_the_patches(spec, page):
    with_them, without = reducer(spec)(page), reducer(spec)(without_specials(page))
    assert with_them.vectors[~with_them.special].tobytes() == without.vectors.tobytes()
    assert with_them.pruned == without.pruned
    of_patches = [group for group in groups(with_them) if group[0] in page.patches]
    assert of_patches == [page.patches[group].tolist() for group in groups(without)]


@pytest.mark.parametrize("spec", ALL)
@on_every_page
def test_every_source_is_a_row_of_the_page_and_feeds_one_vector(spec, page):
    reduction = reducer(spec)(page)
    assert (reduction.offsets[0], reduction.offsets[-1]) == (0, len(reduction.sources))
    assert (np.diff(reduction.offsets) >= 1).all()
    used = reduction.sources.tolist()
    assert len(set(used)) == len(used)
    assert set(used) <= set(range(len(page.vectors)))


@pytest.mark.parametrize("spec", ALL)
@on_every_page
def test_vectors_stand_in_the_order_of_their_first_source(spec, page):
    found = groups(reducer(spec)(page))
    firsts = [group[0] for group in found]
    assert firsts == [min(group) for group in found]
    assert firsts == sorted(firsts)


@pytest.mark.parametrize("spec", PRUNING)
@on_every_page
def test_pruning_stores_vectors_of_the_page_to_the_bit(spec, page):
    reduction = reducer(spec)(page)
    assert len(reduction.sources) == len(reduction.vectors)
    assert reduction.vectors.tobytes() == page.vectors[reduction.sources].tobytes()


@pytest.mark.parametrize("spec", MERGING + MERGING_TWICE)
@on_every_page
def test_merging_loses_no_patch(spec, page):
    assert sorted(reducer(spec)(page).sources) == list(range(len(page.vectors)))


@pytest.mark.parametrize("spec", MEANS)
@on_every_page
def test_a_merged_vector_is_the_mean_of_its_sources(spec, page):
    reduction = reducer(spec)(page)
    means = np.array([page.vectors[g].mean(axis=0, dtype=np.float64) for g in groups(reduction)])
    shown = np.ones(len(means), bool)
    if "padding=zero" in spec:  # the short last window shrinks; see test_strategies
        shown[np.flatnonzero(~reduction.special)[-1]] = False
    np.testing.assert_allclose(reduction.vectors[shown], means[shown], rtol=1e-6, atol=1e-6)


def test_every_strategy_is_under_this_contract():
    assert {reducer(spec).stages[0].strategy.name for spec in ALL} == set(STRATEGIES)


def test_every_value_the_paper_tried_is_under_this_contract():
    tried = {
        (stage.strategy.name, name, value)
        for spec in ALL
        for stage in reducer(spec).stages
        for name, value in stage.values
    }
    grids = {
        (strategy.name, parameter.name, value)
        for strategy in STRATEGIES.values()
        for parameter in strategy.parameters.values()
        for value in parameter.grid
    }
    assert grids <= tried

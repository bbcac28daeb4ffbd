"""Each strategy equals the paper's rule written as plain loops over Python floats.

The package may vectorise, sort and take short cuts; these loops may not. A page on which rounding
alone would decide is skipped: exact ties are in test_strategies.
"""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from docpruner.reduce import reducer
from docpruner.types import SPECIAL, PageEmbedding

pytestmark = pytest.mark.filterwarnings("ignore::docpruner.errors.PruningWarning")

few = settings(
    max_examples=100, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
ks = st.sampled_from([-0.5, -0.25, 0.0, 0.25, 0.5, 1.0])
factors = st.sampled_from([2, 3, 4, 9, 16, 25])
square_factors = st.sampled_from([1, 4, 9, 16, 25])


@st.composite
def pages(draw, most=24):
    """Skewed or tied importances, vectors in loose clusters, special tokens in between."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, rows, columns = draw(st.integers(1, most)), *random.integers(1, 7, 2)
    cells = random.integers(0, rows * columns, count)
    cells = np.insert(cells, random.integers(0, count + 1, draw(st.integers(0, 3))), SPECIAL)
    dim = random.integers(2, 7)
    centres = random.normal(size=(4, dim))
    vectors = centres[random.integers(0, 4, len(cells))] + random.normal(size=(len(cells), dim))
    importance = random.exponential(size=len(cells)) ** 3
    if draw(st.booleans()):
        importance = random.integers(0, 6, len(cells)) / 8
    return PageEmbedding(
        "page.png",
        vectors,
        importance,
        (rows, columns),
        cells,
        global_vector=random.normal(size=dim),
        prompt="noise-filtering",
    )


# The paper in loops


def patches_of(page):
    """What the paper calls the page: rows, importances and vectors of its patches, as floats."""
    rows = [row for row, cell in enumerate(page.cells.tolist()) if cell != SPECIAL]
    importance, vectors = page.importance.tolist(), page.vectors.tolist()
    return rows, [importance[row] for row in rows], [vectors[row] for row in rows]


def tau(scores, k):
    total = 0.0
    for score in scores:
        total += score
    mean = total / len(scores)
    squares = 0.0
    for score in scores:
        squares += (score - mean) ** 2
    return mean + k * math.sqrt(squares / len(scores))


def percentile(scores, fraction):
    """Linear interpolation between the two nearest of the sorted scores."""
    ordered = sorted(scores)
    place = (len(ordered) - 1) * fraction
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def robust_tau(scores, k):
    q1, q3 = percentile(scores, 0.25), percentile(scores, 0.75)
    return tau([min(score, q3 + 3 * (q3 - q1)) for score in scores], k)


def clear_of(scores, threshold, margin):
    """Whether no rounding can move a score across the threshold; one score has none to cross."""
    return len(scores) == 1 or all(abs(score - threshold) > margin for score in scores)


def exceeding(scores, threshold):
    """Places of the scores above the threshold, or of the highest if none is."""
    kept = []
    for j, score in enumerate(scores):
        if score > threshold:
            kept.append(j)
    if not kept:
        best = 0
        for j, score in enumerate(scores):
            if score > scores[best]:
                best = j
        kept = [best]
    return kept


def dot(a, b):
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def cosine(a, b):
    return dot(a, b) / math.sqrt(dot(a, a) * dot(b, b))


def mean(vectors, divisor=None):
    total = [0.0] * len(vectors[0])
    for vector in vectors:
        for i, x in enumerate(vector):
            total[i] += x
    return [x / (divisor or len(vectors)) for x in total]


def assert_keeps(page, spec, kept):
    """`kept` are places among the patches; the special tokens stay anyway."""
    rows = patches_of(page)[0]
    specials = [row for row, cell in enumerate(page.cells.tolist()) if cell == SPECIAL]
    expected = sorted([rows[j] for j in kept] + specials)
    assert reducer(spec)(page).sources.tolist() == expected


def assert_merges(page, spec, groups, divisors=None):
    """`groups` are lists of places among the patches."""
    rows, _, vectors = patches_of(page)
    reduction = reducer(spec)(page)
    found = {}
    for i in range(len(reduction.vectors)):
        if not reduction.special[i]:
            found[tuple(reduction.sources_of(i).tolist())] = reduction.vectors[i].tolist()
    divisors = divisors or [len(group) for group in groups]
    expected = {
        tuple(rows[j] for j in sorted(group)): mean([vectors[j] for j in group], divisor)
        for group, divisor in zip(groups, divisors, strict=True)
    }
    assert set(found) == set(expected)
    for group, vector in expected.items():
        assert found[group] == pytest.approx(vector, rel=1e-5, abs=1e-6)


# The method


@few
@given(pages(), ks | st.floats(-2, 2))
def test_docpruner_is_algorithm_1(page, k):
    _, importance, _ = patches_of(page)
    threshold = tau(importance, k)
    assume(clear_of(importance, threshold, 1e-9))
    assert_keeps(page, f"docpruner:k={k!r}", exceeding(importance, threshold))


@few
@given(st.lists(st.integers(0, 5), min_size=2, max_size=24), st.integers(1, 8))
def test_docpruner_at_k_0_keeps_what_is_strictly_above_the_mean(quarters, repeats):
    # Sums of quarters are exact, and so is the tie with a mean that is itself a quarter.
    importance = [quarter / 4 for quarter in quarters] * repeats
    count = len(importance)
    page = PageEmbedding("page.png", np.ones((count, 1)), importance, (1, count))
    assert_keeps(page, "docpruner:k=0", exceeding(importance, sum(importance) / count))


@few
@given(pages(), ks | st.floats(-2, 2))
def test_robust_statistics_clip_at_the_third_quartile_plus_three_ranges(page, k):
    _, importance, _ = patches_of(page)
    threshold = robust_tau(importance, k)
    assume(clear_of(importance, threshold, 1e-9))
    spec = f"docpruner:k={k!r},statistics=robust"
    assert_keeps(page, spec, exceeding(importance, threshold))


# The other ways to prune


@few
@given(pages(), st.integers(0, 10))
def test_attention_ratio_takes_away_the_least_important_one_by_one(page, tenths):
    _, importance, _ = patches_of(page)
    left = list(range(len(importance)))
    for _ in range(len(importance) * tenths // 10):
        if len(left) == 1:
            break
        least = left[0]
        for j in left:
            if importance[j] <= importance[least]:  # of equals the later goes
                least = j
        left.remove(least)
    assert_keeps(page, f"attention-ratio:ratio={tenths / 10}", left)


@few
@given(pages(), st.integers(0, 10))
def test_random_drops_as_many_as_attention_ratio(page, tenths):
    reduction = reducer(f"random:ratio={tenths / 10}")(page)
    count = len(patches_of(page)[0])
    assert reduction.patches == max(1, count - count * tenths // 10)


@few
@given(
    pages(),
    st.sampled_from([0.0, 0.125, 0.25, 0.625, 2.0, 1e9]),
    st.sampled_from(["attention-threshold", "attention-threshold-nfp"]),
)
def test_attention_threshold_compares_with_one_constant(page, threshold, name):
    _, importance, _ = patches_of(page)
    assert_keeps(page, f"{name}:threshold={threshold:.17g}", exceeding(importance, threshold))


def similarity_scores(page, alpha, scale):
    _, importance, vectors = patches_of(page)
    towards = page.global_vector.tolist()
    likeness = [cosine(vector, towards) for vector in vectors]
    if scale == "minmax":
        importance, likeness = stretched(importance), stretched(likeness)
    return [
        alpha * attention + (1 - alpha) * cos
        for attention, cos in zip(importance, likeness, strict=True)
    ]


def stretched(values):
    low, high = min(values), max(values)
    assume(high == low or high - low > 0.01)  # or the stretch would magnify the rounding
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]


@few
@given(
    pages(),
    ks,
    st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]),
    st.sampled_from(["paper", "minmax"]),
    st.sampled_from(["paper", "robust"]),
)
def test_attention_similarity_thresholds_the_weighted_sum(page, k, alpha, scale, statistics):
    scores = similarity_scores(page, alpha, scale)
    threshold = {"paper": tau, "robust": robust_tau}[statistics](scores, k)
    assume(clear_of(scores, threshold, 1e-4))
    spec = f"attention-similarity:k={k},alpha={alpha},scale={scale},statistics={statistics}"
    assert_keeps(page, spec, exceeding(scores, threshold))


@few
@given(
    pages(),
    ks | st.just(-2.0),
    ks,
    st.sampled_from([1, 2, 3, 5, 10]),
    st.sampled_from(["paper", "robust"]),
)
def test_pivot_threshold_drops_what_repeats_a_pivot(page, k, k_dup, num_pivots, statistics):
    _, importance, vectors = patches_of(page)
    threshold = {"paper": tau, "robust": robust_tau}[statistics](importance, k)
    assume(clear_of(importance, threshold, 1e-9))
    important = exceeding(importance, threshold)
    pivots = []
    while len(pivots) < min(num_pivots, len(important)):
        best = None
        for j in important:
            if j not in pivots and (best is None or importance[j] > importance[best]):
                best = j
        pivots.append(best)
    others = [j for j in important if j not in pivots]
    kept = list(pivots)
    if others:
        duplication = [max(cosine(vectors[j], vectors[pivot]) for pivot in pivots) for j in others]
        threshold = tau(duplication, k_dup)
        assume(clear_of(duplication, threshold, 1e-5))
        for j, likeness in zip(others, duplication, strict=True):
            if len(others) == 1 or not likeness > threshold:
                kept.append(j)
    spec = f"pivot-threshold:k={k},k_dup={k_dup},num_pivots={num_pivots},statistics={statistics}"
    assert_keeps(page, spec, kept)


# Merging


def ward(vectors, clusters):
    """Agglomeration by Lance and Williams, on distances of 1 - cosine."""
    groups = [[j] for j in range(len(vectors))]
    distance = [[1 - cosine(a, b) for b in vectors] for a in vectors]
    while len(groups) > clusters:
        pairs = sorted((distance[a][b], a, b) for b in range(len(groups)) for a in range(b))
        nearest, a, b = pairs[0]
        assume(len(pairs) == 1 or pairs[1][0] - nearest > 1e-5)
        size_a, size_b = len(groups[a]), len(groups[b])
        for c, group in enumerate(groups):
            if c in (a, b):
                continue
            size = len(group)
            squares = (
                (size_a + size) * distance[a][c] ** 2
                + (size_b + size) * distance[b][c] ** 2
                - size * nearest**2
            )
            distance[a][c] = distance[c][a] = math.sqrt(squares / (size_a + size_b + size))
        groups[a] += groups.pop(b)
        distance.pop(b)
        for row in distance:
            row.pop(b)
    return groups


@few
@given(pages(most=16), factors)
def test_sem_cluster_is_ward_on_cosine_distances(page, factor):
    _, _, vectors = patches_of(page)
    groups = ward(vectors, max(1, len(vectors) // factor))
    assert_merges(page, f"sem-cluster:factor={factor}", groups)


def windows(page, factor):
    count = len(patches_of(page)[0])
    return [list(range(count))[start : start + factor] for start in range(0, count, factor)]


@few
@given(pages(), factors)
def test_pool_1d_averages_consecutive_windows(page, factor):
    assert_merges(page, f"pool-1d:factor={factor}", windows(page, factor))


@few
@given(pages(), factors)
def test_pool_1d_with_zero_padding_divides_every_window_by_the_factor(page, factor):
    full = windows(page, factor)
    assert_merges(page, f"pool-1d:factor={factor},padding=zero", full, [factor] * len(full))


@few
@given(pages(), square_factors)
def test_pool_2d_averages_square_windows_of_the_grid_without_the_padding(page, factor):
    side = {1: 1, 4: 2, 9: 3, 16: 4, 25: 5}[factor]
    rows, columns = page.grid
    on_grid = [[[] for _ in range(columns)] for _ in range(rows)]
    place = 0
    for cell in page.cells.tolist():
        if cell != SPECIAL:
            on_grid[cell // columns][cell % columns].append(place)
            place += 1
    found = []
    for top in range(0, rows, side):
        for left in range(0, columns, side):
            window = []
            for row in range(top, min(top + side, rows)):
                for column in range(left, min(left + side, columns)):
                    window += on_grid[row][column]
            if window:
                found.append(window)
    assert_merges(page, f"pool-2d:factor={factor}", found)

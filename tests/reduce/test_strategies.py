"""Small pages with obvious answers: the arithmetic is in the test."""

import math
import warnings

import numpy as np
import pytest

from docpruner.errors import PruningWarning, ReductionError
from docpruner.reduce import (
    adaptive_threshold,
    attention_ratio,
    attention_similarity,
    attention_threshold,
    attention_threshold_nfp,
    keep_all,
    pivot_threshold,
    pool_1d,
    pool_2d,
    random_pruning,
    reducer,
    semantic_clusters,
)
from docpruner.reduce.similarity import cosines
from docpruner.types import SPECIAL, PageEmbedding


def page(importance=None, vectors=None, *, grid=None, cells=None, name="scan.pdf#7", **more):
    """A row of patches, by default each with a vector of its own."""
    count = len(importance) if vectors is None else len(vectors)
    return PageEmbedding(
        name,
        np.eye(count) if vectors is None else vectors,
        [1.0] * count if importance is None else importance,
        grid or (1, count),
        cells,
        **more,
    )


def kept(reduction):
    return reduction.sources.tolist()


def groups(reduction):
    return [reduction.sources_of(i).tolist() for i in range(len(reduction.vectors))]


def angles(*degrees):
    """Unit vectors in the plane: the cosine of two is that of the angle between."""
    return [[math.cos(math.radians(a)), math.sin(math.radians(a))] for a in degrees]


# none


def test_none_keeps_every_patch():
    reduction = keep_all(page([0, 5, 1]))
    assert kept(reduction) == [0, 1, 2]
    assert reduction.vectors.tolist() == np.eye(3).tolist()
    assert reduction.pruned == 0


# docpruner: keep I > μ + k·σ


def test_docpruner_keeps_what_exceeds_mean_plus_k_deviations():
    # μ = 5, σ = √((16 + 4 + 4 + 16) / 4) = √10 ≈ 3.16
    importance = [1, 3, 7, 9]
    assert kept(adaptive_threshold(page(importance), k=-1)) == [1, 2, 3]  # τ ≈ 1.84
    assert kept(adaptive_threshold(page(importance), k=-0.5)) == [2, 3]  # τ ≈ 3.42
    assert kept(adaptive_threshold(page(importance), k=0.5)) == [2, 3]  # τ ≈ 6.58
    assert kept(adaptive_threshold(page(importance), k=1)) == [3]  # τ ≈ 8.16


def test_docpruner_uses_minus_a_quarter_unless_told():
    # μ = 2, σ = √2, τ = 2 - 0.354 = 1.646 keeps the 2; at k = 0 it would go
    assert kept(adaptive_threshold(page([0, 2, 2, 4]))) == [1, 2, 3]


def test_docpruner_is_strict():
    # μ = 2: a patch at the threshold goes
    assert kept(adaptive_threshold(page([0, 2, 2, 4]), k=0)) == [3]


def test_docpruner_takes_the_deviation_of_the_population():
    # μ = 2, σ = 1, τ = 2.9; the sample deviation √(4/3) would make it 3.04 and keep one patch
    assert kept(adaptive_threshold(page([1, 1, 3, 3]), k=0.9)) == [2, 3]


def test_docpruner_prunes_a_title_page_harder_than_a_dense_one():
    title = adaptive_threshold(page([0.91, 0.01, 0.02, 0.03, 0.01, 0.02]))
    dense = adaptive_threshold(page([0.16, 0.17, 0.18, 0.17, 0.16, 0.16]))
    assert title.pruned == pytest.approx(5 / 6)
    assert dense.pruned == pytest.approx(3 / 6)  # μ ≈ 0.1667, σ ≈ 0.0075, τ ≈ 0.1648


def test_docpruner_leaves_special_tokens_out_of_mean_and_deviation():
    # The token's 1000 would lift τ above every patch; without it μ = 2.
    reduction = adaptive_threshold(page([1, 1000, 3], grid=(1, 2), cells=[0, SPECIAL, 1]), k=0)
    assert kept(reduction) == [1, 2]
    assert reduction.special.tolist() == [True, False]
    assert reduction.pruned == 1 - 1 / 2


def test_the_best_patch_stays_when_none_exceeds_the_threshold():
    # μ = 2, σ = 1, k = 2: τ = 4
    with pytest.warns(PruningWarning, match=r"page scan\.pdf#7: the threshold 4 prunes everything"):
        reduction = adaptive_threshold(page([1, 3, 1, 3]), k=2)
    assert kept(reduction) == [1]  # the first of equals


def test_equal_importances_keep_one_patch():
    # σ = 0, so τ = μ for every k, and I > μ is false
    for k in (-0.5, 0, 1):
        with pytest.warns(PruningWarning, match=r"page scan\.pdf#7: .*only the best of 7 patches"):
            reduction = adaptive_threshold(page([0.1] * 7), k=k)
        assert kept(reduction) == [0]


def test_no_importance_at_all_keeps_one_patch():
    with pytest.warns(PruningWarning, match="the threshold 0 prunes everything"):
        assert kept(adaptive_threshold(page([0, 0, 0]))) == [0]


def test_pruning_nothing_is_told_with_the_page_and_the_remedy():
    # One sink: μ ≈ 0.101, σ ≈ 0.3, τ = 0.101 - 0.15 < 0
    sink = page([0.0012] * 5 + [0.0010] * 4 + [1.0])
    with pytest.warns(
        PruningWarning, match=r"page scan\.pdf#7: .*prunes nothing: all 10 .*statistics=robust"
    ):
        assert adaptive_threshold(sink, k=-0.5).pruned == 0


def test_robust_statistics_prune_in_spite_of_a_sink():
    # Q1 = 0.0010, Q3 = 0.0012: the sink counts as 0.0018, μ = 0.00118, σ ≈ 0.00023
    sink = page([0.0012] * 5 + [0.0010] * 4 + [1.0])
    reduction = adaptive_threshold(sink, k=-0.5, statistics="robust")
    assert kept(reduction) == [0, 1, 2, 3, 4, 9]  # τ ≈ 0.00106


def test_robust_statistics_clip_at_q3_plus_three_ranges():
    # Of 0..8: Q1 = 2, Q3 = 6, so nothing above 6 + 3·4 = 18 counts as more.
    # With 8 → 100 clipped to 18: μ = (28 + 18) / 9 ≈ 5.11; unclipped 14.2 would keep one patch.
    reduction = adaptive_threshold(page([0, 1, 2, 3, 4, 5, 6, 7, 100]), k=0, statistics="robust")
    assert kept(reduction) == [6, 7, 8]


def test_one_patch_stays_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (-1, 0, 1):
            assert kept(adaptive_threshold(page([0.5]), k=k)) == [0]


def test_a_threshold_that_separates_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adaptive_threshold(page([1, 3]), k=0)


# random


@pytest.mark.parametrize(
    ("ratio", "left"), [(0, 10), (0.1, 9), (0.3, 7), (0.5, 5), (0.7, 3), (0.9, 1), (1, 1)]
)
def test_random_and_attention_ratio_leave_the_same_number(ratio, left):
    assert random_pruning(page([1] * 10), ratio=ratio).patches == left
    assert attention_ratio(page([1] * 10), ratio=ratio).patches == left


def test_a_fraction_of_a_patch_is_not_dropped():
    # 0.3 · 9 = 2.7: two go
    assert random_pruning(page([1] * 9), ratio=0.3).patches == 7
    assert attention_ratio(page([1] * 9), ratio=0.3).patches == 7


def test_a_ratio_means_its_decimal_value():
    # 63 go, though 90 * 0.7 is 62.99999999999999 in binary
    assert random_pruning(page([1] * 90), ratio=0.7).patches == 90 - 63
    assert attention_ratio(page([1] * 90), ratio=0.7).patches == 90 - 63


def test_the_seed_decides_the_draw():
    scan = page([1] * 100)
    assert kept(random_pruning(scan, seed=1)) == kept(random_pruning(scan, seed=1))
    assert kept(random_pruning(scan, seed=1)) != kept(random_pruning(scan, seed=2))


def test_the_name_of_the_page_decides_the_draw():
    one, other = page([1] * 100, name="a.png"), page([1] * 100, name="b.png")
    assert kept(random_pruning(one)) != kept(random_pruning(other))


def test_the_pages_before_do_not_decide_the_draw():
    scan = page([1] * 100)
    alone = kept(random_pruning(scan))
    for number in range(3):
        random_pruning(page([1] * 50, name=f"before-{number}"))
    np.random.default_rng().random()
    assert kept(random_pruning(scan)) == alone


def test_neither_vectors_nor_importances_decide_the_draw():
    one, other = page([1] * 20), page(np.arange(20), vectors=np.ones((20, 2)))
    assert kept(random_pruning(one)) == kept(random_pruning(other))


def test_every_patch_is_as_likely_to_stay():
    # 400 pages keep 5 of 10: each patch about 200 times, with a deviation of √(400·¼) = 10
    counts = np.zeros(10)
    for number in range(400):
        counts[kept(random_pruning(page([1] * 10, name=f"{number}.png"), ratio=0.5))] += 1
    assert counts.sum() == 400 * 5
    assert (abs(counts - 200) < 50).all()


# attention-ratio


def test_attention_ratio_keeps_the_most_important():
    assert kept(attention_ratio(page([4, 1, 3, 2]), ratio=0.5)) == [0, 2]


def test_attention_ratio_keeps_the_earlier_of_equals():
    assert kept(attention_ratio(page([1, 2, 1, 2, 2]), ratio=0.6)) == [1, 3]


def test_attention_ratio_ignores_special_tokens():
    reduction = attention_ratio(
        page([9, 1, 2, 9, 3, 4], grid=(2, 2), cells=[SPECIAL, 0, 1, SPECIAL, 2, 3]), ratio=0.75
    )
    assert kept(reduction) == [0, 3, 5]
    assert reduction.pruned == 0.75


# attention-threshold


def test_attention_threshold_is_strict_and_the_same_for_every_page():
    assert kept(attention_threshold(page([0.25, 0.5, 0.75]), threshold=0.5)) == [2]
    assert kept(attention_threshold(page([0.5, 0.625, 0.75]), threshold=0.5)) == [1, 2]


def test_attention_threshold_warns_when_it_is_too_low():
    with pytest.warns(PruningWarning, match=r"page scan\.pdf#7: .*0\.1 prunes nothing: all 2"):
        assert kept(attention_threshold(page([0.5, 0.75]), threshold=0.1)) == [0, 1]


def test_attention_threshold_warns_when_it_is_too_high():
    with pytest.warns(PruningWarning, match=r"page scan\.pdf#7: .*2 prunes everything: .*of 3"):
        assert kept(attention_threshold(page([0.5, 0.75, 0.25]), threshold=2)) == [1]


def test_attention_threshold_has_nothing_to_say_about_one_patch():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kept(attention_threshold(page([0.5]), threshold=0.1)) == [0]
        assert kept(attention_threshold(page([0.5]), threshold=2)) == [0]


def test_the_noise_filtering_variant_is_the_same_under_its_prompt():
    scan = page([0.25, 0.5, 0.75], prompt="noise-filtering")
    assert kept(attention_threshold_nfp(scan, threshold=0.5)) == [2]


def test_the_noise_filtering_variant_refuses_pages_of_the_default_prompt():
    with pytest.raises(
        ReductionError,
        match=r"page scan\.pdf#7: attention-threshold-nfp needs .*noise-filtering prompt, "
        r"this one has the default prompt",
    ):
        attention_threshold_nfp(page([0.25, 0.5]), threshold=0.3)


# attention-similarity: α·I + (1-α)·cos, above μ + k·σ


def test_attention_similarity_adds_attention_and_cosine():
    # I = 0.2, 0.1, 0.6, 0.1 and cos = 1, 0, 0, -1: at α = ½ the scores are
    # 0.6, 0.05, 0.3, -0.45 with μ = 0.125 and σ ≈ 0.39
    scan = page([0.2, 0.1, 0.6, 0.1], angles(0, 90, 90, 180), global_vector=angles(0)[0])
    assert kept(attention_similarity(scan, k=0, alpha=0.5)) == [0, 2]
    assert kept(attention_similarity(scan, k=1, alpha=0.5)) == [0]  # τ ≈ 0.51
    assert kept(attention_similarity(scan, k=-1, alpha=0.5)) == [0, 1, 2]  # τ ≈ -0.26


def test_attention_similarity_is_k_0_and_half_attention_unless_told():
    # Scores 0.5·0.4 + 0.5·0 = 0.2 and 0.5·0 + 0.5·0.5 = 0.25, τ = 0.225
    scan = page([0.4, 0.0], angles(90, 60), global_vector=angles(0)[0])
    assert kept(attention_similarity(scan)) == [1]
    assert kept(attention_similarity(scan, alpha=0.9)) == [0]  # 0.36 and 0.05


def test_the_length_of_vectors_does_not_matter_to_attention_similarity():
    long, short = [[10, 0], [0, 0.1]], [[0.1, 0], [0, 10]]
    for vectors in (long, short):
        scan = page([0, 0], vectors, global_vector=[3, 4])  # cosines 0.6 and 0.8
        assert kept(attention_similarity(scan, alpha=0)) == [1]


def test_a_zero_vector_is_like_nothing():
    scan = page([0, 0, 0], [[0, 0], [1, 0], [-1, 0]], global_vector=[1, 0])
    assert kept(attention_similarity(scan, k=-0.5, alpha=0)) == [0, 1]  # cosines 0, 1, -1


def test_minmax_lets_attention_weigh_as_much_as_cosine():
    # Attention near 1/patches drowns in cosines: 0.003, 0.001 against 0.5, 1. Stretched to
    # 1, 0 and 0, 1, at α = 0.7 attention wins.
    scan = page([0.003, 0.001], angles(60, 0), global_vector=angles(0)[0])
    assert kept(attention_similarity(scan, alpha=0.7)) == [1]
    assert kept(attention_similarity(scan, alpha=0.7, scale="minmax")) == [0]
    assert kept(attention_similarity(scan, alpha=0.3, scale="minmax")) == [1]


def test_attention_similarity_needs_the_global_vector():
    with pytest.raises(
        ReductionError,
        match=r"page scan\.pdf#7: attention-similarity needs the vector of the global token; "
        r"pass `global_vector`",
    ):
        attention_similarity(page([1, 2]))


def test_attention_similarity_warns_on_a_page_it_cannot_separate():
    scan = page([1, 1], [[1, 0], [1, 0]], global_vector=[1, 0])
    with pytest.warns(PruningWarning, match=r"page scan\.pdf#7: .*only the best of 2 patches"):
        assert kept(attention_similarity(scan)) == [0]


def test_rounding_in_the_mean_of_equal_scores_keeps_no_patch():
    # Three times 0.7·0.2 + 0.3·1 has a mean one bit below 0.44 in binary.
    scan = page([0.2] * 3, [[1, 0]] * 3, global_vector=[1, 0])
    with pytest.warns(PruningWarning, match="only the best of 3 patches"):
        assert kept(attention_similarity(scan, alpha=0.7)) == [0]


def equal_vectors(count, seed):
    return np.repeat(np.random.default_rng(seed).normal(size=(1, 128)), count, axis=0)


@pytest.mark.parametrize("count", [3, 7, 31, 1023])
def test_attention_similarity_treats_equal_patches_alike(count):
    # A matrix product may round equal rows differently; that must not pick the patches.
    for seed in range(8):
        vectors = equal_vectors(count, seed)
        scan = page([0.1] * count, vectors, global_vector=np.linspace(-1, 1, 128))
        with pytest.warns(PruningWarning, match=f"only the best of {count} patches"):
            assert kept(attention_similarity(scan)) == [0]


# pivot-threshold


def test_pivot_threshold_drops_what_repeats_a_pivot():
    # Importances above μ = 3: rows 1..4. The pivot is row 1 at 0°; the others lie at 10°, 60° and
    # 90° from it: likeness 0.985, 0.5, 0, μ_dup = 0.495, σ_dup = 0.402.
    scan = page([0, 5, 4.5, 4.25, 4.25, 0], angles(0, 0, 10, 60, 90, 0))
    at = {k_dup: pivot_threshold(scan, k=0, k_dup=k_dup, num_pivots=1) for k_dup in (-1, 0, 1, 2)}
    assert kept(at[1]) == [1, 3, 4]  # τ_dup = 0.897
    assert kept(at[0]) == [1, 4]  # 0.5 > 0.495
    assert kept(at[-1]) == [1, 4]  # τ_dup = 0.093
    assert kept(at[2]) == [1, 2, 3, 4]  # τ_dup = 1.3


def test_the_likeness_is_that_to_the_nearest_pivot():
    # Pivots at 0° and 90°; 80° is near the second, 45° and 225° are near neither.
    scan = page([0, 9, 8, 7, 7, 7], angles(0, 0, 90, 80, 45, 225))
    # likeness 0.985, 0.707, -0.707: μ = 0.328, σ = 0.741
    assert kept(pivot_threshold(scan, k=0, k_dup=0.75, num_pivots=2)) == [1, 2, 4, 5]


def test_pivots_are_the_most_important_and_the_earlier_of_equals():
    # Row 2 and 3 are equally important: with one pivot row 2 is it, and its twin at row 4 goes.
    scan = page([0, 4, 5, 5, 4], angles(0, 90, 180, 270, 180))
    assert kept(pivot_threshold(scan, k=0, k_dup=0.5, num_pivots=1)) == [1, 2, 3]


def test_pivots_stay_even_when_they_are_alike():
    scan = page([0, 2, 2, 2], angles(0, 5, 5, 5))
    assert kept(pivot_threshold(scan, k=0, num_pivots=3)) == [1, 2, 3]


def test_with_more_pivots_than_patches_pivot_threshold_is_docpruner():
    scan = page([1, 3, 7, 9], angles(0, 1, 2, 3))
    assert kept(pivot_threshold(scan, k=-1, num_pivots=10)) == [1, 2, 3]
    assert kept(adaptive_threshold(scan, k=-1)) == [1, 2, 3]


def test_equally_like_patches_all_stay():
    # Both others have cosine 0: σ_dup = 0 and none is above μ_dup.
    scan = page([0, 3, 2.5, 2.5], np.eye(4))
    assert kept(pivot_threshold(scan, k=0, k_dup=-0.5, num_pivots=1)) == [1, 2, 3]


def test_rounding_in_the_mean_of_equal_likeness_drops_no_patch():
    for degrees in range(5, 90, 5):
        scan = page([0, 9, 8, 8, 8], angles(0, 0, *[degrees] * 3))
        assert kept(pivot_threshold(scan, k=0, k_dup=0, num_pivots=1)) == [1, 2, 3, 4]


def test_pivot_threshold_uses_the_papers_best_values_unless_told():
    # 14 patches above τ; the first ten are pivots at 0°, the rest at 0°, 90°, 90°, 90°:
    # likeness 1, 0, 0, 0, μ_dup + σ_dup = 0.25 + 0.433
    scan = page([0, *range(40, 26, -1)], angles(*[0] * 12, 90, 90, 90))
    assert kept(pivot_threshold(scan, k=-1)) == [*range(1, 11), 12, 13, 14]


def test_pivot_threshold_takes_robust_statistics_of_the_importances():
    # The sink lifts plain μ to 113 / 7 = 16.1; robust statistics count it as Q3 + 3·IQR =
    # 3 + 3·1 = 6, and μ is 19 / 7 = 2.7.
    scan = page([1, 2, 2, 3, 3, 2, 100])
    assert kept(pivot_threshold(scan, k=0)) == [6]
    assert kept(pivot_threshold(scan, k=0, statistics="robust")) == [3, 4, 6]


def test_pivot_threshold_takes_plain_statistics_of_the_likeness():
    # Likeness 0, 0, 0, 0, 0.1, 1: μ_dup = 0.18. With the 1 clipped to 0.3 it would be 0.07.
    others = [[0, 1]] * 4 + [[1, 99**0.5], [1, 0]]
    scan = page([0, 9] + [8] * 6, [[1, 0], [1, 0], *others])
    reduction = pivot_threshold(scan, k=0, k_dup=0, num_pivots=1, statistics="robust")
    assert kept(reduction) == [1, 2, 3, 4, 5, 6]


def test_pivot_threshold_warns_like_docpruner():
    with pytest.warns(PruningWarning, match=r"page scan\.pdf#7: .*prunes everything"):
        assert kept(pivot_threshold(page([1, 1, 1]))) == [0]


@pytest.mark.parametrize("count", [3, 7, 31, 1023])
def test_pivot_threshold_treats_equal_patches_alike(count):
    # All are as like the pivot, whatever a matrix product rounds that to: none repeats it more.
    for seed in range(8):
        scan = page([0.0, 3.0] + [2.0] * count, equal_vectors(2 + count, seed))
        assert pivot_threshold(scan, k=-0.5, k_dup=0.5, num_pivots=1).patches == 1 + count


# sem-cluster


def test_sem_cluster_merges_what_points_the_same_way():
    scan = page(vectors=angles(0, 90, 5, 95))
    reduction = semantic_clusters(scan, factor=2)
    assert groups(reduction) == [[0, 2], [1, 3]]
    assert reduction.vectors[0] == pytest.approx(np.mean(angles(0, 5), axis=0), abs=1e-6)
    assert reduction.vectors[1] == pytest.approx(np.mean(angles(90, 95), axis=0), abs=1e-6)
    assert reduction.pruned == 0.5


def test_sem_cluster_compares_directions_but_averages_the_vectors():
    # Row 0 and 2 point the same way, ten times as long; row 1 is nearer to row 0 in space.
    reduction = semantic_clusters(page(vectors=[[1, 0], [0, 1], [10, 0]]), factor=1)
    assert groups(reduction) == [[0], [1], [2]]
    reduction = semantic_clusters(page(vectors=[[1, 0], [0, 1], [10, 0], [0, 2]]), factor=2)
    assert groups(reduction) == [[0, 2], [1, 3]]
    assert reduction.vectors.tolist() == [[5.5, 0], [0, 1.5]]


@pytest.mark.parametrize(
    ("factor", "clusters"), [(1, 10), (2, 5), (3, 3), (4, 2), (9, 1), (16, 1), (10_000, 1)]
)
def test_sem_cluster_leaves_patches_by_factor_rounded_down(factor, clusters):
    assert semantic_clusters(page(vectors=np.eye(10)), factor=factor).patches == clusters


def test_sem_cluster_merges_by_4_unless_told():
    assert semantic_clusters(page(vectors=np.eye(12))).patches == 3


def test_ward_prefers_small_clusters_where_a_nearest_neighbour_chain_would_not():
    # 0°, 12°, 26°, 42° chain by single linkage; Ward pairs them: joining 26° to the first pair
    # costs more than joining it to 42°.
    reduction = semantic_clusters(page(vectors=angles(0, 12, 26, 42)), factor=2)
    assert groups(reduction) == [[0, 1], [2, 3]]


def test_sem_cluster_leaves_special_tokens_alone():
    scan = page(
        vectors=[*angles(0), [7, 7], *angles(1, 90, 91)], grid=(2, 2), cells=[0, SPECIAL, 1, 2, 3]
    )
    reduction = semantic_clusters(scan, factor=2)
    assert groups(reduction) == [[0, 2], [1], [3, 4]]
    assert reduction.special.tolist() == [False, True, False]
    assert reduction.vectors[1].tolist() == [7, 7]
    assert reduction.pruned == 0.5


# pool-1d


def test_pool_1d_averages_consecutive_patches_and_the_short_rest():
    reduction = pool_1d(page(vectors=[[2, 0], [4, 0], [0, 6], [0, 8], [9, 9]]), factor=2)
    assert groups(reduction) == [[0, 1], [2, 3], [4]]
    assert reduction.vectors.tolist() == [[3, 0], [0, 7], [9, 9]]


def test_zero_padding_shrinks_the_short_last_window():
    vectors = [[2, 0], [4, 0], [0, 6], [0, 8], [9, 9]]
    reduction = pool_1d(page(vectors=vectors), factor=2, padding="zero")
    assert groups(reduction) == [[0, 1], [2, 3], [4]]
    assert reduction.vectors.tolist() == [[3, 0], [0, 7], [4.5, 4.5]]  # (9 + 0) / 2
    reduction = pool_1d(page(vectors=vectors), factor=10, padding="zero")
    assert reduction.vectors == pytest.approx(np.array([[1.5, 2.3]]))  # (2 + 4 + 9) / 10, 23 / 10


def test_zero_padding_leaves_full_windows_and_special_tokens_alone():
    assert pool_1d(page(vectors=[[2], [4]]), factor=2, padding="zero").vectors.tolist() == [[3]]
    scan = page(vectors=[[2], [4], [6], [5]], grid=(1, 3), cells=[0, 1, 2, SPECIAL])
    reduction = pool_1d(scan, factor=2, padding="zero")
    assert reduction.vectors.tolist() == [[3], [3], [5]]  # 6 / 2, and the token as it was


def test_pool_1d_looks_past_special_tokens():
    scan = page(vectors=[[1], [9], [3], [5], [7]], grid=(2, 2), cells=[0, SPECIAL, 1, 2, 3])
    reduction = pool_1d(scan, factor=2)
    assert groups(reduction) == [[0, 2], [1], [3, 4]]
    assert reduction.vectors.tolist() == [[2], [9], [6]]


def test_pool_1d_takes_windows_of_4_unless_told():
    assert pool_1d(page(vectors=np.eye(12))).patches == 3


# pool-2d


def test_pool_2d_averages_squares_of_the_grid():
    #  0  1 | 2
    #  3  4 | 5
    # ------+--
    #  6  7 | 8
    reduction = pool_2d(page(vectors=np.arange(9.0)[:, None], grid=(3, 3)), factor=4)
    assert groups(reduction) == [[0, 1, 3, 4], [2, 5], [6, 7], [8]]
    assert reduction.vectors.ravel().tolist() == [2, 3.5, 6.5, 8]


def test_pool_2d_knows_rows_from_columns():
    # 0 1 2 | 3 4 5
    # 6 7 8 | 9 . .
    cells = list(range(10))
    reduction = pool_2d(page(vectors=np.eye(10), grid=(2, 6), cells=cells), factor=9)
    assert groups(reduction) == [[0, 1, 2, 6, 7, 8], [3, 4, 5, 9]]


def test_pool_2d_goes_by_cells_not_by_order():
    scan = page(vectors=[[1], [2], [3], [4]], grid=(1, 4), cells=[3, 0, 2, 0])
    reduction = pool_2d(scan, factor=4)
    assert groups(reduction) == [[0, 2], [1, 3]]  # cells 2..3, then 0..1, by first vector
    assert reduction.vectors.ravel().tolist() == [2, 3]


def test_a_window_above_the_grid_averages_the_page():
    scan = page(vectors=[[1], [2], [6]], grid=(1, 3))
    assert pool_2d(scan, factor=100).vectors.tolist() == [[3]]


def test_pool_2d_takes_windows_of_4_unless_told():
    assert pool_2d(page(vectors=np.eye(16), grid=(4, 4))).patches == 4


def test_cosines_hold_at_any_scale():
    for scale in (1e-30, 1.0, 1e18):
        vectors = (np.eye(3) * scale).astype(np.float32)
        assert np.array_equal(cosines(vectors, vectors), np.eye(3))


def test_names_that_are_not_utf8_are_drawn_for_too():
    scan = page([1] * 10, name="scan\udc80.pdf#1")
    assert random_pruning(scan, ratio=0.5, seed=10**400).patches == 5


@pytest.mark.parametrize("spec", ["pool-1d:factor=" + "9" * 30, f"pool-2d:factor={10**30}"])
def test_a_factor_beyond_any_page_leaves_one_vector(spec):
    assert reducer(spec)(page([1] * 6)).patches == 1


def test_a_strategy_takes_its_page_by_name_too():
    assert adaptive_threshold(page=page([1, 2, 3])).patches == 2


def test_the_remedy_fits_the_strategy():
    with pytest.warns(PruningWarning, match="raise the threshold"):
        attention_threshold(page([1, 2]), threshold=0)


@pytest.mark.parametrize(("floor", "kept"), [(0, 2), (2, 2), (3, 3), (4, 4), (9, 4)])
def test_a_floor_keeps_that_many_of_the_best_on_every_page(floor, kept):
    page = PageEmbedding("made", np.eye(4), [4, 1, 2, 9], (1, 4))  # mean 4, deviation 3.1
    reduction = reducer(f"docpruner:k=-0.25,floor={floor}")(page)
    best = [3, 0, 2, 1]
    assert sorted(reduction.sources.tolist()) == sorted(best[:kept])

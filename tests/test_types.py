import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docpruner.errors import DocPrunerError, InvalidPageError
from docpruner.types import SPECIAL, PageEmbedding, Reduction

NAN, INF = math.nan, math.inf


def page(**changed):
    """Four patches on a 2×2 grid, with only what the test is about changed."""
    fields = {"name": "report.pdf#3", "vectors": np.eye(4), "importance": [1, 2, 3, 4]}
    return PageEmbedding(**{**fields, "grid": (2, 2), **changed})


# What a page accepts


def test_lists_and_doubles_become_float32_arrays():
    made = page(vectors=np.eye(4).tolist(), importance=np.arange(4.0), global_vector=[0.5, 0, 0, 0])
    assert made.vectors.dtype == made.importance.dtype == np.float32
    assert made.boxes.dtype == made.global_vector.dtype == np.float32
    assert made.cells.dtype == made.patches.dtype == np.int32
    assert made.vectors.tolist() == np.eye(4).tolist()
    assert made.importance.tolist() == [0, 1, 2, 3]
    assert made.global_vector.tolist() == [0.5, 0, 0, 0]


def test_float16_keeps_its_values():
    assert page(importance=np.float16([0.1, 0, 0, 0])).importance[0] == np.float16(0.1)


def test_a_transposed_matrix_keeps_its_rows():
    matrix = np.arange(12.0).reshape(3, 4)
    made = page(vectors=matrix.T)
    assert made.vectors.tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
    assert made.dim == 3


@pytest.mark.parametrize("field", ["vectors", "importance", "cells", "boxes", "global_vector"])
def test_arrays_are_read_only(field):
    made = page(
        vectors=np.eye(4, dtype=np.float32),
        importance=np.ones(4, np.float32),
        cells=np.arange(4, dtype=np.int32),
        boxes=np.zeros((4, 4), np.float32),
        global_vector=np.ones(4, np.float32),
    )
    with pytest.raises(ValueError, match="read-only"):
        getattr(made, field)[0] = 0


@pytest.mark.parametrize("field", ["cells", "boxes"])
def test_arrays_filled_in_by_default_are_read_only_too(field):
    with pytest.raises(ValueError, match="read-only"):
        getattr(page(), field)[0] = 0


def test_the_callers_arrays_stay_writable():
    vectors, cells = np.eye(4, dtype=np.float32), np.arange(4, dtype=np.int32)
    page(vectors=vectors, cells=cells)
    vectors[0, 0] = cells[0] = 3
    assert vectors[0, 0] == cells[0] == 3


def test_fields_are_frozen():
    with pytest.raises(AttributeError, match="name"):
        page().name = "other"


def test_cells_are_row_major_by_default():
    made = page(vectors=np.eye(6), importance=np.ones(6), grid=(2, 3))
    assert made.cells.tolist() == [0, 1, 2, 3, 4, 5]
    assert made.patches.tolist() == [0, 1, 2, 3, 4, 5]


def test_boxes_are_the_rectangles_of_the_cells_by_default():
    made = page(vectors=np.eye(4), grid=(2, 4), cells=[0, 3, SPECIAL, 6])
    assert made.boxes.tolist() == [
        [0, 0, 1 / 4, 1 / 2],  # row 0, column 0
        [3 / 4, 0, 4 / 4, 1 / 2],  # row 0, column 3
        [0, 0, 0, 0],  # a special token has no place
        [2 / 4, 1 / 2, 3 / 4, 2 / 2],  # row 1, column 2
    ]


def test_given_boxes_are_kept():
    boxes = [[0, 0, 0.5, 1], [0.5, 0, 1, 1], [0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75]]
    assert page(boxes=boxes).boxes.tolist() == boxes


def test_patches_are_the_rows_that_are_not_special():
    made = page(cells=[SPECIAL, 3, SPECIAL, 0])
    assert made.patches.tolist() == [1, 3]


def test_several_vectors_may_share_a_cell():
    made = page(grid=(1, 2), cells=[1, 0, 1, 1])
    assert made.cells.tolist() == [1, 0, 1, 1]
    assert made.patches.tolist() == [0, 1, 2, 3]


def test_a_page_does_not_change_with_the_array_it_was_made_from():
    vectors = np.ones((4, 2), np.float32)
    made = page(vectors=vectors)
    vectors[0] = 7
    assert made.vectors[0].tolist() == [1, 1]


def test_special_tokens_may_have_any_importance():
    assert page(importance=[-1, 1, 1, 1], cells=[-1, 0, 1, 2]).importance[0] == -1


def test_unsigned_cells_are_fine():
    assert page(cells=np.array([3, 2, 1, 0], np.uint8)).cells.tolist() == [3, 2, 1, 0]


def test_one_patch_is_a_page():
    made = page(vectors=[[0, 1]], importance=[0], grid=(1, 1))
    assert (made.dim, made.patches.tolist(), made.boxes.tolist()) == (2, [0], [[0, 0, 1, 1]])


def test_optional_fields_have_quiet_defaults():
    assert page().global_vector is None
    assert page().prompt == "default"


# What it refuses

REFUSED = {
    "vectors not numbers": ({"vectors": "abc"}, r"vectors is not an array of numbers but <U3"),
    "vectors ragged": ({"vectors": [[1], [1, 2]]}, r"vectors is not an array of numbers: "),
    "vectors flat": ({"vectors": np.ones(4)}, r"vectors has shape \(4,\), expected \(n, dim\)"),
    "vectors deep": (
        {"vectors": np.ones((1, 4, 4))},
        r"vectors has shape \(1, 4, 4\), expected \(n, dim\)",
    ),
    "no vectors": (
        {"vectors": np.ones((0, 4)), "importance": []},
        r"vectors has shape \(0, 4\), expected \(n, dim\)",
    ),
    "no dimensions": ({"vectors": np.ones((4, 0))}, r"vectors has shape \(4, 0\), expected"),
    "vectors NaN": (
        {"vectors": [[0, 1], [1, 0], [0, NAN], [1, 1]]},
        r"vectors holds NaN or infinity at row 2",
    ),
    "vectors infinite": (
        {"vectors": [[0, 1], [-INF, 0], [0, INF], [1, 1]]},
        r"vectors holds NaN or infinity at row 1",
    ),
    "importance short": (
        {"importance": [1, 2, 3]},
        r"importance has shape \(3,\), expected \(4\); "
        r"one for each vector, special tokens included",
    ),
    "importance 2-d": (
        {"importance": np.ones((4, 1))},
        r"importance has shape \(4, 1\), expected \(4\)",
    ),
    "importance NaN": (
        {"importance": [0, 1, 2, NAN]},
        r"importance holds NaN or infinity at row 3",
    ),
    "importance negative": (
        {"importance": [0, 1, -0.5, -1]},
        r"importance -0\.5 at vector 2; attention is never negative",
    ),
    "grid too small": (
        {"grid": (1, 3)},
        r"4 vectors for a grid of 1×3 = 3 cells; pass `cells`, with -1 for special tokens",
    ),
    "grid empty": ({"grid": (0, 4)}, r"grid \(0, 4\) is not \(rows, columns\), each ≥ 1"),
    "grid negative": ({"grid": (4, -1)}, r"grid \(4, -1\) is not \(rows, columns\)"),
    "grid one number": ({"grid": 4}, r"grid 4 is not \(rows, columns\)"),
    "grid of three": ({"grid": (1, 2, 2)}, r"grid \(1, 2, 2\) is not \(rows, columns\)"),
    "grid of words": ({"grid": ("two", "2")}, r"grid \('two', '2'\) is not \(rows, columns\)"),
    "grid not whole": ({"grid": (1.9, 2)}, r"grid \(1\.9, 2\) is not \(rows, columns\)"),
    "grid text": ({"grid": "22"}, r"grid '22' is not \(rows, columns\)"),
    "grid infinite": ({"grid": (INF, 2)}, r"grid \(inf, 2\) is not \(rows, columns\)"),
    "grid beyond counting": ({"grid": (100_000, 100_000)}, r"grid \(100000, 100000\) is not"),
    "cells ragged": ({"cells": [[0], [1, 2], 3, 1]}, r"cells is not an array of numbers"),
    "vectors too large": ({"vectors": np.full((4, 2), 1e39)}, r"vectors holds NaN or infinity"),
    "vectors complex": ({"vectors": np.ones((4, 2)) * 1j}, r"vectors is not .* but complex128"),
    "boxes outside": (
        {"boxes": [[0, 0, 1, 1], [0, 0, 1, 1.5], [0] * 4, [0] * 4]},
        r"box \[0\.0, 0\.0, 1\.0, 1\.5\] at vector 1 is not x0, y0, x1, y1",
    ),
    "boxes inside out": (
        {"boxes": [[0.5, 0, 0.4, 1], [0] * 4, [0] * 4, [0] * 4]},
        r"box .* at vector 0 is not x0, y0, x1, y1",
    ),
    "prompt unknown": ({"prompt": "nfp"}, r"prompt 'nfp' is not default or noise-filtering"),
    "grid None": ({"grid": None}, r"grid None is not \(rows, columns\)"),
    "cells short": (
        {"cells": [0, 1, 2]},
        r"cells has shape \(3,\) and type int\d+, expected 4 integers, one for each vector",
    ),
    "cells not whole": (
        {"cells": [0.0, 1.0, 2.0, 3.0]},
        r"cells has shape \(4,\) and type float64, expected 4 integers",
    ),
    "cells too high": (
        {"cells": [0, 1, 4, 3]},
        r"cell 4 at vector 2 is outside the grid of 2×2 = 4 cells "
        r"\(special tokens have cell -1\)",
    ),
    "cells too low": ({"cells": [0, -2, 1, 3]}, r"cell -2 at vector 1 is outside the grid"),
    "only specials": ({"cells": [-1] * 4}, r"no patch on the grid, only special tokens"),
    "boxes short": (
        {"boxes": np.zeros((3, 4))},
        r"boxes has shape \(3, 4\), expected \(4, 4\)",
    ),
    "boxes without corners": (
        {"boxes": np.zeros((4, 2))},
        r"boxes has shape \(4, 2\), expected \(4, 4\)",
    ),
    "boxes NaN": (
        {"boxes": [[0, 0, 1, 1], [0, 0, 1, NAN], [0] * 4, [0] * 4]},
        r"boxes holds NaN or infinity at row 1",
    ),
    "global vector short": (
        {"global_vector": [1, 0, 0]},
        r"global_vector has shape \(3,\), expected \(4\)",
    ),
    "global vector as a row": (
        {"global_vector": np.ones((1, 4))},
        r"global_vector has shape \(1, 4\), expected \(4\)",
    ),
    "global vector NaN": (
        {"global_vector": [0, NAN, 0, 0]},
        r"global_vector holds NaN or infinity at row 1",
    ),
}


@pytest.mark.parametrize(("changed", "says"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_names_the_page_and_what_is_wrong(changed, says):
    with pytest.raises(InvalidPageError, match=r"^page report\.pdf#3: " + says):
        page(**changed)


def test_a_refusal_is_one_of_ours_and_a_value_error():
    assert issubclass(InvalidPageError, DocPrunerError)
    assert issubclass(InvalidPageError, ValueError)


# Entropy: H(p) of p = I / ΣI over the patches, in nats


def test_the_entropy_of_equal_importances_is_log_n():
    assert page(importance=[3, 3, 3, 3]).entropy == pytest.approx(math.log(4))


def test_the_entropy_of_one_important_patch_is_zero():
    assert page(importance=[0, 0, 7, 0]).entropy == 0


def test_the_entropy_without_any_importance_is_that_of_equal_ones():
    assert page(importance=[0, 0, 0, 0]).entropy == pytest.approx(math.log(4))


def test_the_entropy_of_a_half_and_two_quarters():
    # ½·log 2 + 2·¼·log 4 = ½·log 2 + log 2
    assert page(importance=[2, 1, 1, 0]).entropy == pytest.approx(1.5 * math.log(2))


def test_the_entropy_leaves_special_tokens_out():
    made = page(importance=[1, 100, 1, 50], cells=[0, SPECIAL, 1, SPECIAL])
    assert made.entropy == pytest.approx(math.log(2))


@settings(max_examples=50, deadline=None, database=None)
@given(
    st.lists(st.floats(0, 1, width=32, allow_subnormal=False), min_size=1, max_size=40),
    st.integers(-20, 20),
)
def test_entropy_lies_between_0_and_log_n_and_ignores_the_unit(importance, doublings):
    count = len(importance)
    grid = (1, count)
    measured, rescaled = (
        PageEmbedding("p", np.ones((count, 1)), np.array(importance) * unit, grid).entropy
        for unit in (1.0, 2.0**doublings)
    )
    assert -1e-12 <= measured <= math.log(count) + 1e-9
    assert rescaled == pytest.approx(measured, abs=1e-5)


# Reduction


def merged():
    """Four patches and a special token: two merged, one kept, one dropped, the token kept."""
    return Reduction(
        name="report.pdf#3",
        vectors=np.float32([[0.5, 0.5], [1, 1], [0, 1]]),
        sources=np.int32([0, 2, 1, 3]),
        offsets=np.int32([0, 2, 3, 4]),
        special=np.array([False, True, False]),
        page_patches=4,
    )


def test_stored_patches_are_those_that_are_not_special():
    assert merged().patches == 2


def test_special_tokens_count_on_neither_side_of_the_pruned_fraction():
    assert merged().pruned == 1 - 2 / 4


def test_pruned_is_0_when_all_patches_are_stored():
    whole = Reduction(
        "p", np.eye(3), np.arange(3), np.arange(4), np.array([False, False, True]), page_patches=2
    )
    assert whole.pruned == 0


def test_sources_of_a_vector_are_the_rows_it_came_from():
    assert [merged().sources_of(i).tolist() for i in range(3)] == [[0, 2], [1], [3]]

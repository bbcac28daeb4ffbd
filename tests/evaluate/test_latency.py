"""The ways of encoding that are timed do the same work on the same pages."""

from __future__ import annotations

import numpy as np
import pytest

from docpruner.errors import DataError
from docpruner.evaluate.measuring.latency import measure_latency
from docpruner.pages.reader import pages_of
from docpruner.reduce import reducer
from evaluate.made_data import SAMPLES, builtin


@pytest.fixture(scope="module")
def pages():
    return list(pages_of(SAMPLES / "travel-expense-form.pdf"))


def test_a_plain_pass_gives_the_same_vectors(pages):
    plain = builtin().encode_plain(pages)
    with_importance = [page.vectors for page in builtin().encode_pages(pages)]
    assert all(map(np.array_equal, plain, with_importance))


def test_every_way_is_timed(pages):
    latency = measure_latency(pages[:1], builtin(), reducer("docpruner:k=-0.25"))
    assert 0 < latency.plain < 10
    assert 0 < latency.importance <= latency.pruned * 2
    assert latency.ocr is not None
    assert latency.ocr > latency.pruned
    assert latency.overhead == latency.pruned / latency.plain - 1
    assert (latency.pages, latency.ocr_pages, latency.spec) == (1, 1, "docpruner:k=-0.25")


def test_without_a_page_nothing_is_timed():
    with pytest.raises(DataError, match="no page to time"):
        measure_latency([], builtin(), reducer("none"))

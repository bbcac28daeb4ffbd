"""Reducers travel to worker processes, as what they are named."""

import copy
import pickle

import numpy as np
import pytest

from docpruner.reduce import STRATEGIES, reducer
from docpruner.reduce.strategy import REQUIRED
from docpruner.types import PageEmbedding


def every_spec() -> list[str]:
    needed = {
        name: [p for p in s.parameters.values() if p.default is REQUIRED]
        for name, s in STRATEGIES.items()
    }
    named = [
        name + (":" + ",".join(f"{p.name}=0.01" for p in missing) if missing else "")
        for name, missing in needed.items()
    ]
    return [*named, "docpruner:k=0.123456789+pool-1d:factor=9,padding=zero"]


@pytest.mark.parametrize("spec", every_spec())
def test_a_reducer_comes_back_from_a_pickle_as_it_was(spec):
    before = reducer(spec)
    for after in (pickle.loads(pickle.dumps(before)), copy.deepcopy(before)):
        assert after == before
        assert str(after) == str(before)


def test_a_reducer_from_a_pickle_reduces_alike():
    draw = np.random.default_rng(0)
    page = PageEmbedding("scan.pdf#7", draw.normal(size=(16, 4)), draw.random(16), (4, 4))
    before = reducer("docpruner:k=0+sem-cluster:factor=2")
    one, other = before(page), pickle.loads(pickle.dumps(before))(page)
    np.testing.assert_array_equal(one.vectors, other.vectors)
    np.testing.assert_array_equal(one.sources, other.sources)

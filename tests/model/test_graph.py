"""Components of small graphs, found by a table, against those of a search."""

import numpy as np
import pytest

from sojourn.model import graph


def partition(label):
    return {tuple(np.flatnonzero(label == c)) for c in np.unique(label)}


@pytest.mark.parametrize("seed", range(60))
def test_a_table_and_a_search_find_the_same_components(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, graph.FEW + 1))
    tail, head = rng.integers(0, n, (2, int(rng.integers(1, 3 * n + 1))))
    if seed % 4 == 0:  # a cycle through all: the longest way there is
        tail, head = np.arange(n), (np.arange(n) + 1) % n
    few = graph.strong_components(n, tail, head)
    closed = [set(c) for c in graph.closed_classes(n, tail, head)]
    monkeypatch.setattr(graph, "FEW", 0)
    many = graph.strong_components(n, tail, head)
    assert few[0] == many[0] and partition(few[1]) == partition(many[1])
    assert closed == [set(c) for c in graph.closed_classes(n, tail, head)]

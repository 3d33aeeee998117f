"""Nested dissection: a permutation, cuts that part, little work on grids, and no bad case that takes long."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix

from sojourn.kernels.dissection import LEAF, dissected
from sojourn.solving.elimination import _planned, least_degree


def graph(edges, n):
    """The symmetric pattern (start, index) of some edges."""
    i, j = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    a = coo_matrix((np.ones(2 * len(i)), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n)).tocsr()
    return a.indptr.astype(np.int64), a.indices.astype(np.int64)


def grid_edges(*sides):
    place = np.arange(np.prod(sides)).reshape(sides)
    pairs = []
    for axis in range(len(sides)):
        low, high = np.moveaxis(place, axis, 0)[:-1], np.moveaxis(place, axis, 0)[1:]
        pairs.append(np.stack([low.ravel(), high.ravel()], axis=1))
    return np.concatenate(pairs), place.size


def random_edges(n, many, seed):
    return np.random.default_rng(seed).integers(0, n, (many, 2)), n


GRAPHS = {
    "nothing": ([], 50), "one": ([], 1), "line": ([(i, i + 1) for i in range(999)], 1000),
    "star": ([(0, i) for i in range(1, 5000)], 5000),
    "full": ([(i, j) for i in range(60) for j in range(i)], 60), "grid": grid_edges(23, 31), "box": grid_edges(9, 10, 11),
    "random": random_edges(400, 1200, 1), "pieces": random_edges(2000, 900, 2),
    "comb": ([(i, i + 1) for i in range(499)] + [(i, 500 + i) for i in range(500)], 1000),
}


def plain(edges, n):
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return graph(edges[edges[:, 0] != edges[:, 1]], n)


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_every_state_is_taken_out_once(name):
    start, index = plain(*GRAPHS[name])
    assert (np.sort(dissected(start, index)[0]) == np.arange(len(start) - 1)).all()


@pytest.mark.parametrize("sides", [(40, 40), (25, 100), (12, 12, 12)])
def test_grids_need_no_more_work_than_by_least_degree(sides):
    start, index = graph(*grid_edges(*sides))
    scrambled = np.random.default_rng(5).permutation(len(start) - 1)  # the numbers of the states say nothing
    place = np.argsort(scrambled)
    rows = np.repeat(np.arange(len(start) - 1), np.diff(start))
    start, index = graph(np.stack([place[rows], place[index]], axis=1), len(start) - 1)
    work = [_planned(start, index, order)[-1] for order in (dissected(start, index)[0], least_degree(start, index))]
    assert work[0] < 1.25 * work[1]


def test_the_last_states_part_a_grid():
    start, index = graph(*grid_edges(20, 30))
    order, parted = dissected(start, index)
    cut, rest = order[-20:], order[:-20]
    inside = np.zeros(600, dtype=bool)
    inside[rest] = True
    reached, todo = {int(rest[0])}, [int(rest[0])]
    while todo:
        i = todo.pop()
        for j in index[start[i]:start[i + 1]]:
            if inside[j] and int(j) not in reached:
                reached.add(int(j))
                todo.append(int(j))
    assert parted and 0.25 * len(rest) < len(reached) < 0.75 * len(rest) and len(cut) == 20 > LEAF


def test_hubs_do_not_hide_the_cuts():
    n = 3000
    line = [(i, i + 1) for i in range(n - 1)]
    start, index = plain(line + [(0, i) for i in range(2, n)] + [(7, i) for i in range(9, n)], n)
    order, parted = dissected(start, index)
    assert parted and set(order[-2:]) == {0, 7}
    assert _planned(start, index, order)[-1] < 40 * n  # without the hubs a line, and at most two more neighbours


def test_a_graph_without_a_small_cut_is_not_cut():
    start, index = plain(*random_edges(400, 4000, 3))
    assert not dissected(start, index)[1] and not dissected(*plain(*GRAPHS["full"]))[1]

"""The three methods of solving side by side in one run: seconds, and ratios to the fastest.

Queues factorize well and mix slowly; random graphs mix fast and fill the factors: there policy iteration and the linear
programme end at a few thousand states, while value iteration goes on.
"""

import sys
import time

import numpy as np
from scipy import sparse

from sojourn.model.ctmdp import CTMDP
from sojourn.solving.solve import METHODS, solve

SIZES = {"queue_network": [25, 400, 2500, 10_000], "random_graph": [25, 400, 1600]}


def queue_network(n: int) -> CTMDP:
    """Two queues in series on an about square grid of n states, two service speeds."""
    side = max(2, int(np.sqrt(n)))
    state = np.repeat(np.arange(side * side), 2)
    speed = np.tile([1.0, 1.5], side * side)
    x, y = state // side, state % side
    moves = [(0.7 * (x < side - 1), side), (speed * ((x > 0) & (y < side - 1)), 1 - side), (1.2 * (y > 0), -1)]
    pair = np.concatenate([np.flatnonzero(rate) for rate, _ in moves])
    to = np.concatenate([(state + step)[np.flatnonzero(rate)] for rate, step in moves])
    value = np.concatenate([rate[np.flatnonzero(rate)] for rate, _ in moves])
    matrix = sparse.csr_matrix((value, (pair, to)), shape=(len(state), side * side))
    total = np.asarray(matrix.sum(axis=1)).ravel()
    return CTMDP.from_pairs(state, np.tile([0, 1], side * side), sparse.diags(1 / total) @ matrix, total,
                            running=-(x + y) - 0.5 * (speed > 1) * (x > 0), normalize_rows=True)


def random_graph(n: int) -> CTMDP:
    """n states, 3 actions, 4 random successors each: mixes fast, fills the factors."""
    rng = np.random.default_rng(n)
    pairs = 3 * n
    where = (np.repeat(np.arange(pairs), 4), rng.integers(0, n, 4 * pairs))
    weight = sparse.csr_matrix((rng.random(4 * pairs), where), shape=(pairs, n))
    total = np.asarray(weight.sum(axis=1)).ravel()
    return CTMDP.from_pairs(np.repeat(np.arange(n), 3), np.tile([0, 1, 2], n), sparse.diags(1 / total) @ weight,
                            rng.uniform(0.5, 4, pairs), rng.normal(size=pairs), normalize_rows=True)


def main(sizes: list[int]) -> None:
    """Print a table."""
    for method in METHODS:  # imports and compilation are not part of the comparison
        solve(queue_network(9), method=method)
    print(f"{'model':<14}{'states':>8}" + "".join(f"{m:>28}" for m in METHODS))
    for family in (queue_network, random_graph):
        for n in sizes or SIZES[family.__name__]:
            model = family(n)
            seconds = {}
            for method in METHODS:
                began = time.perf_counter()
                solve(model, method=method)
                seconds[method] = time.perf_counter() - began
            best = min(seconds.values())
            cells = (f"{seconds[m]:.3f} s ({seconds[m] / best:.1f} x)" for m in METHODS)
            print(f"{family.__name__:<14}{model.n_states:>8}" + "".join(f"{c:>28}" for c in cells), flush=True)


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]])

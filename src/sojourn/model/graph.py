"""The graph of a model: who can reach whom, end components, and where a target can be reached for sure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sojourn.model.ctmdp import CTMDP

FEW = 60  # states up to which a table of all pairs of states is faster than a search


def strong_components(n: int, tail: np.ndarray, head: np.ndarray, neat: bool = False) -> tuple[int, np.ndarray]:
    """Return (how many, component of each node) of the directed graph with edges tail -> head.

    `neat` edges come in the order of their tails, none of them twice (scipy may not end on a graph with an edge twice).
    """
    if n <= FEW:
        return _few_components(n, tail, head)
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    if neat:
        graph = csr_matrix((np.ones(len(tail)), head, np.searchsorted(tail, np.arange(n + 1))), shape=(n, n))
    else:
        graph = csr_matrix((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(n, n))
    count, label = connected_components(graph, directed=True, connection="strong")
    return int(count), label.astype(np.int64)


def _few_components(n: int, tail: np.ndarray, head: np.ndarray) -> tuple[int, np.ndarray]:
    """The same by squaring the table of who reaches whom."""
    reach = np.eye(n, dtype=np.float32)
    reach[tail, head] = 1.0
    for _ in range((n - 1).bit_length()):
        reach = np.minimum(reach @ reach, 1.0)
    first, label = np.unique((reach * reach.T).argmax(axis=1), return_inverse=True)
    return len(first), label.astype(np.int64)


def closed_classes(n: int, tail: np.ndarray, head: np.ndarray, neat: bool = False) -> list[np.ndarray]:
    """Return the strongly connected sets that no edge leaves, by their least state; `neat` as above."""
    count, label = strong_components(n, tail, head, neat)
    if count == 1:
        return [np.arange(n)]
    closed = np.ones(count, dtype=bool)
    closed[label[tail[label[tail] != label[head]]]] = False
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.searchsorted(label[order], np.arange(1, count)))
    found = [np.sort(groups[c]) for c in np.flatnonzero(closed)]
    return sorted(found, key=lambda states: int(states[0]))


def edges(model: CTMDP) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (pair, state, next state) of every possible jump."""
    pair = np.repeat(np.arange(model.n_pairs), np.diff(model.row_start))
    return pair, model.pair_state[pair], model.next_state


def end_components(model: CTMDP) -> tuple[np.ndarray, np.ndarray]:
    """Return the maximal end components: the number of each state's (-1: none) and which pairs stay inside.

    A set of states with actions that keep the process in it and connect it.  Every recurrent class of every policy lies
    in one, and inside one the optimal gain is the same from every state.
    """
    pair, tail, head = edges(model)
    alive = np.ones(model.n_pairs, dtype=bool)
    while True:
        use = alive[pair]
        _, label = strong_components(model.n_states, tail[use], head[use])
        leaving = use & (label[tail] != label[head])
        if not leaving.any():
            break
        alive[pair[leaving]] = False
    has_action = np.zeros(model.n_states, dtype=bool)
    has_action[model.pair_state[alive]] = True
    component = np.full(model.n_states, -1, dtype=np.int64)
    kept, first = np.unique(label[has_action], return_index=True)
    number = np.full(label.max() + 1, -1, dtype=np.int64)
    number[kept[np.argsort(first)]] = np.arange(len(kept))
    component[has_action] = number[label[has_action]]
    return component, alive


def sure_reach(model: CTMDP, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (states from which some policy reaches `target` with probability one, such a policy's pair per state).

    `target` is a mask of states; the pair is -1 in the target and where no such policy exists.
    """
    pair, tail, head = edges(model)
    inside = np.ones(model.n_states, dtype=bool)
    while True:
        leaves = np.zeros(model.n_pairs, dtype=bool)
        leaves[pair[~inside[head]]] = True
        use = ~leaves[pair] & inside[tail]
        reached, step = _towards(model.n_states, target, tail[use], head[use])
        if (reached & inside).sum() == inside.sum():
            break
        inside &= reached
    choice = np.full(model.n_states, model.n_pairs, dtype=np.int64)
    good = use & (head == step[tail])
    np.minimum.at(choice, tail[good], pair[good])
    choice[(choice == model.n_pairs) | target] = -1
    return inside, choice


def _towards(n: int, target: np.ndarray, tail: np.ndarray, head: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Breadth-first backwards from `target`: (states that can reach it, the next state on a shortest way; -1 if none)."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import breadth_first_order

    goal = np.flatnonzero(target)
    rows = np.concatenate([head, np.full(len(goal), n)])
    columns = np.concatenate([tail, goal])
    graph = csr_matrix((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n + 1, n + 1))
    order, before = breadth_first_order(graph, n, directed=True, return_predecessors=True)
    reached = np.zeros(n + 1, dtype=bool)
    reached[order] = True
    step = np.where((before[:n] >= 0) & (before[:n] < n), before[:n], -1)
    return reached[:n], step

"""What happens under every policy: states that cannot be avoided, and sets in which a policy can stay for ever."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.model.graph import edges, strong_components

ROUNDS = 100
FEW = 8  # states to be looked at one by one, rather than merging further
SMALL = 16  # classes up to which all sets of classes are looked at
SHRINK = 50  # states tried out of a closed set, to make it smaller
EFFORT = 200_000_000  # jumps looked at before the search for two closed sets ends undecided


class Forced:
    """Peeling and contraction of one model."""

    def __init__(self, model: CTMDP):
        self.model = model
        self.pair, self.tail, self.head = edges(model)

    def avoiding(self, removed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (the greatest set in which a policy can stay without the states `removed`, such a pair per state or -1)."""
        from sojourn.kernels.peeling import peel

        m = self.model
        start, pairs = self._into
        return peel(m.pair_start, m.row_start, m.next_state, start, pairs, m.pair_state, removed)

    def avoiding_state(self, state: int) -> tuple[np.ndarray, np.ndarray]:
        removed = np.zeros(self.model.n_states, dtype=bool)
        removed[state] = True
        return self.avoiding(removed)

    @cached_property
    def _into(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.head, kind="stable")
        count = np.bincount(self.head, minlength=self.model.n_states)
        return np.concatenate([[0], np.cumsum(count)]).astype(np.int64), self.pair[order]

    @cached_property
    def classes(self) -> np.ndarray:
        """Return the class of each state; under every policy, from any state of a class all its other states are visited.

        An edge k -> J says that every action of k has a successor in the class J; strongly connected classes are merged,
        until nothing changes.  One class left: every policy is irreducible.
        """
        n = self.model.n_states
        label = np.arange(n)
        for _ in range(ROUNDS):
            tail, head = self._sure(label)
            found, component = strong_components(n, tail, head)
            merged = component[label]
            if found == n or len(np.unique(merged)) == len(np.unique(label)):
                break
            label = merged
        return np.unique(label, return_inverse=True)[1]

    def _sure(self, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges (class of k, J) such that every action of some state k has a successor in the class J."""
        n = self.model.n_states
        hits = np.unique(self.pair * n + label[self.head])  # (pair, class it may jump to)
        keys, count = np.unique(self.model.pair_state[hits // n] * n + hits % n, return_counts=True)
        sure = count == np.diff(self.model.pair_start)[keys // n]
        return label[keys[sure] // n], keys[sure] % n

    @cached_property
    def sources(self) -> np.ndarray:
        """Return one state of each class that no such edge enters: if no policy can avoid these, none can avoid any state.

        A state that is visited again and again under every policy has every action lead to J now and then, so J is visited too;
        and every class can be reached along edges from one that no edge enters.  Classes are merged until few of these are left.
        """
        n = self.model.n_states
        label, count = np.arange(n), n
        for _ in range(ROUNDS):
            tail, head = self._sure(label)
            component = strong_components(n, tail, head)[1]
            label, before = component[label], count
            entered = np.zeros(n, dtype=bool)
            entered[component[head][component[tail] != component[head]]] = True
            kinds, first = np.unique(label, return_index=True)
            count = len(kinds)
            found: np.ndarray = first[~entered[kinds]]
            if len(found) <= FEW or count == before:
                break
        return found

    def two_closed_sets(self) -> tuple[np.ndarray, np.ndarray] | bool | None:
        """Return two disjoint sets in which a policy can stay for ever, False if there are none, None if not decided."""
        label = self.classes
        count = int(label.max()) + 1
        if count <= SMALL:
            return self._by_subsets(label, count)
        tries = max(3, EFFORT // (len(self.head) * SHRINK))
        for state in np.unique(label, return_index=True)[1][:tries]:
            left, _ = self.avoiding_state(int(state))
            if not left.any():
                return False  # every policy visits this state from everywhere
            left = self._shrunk(left)
            other, _ = self.avoiding(left)
            if other.any():
                return left, other
        return None

    def _shrunk(self, closed: np.ndarray) -> np.ndarray:
        """Return a smaller set inside `closed` in which a policy can stay, by leaving out a few of its states in turn."""
        for state in np.flatnonzero(closed)[:SHRINK]:
            if closed[state]:
                removed = ~closed
                removed[state] = True
                left, _ = self.avoiding(removed)
                if left.any():
                    closed = left
        return closed

    def _by_subsets(self, label: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray] | bool:
        support = np.zeros(self.model.n_pairs, dtype=np.int64)
        np.bitwise_or.at(support, self.pair, np.int64(1) << label[self.head])
        start = self.model.pair_start
        rules = {(int(label[s]), tuple(np.unique(support[start[s]:start[s + 1]]))) for s in range(self.model.n_states)}
        sets = np.arange(1 << count, dtype=np.int64)
        closed = sets > 0
        for own, masks in rules:
            stays = np.zeros(len(sets), dtype=bool)
            for mask in masks:
                stays |= (mask & ~sets) == 0
            closed &= stays | ((sets >> own) & 1 == 0)
        holds = closed.copy()  # does the set contain a closed one?
        for bit in range(count):
            has = (sets >> bit) & 1 == 1
            holds[has] |= holds[sets[has] ^ (1 << bit)]
        found = np.flatnonzero(closed & holds[sets ^ (len(sets) - 1)])
        if not found.size:
            return False
        one = (found[0] >> label) & 1 == 1
        return one, self.avoiding(one)[0]

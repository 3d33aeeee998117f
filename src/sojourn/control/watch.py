"""Does the world still behave as it did?  Recent observations of each pair against the older ones, by exact tests.

Each time a pair has been seen `window` times more, two questions are put, whatever its rate and row may be:

- holding times: for exponential times the share of the recent sum in the whole is Beta(recent, older) distributed;
- successors: given how often each was seen in all, the recent count of each is hypergeometric.

The j-th test of a pair has the level 6 / (pi j)^2 of the pair's share, so that over all time and all pairs the probability of
any false alarm is at most `false_alarms`.  After an alarm the pair starts anew, with the recent observations.
"""

from __future__ import annotations

from math import exp, lgamma, pi
from typing import Any, NamedTuple

import numpy as np


class Drift(NamedTuple):
    """What changed in which pair: "rate" or "row"; `before` and `after` are the rates, or the shares of one successor."""

    pair: int
    what: str
    before: float
    after: float
    p_value: float
    successor: int = -1


class Watch:
    """Counts of the older and the recent observations of every pair, and the tests between them."""

    def __init__(self, n_pairs: int, window: int, false_alarms: float):
        self.window, self.false_alarms = window, false_alarms
        self.seen = np.zeros((2, n_pairs), dtype=np.int64)  # older, recent
        self.time = np.zeros((2, n_pairs))
        self.tests = np.zeros(n_pairs, dtype=np.int64)
        self.rows: tuple[dict[int, dict[int, int]], dict[int, dict[int, int]]] = ({}, {})  # pair: successor: count

    def tell(self, pair: int, holding_time: float, successor: int) -> list[Drift]:
        """Count one observation; return what is found to have changed."""
        if not self.false_alarms:
            return []
        self.seen[1, pair] += 1
        self.time[1, pair] += holding_time
        row = self.rows[1].setdefault(pair, {})
        row[successor] = row.get(successor, 0) + 1
        if self.seen[1, pair] < self.window:
            return []
        found = self._tested(pair) if self.seen[0, pair] else []
        self._merge(pair, forget=bool(found))
        return found

    def _tested(self, pair: int) -> list[Drift]:
        self.tests[pair] += 1
        level = self.false_alarms / self.seen.shape[1] * 6 / (pi * int(self.tests[pair])) ** 2 / 2  # half for times, half for rows
        (old, new), (old_time, new_time) = self.seen[:, pair].tolist(), self.time[:, pair].tolist()
        found = []
        p = time_p_value(new, new_time, old, old_time)
        if p < level:
            found.append(Drift(pair, "rate", old / old_time, new / new_time, p))
        old_row, new_row = self.rows[0].get(pair, {}), self.rows[1][pair]
        successors = sorted({*old_row, *new_row})
        for s in successors:
            before, after = old_row.get(s, 0), new_row.get(s, 0)
            p = count_p_value(after, new, before + after, old + new)
            if p < level / len(successors):
                found.append(Drift(pair, "row", before / old, after / new, p, s))
                break
        return found

    def _merge(self, pair: int, forget: bool) -> None:
        if forget:
            self.seen[0, pair], self.time[0, pair], self.rows[0][pair] = 0, 0.0, {}
        self.seen[0, pair] += self.seen[1, pair]
        self.time[0, pair] += self.time[1, pair]
        older = self.rows[0].setdefault(pair, {})
        for s, count in self.rows[1].pop(pair).items():
            older[s] = older.get(s, 0) + count
        self.seen[1, pair], self.time[1, pair] = 0, 0.0

    def state(self) -> dict[str, Any]:
        """Return the counts as arrays."""
        flat = [(part, pair, s, n) for part in (0, 1) for pair, row in sorted(self.rows[part].items())
                for s, n in sorted(row.items())]
        return {"seen": self.seen.copy(), "time": self.time.copy(), "tests": self.tests.copy(),
                "rows": np.array(flat, dtype=np.int64).reshape(-1, 4)}

    def restore(self, state: dict[str, Any]) -> None:
        """Become what `state()` described."""
        self.seen, self.time, self.tests = (np.array(state[name]) for name in ("seen", "time", "tests"))
        self.rows = ({}, {})
        for part, pair, s, n in state["rows"].tolist():
            self.rows[part].setdefault(pair, {})[s] = n


def time_p_value(new: int, new_time: float, old: int, old_time: float) -> float:
    """Return the two-sided p-value of equal rates: new_time / (new_time + old_time) is Beta(new, old) under them.

    >>> round(time_p_value(100, 100.0, 1000, 1000.0), 2), time_p_value(100, 50.0, 1000, 1000.0) < 1e-8
    (0.98, True)
    """
    from scipy.special import betainc

    share = new_time / (new_time + old_time)
    return float(min(1.0, 2 * min(betainc(new, old, share), betainc(old, new, 1 - share))))


def count_p_value(hits: int, draws: int, marked: int, total: int) -> float:
    """Return the two-sided p-value of `hits` marked ones among `draws` drawn from `total`, of which `marked` are marked.

    >>> round(count_p_value(5, 10, 50, 100), 6), count_p_value(0, 1, 0, 7)
    (1.0, 1.0)
    """
    lowest, highest = max(0, draws + marked - total), min(draws, marked)

    def mass(k: int) -> float:
        return exp(_log_choose(marked, k) + _log_choose(total - marked, draws - k) - _log_choose(total, draws))

    below = sum(mass(k) for k in range(lowest, hits + 1))
    above = sum(mass(k) for k in range(hits, highest + 1))
    return min(1.0, 2 * min(below, above))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)

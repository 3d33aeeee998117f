"""Do holding times contradict the rate bounds that were told?  Two tests that may be looked at after every report.

Under a rate of at least `low`, f^-1 exp((1 - 1/f) low x) of a holding time x has mean at most 1, for every f > 1: it is the
likelihood of times f times too long against that of the longest ones allowed.  Under a rate of at most `high`, so has
f exp(-(f - 1) high x).

- All pairs together: the products of these numbers from report k on, averaged over k (weights 1/(k (k + 1))) and over seven f in
  either direction.  The average reaches 1/level with probability at most `level`, ever (Ville's inequality), and a clock that goes
  wrong after months is noticed like one that was wrong from the start.
- Each pair on its own, over all that was counted: n (r - 1 - log r) <= log(2 P n (n + 1)/level), r the ratio of the mean of n times
  to the nearest one allowed (Chernoff's bound; the intervals of learn/kl_set.py).

Half of `false_alarms` goes to each.  After an alarm of the first kind the test rests for `window` reports, for twice as many after
the second, and so on, and then begins anew; the j-th time with the level 6/(pi j)^2 of its share.  A pair raises one alarm.
"""

from __future__ import annotations

from math import log, pi
from typing import Any, NamedTuple

import numpy as np

from sojourn.model.knowledge import Knowledge

FACTORS = 2.0 ** 2.0 ** np.arange(7)  # 2, 4, 16, ... 2^64: how many times too long, or too short
TINY = 5e-324
STUCK = 10  # times in a row that are equal to the last digit, from which they are called so


class Contradiction(NamedTuple):
    """Times that contradict the bounds: of `pair` alone, or of all (`pair` is that of the last report); `mean` is theirs."""

    pair: int
    all_pairs: bool
    long: bool  # too long, or too short
    mean: float
    visits: int


class BoundsTest:
    """Holding times against the rate bounds of each pair; `false_alarms` = 0 tests nothing."""

    def __init__(self, known: Knowledge, window: int, false_alarms: float):
        self.low, self.high = told_bounds(known)
        self.window, self.level = window, false_alarms / 2
        self.evidence = np.full(2 * len(FACTORS), -np.inf)  # logarithms: too long, too short
        self.counted = self.resting = self.alarms = 0  # reports since the test began, reports that it still rests, alarms
        self.found = np.zeros(known.n_pairs, dtype=bool)  # pairs that have raised theirs
        self.last, self.equal = 0.0, 0  # the last holding time, and how many before it in a row are equal to it

    def tell(self, pair: int, holding_time: float) -> Contradiction | None:
        """Count one holding time; return what all of them together contradict, if they do."""
        if not self.level:
            return None
        if self.resting:
            self.resting -= 1
            return None
        self.counted += 1
        start = -log(self.counted * (self.counted + 1) * len(self.evidence))
        self.evidence = np.logaddexp(self.evidence, start) + self._of(pair, holding_time)
        most = float(self.evidence.max())
        level = self.level * 6 / (pi * (self.alarms + 1)) ** 2
        if most + log(float(np.exp(self.evidence - most).sum())) < -log(level):
            return None
        long, seen = int(self.evidence.argmax()) < len(FACTORS), self.counted
        self.alarms += 1
        self.resting, self.counted, self.evidence = self.window * self.alarms, 0, np.full(len(self.evidence), -np.inf)
        return Contradiction(pair, True, long, holding_time, seen)

    def _of(self, pair: int, holding_time: float) -> np.ndarray:
        """Return log of the likelihood ratios of one holding time."""
        longer = self.low[pair] * holding_time * (1 - 1 / FACTORS) - np.log(FACTORS)
        if not np.isfinite(self.high[pair]):
            return np.concatenate([longer, np.zeros(len(FACTORS))])
        return np.concatenate([longer, np.log(FACTORS) - (FACTORS - 1) * (self.high[pair] * holding_time)])

    def of_pair(self, pair: int, visits: int, time: float, unfinished: bool = False) -> Contradiction | None:
        """Return whether a pair seen `visits` times for `time` in all contradicts its bounds, once.

        Where sojourns are `unfinished`, their time is part of `time`: one more jump would have come later still.
        """
        jumps = visits + unfinished
        if not self.level or not jumps or self.found[pair]:
            return None
        longest, shortest = time / jumps * float(self.low[pair]), time / max(1, visits) * float(self.high[pair])
        n, ratio = (jumps, longest) if longest > 1 else (visits, min(shortest, 1.0))
        if n * (ratio - 1 - log(ratio or TINY)) <= log(2 * len(self.low) * max(1, n) * (n + 1) / self.level):
            return None
        self.found[pair] = True
        return Contradiction(pair, False, ratio > 1, time / n, visits)

    def stuck(self, holding_time: float) -> int:
        """Return how many times in a row this holding time was reported, if that is STUCK, twice as many, ...; else 0."""
        self.equal = self.equal + 1 if holding_time == self.last else 0
        self.last = holding_time
        times = (self.equal + 1) // STUCK
        return self.equal + 1 if (self.equal + 1) % STUCK == 0 and times & (times - 1) == 0 else 0

    def state(self) -> dict[str, Any]:
        """Return everything but the bounds."""
        return {"evidence": self.evidence.copy(), "found": self.found.copy(), "last": self.last,
                "numbers": [self.counted, self.resting, self.alarms, self.equal]}

    def restore(self, state: dict[str, Any]) -> None:
        """Become what `state()` described."""
        self.evidence, self.found, self.last = np.array(state["evidence"]), np.array(state["found"]), float(state["last"])
        self.counted, self.resting, self.alarms, self.equal = map(int, state["numbers"])


def told_bounds(known: Knowledge) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest rate of each pair that was told: for all, and by what was told of its events."""
    low, high = np.full(known.n_pairs, float(known.rate_min)), np.full(known.n_pairs, float(known.rate_max))
    table = known.events
    if table is not None:
        low, high = np.maximum(low, table.rate(table.low)), np.minimum(high, table.rate(table.high))
    return low, np.maximum(low, high)


def in_words(found: Contradiction, known: Knowledge, test: BoundsTest) -> str:
    """Return what was found as the text of an alarm."""
    where = f"{known.actions[int(known.pair_action[found.pair])]!r} in state {known.states[int(known.pair_state[found.pair])]!r}"
    low, high = float(test.low[found.pair]), float(test.high[found.pair])
    if found.all_pairs:
        seen = f"the last of them is {found.mean:.4g}, of {where}"
    else:
        seen = f"{found.visits:,} of {where} lasted {found.mean:.4g} on average"
    return (f"the holding times are too {'long' if found.long else 'short'} for the rate bounds that were told; {seen}, and with "
            f"rates from {low:.4g} to {high:.4g} they last {mean_range(low, high)} on average. Check the unit in which times are "
            "reported, and the bounds. What was counted stays counted.")


def mean_range(low: float, high: float) -> str:
    """Return the mean holding times that rates from `low` to `high` allow, in words.

    >>> mean_range(0.5, 4.0), mean_range(0.0, 4.0), mean_range(0.5, float("inf"))
    ('from 0.25 to 2', 'at least 0.25', 'at most 2')
    """
    if low == 0:
        return f"at least {1 / high:.4g}"
    return f"at most {1 / low:.4g}" if high == float("inf") else f"from {1 / high:.4g} to {1 / low:.4g}"

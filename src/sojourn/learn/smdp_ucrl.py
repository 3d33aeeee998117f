"""SMDP-UCRL: UCRL2 for semi-Markov decision processes, with confidence sets for rows, holding times and rewards.

Source: Fruit and Lazaric 2017 (AISTATS).  Proved there, with the printed radii: regret O((D sqrt(S) + C) R_max sqrt(S A n
log(n/delta))) after n decisions with probability 1 - delta, for sub-exponential holding times (C from their parameters) or
bounded ones.
"""

from __future__ import annotations

from math import log

import numpy as np

from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.holding_sets import HoldingSet
from sojourn.learn.plausible import rate_interval
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import one_of, positive

TIMES = ("sub-exponential", "bounded")
RADII = {"printed": 14.0, "public": 3.5}  # the constant in front of log/n: of the paper, of the authors' code


class SMDPUCRL(CTUCRL):
    """CT-UCRL's planning with the plain mean of the holding times and SMDP-UCRL's radii.   Source: Fruit and Lazaric 2017

    - `times`: "sub-exponential" (an exponential time has sigma = b = 2/λ_min): radius sigma sqrt(14 L/n), L = log(2 S A t/delta),
      once n is at least 2 (b/sigma)² log(240 S A t^7/delta), and 14 b L/n before; "bounded": they lie in [0, `longest`] (2/λ_min
      unless told; no exponential time does), radius longest sqrt(7 L/(2n)).
    - `radii`: "printed", or "public": 3.5 in the place of 14, as in the authors' code, with delta = 1/sqrt(t) unless told.
    - The rewards are known here; `unknown_rewards`, `delta`, `horizon`, `radius_scale`, `reward_range`, `stop` and `planning` are
      those of `ct-ucrl`; `radius_scale` is 0.1 by default, 1 is as printed.
    """

    def __init__(self, knowledge: Knowledge, delta: float | None = None, horizon: float | None = None, radius_scale: float = 0.1,
                 reward_range: tuple[float, float] | str | None = "auto", stop: str = "printed", planning: str = "fast",
                 unknown_rewards: bool = False, times: str = "sub-exponential", longest: float | None = None,
                 radii: str = "printed", seed: int | np.random.SeedSequence = 0):
        self.times, self.radii = one_of("times", times, TIMES), one_of("radii", radii, tuple(RADII))
        self.longest = 2 / float(knowledge.rate_min) if longest is None else positive("longest", longest)
        self.falling = self.radii == "public" and delta is None and horizon is None
        super().__init__(knowledge, delta, horizon, radius_scale, reward_range, stop, planning, unknown_rewards, "mean", seed)

    def holding_now(self) -> HoldingSet:
        """Return the intervals of SMDP-UCRL around the plain means."""
        known, counts = self.knowledge, self.counts
        if self.falling:
            self.delta = counts.epoch**-0.5
        n, size, constant = np.maximum(1, counts.visits), known.n_states * known.max_choices, RADII[self.radii]
        x = log(2 * size * counts.epoch / self.delta)
        if self.times == "bounded":
            radius = self.longest * np.sqrt(3.5 * x / n)
        else:
            sigma = 2 / float(known.rate_min)  # and b is the same
            few = n < 2 * (log(240 * size / self.delta) + 7 * log(counts.epoch))
            radius = sigma * np.where(few, constant * x / n, np.sqrt(constant * x / n))
        mean, radius = counts.truncated_mean, self.radius_scale * radius
        low, high, empty = rate_interval(counts.visits, mean, radius, known.rate_min, known.rate_max)
        return HoldingSet(mean, radius, low, high, int(empty.sum()))

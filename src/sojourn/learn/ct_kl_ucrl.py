"""CT-KL-UCRL: CT-UCRL's optimism and episodes with Kullback-Leibler confidence sets.

Sources: Filippi, Cappe, Garivier 2010 (KL balls for rows); Gao and Zhou (alg: CTUCRL: episodes, optimism).

Confidence.  With P pairs, each of the 2P sets below holds *at all times* with probability 1 - delta/(2P), so all of them together
with probability 1 - delta, whatever the policy:

- rows: N KL(p̂ ‖ p) <= log(2P/delta) + log of (largest likelihood / Dirichlet(1/k) mixture of likelihoods) (Ville's inequality);
- holding times: n (m̂/m - 1 - log(m̂/m)) <= log(4 P n (n + 1)/delta), m̂ the plain mean of n.  At a fixed n an exponential sample
  leaves {n (...) <= x} with probability at most 2 e^{-x}; the union over n costs Σ 1/(n (n + 1)) = 1.

On that event the planned gain is at least the true one.  A regret bound of its own is not proved here.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sojourn.errors import ParameterError, ToleranceError
from sojourn.kernels.kl_optimism import kl_optimism, kl_sets
from sojourn.learn.counting import Belief, CountingLearner
from sojourn.learn.ct_ucrl import confidence
from sojourn.learn.learner import Plan
from sojourn.learn.parameters import positive
from sojourn.model.knowledge import Knowledge

MAX_STEPS = 20_000
SMALLEST = 1e-300
DELTA = 0.01  # the sets hold at all times, so one value serves every horizon


class CTKLUCRL(CountingLearner):
    """Plans on the best model within KL balls and exponential-KL intervals; replans when a count doubles.   Paper: alg: CTUCRL

    Give `delta` in (0, 1], 0.01 unless told, or `horizon` = N epochs, which means delta = 1/N.  `radius_scale` multiplies
    log(2P/delta) in both bounds; below 1 there is no guarantee left.  Planning stops at span(Tu - u) < w/sqrt(t), w the spread of
    the rewards per uniformised step (eq:stop has w = 1, for rewards in [0, 1]): a constant running reward changes no decision.
    """

    memory = ("values", "row_radius", "rate_low", "rate_high", "planned_visits", "planned_count")

    def __init__(self, knowledge: Knowledge, delta: float | None = None, horizon: float | None = None, radius_scale: float = 1.0,
                 seed: int = 0):
        super().__init__(knowledge, seed)
        self.delta = confidence(DELTA if delta is None and horizon is None else delta, horizon)
        self.radius_scale = positive("radius_scale", radius_scale)
        self.belief = Belief(knowledge)
        self.values = np.zeros(knowledge.n_states)
        step = np.outer((knowledge.rate_min, knowledge.rate_max), knowledge.reward) + knowledge.running
        self.scale = float(np.ptp(step)) / knowledge.rate_max or 1.0
        self.level = (self.delta / (2 * knowledge.n_pairs)) ** self.radius_scale  # of each single set
        if self.level < SMALLEST:
            raise ParameterError(f"radius_scale is {self.radius_scale:g} with delta = {self.delta:g}; (delta/2P)^radius_scale must "
                                 f"be at least {SMALLEST:g}. Take a smaller radius_scale.")
        self.sets()

    def sets(self) -> int:
        """Take the confidence sets from the counts: KL radii of rows, intervals of rates; return how many intervals are empty."""
        counts = self.counts
        self.belief.update(counts)
        self.row_radius, self.rate_low, self.rate_high, empty = kl_sets(
            self.belief.row_start, self.belief.count, counts.visits, counts.holding_sum, self.level, self.belief.rate_min,
            self.belief.rate_max)
        self.planned_visits, self.planned_count = counts.visits.copy(), self.belief.count.copy()
        return int(empty)

    def plan(self) -> Plan:
        """Return the optimistic policy, good until some pair's visits double."""
        empty = self.sets()
        known, rows = self.knowledge, self.belief
        empirical = rows.count / np.repeat(np.maximum(1, self.counts.visits), np.diff(rows.row_start))
        u = self.values.copy()
        pair, low, high, steps, converged = kl_optimism(
            u, self.scale / sqrt(self.counts.epoch), MAX_STEPS, rows.pair_start, rows.row_start, rows.next_state, empirical,
            self.row_radius, self.rate_low, self.rate_high, rows.reward, rows.running, rows.rate_max)
        if not converged:
            raise ToleranceError(f"optimistic planning has span(Tu - u) = {high - low:.3g} after {steps} steps; it must fall below "
                                 f"{self.scale / sqrt(self.counts.epoch):.3g}. Are all states able to reach each other?")
        self.values = u - u.min()
        info = {"optimistic_gain": float(known.rate_max * high), "optimistic_gain_low": float(known.rate_max * low),
                "sweeps": steps, "empty_intervals": empty}
        return Plan(known.pair_action[pair], quota=np.maximum(1, self.counts.visits), info=info)

    def contains(self, transition: np.ndarray, rate: np.ndarray) -> bool:
        """Return whether a model with this (P, S) matrix of transitions and these rates is in the confidence sets."""
        rows, count = self.belief, self.planned_count
        pair = np.repeat(np.arange(self.knowledge.n_pairs), np.diff(rows.row_start))
        seen = count > 0
        p = count[seen] / self.planned_visits[pair[seen]]
        q = np.asarray(transition)[pair[seen], rows.next_state[seen]]
        with np.errstate(divide="ignore"):
            divergence = np.bincount(pair[seen], p * np.log(p / q), minlength=self.knowledge.n_pairs)
        inside = (self.rate_low <= rate * (1 + 1e-12)) & (rate <= self.rate_high * (1 + 1e-12))
        return bool((divergence <= self.row_radius).all() and inside.all())

    def snapshot(self) -> dict[str, np.ndarray]:
        """Return (S, A) tables of visits, mean holding times, KL radii and rate intervals of the last plan."""
        table = self.knowledge.table
        return {**super().snapshot(), "transition_radius": table(self.row_radius),
                "rate_interval": table(np.stack([self.rate_low, self.rate_high], axis=1))}

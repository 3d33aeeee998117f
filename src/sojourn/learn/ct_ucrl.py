"""CT-UCRL: optimism in the face of uncertainty for continuous-time Markov decision processes.   Paper: alg: CTUCRL"""

from __future__ import annotations

import warnings
from math import isfinite, sqrt
from typing import Any

import numpy as np

from sojourn.errors import ParameterError, RewardScaleWarning
from sojourn.learn.counts import Counts, pairs_of
from sojourn.learn.holding_sets import ESTIMATORS, Cells, HoldingSet, kl_holding_set, mean_set
from sojourn.learn.learner import History, Learner, Plan
from sojourn.learn.optimism import Optimistic, extended_iteration
from sojourn.learn.plausible import PlausibleSet, plausible_set
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import at_least, is_number, one_of, positive

DELTA = 0.01  # unless told, whoever makes the learner: Python, the command line or a study; learn/set_level.py has another


class CTUCRL(Learner):
    """Plans on the best model its data cannot rule out; replans when a count doubles.   Paper: alg: CTUCRL

    `delta` in (0, 1] is 0.01 unless told; `horizon` = N epochs instead of it means delta = 1/N (thm:UCRL).

    - `radius_scale` multiplies every radius; below 1 there is no guarantee left, 1 is the paper.
    - `reward_range=(lo, hi)` divides rewards by the width of the range together with 0, inside the learner only: the paper's
      stopping rule and constants assume rewards of order 1.  The optimistic gain is reported in the original unit.  "auto" is the
      range of what one decision pays on average, over the rates that the learner is told.
    - `stop`: "printed" is eq:stop, a span in uniformised units; "gain" is eq:optimistic-model, 1/sqrt(t) in gain units.
    - `planning`: "printed" iterates eq:EVI from 0; "fast" ends in the same test (see `FastIteration` in learn/plausible.py).
    - `estimator` of the mean holding times: "truncated" is the paper's, beside it "mean", "median-of-means" and "kl", each with a
      radius that holds as often (learn/holding_sets.py).
    - `unknown_rewards`: plan with the empirical mean reward plus Jaksch's radius (the paper's footnote); rewards within
      `reward_range`, or within [0, 1].
    """

    folds = True

    def __init__(self, knowledge: Knowledge, delta: float | None = None, horizon: float | None = None, radius_scale: float = 1.0,
                 reward_range: tuple[float, float] | str | None = None, stop: str = "printed", planning: str = "printed",
                 unknown_rewards: bool = False, estimator: str = "truncated", seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, seed)
        self.delta = confidence(delta, horizon)
        self.estimator = one_of("estimator", estimator, ESTIMATORS)
        self.radius_scale = positive("radius_scale", radius_scale)
        self.stop = one_of("stop", stop, ("printed", "gain"))
        self.planning = one_of("planning", planning, ("printed", "fast"))
        self.unknown_rewards = bool(unknown_rewards)
        self.reward_scale = reward_width(reward_range, knowledge)
        if reward_range is None and not unknown_rewards:
            warn_of_scale(knowledge)
        self.counts = Counts(knowledge, self.delta if self.estimator == "truncated" else None)
        self.cells = Cells(knowledge) if self.estimator == "median-of-means" else None
        self.folds = type(self).folds and self.cells is None
        self.values: np.ndarray | None = None  # u of the last plan, where the next fast one starts
        self.plausible: PlausibleSet = self.plausible_now()  # as it was when the last plan was made

    def plausible_now(self) -> PlausibleSet:
        """Return the plausible models given everything counted so far (step 4a)."""
        return plausible_set(self.counts, self.knowledge, self.delta, self.radius_scale, self.unknown_rewards, self.reward_scale,
                             self.holding_now())

    def holding_now(self) -> HoldingSet | None:
        """Return what is plausible of the holding times; None leaves it to the paper's truncated mean."""
        given = self.counts, self.knowledge, self.delta, self.radius_scale
        if self.cells is not None:
            return self.cells.set(*given)
        return {"mean": mean_set, "kl": kl_holding_set}[self.estimator](*given) if self.estimator in ("mean", "kl") else None

    def observe(self, history: History) -> None:
        """Count a chunk of epochs; a median of means keeps the single times as well."""
        super().observe(history)
        if self.cells is not None:
            self.cells.add(pairs_of(history, self.knowledge), history.holding_time)

    def tolerance(self) -> float:
        """Return the span at which planning may stop: 1/sqrt(t) in uniformised units (eq:stop), or in gain units."""
        printed = 1 / sqrt(self.counts.epoch)
        return printed if self.stop == "printed" else printed / self.knowledge.rate_max

    def optimistic(self) -> Optimistic:
        """Return the optimistic policy for `self.plausible` (step 4b); gains are in units of `reward_scale`."""
        iteration = self.plausible.iteration(self.knowledge, self.reward_scale, fast=self.planning == "fast")
        return extended_iteration(iteration, self.knowledge, self.tolerance(), self.values if self.planning == "fast" else None)

    def plan(self) -> Plan:
        """Return the optimistic policy, good until some pair's visits double (steps 3 to 6)."""
        self.plausible = self.plausible_now()
        best = self.optimistic()
        self.values = best.values
        low, high = (float(bound * self.reward_scale) for bound in best.gain_bounds)
        info = {"optimistic_gain": high, "optimistic_gain_low": low, "sweeps": best.sweeps,
                "empty_intervals": self.plausible.empty_intervals}
        return Plan(best.policy, quota=np.maximum(1, self.counts.visits), info=info)

    def snapshot(self) -> dict[str, np.ndarray]:
        """Return what the last plan was based on, as (S, A) tables (NaN where not admissible): a fresh copy.

        visits, truncated_mean, transition_radius, holding_radius, and rate_interval (S, A, 2) in rates, low and high.
        """
        known, table = self.plausible, self.knowledge.table
        return {
            "visits": table(known.visits, fill=0), "truncated_mean": table(known.truncated_mean),
            "transition_radius": table(known.transition_radius), "holding_radius": table(known.holding_radius),
            "rate_interval": table(np.stack([known.rate_low, known.rate_high], axis=1)),
        }

    def remembered(self) -> dict[str, Any]:
        """Return the values of the last plan and the set it was made from."""
        more = {} if self.cells is None else {"cells": self.cells.state()}
        return {"values": np.zeros(0) if self.values is None else self.values.copy(), "plausible": self.plausible.state(), **more}

    def recall(self, state: dict[str, Any]) -> None:
        """Take back what `remembered` returned."""
        values = np.array(state["values"], dtype=np.float64)
        self.values = values if values.size else None
        self.plausible = PlausibleSet.restored(state["plausible"])
        if self.cells is not None:
            self.cells.restore(state["cells"])


def confidence(delta: float | None, horizon: float | None) -> float:
    """Return delta, or 1/horizon, or 0.01 if neither is given."""
    if delta is None and horizon is None:
        return DELTA
    if delta is not None and horizon is not None:
        raise ParameterError(f"delta is {delta} and horizon is {horizon}; give one of them: delta in (0, 1], or horizon = the "
                             "number N of epochs, which means delta = 1/N.")
    if horizon is not None:
        return 1 / at_least("horizon", horizon, 1, " (epochs)")
    if not (is_number(delta) and 0 < delta <= 1):  # type: ignore[operator]
        raise ParameterError(f"delta is {delta!r}; it must be in (0, 1].")
    return float(delta)  # type: ignore[arg-type]


def reward_width(reward_range: tuple[float, float] | str | None, knowledge: Knowledge) -> float:
    """Return the width of the range together with 0: lump sums may be scaled but never shifted."""
    if reward_range is None:
        return 1.0
    if reward_range == "auto":
        reward_range = paid_range(knowledge)
        if reward_range == (0.0, 0.0):  # nothing to scale
            return 1.0
    try:
        low, high = (float(bound) for bound in reward_range)
    except (TypeError, ValueError):
        raise ParameterError(f"reward_range is {reward_range!r}; it must be a pair (low, high), or \"auto\".") from None
    width = max(high, 0.0) - min(low, 0.0)
    if not (isfinite(low) and isfinite(high) and low <= high and width > 0):
        raise ParameterError(f"reward_range is ({low:g}, {high:g}); it needs low <= high, finite, and not both 0.")
    return width


def paid_range(knowledge: Knowledge) -> tuple[float, float]:
    """Return the least and the most that one decision pays on average, r + c/λ, over the pairs and the rates told."""
    paid = [knowledge.reward + knowledge.running / rate for rate in (knowledge.rate_min, knowledge.rate_max)]
    return float(np.min(paid)), float(np.max(paid))


def warn_of_scale(knowledge: Knowledge) -> None:
    """Warn when the largest reward per uniformised step, max|r| where nothing is running, is outside [0.1, 10]."""
    with np.errstate(over="ignore"):  # beyond every float is outside of the range as well
        steps = [np.abs(knowledge.reward * rate + knowledge.running).max() for rate in (knowledge.rate_min, knowledge.rate_max)]
    largest = max(steps) / knowledge.rate_max
    if not 0.1 <= largest <= 10:
        warnings.warn(f"the largest reward is {largest:.3g}; the stopping rule and the constants of CT-UCRL assume rewards of "
                      "order 1 (outside [0.1, 10] plans may be myopic or the bounds void). Pass reward_range=(low, high), or "
                      "\"auto\", to rescale inside the learner.", RewardScaleWarning, stacklevel=3)

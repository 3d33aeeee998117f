"""Planning by optimism: the best policy on the best model that the data leave open, by one extended iteration over any such set.

A confidence set (learn/plausible.py: L1 balls; learn/kl_set.py: KL balls) gives an *iteration*: an object that improves values u by
some Bellman steps of its extended model, in uniformised units.  The driver here calls it until the steps are nearly constant, which
proves the gain.  A new set, or a constraint on u such as a bound on its span, is one file with such an iteration.

Paper: eq:EVI, eq:stop
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from sojourn.errors import ToleranceError
from sojourn.kernels.swept_planning import DENSE
from sojourn.kernels.turns import first_course
from sojourn.model.knowledge import Knowledge

MAX_STEPS = 10_000_000
TOO_FAR_APART = ("Either some states cannot reach each other (`sojourn.check` says which), or rates, chances or rewards lie too "
                 "far apart to plan with a proof in time; ct-imed, the default learner, plans without one.")


class Improved(NamedTuple):
    """Where some steps have led: the pair and the optimistic rate chosen in each state, min and max of the last Tu - u."""

    pair: np.ndarray
    rate: np.ndarray
    steps: int
    low: float
    high: float
    converged: bool  # whether the last step was over all actions, with span(Tu - u) < tolerance


class Iteration(Protocol):
    """How to plan over one confidence set; `remedy` ends the sentence that says it did not converge."""

    remedy: str

    def improve(self, u: np.ndarray, tolerance: float, most: int) -> Improved:
        """Take some of at most `most` steps on u, in place, for about 0.1 s."""


class TurnIteration:
    """Planning over a set whose kernel takes steps as kernels/turns.py has it: `problem` is what that kernel plans on."""

    remedy = TOO_FAR_APART

    def __init__(self, kernel: Callable[..., Any], problem: Any):
        self.kernel, self.problem = kernel, problem
        n_states = len(problem.pair_start) - 1
        self.course = first_course(n_states)
        solving = n_states**3 // 30 if n_states <= DENSE else 0
        entries = len(problem.next_state) + 4 * len(problem.reward)
        self.some = max(1, 1_000_000 // (entries + solving))  # steps in about 0.1 s

    def improve(self, u: np.ndarray, tolerance: float, most: int) -> Improved:
        """Take some of at most `most` steps on u, in place."""
        pair, rate, low, high, steps, converged = self.kernel(u, tolerance, min(most, self.some), self.problem, self.course)
        return Improved(pair, rate, int(steps), float(low), float(high), bool(converged))


@dataclass(frozen=True, eq=False)
class Optimistic:
    """The optimistic policy (action per state) with its rates, the values u it is greedy in, and how it was found.

    `gain_bounds` = rate_max * (min, max) of Tu - u enclose the best gain over the plausible models, per unit time.
    """

    policy: np.ndarray
    rate: np.ndarray
    values: np.ndarray
    gain_bounds: tuple[float, float]
    sweeps: int

    @property
    def gain(self) -> float:
        """The upper end of `gain_bounds`: no plausible model has a larger gain."""
        return self.gain_bounds[1]


def extended_iteration(iteration: Iteration, knowledge: Knowledge, tolerance: float, start: np.ndarray | None = None,
                       max_steps: int = MAX_STEPS) -> Optimistic:
    """Return the policy greedy in the first u found with span(Tu - u) < tolerance, iterating from `start` (0).

    T is the Bellman operator of the uniformised extended model, so `tolerance` certifies the gain to rate_max * tolerance.
    Ties go to the lowest action.  Raises ToleranceError after `max_steps`.  Paper: eq:EVI, eq:stop
    """
    u = np.zeros(knowledge.n_states) if start is None else np.array(start, dtype=np.float64)
    steps, converged = 0, False
    while not converged and steps < max_steps:
        last = iteration.improve(u, tolerance, max_steps - steps)
        steps, converged = steps + last.steps, last.converged
    bounds = (float(knowledge.rate_max * last.low), float(knowledge.rate_max * last.high))
    found = Optimistic(knowledge.pair_action[last.pair], last.rate, u, bounds, steps)
    if not converged:
        raise ToleranceError(f"extended iteration has span(Tu - u) = {last.high - last.low:.3g} after {steps} steps; "
                             f"it must fall below {tolerance:.3g}. {iteration.remedy}", found)
    return found

"""Planning by optimism: the best policy on the best model that the data leave open, by one extended iteration over any such set.

A confidence set (learn/plausible.py: L1 balls; learn/kl_set.py: KL balls) gives an *iteration*: an object that improves values u by
some Bellman steps of its extended model.  The driver here calls it until the steps are nearly constant, which proves the gain.  A
new set, or a constraint on u such as a bound on its span, is one file with such an iteration.

The printed iterations step in units of the uniformised process (`extended_iteration`); others look at drifts in real time
(`optimistic_plan`; kernels/gain_planning.py), so that neither their steps nor their tolerance depend on the rate bounds told.

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
SMALL = 1e-100  # payments below, or above 1 over it, are taken in another unit
TOO_FAR_APART = ("Either some states cannot reach each other (`sojourn.check` says which), or rates, chances or rewards lie too "
                 "far apart to plan with a proof in time; ct-imed, the default learner, plans without one.")


class Improved(NamedTuple):
    """Where some steps have led: the pair and optimistic rate chosen in each state, min and max of the last Tu - u or drifts."""

    pair: np.ndarray
    rate: np.ndarray
    steps: int
    low: float
    high: float
    converged: bool  # whether the last step was over all actions, with a span within tolerance


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


class DriftIteration(TurnIteration):
    """Planning in real time over a set whose kernel looks at drifts as kernels/gain_planning.py has it.

    It plans on running rewards less the least of them, so that a constant one changes nothing, not even a rounding; and in a unit
    of payment, a power of two, in which the squares of payments are numbers.
    """

    def __init__(self, kernel: Callable[..., Any], problem: Any):
        self.base = float(problem.running.min())
        self.unit = payment_unit(problem.reward, problem.running)
        super().__init__(kernel, problem._replace(reward=problem.reward / self.unit,
                                                  running=problem.running / self.unit - self.base / self.unit))

    def improve(self, u: np.ndarray, tolerance: float, most: int) -> Improved:
        """Take some of at most `most` looks, u changes in place."""
        u /= self.unit
        found = super().improve(u, tolerance / self.unit, most)
        u *= self.unit
        return found._replace(low=found.low * self.unit + self.base, high=found.high * self.unit + self.base)


def payment_unit(reward: np.ndarray, running: np.ndarray) -> float:
    """Return a power of two in which the squares of payments are numbers; 1 where they are as they stand.

    >>> payment_unit(np.array([3.0]), np.array([0.0])), payment_unit(np.array([3e200]), np.array([0.0])) == 2.0**665
    (1.0, True)
    """
    size = max(float(np.abs(reward).max(initial=0)), float(np.abs(running).max(initial=0)))
    if size == 0 or SMALL <= size <= 1 / SMALL:
        return 1.0
    return float(np.ldexp(1.0, np.frexp(size)[1] - 1))


@dataclass(frozen=True, eq=False)
class Optimistic:
    """The optimistic policy (action per state) with its rates, the values u it is greedy in, and how it was found.

    `gain_bounds`, in reward per unit of time, enclose the best gain over the plausible models.
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
    found, span, converged = _iterate(iteration, knowledge, tolerance, start, max_steps, float(knowledge.rate_max))
    if not converged:
        raise ToleranceError(f"extended iteration has span(Tu - u) = {span:.3g} after {found.sweeps} steps; "
                             f"it must fall below {tolerance:.3g}. {iteration.remedy}", found)
    return found


def optimistic_plan(iteration: Iteration, knowledge: Knowledge, tolerance: float, start: np.ndarray | None = None,
                    max_looks: int = MAX_STEPS) -> Optimistic:
    """Return the policy greedy in the first u found whose drifts prove the optimistic gain to `tolerance`, reward per unit of time.

    The iteration looks at drifts in real time, from `start` (0).  Raises ToleranceError after `max_looks`.
    """
    found, span, converged = _iterate(iteration, knowledge, tolerance, start, max_looks, 1.0)
    if not converged:
        raise ToleranceError(f"the optimistic gain is known to {span:.3g} only after {found.sweeps} looks at all pairs; it must be "
                             f"known to {tolerance:.3g}. {iteration.remedy}", found)
    return found


def _iterate(iteration: Iteration, knowledge: Knowledge, tolerance: float, start: np.ndarray | None, most: int,
             unit: float) -> tuple[Optimistic, float, bool]:
    """Return (what was found, span of the last step, whether it was within tolerance); `unit` makes steps gains."""
    u = np.zeros(knowledge.n_states) if start is None else np.array(start, dtype=np.float64)
    last = improved(iteration, u, tolerance, most)
    bounds = (unit * float(last.low), unit * float(last.high))
    return Optimistic(knowledge.pair_action[last.pair], last.rate, u, bounds, last.steps), last.high - last.low, last.converged


def improved(iteration: Iteration, u: np.ndarray, tolerance: float, most: int) -> Improved:
    """Improve u, in place, until it converges or `most` steps were taken; all steps are counted in what is returned."""
    steps, converged = 0, False
    while not converged and steps < most:
        last = iteration.improve(u, tolerance, most - steps)
        steps, converged = steps + last.steps, last.converged
    return last._replace(steps=steps)


def income_spread(knowledge: Knowledge, visits: np.ndarray, rate_low: np.ndarray) -> float:
    """Return the scale in which a plan's gain must be proved: how far the incomes r λ + c of the pairs tried lie apart.

    Each is taken at the lower end of its rate's interval: while the sets hold this is no more than a constant of the true model,
    and it settles at the true spread.  Where it says nothing, the spread over all pairs within the bounds that are told.

    >>> from sojourn.model.knowledge import Knowledge
    >>> known = Knowledge.from_arrays([[2.0, 0.0]], (1e-6, 1e6))
    >>> income_spread(known, np.array([5, 9]), np.array([1.5, 3.0])), income_spread(known, np.array([5, 0]), np.array([1.5, 3.0]))
    (3.0, 2000000.0)
    """
    tried = visits > 0
    incomes = knowledge.reward[tried] * rate_low[tried] + knowledge.running[tried]
    spread = float(np.ptp(incomes)) if tried.any() else 0.0
    return spread or told_spread(knowledge) or np.inf


def told_spread(knowledge: Knowledge) -> float:
    """Return how far incomes r λ + c may lie apart over all pairs and rates within the bounds that are told; 0 if none are."""
    if not knowledge.rates_told:
        return 0.0
    return float(np.ptp(np.outer((knowledge.rate_min, knowledge.rate_max), knowledge.reward) + knowledge.running))

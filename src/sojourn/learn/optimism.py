"""The best policy on the best plausible model: extended value iteration.   Paper: eq:EVI, eq:stop"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.errors import ToleranceError
from sojourn.kernels import fast_optimism, optimism
from sojourn.learn.plausible import PlausibleSet
from sojourn.model.knowledge import Knowledge

MAX_SWEEPS = 10_000_000
CHUNK_ENTRIES = 20_000_000  # row entries handled in one kernel call: about 0.1 s
SUPPORT_DAMPING = 0.9  # uniformise at rate_max / 0.9 where supports are known (READINGS: a swap at rate_max cycles for ever)
FAST_STEPS = 200  # policy improvements tried before falling back on plain value iteration
PASSES = 10  # Gauss-Seidel passes per policy evaluation


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


def extended_problem(plausible: PlausibleSet, knowledge: Knowledge, reward_scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arrays that the kernels take, in uniformised units; rows are copies, since sweeps reorder them."""
    longest = int((plausible.row_start[1:] - plausible.row_start[:-1]).max())
    full = not plausible.supports_known and longest == knowledge.n_states
    top = float(knowledge.rate_max)
    return (
        knowledge.pair_start, plausible.row_start, plausible.next_state.copy(), plausible.probability.copy(), plausible.reach,
        plausible.rate_low / top, plausible.rate_high / top, plausible.reward, knowledge.running / reward_scale / top,
        plausible.supports_known, full,
    )


def extended_value_iteration(plausible: PlausibleSet, knowledge: Knowledge, tolerance: float, start: np.ndarray | None = None,
                             max_sweeps: int = MAX_SWEEPS, reward_scale: float = 1.0) -> Optimistic:
    """Return the policy greedy in the first u with span(Tu - u) < tolerance, iterating u <- Tu from `start` (0).

    T is the Bellman operator of the uniformised extended model, so `tolerance` certifies the gain to rate_max * tolerance.
    Ties go to the lowest action.  With known supports the iteration is damped (uniformised above rate_max); the test is on
    the undamped Tu - u.  Raises ToleranceError after `max_sweeps`.  Paper: eq:EVI, eq:stop
    """
    u = np.zeros(knowledge.n_states) if start is None else np.array(start, dtype=np.float64)
    problem = extended_problem(plausible, knowledge, reward_scale)
    return _iterate(plausible, knowledge, tolerance, u, max_sweeps, problem, 0)


def fast_extended_value_iteration(plausible: PlausibleSet, knowledge: Knowledge, tolerance: float,
                                  start: np.ndarray | None = None, max_sweeps: int = MAX_SWEEPS,
                                  reward_scale: float = 1.0) -> Optimistic:
    """Return a policy that passes the same test, found by modified policy iteration from `start` (such as the last u).

    Between Bellman steps the policy at hand is evaluated on its optimistic rows by a few Gauss-Seidel passes, and actions
    that cannot be best any more are passed over: T is monotone and commutes with adding constants, so an action behind the
    best by x is still behind as long as the values have moved by less than x in span.

    The guarantee does not care how u was found.  The last thing done is one full Bellman step with span(Tu - u) <
    tolerance, and the policy is greedy in that same u; that is eq:stop.  The proof also needs span(u) <= rate_max D.  If the
    true model is plausible and rewards are in [0, 1], one may walk from any s to the state with the largest u in at most
    rate_max D expected uniformised steps, each of which gains at most max(Tu - u) on u, so

        span(u) <= max(Tu - u) rate_max D <= (1 + tolerance) rate_max D

    for every accepted u: warm starts keep the theorem up to that factor.  Paper: eq:stop, thm:UCRL
    """
    u = np.zeros(knowledge.n_states) if start is None else np.array(start, dtype=np.float64)
    problem = extended_problem(plausible, knowledge, reward_scale)
    y, steps, converged = np.zeros(knowledge.n_states), 0, False
    at_once = max(1, CHUNK_ENTRIES // (len(plausible.next_state) + 4 * knowledge.n_pairs + 10 * PASSES * knowledge.n_states))
    while not converged and steps < FAST_STEPS:
        pair, rising, done, low, high, converged = fast_optimism.fast_extended_value_iteration(
            u, y, tolerance, min(at_once, FAST_STEPS - steps), PASSES, *problem)
        steps += done
    if converged:
        return _optimistic(plausible, knowledge, pair, rising, u, low, high, steps)
    return _iterate(plausible, knowledge, tolerance, u, max_sweeps, problem, steps)


def _iterate(plausible: PlausibleSet, knowledge: Knowledge, tolerance: float, u: np.ndarray, max_sweeps: int,
             problem: tuple[Any, ...], sweeps: int) -> Optimistic:
    """Value iteration on u in place, in kernel calls short enough to interrupt."""
    damping = SUPPORT_DAMPING if plausible.supports_known else 1.0
    chunk = max(1, CHUNK_ENTRIES // (len(plausible.next_state) + 4 * knowledge.n_pairs))
    converged = False
    while not converged and sweeps < max_sweeps:
        pair, rising, done, low, high, converged = optimism.extended_value_iteration(
            u, tolerance, min(chunk, max_sweeps - sweeps), damping, *problem)
        sweeps += done
    found = _optimistic(plausible, knowledge, pair, rising, u, low, high, sweeps)
    if not converged:
        raise ToleranceError(f"extended value iteration has span(Tu - u) = {high - low:.3g} after {sweeps} sweeps; "
                             f"it must fall below {tolerance:.3g}. Raise max_sweeps or the tolerance; "
                             "a learner has planning='fast' for it, or a larger radius_scale.", found)
    return found


def _optimistic(plausible: PlausibleSet, knowledge: Knowledge, pair: np.ndarray, rising: np.ndarray, u: np.ndarray,
                low: float, high: float, sweeps: int) -> Optimistic:
    rate = np.where(rising, plausible.rate_high[pair], plausible.rate_low[pair])
    bounds = (float(knowledge.rate_max * low), float(knowledge.rate_max * high))
    return Optimistic(knowledge.pair_action[pair], rate, u, bounds, int(sweeps))

"""The best policy on the best plausible model: extended value iteration.   Paper: eq:EVI, eq:stop"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.errors import ToleranceError
from sojourn.kernels import optimism as kernels
from sojourn.learn.plausible import PlausibleSet
from sojourn.model.knowledge import Knowledge

MAX_SWEEPS = 10_000_000
CHUNK_ENTRIES = 20_000_000  # row entries handled in one kernel call: about 0.1 s
SUPPORT_DAMPING = 0.9  # uniformise at rate_max / 0.9 where supports are known (READINGS: a swap at rate_max cycles for ever)


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
    """Return the arrays that the kernels take; rows are copies, since sweeps reorder them."""
    full = not plausible.supports_known and bool((np.diff(plausible.row_start) == knowledge.n_states).any())
    return (
        knowledge.pair_start, plausible.row_start, plausible.next_state.copy(), plausible.probability.copy(), plausible.reach,
        plausible.rate_low, plausible.rate_high, plausible.reward, knowledge.running / reward_scale, float(knowledge.rate_max),
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
    damping = SUPPORT_DAMPING if plausible.supports_known else 1.0
    chunk = max(1, CHUNK_ENTRIES // (len(plausible.next_state) + 4 * knowledge.n_pairs))
    sweeps, converged = 0, False
    while not converged and sweeps < max_sweeps:
        pair, rate, done, low, high, converged = kernels.extended_value_iteration(
            u, tolerance, min(chunk, max_sweeps - sweeps), damping, *problem)
        sweeps += done
    bounds = (float(knowledge.rate_max * low), float(knowledge.rate_max * high))
    found = Optimistic(knowledge.pair_action[pair], rate, u, bounds, sweeps)
    if not converged:
        raise ToleranceError(f"extended value iteration has span(Tu - u) = {high - low:.3g} after {sweeps} sweeps; "
                             f"it must fall below {tolerance:.3g}. Raise max_sweeps or the tolerance.", found)
    return found


def fast_extended_value_iteration(plausible: PlausibleSet, knowledge: Knowledge, tolerance: float,
                                  start: np.ndarray | None = None, max_sweeps: int = MAX_SWEEPS,
                                  reward_scale: float = 1.0) -> Optimistic:
    """Return a policy that passes the same test from a warm start."""
    return extended_value_iteration(plausible, knowledge, tolerance, start, max_sweeps, reward_scale)

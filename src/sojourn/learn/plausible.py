"""Uncertainty as the paper has it, the plausible models: an L1 ball around each empirical row and an interval for each rate.

Paper: alg: CTUCRL, step 4(a); eq:P-CI; eq:rate-CI
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.kernels import fast_optimism, optimism
from sojourn.learn.counts import Counts
from sojourn.learn.optimism import MAX_STEPS, TOO_FAR_APART, Improved, Optimistic, extended_iteration
from sojourn.model.knowledge import Knowledge

if TYPE_CHECKING:
    from sojourn.learn.holding_sets import HoldingSet

CHUNK_ENTRIES = 20_000_000  # row entries handled in one kernel call: about 0.1 s
SUPPORT_DAMPING = 0.9  # uniformise at rate_max / 0.9 where supports are known
FAST_STEPS = 200  # policy improvements tried before falling back on plain value iteration
PASSES = 10  # Gauss-Seidel passes per policy evaluation


@dataclass(frozen=True, eq=False, repr=False)
class PlausibleSet:
    """The set C_k, per pair: rows of the successors seen, radii, the interval of rates, the reward to plan with.

    `next_state`/`probability` are the empirical rows (with known supports: over the whole support, zeros included).  A pair
    with 0 visits may have any row and any rate within the bounds, whatever its radius.  `rate_low`, `rate_high` are rates.
    `empty_intervals` counts the pairs whose interval missed [rate_min, rate_max] and was put at the nearer end.
    """

    visits: np.ndarray
    row_start: np.ndarray
    next_state: np.ndarray
    probability: np.ndarray
    transition_radius: np.ndarray
    truncated_mean: np.ndarray
    holding_radius: np.ndarray
    rate_low: np.ndarray
    rate_high: np.ndarray
    reward: np.ndarray
    empty_intervals: int
    supports_known: bool = False

    @property
    def reach(self) -> np.ndarray:
        """The mass that may move to the best state: half the radius; all of it where nothing was seen."""
        return np.where(self.visits == 0, 1.0, self.transition_radius / 2)

    def contains(self, transition: Any, rate: np.ndarray) -> bool:
        """Return whether a model with this (P, S) matrix of transitions and these rates per pair is plausible."""
        dense = np.asarray(transition.todense()) if hasattr(transition, "todense") else np.asarray(transition)
        empirical = np.zeros_like(dense)
        pair = np.repeat(np.arange(len(self.visits)), np.diff(self.row_start))
        empirical[pair, self.next_state] = self.probability
        seen = self.visits > 0
        rows = np.abs(dense - empirical).sum(axis=1) <= self.transition_radius
        rates = (self.rate_low <= rate) & (rate <= self.rate_high)
        return bool((rows | ~seen).all() and rates.all())

    def iteration(self, knowledge: Knowledge, reward_scale: float = 1.0, fast: bool = False) -> PrintedIteration:
        """Return how extended iteration (learn/optimism.py) plans over this set: as printed, or with fewer steps."""
        return (FastIteration if fast else PrintedIteration)(self, knowledge, reward_scale)

    def state(self) -> dict[str, Any]:
        """Return the parts, copied."""
        return {name: np.array(value) if isinstance(value, np.ndarray) else value for name, value in vars(self).items()}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> PlausibleSet:
        """Return the set that `state()` described."""
        arrays = {name: np.array(state[name]) for name in cls.__dataclass_fields__
                  if name not in ("empty_intervals", "supports_known")}
        return cls(**arrays, empty_intervals=int(state["empty_intervals"]), supports_known=bool(state["supports_known"]))

    def __repr__(self) -> str:
        return f"<PlausibleSet: {len(self.visits)} pairs, {int((self.visits > 0).sum())} with data>"


class PrintedIteration:
    """Value iteration over the L1 set, as printed: u <- Tu.   Paper: eq:EVI

    With known supports the iteration is damped (uniformised above rate_max: at rate_max a swap of two values goes on for ever);
    the test is on the undamped Tu - u.
    """

    remedy = f"{TOO_FAR_APART} With ct-ucrl planning='fast', or reward_range='auto' for large rewards, takes fewer steps."

    def __init__(self, plausible: PlausibleSet, knowledge: Knowledge, reward_scale: float = 1.0):
        self.plausible = plausible
        top = float(knowledge.rate_max)
        longest = int((plausible.row_start[1:] - plausible.row_start[:-1]).max())
        full = not plausible.supports_known and longest == knowledge.n_states
        self.problem = optimism.Extended(  # rows are copies, since sweeps reorder them
            knowledge.pair_start, plausible.row_start, plausible.next_state.copy(), plausible.probability.copy(), plausible.reach,
            plausible.rate_low / top, plausible.rate_high / top, plausible.reward, knowledge.running / reward_scale / top,
            plausible.supports_known, full)
        self.entries = len(plausible.next_state) + 4 * knowledge.n_pairs  # handled in one sweep
        self.damping = SUPPORT_DAMPING if plausible.supports_known else 1.0

    def improve(self, u: np.ndarray, tolerance: float, most: int) -> Improved:
        """Take at most `most` steps on u, in place."""
        at_once = max(1, CHUNK_ENTRIES // self.entries)
        return self.improved(optimism.extended_value_iteration(u, tolerance, min(at_once, most), self.damping, self.problem))

    def improved(self, found: tuple[Any, ...]) -> Improved:
        """Return what a kernel found, with the rates of the optimistic model."""
        pair, rising, steps, low, high, converged = found
        rate = np.where(rising, self.plausible.rate_high[pair], self.plausible.rate_low[pair])
        return Improved(pair, rate, int(steps), float(low), float(high), bool(converged))


class FastIteration(PrintedIteration):
    """Modified policy iteration over the L1 set, which ends in the same test; after FAST_STEPS it goes on as printed.

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

    def __init__(self, plausible: PlausibleSet, knowledge: Knowledge, reward_scale: float = 1.0):
        super().__init__(plausible, knowledge, reward_scale)
        self.time = np.zeros(knowledge.n_states)  # to the anchor state, kept from call to call
        self.done = 0

    def improve(self, u: np.ndarray, tolerance: float, most: int) -> Improved:
        """Take at most `most` steps on u, in place."""
        if self.done >= FAST_STEPS:
            return super().improve(u, tolerance, most)
        at_once = max(1, CHUNK_ENTRIES // (self.entries + 10 * PASSES * len(u)))
        found = self.improved(fast_optimism.fast_extended_value_iteration(
            u, self.time, tolerance, min(at_once, most, FAST_STEPS - self.done), PASSES, self.problem))
        self.done += found.steps
        return found


def extended_value_iteration(plausible: PlausibleSet, knowledge: Knowledge, tolerance: float, start: np.ndarray | None = None,
                             max_sweeps: int = MAX_STEPS, reward_scale: float = 1.0) -> Optimistic:
    """Return the best policy on the best plausible model, as printed: see `extended_iteration`.   Paper: eq:EVI, eq:stop"""
    return extended_iteration(plausible.iteration(knowledge, reward_scale), knowledge, tolerance, start, max_sweeps)


def fast_extended_value_iteration(plausible: PlausibleSet, knowledge: Knowledge, tolerance: float,
                                  start: np.ndarray | None = None, max_sweeps: int = MAX_STEPS,
                                  reward_scale: float = 1.0) -> Optimistic:
    """Return a policy that passes the same test, found in fewer steps from `start` (such as the last u): see `FastIteration`."""
    return extended_iteration(plausible.iteration(knowledge, reward_scale, fast=True), knowledge, tolerance, start, max_sweeps)


def transition_radius(visits: np.ndarray, n_states: int, n_actions: int, epoch: int, delta: float) -> np.ndarray:
    """Return sqrt(14 S log(2 A t/δ) / max(1, N)), the L1 radius of each row.  Paper: eq:P-CI

    >>> transition_radius(np.array([17]), 3, 2, 100, 0.01).round(6).tolist()
    [5.116632]
    """
    radius: np.ndarray = np.sqrt(14 * n_states * log(2 * n_actions * epoch / delta) / np.maximum(1, visits))
    return radius


def holding_radius(visits: np.ndarray, n_states: int, n_actions: int, epoch: int, delta: float, rate_min: float) -> np.ndarray:
    """Return (4/λ_min) sqrt(14 log(2 A S t/δ) / max(1, N)), the radius of each mean holding time.  Paper: eq:rate-CI

    >>> holding_radius(np.array([17]), 3, 2, 100, 0.01, 0.5).round(6).tolist()
    [24.827572]
    """
    radius: np.ndarray = 4 / rate_min * np.sqrt(14 * log(2 * n_actions * n_states * epoch / delta) / np.maximum(1, visits))
    return radius


def reward_radius(visits: np.ndarray, n_states: int, n_actions: int, epoch: int, delta: float) -> np.ndarray:
    """Return sqrt(7 log(2 S A t/δ) / (2 max(1, N))), for mean rewards in [0, 1] (Jaksch, Ortner, Auer 2010, their (3)).

    >>> reward_radius(np.array([0, 100]), 3, 2, 100, 0.01).round(6).tolist()
    [6.397919, 0.639792]
    """
    radius: np.ndarray = np.sqrt(7 * log(2 * n_states * n_actions * epoch / delta) / (2 * np.maximum(1, visits)))
    return radius


def rate_interval(visits: np.ndarray, mean: np.ndarray, radius: np.ndarray, rate_min: float,
                  rate_max: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (low, high, empty): rates l in the bounds with |1/l - mean| <= radius; the nearer bound where there is none.

    A pair with 0 visits gets the whole interval.

    >>> rate_interval(np.array([1, 1, 0]), np.array([0.5, 3.0, 0.0]), np.array([0.1, 0.5, 0.1]), 1.0, 5.0)[1].tolist()
    [2.5, 1.0, 5.0]
    """
    slowest, fastest = 1 / rate_min, 1 / rate_max  # mean holding times
    longest, shortest, unseen = mean + radius, mean - radius, visits == 0
    low, high = 1 / np.maximum(longest, fastest), 1 / np.maximum(shortest, fastest)
    low[(longest >= slowest) | unseen] = rate_min  # the bounds themselves, not 1/(1/bound)
    low[(longest <= fastest) & ~unseen] = rate_max
    high[shortest >= slowest] = rate_min
    high[(shortest <= fastest) | unseen] = rate_max
    empty = ((shortest > slowest) | (longest < fastest)) & ~unseen
    return np.minimum(np.maximum(low, rate_min), rate_max), np.minimum(np.maximum(high, rate_min), rate_max), empty


def plausible_set(counts: Counts, knowledge: Knowledge, delta: float, radius_scale: float = 1.0,
                  unknown_rewards: bool = False, reward_scale: float = 1.0, holding: HoldingSet | None = None) -> PlausibleSet:
    """Return the plausible models after `counts`.  `radius_scale` multiplies every radius; below 1 nothing is guaranteed.

    `holding` says what is plausible of the holding times, if not the paper's interval around the truncated mean.

    With `unknown_rewards` the reward to plan with is the empirical mean plus its radius (unscaled where there is no data, so
    that it exceeds every possible reward); rewards are divided by `reward_scale`.  Paper: alg: CTUCRL, step 3(c) and 4(a)
    """
    n, t = counts.visits.copy(), counts.epoch
    size = (knowledge.n_states, knowledge.max_choices, t, delta)
    if holding is None:
        mean, radius = counts.truncated_mean, radius_scale * holding_radius(n, *size, knowledge.rate_min)
        low, high, missed = rate_interval(n, mean, radius, knowledge.rate_min, knowledge.rate_max)
        empty = int(missed.sum())
    else:
        mean, radius, low, high, empty = holding
    reward = knowledge.reward / reward_scale
    if unknown_rewards:
        doubt = np.where(n == 0, 1.0, radius_scale) * reward_radius(n, *size)  # without data any reward, however small the scale
        reward = counts.reward_sum / np.maximum(1, n) / reward_scale + doubt
    row_start, next_state, count = counts.rows()
    if knowledge.supports_known:
        row_start, next_state, count = over_supports(knowledge, row_start, next_state, count)
    probability = count / np.repeat(np.maximum(1, n), row_start[1:] - row_start[:-1])
    return PlausibleSet(n, row_start, next_state, probability, radius_scale * transition_radius(n, *size), mean, radius,
                        low, high, reward, empty, knowledge.supports_known)


def over_supports(knowledge: Knowledge, row_start: np.ndarray, next_state: np.ndarray,
                  count: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the counts as rows over the known supports, 0 where a successor has not been seen."""
    assert knowledge.support_start is not None and knowledge.support_state is not None
    start, states = knowledge.support_start, knowledge.support_state
    size = knowledge.n_states
    place = np.repeat(np.arange(knowledge.n_pairs), np.diff(start)) * size + states
    seen = np.repeat(np.arange(knowledge.n_pairs), np.diff(row_start)) * size + next_state
    at = np.searchsorted(place, seen)
    wrong = np.flatnonzero((at >= len(place)) | (place[np.minimum(at, len(place) - 1)] != seen))
    if wrong.size:
        pair, s = divmod(int(seen[wrong[0]]), size)
        raise ParameterError(f"state {knowledge.states[s]!r} was reached from pair {pair}, outside its known support; "
                             "give the true supports, or leave them out.")
    full = np.zeros(len(place), dtype=np.int64)
    full[at] = count
    return start, states, full

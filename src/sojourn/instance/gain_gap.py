"""The gap in gain between the best and the second-best policy, per unit of time and per decision.   Paper: eq:gap-g

When every policy is irreducible, the second-best policy deviates from an optimal one in a single state: deviating by (s, a)
costs φ*(s, a) once every return to s, so g = min φ*/R with R = 1/λ(s, a) + Σ_y p(y|s, a) (longest expected time from y to s
by optimal actions).  With 1 in the place of the mean holding times it is the gap per decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sojourn.errors import AssumptionError, ToleranceError
from sojourn.instance.enumeration import MAX_POLICIES, count_policies, enumerated_gap
from sojourn.instance.first_passage import AllTargets, Passage
from sojourn.instance.gaps import Optimum, optimum
from sojourn.instance.sparse_targets import SparseTargets
from sojourn.model.checks import Verdict, irreducible
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.solution import Solution

DENSE_STATES = 3000  # up to here one inverse serves all deviations
FEW_STATES = 40  # up to here each state is solved for on its own
CANDIDATES = 12
BLOCK = 64  # targets at a time: their values stay in the processor's cache


@dataclass(frozen=True, eq=False)
class GainGap(float):
    """g (reward per unit time), a float that knows g_step (per decision) and the policies attaining both; None if all are optimal.

    `exact` is False only for models above 3,000 states that mix slowly and have ties, or states too rare for floats: there the
    values are attained, hence upper bounds.
    """

    value: float
    per_decision: float
    policy: np.ndarray | None
    per_decision_policy: np.ndarray | None
    pair: tuple[int, int] | None
    method: str
    exact: bool = True

    def __new__(cls, value: float, *details: Any, **named: Any) -> GainGap:
        return super().__new__(cls, value)

    def __str__(self) -> str:
        return repr(self.value)


def gain_gap(model: CTMDP, solution: Solution | None = None) -> GainGap:
    """Return ρ* minus the best gain below ρ*, in reward per unit time, and its counterpart per decision; infinite if all tie.

    A model that is not irreducible under every policy is enumerated if it has at most 20,000 policies, else refused with the
    witness.

    >>> model = CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[3.0, 5], [2, 7]], [[5.0, 8], [-4, -12]])
    >>> round(float(gain_gap(model)), 12), gain_gap(model).policy.tolist()
    (4.514285714286, [0, 0])
    """
    return gap_of(optimum(model, solution), irreducible(model))


def gap_of(best: Optimum, verdict: Verdict) -> GainGap:
    """Return the gain gap of a solved model, by single deviations or, where these do not suffice, by enumeration."""
    model = best.model
    if best.optimal.all():
        return GainGap(float("inf"), float("inf"), None, None, None, "all policies are optimal")
    if not verdict:
        if count_policies(model) > MAX_POLICIES:
            raise AssumptionError(
                f"the gain gap needs every policy irreducible (assume-transition), or at most {MAX_POLICIES:,} "
                f"policies to compare one by "
                f"one; this model has about {count_policies(model):.3g}. {verdict.statement} Remove such actions, "
                f"or make the model smaller."
            )
        value, per_decision, policy, step_policy = enumerated_gap(best)
        return GainGap(value, per_decision, policy, step_policy, None, "enumeration")
    everything = AllTargets(model.matrix[_first_optimal(best)]) if FEW_STATES < model.n_states <= DENSE_STATES else None
    slow = _SlowMixing(best)
    by_time = _least_ratio(best, 1.0 / model.rate, everything, slow)
    by_step = _least_ratio(best, np.ones(model.n_pairs), everything, slow)
    pair = int(model.pair_state[by_time.pair]), int(model.pair_action[by_time.pair])
    return GainGap(
        by_time.ratio,
        by_step.ratio,
        by_time.policy,
        by_step.policy,
        pair,
        "single deviations",
        by_time.exact and by_step.exact,
    )


def _first_optimal(best: Optimum) -> np.ndarray:
    kept = np.flatnonzero(best.optimal)
    return kept[np.searchsorted(best.model.pair_state[kept], np.arange(best.model.n_states))]


@dataclass(frozen=True, eq=False)
class _Least:
    ratio: float
    pair: int
    policy: np.ndarray
    exact: bool


class _Deviations:
    """The suboptimal pairs, and the longest way back to their states by optimal actions."""

    def __init__(self, best: Optimum, cost: np.ndarray, everything: AllTargets | None):
        self.best, self.model, self.cost, self.everything = best, best.model, cost, everything
        self.kept = np.flatnonzero(best.optimal)
        self.passage = Passage(
            self.model.matrix[self.kept], self.model.pair_state[self.kept], cost[self.kept], largest=True
        )
        self.pairs = np.flatnonzero(~best.optimal)
        self.state = self.model.pair_state[self.pairs]
        self.first = self.passage.start  # the first optimal choice of each state
        self.ties = len(self.kept) > self.model.n_states

    def ratios(self, columns: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return φ/R of every deviation given V[., t] for the targets; NaN where the target is missing or unknown."""
        at = np.full(self.model.n_states, -1)
        at[targets] = np.arange(len(targets))
        out = np.full(len(self.pairs), np.nan)
        for i in np.flatnonzero(at[self.state] >= 0):
            out[i] = self.ratio(int(self.pairs[i]), columns[:, at[self.state[i]]])
        return out

    def all_ratios(self, hits: np.ndarray) -> np.ndarray:
        """Return φ/R of every deviation given V[s, t] for all targets."""
        m, owner = self.model, np.repeat(np.arange(self.model.n_pairs), np.diff(self.model.row_start))
        back = np.add.reduceat(m.probability * hits[m.next_state, m.pair_state[owner]], m.row_start[:-1])
        return self.best.gap[self.pairs] / (self.cost + back)[self.pairs]

    def ratio(self, pair: int, value: np.ndarray) -> float:
        row = slice(self.model.row_start[pair], self.model.row_start[pair + 1])
        back = float(self.model.probability[row] @ value[self.model.next_state[row]])
        return float(self.best.gap[pair] / (self.cost[pair] + back))

    def policy(self, pair: int, choice: np.ndarray) -> np.ndarray:
        policy = self.model.pair_action[self.kept[choice]]
        policy[self.model.pair_state[pair]] = self.model.pair_action[pair]
        return policy

    def solve(self, target: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the longest expected costs of reaching a state and the optimal choices that attain them."""
        if self.ties or self.everything is None or not np.isfinite(self.hits[0, target]):
            return self.passage.solve(target, self.first)
        return self.everything.refined(self.hits[:, target], self.passage.cost[self.first], target), self.first

    @cached_property
    def hits(self) -> np.ndarray:
        """Expected costs of reaching each state by the first optimal choices."""
        assert self.everything is not None
        return self.everything.hits(self.passage.cost[self.first])


def _least_ratio(best: Optimum, cost: np.ndarray, everything: AllTargets | None, slow: _SlowMixing) -> _Least:
    """Return min φ/R with its pair and policy: lower bounds for all pairs first, then exact values until none can be less."""
    deviations = _Deviations(best, cost, everything)
    lower = _lower_ratios(deviations)
    if best.model.n_states > DENSE_STATES and np.isnan(lower).any():
        lower = slow.ratios(deviations)
        if deviations.ties or np.isnan(lower).any():
            return _most_promising(deviations, lower)
    order = np.argsort(np.where(np.isnan(lower), -np.inf, lower), kind="stable")
    found: tuple[float, int, Any] = (np.inf, -1, None)
    known: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for i in order:
        if lower[i] * (1 - 1e-8) > found[0]:
            break
        target = int(deviations.state[i])
        if target not in known:
            known[target] = deviations.solve(target)
        value, choice = known[target]
        ratio = deviations.ratio(int(deviations.pairs[i]), value)
        if ratio < found[0] * (1 - 1e-14):
            found = ratio, int(deviations.pairs[i]), choice
    return _Least(found[0], found[1], deviations.policy(found[1], found[2]), True)


def _lower_ratios(d: _Deviations) -> np.ndarray:
    """Return a lower bound of φ/R for each deviation (equal to it, up to 1e-9, without ties); NaN where there is none."""
    n = d.model.n_states
    lower = np.full(len(d.pairs), np.nan)
    if n <= FEW_STATES:
        return lower
    if d.everything is not None and not d.ties:
        return d.all_ratios(d.hits)
    targets = np.unique(d.state)
    for part in np.array_split(targets, max(1, len(targets) // BLOCK)):
        start = np.full((n, len(part)), np.nan) if d.everything is None else d.hits[:, part]
        block, off = _longest(d.passage, start, part, 0.45 if d.everything is None else 1e-9)
        known = off < 0.5
        if not known.any() and d.everything is None:
            break  # mixes too slowly for this
        found = d.ratios(block[:, known] / (1 - off[known]), part[known])
        lower = np.where(np.isnan(found), lower, found)
    return lower


def _longest(passage: Passage, start: np.ndarray, targets: np.ndarray, enough: float) -> tuple[np.ndarray, np.ndarray]:
    """Return approximate largest costs to some targets by scaled Bellman steps, with their residuals δ (bound: block/(1 - δ))."""
    scale = passage.cost.mean()
    block = np.where(np.isfinite(start), start, scale * passage.n_states)
    block[targets, np.arange(len(targets))] = 0.0
    off = np.full(len(targets), np.inf)
    for _ in range(16):
        for _ in range(6):
            after = passage.sweep(block, targets)
            block = after * np.clip(1 + (after - block).mean(axis=0) / scale, 0.5, 2.0)
        off = passage.excess_above(block, targets)
        if (off < enough).all():
            break
    return block, off


class _SlowMixing:
    """Above 3,000 states, where Bellman steps do not converge: one sparse factorization serves all deviations."""

    def __init__(self, best: Optimum):
        self.best = best

    @cached_property
    def _chain(self) -> tuple[SparseTargets, tuple[np.ndarray, np.ndarray]]:
        m, pairs = self.best.model, np.flatnonzero(~self.best.optimal)
        chain = SparseTargets(m.matrix[_first_optimal(self.best)])
        return chain, chain.detours(m.matrix[pairs], m.pair_state[pairs])

    def ratios(self, d: _Deviations) -> np.ndarray:
        """Return φ/R of every deviation from the first optimal choices, to 1e-9; NaN where floats do not tell."""
        chain, detours = self._chain
        matrix = d.model.matrix[d.pairs]
        return d.best.gap[d.pairs] / chain.returns(d.passage.cost[d.first], matrix, d.state, d.cost[d.pairs], detours)


def _most_promising(d: _Deviations, ratio: np.ndarray) -> _Least:
    """Evaluate the deviations with the least ratios, and the least gaps where these are not known; the least is attained."""
    gap = d.best.gap[d.pairs]
    known = np.argsort(np.where(np.isnan(ratio), np.inf, ratio), kind="stable")[:CANDIDATES]
    unknown = np.flatnonzero(np.isnan(ratio))
    some = np.concatenate([known[~np.isnan(ratio[known])], unknown[np.argsort(gap[unknown], kind="stable")[:CANDIDATES]]])
    found: tuple[float, int, Any] = (np.inf, -1, None)
    trouble: ToleranceError | None = None
    for i in some:
        try:
            value, choice = d.solve(int(d.state[i]))
        except ToleranceError as error:  # a state that is practically never visited: leave it out
            trouble = error
            continue
        ratio_found = d.ratio(int(d.pairs[i]), value)
        if ratio_found < found[0]:
            found = ratio_found, int(d.pairs[i]), choice
    if found[1] < 0:
        assert trouble is not None
        raise trouble
    return _Least(found[0], found[1], d.policy(found[1], found[2]), False)

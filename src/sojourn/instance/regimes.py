"""Other ways to play that a learner has to rule out, and models in which they would be best.

A *regime* is a policy that is not optimal: good play with one suboptimal pair, the best policy that uses it, or the best when being
in one state is worth something by itself.  A near model in which it earns more than good play is an *alternative*: every learner
that would play well in both has to gather the information that tells the two apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sojourn.instance.gaps import Optimum, optimum
from sojourn.instance.tilting import Family, Written, nearest, value
from sojourn.instance.visits_program import least_loss
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.evaluate import evaluate
from sojourn.solving.solve import solve

BONUSES = 10.0 ** np.arange(-5, 1.5, 0.5)  # what a state is made worth, over the range of incomes


@dataclass(frozen=True, eq=False)
class Regime:
    """A suboptimal policy: pairs, share of decisions per state, distance in gain; and which pairs matter how much to that."""

    pairs: np.ndarray
    law: np.ndarray
    distance: float
    changed: np.ndarray
    spread: np.ndarray  # Σ p (λ slope)² of each changed pair, or θ slope² of each event
    exposed: np.ndarray | None = None  # (P, K) exposure of each event per visit; None where pairs are weighed, not events

    def estimate(self, visits: np.ndarray, farther: float = 1.0) -> float:
        """Return about how many nats these visits gather against the nearest model in which it wins (normal approximation)."""
        weight = visits[self.changed] if self.exposed is None else visits @ self.exposed
        with np.errstate(divide="ignore"):
            loose = float((self.spread / weight).sum())
        return (self.distance * farther) ** 2 / (2 * loose) if loose > 0 else np.inf


@dataclass(frozen=True, eq=False)
class Alternative:
    """A model in which no optimal policy of the true one is optimal.

    `divergence` is per pair, nats per visit, of what is seen; `loss` is what good play loses there per decision at least, reward.
    In it the regime named by `label` earns more than good play, by `farther` - 1 times what it earns less in the true model.
    `price` is the part of the bound that is owed to it (together they come to more where N decisions are short).
    """

    label: str
    model: CTMDP
    divergence: np.ndarray
    loss: float
    farther: float
    price: float = 0.0


def regime_of(model: Family, good: np.ndarray, pairs: np.ndarray) -> Regime | None:
    """Return the policy as a regime; None if it earns as much as good play."""
    (gain, x, slope), (most, _, own_slope) = model.sloped(model.steady, pairs), model.sloped(model.steady, good)
    if not most - gain > 1e-12 * (abs(most) + abs(gain)):
        return None
    changed = np.union1d(pairs, good)
    often = x * model.rate[pairs]
    return Regime(pairs, often / often.sum(), most - gain, changed, *model.loose(slope - own_slope, changed))


def improved(model: Written, pairs: np.ndarray, open_pairs: np.ndarray, running: np.ndarray) -> np.ndarray:
    """Return the best policy of the pairs that are open, by policy iteration from `pairs`, at these running rewards."""
    steady, start = model.rate[:, None] * model.row, np.searchsorted(model.state, np.arange(len(pairs)))
    paying = Written(model.row, model.blurred, model.paid, model.rate, running, model.state, model.bounds)
    for _ in range(100):
        gain, _, b = value(paying, steady, pairs)
        bias = b[:, 0] - model.paid[pairs, 0]  # h(0) - h(s)
        jump = model.paid - bias[None, :] + bias[model.state][:, None]
        worth = np.where(open_pairs, (model.row * jump).sum(axis=1) + (running - gain) / model.rate, -np.inf)
        top = np.maximum.reduceat(worth, start)
        better = top > worth[pairs] + 1e-11 * (np.abs(bias).max() + np.abs(worth[pairs]))
        if not better.any():
            break
        first = np.where(worth >= top[model.state], np.arange(len(worth)), len(worth))
        pairs = np.where(better, np.minimum.reduceat(first, start), pairs)
    return pairs


def policies(model: Written, best: Optimum, good: np.ndarray) -> Iterator[np.ndarray]:
    """Yield policies that a learner may have to rule out: see the head of this file."""
    every = np.ones(len(model.rate), dtype=bool)
    for i in np.flatnonzero(~best.optimal):
        start = good.copy()
        start[model.state[i]] = i
        yield start
        allowed = every & ((model.state != model.state[i]) | (np.arange(len(every)) == i))
        yield improved(model, start, allowed, model.running)
    income = best.model.expected_reward * model.rate + model.running
    for s in range(len(good)):
        pairs = good
        for bonus in BONUSES * float(np.ptp(income) or np.abs(income).max()):
            pairs = improved(model, pairs, every, model.running + bonus * (model.state == s))
            yield pairs


def regimes(model: Family, best: Optimum, good: np.ndarray) -> list[Regime]:
    """Return the regimes of a model, each once."""
    seen, found = {good.tobytes()}, []
    for pairs in policies(model.rows, best, good):
        if pairs.tobytes() not in seen and not best.optimal[pairs].all():
            seen.add(pairs.tobytes())
            regime = regime_of(model, good, pairs)
            found += [] if regime is None else [regime]
    return found


def best_of(model: CTMDP, pairs: np.ndarray) -> float:
    """Return a proved upper bound of the gain of all policies that use these pairs (booleans) only."""
    if pairs.sum() == model.n_states:
        return evaluate(model, model.pair_action[pairs]).gain_bounds[1]
    paid = None
    if model.transition_reward is not None:
        from scipy.sparse import csr_matrix

        paid = csr_matrix((model.transition_reward, model.next_state, model.row_start), shape=model.matrix.shape)[pairs]
    part = CTMDP.from_pairs(model.pair_state[pairs], model.pair_action[pairs], model.matrix[pairs], model.rate[pairs],
                            model.reward[pairs], model.running[pairs], transition_reward=paid, holding=model.holding)
    return solve(part).gain_bounds[1]


def lost(best: Optimum, other: CTMDP, epochs: float) -> float:
    """Return what good play loses per decision in another model, at least: whichever optimal pairs it uses, wherever it starts."""
    proof = optimum(other).proof
    return least_loss(best, np.maximum(proof.gap - proof.error, 0.0), epochs)


def alternative_of(
    written: Family, best: Optimum, rate_bounds: tuple[float, float], regime: Regime, visits: np.ndarray, farther: float
) -> tuple[CTMDP, np.ndarray] | None:
    """Return (the nearest model in which the regime wins, its divergences), proved to win; None where that does not come out.

    It wins by `farther` - 1 times its distance in gain.
    """
    good = best.model.policy_pairs(best.policy)
    found = nearest(written, regime.pairs, good, visits, regime.distance * (farther - 1))
    if found is None:
        return None
    other = written.as_model(best.model, found.intensity, rate_bounds)
    if not evaluate(other, best.model.pair_action[regime.pairs]).gain_bounds[0] > best_of(other, best.optimal):
        return None
    return other, written.told(other)

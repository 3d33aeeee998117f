"""The paper's upper bounds on the regret of CT-UCRL, as printed and in a form that does not depend on the unit of time.

The printed theorem divides by g (reward per unit time) where its proof compares rewards per decision.  Multiply all rates by
k: g grows by k and 4C/g falls to 0, while the lower bound stays.  The printed form is a guarantee when rate_max <= 1.  The
consistent form puts g_step (reward per decision) for g and 2 rate_max for 1 + rate_max.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sojourn.errors import ParameterError
from sojourn.instance.enumeration import MAX_POLICIES, count_policies, policies
from sojourn.model.ctmdp import CTMDP
from sojourn.model.numbers import real_number
from sojourn.solving.chain import chain_of
from sojourn.solving.value import value_of

WORK = 3e8  # multiplications up to which n_π is worked out
STEPS = 30_000  # and decisions ahead


def upper_bound_constant(
    n_states: int, n_actions: int, diameter: float, rate_bounds: tuple[float, float], consistent: bool = False
) -> float:
    """Return C of the upper bound; n_actions is the largest number of actions of a state.   Paper: eq:upper-C

    >>> round(upper_bound_constant(2, 2, 0.2, (2.0, 7.0)), 6)
    1622256.24
    """
    lo, hi = rate_bounds
    pairs = n_states * n_actions
    stop = 2 * hi if consistent else 1 + hi
    reach, spread = hi * float(diameter), hi / lo
    return 3 * (  # products, not powers: beyond floats they are infinite instead of an error
        34**2 * (reach * reach) * n_states * pairs + 2 * 73**2 * (spread * spread) * pairs + 6 * pairs * (stop / lo) * (stop / lo)
    )


def _logarithmic(times: float, constant: float, gap: float, n: float) -> float:
    """Return times · C log(N)/g; 0 where no policy falls short (g infinite), infinite where g is 0 in floats."""
    if math.isinf(gap) or n == 1:
        return 0.0
    return times * constant * math.log(n) / gap if gap > 0 else math.inf


def regret_bound(constant: float, gap: float, offset: float, epochs: float) -> float:
    """Return 4 C log(N)/g + C', the bound on CT-UCRL's regret at delta = 1/N.   Paper: thm:UCRL, eq:bound-RN-UCRL"""
    n = real_number("epochs", epochs)
    if n < 1:
        raise ParameterError(f"epochs is {n:g}; the bound holds for N >= 1 decisions.")
    return _logarithmic(4, constant, gap, n) + offset


def doubling_bound(constant: float, gap: float, offset: float, epochs: float) -> float:
    """Return 16 C log(N)/g + (log2 log2 N + 2) C', for doubling CT-UCRL and every N >= 2.   Paper: thm:UCRL2, eq:bound-RN-UCRL2"""
    n = real_number("epochs", epochs)
    if n < 2:
        raise ParameterError(f"epochs is {n:g}; the doubling bound needs N >= 2 (it takes log2 log2 N).")
    return _logarithmic(16, constant, gap, n) + (math.log2(math.log2(n)) + 2) * offset


def doubling_bound_time(constant: float, gap: float, offset: float, time: float, rate_bounds: tuple[float, float]) -> float:
    """Return the doubling bound at a fixed time T, in reward, as printed.   Paper: thm:UCRL2, eq: coro:ub

    Its proof conditions on the number of decisions by T; what can be proved has (16 C/g) log 2 more (docs/notation.md).
    """
    horizon = real_number("time", time)
    if horizon <= 0:
        raise ParameterError(f"time is {horizon:g}; it must be positive.")
    lo, hi = rate_bounds
    n = hi * horizon + 2
    return _logarithmic(16, constant, gap, n) + offset * (2 + math.log2(math.log2(n))) + hi / lo + 1


def bad_steps_bound(constant: float, pairs: int, epochs: float, epsilon: float, delta: float) -> float:
    """Return the bound on decisions in epsilon-bad episodes, with probability 1 - 2 delta.   Paper: lem:badepisodes, eq:LepsN"""
    n, e, d = real_number("epochs", epochs), real_number("epsilon", epsilon), real_number("delta", delta)
    if n < 2 * pairs:
        raise ParameterError(f"epochs is {n:g}; the bound holds for N >= 2 S A = {2 * pairs}.")
    if e <= 0:
        raise ParameterError(f"epsilon is {e:g}; it must be positive (reward per decision).")
    if not 0 < d < 0.5:
        raise ParameterError(f"delta is {d:g}; it must lie in (0, 1/2).")
    return constant * math.log(n / d) / e**2


def failure_probability(epoch: float, delta: float) -> float:
    """Return delta/(15 t^6), the bound on the probability that the truth is not plausible at epoch t.   Paper: lem:failCI"""
    t, d = real_number("epoch", epoch), real_number("delta", delta)
    if t < 1:
        raise ParameterError(f"epoch is {t:g}; epochs are counted from 1.")
    if not 0 < d <= 1:
        raise ParameterError(f"delta is {d:g}; it must lie in (0, 1].")
    return d / (15 * t**6)


def settling_epochs(model: CTMDP, gap: float) -> dict[tuple[int, ...], int] | None:
    """Return {policy: n_π} for a small model with irreducible policies, or None ("not available") when that takes too long.

    n_π is the least n such that from n decisions on, from every starting state, the expected reward over the expected time of
    the first n decisions is g/2-close to the policy's gain.   Paper: proof of thm:UCRL
    """
    every = _every_policy(model)
    if every is None or not np.isfinite(gap):
        return None if every is None else {_key(model, pairs): 1 for pairs in every}
    chains = [chain_of(model, pairs) for pairs in every]
    holding = np.array([chain.holding for chain in chains])
    bias = np.array([value_of(chain, np.arange(model.n_states)).bias for chain in chains])
    last = np.ceil(2 * np.ptp(bias, axis=1) / (gap * holding.min(axis=1))) + 1
    return _last_failures(model, every, bias, holding, last, lambda n, h, ahead, time: np.abs(h - ahead) > gap / 2 * time)


def settling_epochs_needed(model: CTMDP, gap_per_decision: float, rho: float) -> dict[tuple[int, ...], int] | None:
    """Return {policy: n} with what the proof uses, in consistent units: from n decisions on a suboptimal policy has lost at
    least g_step/2 per decision in expectation, from every starting state (1 for an optimal policy).  None if not available.
    """
    every = _every_policy(model)
    if every is None or not np.isfinite(gap_per_decision):
        return None if every is None else {_key(model, pairs): 1 for pairs in every}
    chains = [chain_of(model, pairs) for pairs in every]
    loss = np.array([rho * chain.holding - chain.reward for chain in chains])
    mean, shape = np.zeros(len(every)), np.zeros_like(loss)
    for i, chain in enumerate(chains):
        lost = value_of(replace(chain, reward=loss[i], holding=np.ones(model.n_states)), np.arange(model.n_states))
        mean[i], shape[i] = lost.gain, lost.bias
    half = gap_per_decision / 2
    optimal = mean < half
    last = np.where(optimal, 0, np.ceil(np.ptp(shape, axis=1) / np.maximum(mean - half, half * 1e-9)) + 1)
    return _last_failures(model, every, shape, loss, last, lambda n, h, ahead, lost: lost < n * half)


def _every_policy(model: CTMDP) -> list[np.ndarray] | None:
    many = count_policies(model)
    return None if many * model.n_states**2 > WORK or many > MAX_POLICIES else list(policies(model))


def _last_failures(
    model: CTMDP,
    every: list[np.ndarray],
    bias: np.ndarray,
    cost: np.ndarray,
    last: np.ndarray,
    fails: Callable[..., np.ndarray],
) -> dict[tuple[int, ...], int] | None:
    """Return 1 + the last n at which fails(n, h, P^n h, expected cost of n decisions) from some state; beyond `last` none does."""
    if not (float(last.sum()) * model.n_states**2 <= WORK and last.max() <= STEPS):
        return None
    last = last.astype(np.int64)
    n_pi = np.ones(len(every), dtype=np.int64)
    order = np.argsort(-last, kind="stable")
    matrix = np.array([model.matrix[every[i]].toarray() for i in order])
    h, step_cost, last = bias[order], cost[order], last[order]
    ahead, total = h.copy(), np.zeros_like(step_cost)
    for n in range(1, int(last.max()) + 1):
        alive = int(np.searchsorted(-last, -n, side="right"))
        step = np.matmul(matrix[:alive], np.stack([ahead[:alive], total[:alive]], axis=2))
        ahead[:alive], total[:alive] = step[:, :, 0], step_cost[:alive] + step[:, :, 1]
        bad = fails(n, h[:alive], ahead[:alive], total[:alive]).any(axis=1)
        n_pi[order[:alive][bad]] = n + 1
    return {_key(model, pairs): int(n) for pairs, n in zip(every, n_pi)}


def _key(model: CTMDP, pairs: np.ndarray) -> tuple[int, ...]:
    return tuple(int(a) for a in model.pair_action[pairs])


def offset_from(
    n_pi: dict[tuple[int, ...], int], model: CTMDP, rate_bounds: tuple[float, float], n_actions: int
) -> tuple[float, float]:
    """Return (C1, C') with C1 = Σ_(s,a) (1 + log2 m) m, m the largest n_π with π(s) = a.   Paper: proof of thm:UCRL"""
    policy = np.array(list(n_pi))
    n = np.array(list(n_pi.values()), dtype=float)
    first = 0.0
    for s, a in zip(model.pair_state, model.pair_action):
        m = n[policy[:, s] == a].max()
        first += (1 + math.log2(m)) * m
    lo, hi = rate_bounds
    return first, hi / lo * (2 + first + 2 * model.n_states * n_actions)

"""K(s, a): the least divergence that would make a suboptimal action optimal, and the model that attains it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sojourn.errors import ModelError, ToleranceError
from sojourn.instance.divergence_bounds import proved_least_divergences, unit_of
from sojourn.instance.gaps import Optimum
from sojourn.instance.proof import REFINED_STATES
from sojourn.instance.rows import Rows, known_rows
from sojourn.kernels.least_divergence import STRICT, excess, least_divergence_of_gap, least_divergences
from sojourn.model.ctmdp import CTMDP

GRID = 129


@dataclass(frozen=True, eq=False)
class LeastDivergence:
    """Per pair: K (0 where optimal, infinite where not critical), and the alternative rate, row and mean reward.

    `low` and `high` are proved bounds of K: 0 and infinity where nothing is proved.
    """

    k: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rate: np.ndarray
    row: np.ndarray
    reward: np.ndarray
    critical: np.ndarray


def least_divergence(
    best: Optimum, rate_bounds: tuple[float, float], bernoulli: bool = False, rows: Rows | None = None
) -> LeastDivergence:
    """Return K of every pair, in nats per visit, with the minimising alternative.   Paper: eq:K

    `rows` are the successors between which an alternative may move mass, the supports if not told.
    With `bernoulli` the mean of each lump sum is unknown too (a 0/1 reward): K gains the term kl(r, r') and the
    alternative a mean r' (Burnetas and Katehakis 1997, section 7).
    """
    model, wanted = best.model, ~best.optimal
    rows = rows or known_rows(model)
    k, low, high = np.zeros(model.n_pairs), np.zeros(model.n_pairs), np.where(wanted, np.inf, 0.0)
    rate, row, reward = model.rate.copy(), rows.probability.copy(), model.reward.copy()
    left = wanted  # what floats are to compute
    if model.n_states <= REFINED_STATES:
        proved = proved_least_divergences(best, rate_bounds, rows)
        low[wanted], high[wanted] = proved.low[wanted], proved.high[wanted]
        k[wanted], rate, row = np.maximum(proved.k, low)[wanted], proved.rate, proved.row
        left = wanted & np.isnan(k)
    if bernoulli or left.any():
        value, gain, gap = _in_floats(best, rows)
    if bernoulli:
        _refuse_unless_bernoulli(model)
        low[wanted] = 0.0
        for i in np.flatnonzero(wanted):
            span = slice(rows.row_start[i], rows.row_start[i + 1])
            k[i], rate[i], reward[i], row[span] = _unknown_mean(
                best, int(i), rows.probability[span], value[span], gain, max(float(gap[i]), 0.0), rate_bounds)
    elif left.any():
        unit = unit_of(np.concatenate([value, (model.running - gain) / model.rate]))
        least_divergences(rows.row_start, rows.probability, value / unit, np.zeros(model.n_pairs), model.rate, model.reward / unit,
                          model.running / unit, gain / unit, gap / unit, *rate_bounds, left, k, rate, row)
    _refuse_no_number(model, k)
    return LeastDivergence(k, low, high, rate, row, reward, wanted & np.isfinite(k))


def _in_floats(best: Optimum, rows: Rows) -> tuple[np.ndarray, float, np.ndarray]:
    """Return h(y) - h(s) and what the jump pays, of every jump, the gain, and the gap of every pair."""
    model, own = best.model, np.repeat(best.model.pair_state, np.diff(rows.row_start))
    if model.n_states <= REFINED_STATES:
        value, gain, gap = best.proof.steps(own, rows.next_state)[0][0], float(best.proof.gain[0]), best.proof.gap
    else:
        value, gain, gap = best.bias[rows.next_state] - best.bias[own], best.gain, best.gap
    return value if rows.paid is None else value + rows.paid, gain, gap


def _refuse_no_number(model: CTMDP, k: np.ndarray) -> None:
    """Raise where a K is not a number, which would else be read as "not critical" and drop out of C(M)."""
    bad = np.flatnonzero(np.isnan(k))
    if bad.size:
        i = int(bad[0])
        raise ToleranceError(
            f"K({model.states.label(model.pair_state[i])}, {model.actions.label(model.pair_action[i])}) came out as no number: "
            "floats do not hold what it is computed from, so neither K nor C(M) is given. Measure rewards or time in "
            "another unit; if that does not help, this is a mistake in Sojourn: please report it with the model."
        )


def _refuse_unless_bernoulli(model: CTMDP) -> None:
    if model.transition_reward is not None:
        raise ModelError(
            "this model pays rewards on its transitions; Bernoulli rewards of unknown mean are lump sums only. "
            "Take the rewards as known (without --bernoulli), or make what a choice pays on average its lump sum."
        )
    bad = np.flatnonzero((model.reward < 0) | (model.reward > 1))
    if bad.size:
        i = int(bad[0])
        raise ModelError(
            f"reward[{model.states.label(model.pair_state[i])}, {model.actions.label(model.pair_action[i])}] is "
            f"{model.reward[i]:g}; the mean of a "
            "Bernoulli reward lies in [0, 1]. Rescale the rewards, or take them as known."
        )


def bernoulli_divergence(mean: float, other: float) -> float:
    """Return kl(r, r') of two 0/1 rewards, in nats."""
    return raised_divergence(mean, other - mean)


def raised_divergence(mean: float, more: float) -> float:
    """Return kl(r, r + more) of two 0/1 rewards, in nats: with all digits of a small `more`."""
    total = 0.0
    for p, step in ((mean, more), (1 - mean, -more)):
        if p > 0:
            total += p * float(excess(step / p)) if p + step > 0 else np.inf
        else:
            total += step
    return total


def _unknown_mean(
    best: Optimum, i: int, p: np.ndarray, value: np.ndarray, gain: float, gap: float, bounds: tuple[float, float]
) -> tuple[float, float, float, np.ndarray]:
    """Return (K, rate, mean reward, row) of pair i: the least over x >= 0 of kl(r, r + x) + K at the known reward r + x.

    At x = the gap the reward alone makes the pair as good as the best, at the cost kl, even where row and rate cannot move.  Below
    r + x = -(max b + push) no row and rate suffice.
    """
    model = best.model
    rate, mean, running = float(model.rate[i]), float(model.reward[i]), float(model.running[i])
    push = max((running - gain) / bounds[0], (running - gain) / bounds[1])
    top, blur = float(value.max()) + push, STRICT * (1 + np.abs(value).max() + abs(push))
    least, enough = max(0.0, 2 * blur - (mean + top)), min(gap, 1.0 - mean)
    q = np.empty(len(p))

    def moved(more: float) -> tuple[float, float]:
        k, speed = least_divergence_of_gap(p, value, 0.0, rate, mean + more, running, gain, gap - more, *bounds, q)
        return raised_divergence(mean, more) + float(k), float(speed)

    alone = raised_divergence(mean, gap) if gap <= 1.0 - mean else np.inf
    more, cost = _least_on(lambda more: moved(more)[0], least, enough) if least <= enough else (np.nan, np.inf)
    if 1.0 + top <= blur or alone == cost == np.inf:
        return np.inf, np.nan, np.nan, np.full(len(p), np.nan)
    if alone <= cost:
        return alone, rate, mean + gap, p.copy()
    return *moved(more), mean + more, q


def _least_on(cost: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return (where, how much): the least of a function on [low, high] that has few valleys, by a grid and a search in each."""
    from scipy.optimize import minimize_scalar

    grid = np.linspace(low, high, GRID)
    values = np.array([cost(x) for x in grid])
    at = int(np.argmin(values))
    where, least = float(grid[at]), float(values[at])
    for j in range(GRID):
        before, after = max(j - 1, 0), min(j + 1, GRID - 1)
        if grid[before] < grid[after] and values[j] <= min(values[before], values[after]) < np.inf:
            width = grid[after] - grid[before]
            found = minimize_scalar(cost, bounds=(grid[before], grid[after]), method="bounded", options={"xatol": 1e-9 * width})
            if found.fun < least:
                where, least = float(found.x), float(found.fun)
    return where, least


def alternative(model: CTMDP, found: LeastDivergence, pair: int, rate_bounds: tuple[float, float]) -> CTMDP:
    """Return the model with the alternative row, rate (and mean reward) at one pair: there its action ties with the best."""
    if not np.isfinite(found.k[pair]):
        s, a = model.states[model.pair_state[pair]], model.actions[model.pair_action[pair]]
        raise ModelError(
            f"({s}, {a}) is not critical (K is infinite): no row on its support and no rate in "
            f"[{rate_bounds[0]:g}, {rate_bounds[1]:g}] makes it uniquely optimal. Widen rate_bounds, or ask for a critical pair."
        )
    span = slice(model.row_start[pair], model.row_start[pair + 1])
    probability, rate, reward = model.probability.copy(), model.rate.copy(), model.reward.copy()
    probability[span] = found.row[span] / found.row[span].sum()
    rate[pair], reward[pair] = found.rate[pair], found.reward[pair]
    return model.replace(probability=probability, rate=rate, reward=reward, rate_bounds=rate_bounds)

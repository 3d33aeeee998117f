"""A proof of the optimal gain that anyone can check in one sweep.

For any u, with T the Bellman operator of the model uniformized at a rate Λ no smaller than any rate of the model,
Λ min(Tu - u) <= ρ*(s) <= Λ max(Tu - u) for every state s, because T is monotone and adds constants.  In intensities
Λ (Tu - u)(s) = max_a λ r + c + λ Σ_j p(j) (u(j) - u(s)), which does not depend on Λ.
"""

from __future__ import annotations

import numpy as np

from sojourn.errors import ModelError, ParameterError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.numbers import real_array, real_number
from sojourn.solving.arrays import unsigned
from sojourn.solving.chain import differences, reward_size, row_defect
from sojourn.solving.optimality import EPSILON
from sojourn.solving.parts import in_parts

LARGE = 20_000  # jumps from which on the compiled form is used
TINY = 5e-324  # what one product may lose to underflow


def gain_bounds(model: CTMDP, u: np.ndarray, rate: float | None = None) -> tuple[float, float]:
    """Return (lo, hi) with lo <= optimal gain <= hi, rounding included; the optimal gain must be the same from every state.

    `u` may be any value per state (the closer to the bias, the narrower the interval); `rate` is the uniform rate that
    was used to obtain it, at least the largest rate of the model.
    """
    if rate is not None and real_number("rate", rate) < model.rate.max():
        raise ParameterError(f"rate is {rate:g}; uniformization needs at least the largest rate, {model.rate.max():g}.")
    u = real_array("u", u, (model.n_states,))
    if not np.isfinite(u).all():
        s = int(np.flatnonzero(~np.isfinite(u))[0])
        raise ModelError(f"u[{s}] is {u[s]}; every value must be finite. Correct the entry.")
    if len(model.next_state) >= LARGE:
        return _outward(*_compiled_step(model, u, 0.0)[0][:2])
    return step_bounds(model, *generator_step(model, u))


def step_bounds(model: CTMDP, value: np.ndarray, error: np.ndarray, chosen: np.ndarray | None = None) -> tuple[float, float]:
    """Return the interval of the optimal gain that a `generator_step` proves.

    With `chosen`, a pair per state, the gain of the policy that takes these lies in the interval too.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        low = (np.maximum.reduceat(value - error, model.pair_start[:-1]) if chosen is None else (value - error)[chosen]).min()
        high = (value + error).max()
    if np.isnan(low) or np.isnan(high):  # products beyond floats: nothing is proved
        return -np.inf, np.inf
    return _outward(low, high)


def proved_and_chosen(model: CTMDP, u: np.ndarray, accuracy: float) -> tuple[tuple[float, float], np.ndarray]:
    """Return (an interval, pair per state): the lowest action within `accuracy` of the best Bellman step at u, compiled.

    Both the optimal gain and the gain of the policy that takes these pairs lie in the interval.
    """
    (_, high, taken), chosen = _compiled_step(model, u, accuracy)
    return _outward(taken, high), chosen


def _compiled_step(model: CTMDP, u: np.ndarray, accuracy: float) -> tuple[tuple[float, float, float], np.ndarray]:
    from sojourn.kernels.certificate import proved

    chosen, size, reward = model.pair_start[:-1].copy(), reward_size(model), model.expected_reward
    row_start, next_state = unsigned(model.row_start), unsigned(model.next_state)

    def part(first: int, last: int) -> tuple[float, float, float]:
        return proved(model.pair_start, row_start, next_state, model.probability, model.rate, reward,  # type: ignore[no-any-return]
                      model.running, size, u, accuracy, first, last, chosen)

    low, high, taken = zip(*in_parts(part, model.n_states, len(model.next_state)), strict=True)
    return (min(low), max(high), min(taken)), chosen


def _outward(low: float, high: float) -> tuple[float, float]:
    return float(np.nextafter(low, -np.inf)), float(np.nextafter(high, np.inf))


def generator_step(model: CTMDP, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return λ r + c + λ Σ_j p(j) (u(j) - u(s)) per pair and a bound on its error.

    The rounding of the data and underflow are counted: with d successors at most d + 8 roundings, each relative to the sum of the
    absolute terms.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _generator_step(model, u)


def _generator_step(model: CTMDP, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    own = model.pair_state
    moves = model.rate * differences(model.matrix, u, own)
    value = model.expected_reward * model.rate + model.running + moves
    lengths = np.diff(model.row_start)
    apart = np.add.reduceat(model.probability * np.abs(u[model.next_state] - np.repeat(u[own], lengths)), model.row_start[:-1])
    size = reward_size(model) * model.rate + np.abs(model.running) + model.rate * apart
    jumps = moves + model.rate * (model.expected_reward - model.reward)  # what changes where a row is divided by its sum
    lost = TINY * (1 + model.rate) + row_defect(model) * np.abs(jumps)
    return value, (lengths + 8) * (EPSILON * size + lost)

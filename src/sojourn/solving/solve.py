"""Solve a model: optimal gain, bias, policy, and an interval that proves the gain."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from sojourn.errors import ParameterError, ToleranceError, unknown_name
from sojourn.model.ctmdp import CTMDP, require_model
from sojourn.model.numbers import real_number
from sojourn.solving.certificate import gain_bounds
from sojourn.solving.chain import require_scale
from sojourn.solving.optimality import advantages, noise, tied_pairs
from sojourn.solving.policy_iteration import improve_until_optimal
from sojourn.solving.refine import refined
from sojourn.solving.solution import Solution
from sojourn.solving.structure import first_policy

METHODS = ("policy-iteration", "value-iteration", "linear-programming")
DIRECT = 1000  # states up to which sparse LU is used without asking
Answer = tuple[np.ndarray, float, np.ndarray, int, bool]  # pair per state, gain, bias, iterations, whether (gain, bias) is exact


def solve(model: CTMDP, method: str = "auto", tolerance: float = 1e-9) -> Solution:
    """Return the optimal gain (reward per unit time), bias (0 in state 0), policy and the bounds that prove the gain.

    `method`: `policy-iteration`, `value-iteration`, `linear-programming`, or `auto` (policy iteration for small models; where its
    proof is too wide, and for large models, value iteration).  `tolerance` is the width of the proved interval relative to
    max(1, |gain|); a wider one raises ToleranceError, which holds the answer in `.best`.
    A model whose optimal gain depends on the state is refused with the reason.

    >>> model = CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[3.0, 5], [2, 7]], [[5.0, 8], [-4, -12]])
    >>> round(solve(model).gain, 12)
    5.714285714286
    """
    require_model(model)
    if method not in ("auto", *METHODS):
        raise ParameterError(unknown_name("method", method, ("auto", *METHODS)))
    if real_number("tolerance", tolerance) <= 0:
        raise ParameterError(f"tolerance is {tolerance:g}; it must be positive. 1e-9 is the default.")
    require_scale(model)
    if method != "auto":
        return _proved(model, method, tolerance)
    if model.n_states <= DIRECT:
        with suppress(ToleranceError):
            return _proved(model, "policy-iteration", tolerance)
    return _proved(model, "value-iteration", tolerance)


def _proved(model: CTMDP, name: str, tolerance: float) -> Solution:
    """Return the solution by one method, or raise ToleranceError where the proof is wider than asked."""
    began = time.perf_counter()
    start = first_policy(model)
    pairs, gain, bias, iterations, exact = _BY_NAME[name](model, start, tolerance)
    accuracy = min(tolerance, 1e-9) * max(1.0, abs(gain)) / 10
    values, error = advantages(model, gain, bias), noise(model, gain, bias)
    bounds = gain_bounds(model, bias)
    if exact and (bounds[1] - bounds[0] > 5 * accuracy or (error * model.rate).max() > accuracy):
        gain, bias, narrow, values, error = refined(model, pairs, accuracy)
        bounds = narrow if narrow[1] - narrow[0] < bounds[1] - bounds[0] else bounds
    chosen = tied_pairs(model, values, error, accuracy)
    solution = Solution(gain, bias, model.pair_action[chosen], bounds, name, iterations, time.perf_counter() - began, model)
    width = bounds[1] - bounds[0]
    if not width <= tolerance * max(1.0, abs(gain)):
        raise ToleranceError(
            f"the gain is {gain:.12g}, proved in [{bounds[0]:.12g}, {bounds[1]:.12g}]: the width {width:.3g} is above the "
            f"tolerance {tolerance:g} (relative to max(1, |gain|)). Raise `tolerance`, or take the answer from `.best`.", solution)
    return solution


def _policy_iteration(model: CTMDP, start: np.ndarray, tolerance: float) -> Answer:
    return (*improve_until_optimal(model, start), True)


def _value_iteration(model: CTMDP, start: np.ndarray, tolerance: float) -> Answer:
    """Values by sweeps; small models, and those whose sweeps do not converge, are finished by solving the policy's equations."""
    from sojourn.solving.value_iteration import SMALL_WORK, WORK, iterate_values, settle

    small = model.n_states <= DIRECT
    pairs, gain, u, sweeps, met = iterate_values(model, tolerance / 4, SMALL_WORK if small else WORK)
    if met and not small:
        u, gain = settle(model, pairs, u, sweeps)
        return pairs, gain, u, sweeps, False
    pairs, gain, bias, more = improve_until_optimal(model, pairs)
    return pairs, gain, bias, sweeps + more, True


def _linear_programming(model: CTMDP, start: np.ndarray, tolerance: float) -> Answer:
    """The policy of the best frequencies; states that it never visits are settled by policy iteration."""
    from sojourn.solving.linear_program import best_frequencies, policy_of

    frequency, _, iterations = best_frequencies(model)
    pairs, gain, bias, more = improve_until_optimal(model, policy_of(model, frequency, start))
    return pairs, gain, bias, iterations + more, True


_BY_NAME: dict[str, Callable[[CTMDP, np.ndarray, float], Answer]] = {
    "policy-iteration": _policy_iteration, "value-iteration": _value_iteration, "linear-programming": _linear_programming,
}

"""Solve a model: optimal gain, bias, policy, and an interval that proves the gain."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sojourn.errors import ParameterError, ToleranceError, TooLarge, names_keywords, unknown_name
from sojourn.model.ctmdp import CTMDP, require_model
from sojourn.model.numbers import real_number
from sojourn.model.progress import Progress
from sojourn.solving.arrays import arrays_of
from sojourn.solving.certificate import generator_step, proved_and_chosen, step_bounds
from sojourn.solving.chain import require_scale
from sojourn.solving.dominance import highest_gain
from sojourn.solving.elimination import DENSE
from sojourn.solving.evaluate import met
from sojourn.solving.optimality import advantages, noise, several_tie, tied_pairs
from sojourn.solving.policy_iteration import improve_until_optimal
from sojourn.solving.refine import bounds_of, evaluated_bounds, optimal_refined
from sojourn.solving.solution import Solution
from sojourn.solving.structure import first_policy, is_line
from sojourn.solving.value import LARGEST, PolicyValue

if TYPE_CHECKING:
    from sojourn.solving.embedded import Guess

METHODS = ("policy-iteration", "sweeps", "multigrid", "value-iteration", "linear-programming")
TRIAL = 700  # sweeps that must promise an end, where there are other ways
MANY = 100_000  # sweeps of `sweeps` by name
LONG = 150_000_000_000  # jumps that sweeps may look at, all actions counted, where nothing else gets there
DIRECT = 1000  # states up to which a method by name ends with policy iteration
PROVED_POLICY_STATES = 200  # up to here near ties are told apart with 32 digits; above, what costs less than the accuracy is a tie


class Answer(NamedTuple):
    """What a method found: a policy (pair per state), its gain and bias, and the policy's value if it was evaluated.

    `enough`: the Bellman step was as narrow as asked, and no more was done.  `by` is the method the policy is by, where that is
    another than the one that was called.
    """

    pairs: np.ndarray
    gain: float
    bias: np.ndarray
    iterations: int
    value: PolicyValue | None = None
    enough: bool = False
    by: str = ""


class NotEnded(Exception):
    """A method saw that it would take too long; `pairs` may be a better policy to start from."""

    def __init__(self, pairs: np.ndarray | None):
        super().__init__("not ended")
        self.pairs = pairs


@names_keywords
def solve(model: CTMDP, method: str = "auto", tolerance: float = 1e-9, progress: bool = False) -> Solution:
    """Return the optimal gain (reward per unit time), bias (0 in state 0), policy and the bounds that prove the gain.

    `method`: `policy-iteration` (elimination), `sweeps`, `multigrid`, `value-iteration`, `linear-programming`, or `auto`: small
    models and lines by policy iteration; others by sweeps if these promise a soon end, else by multigrid, and where that does not
    converge by policy iteration; and the next one where a proof is too wide.  `progress` writes a line on stderr from two seconds
    on.  `tolerance` is the width of the proved interval relative to |gain|; where the gain is so near 0 that floats cannot prove
    that much, what they prove is accepted and `note` says so.  A wider one raises ToleranceError, which holds the answer in
    `.best`.
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
    said = Progress(progress)
    try:
        start = first_policy(model)
        if method != "auto":
            return _by_name(model, start, method, tolerance, said)
        return _first_that_proves(model, start, tolerance, said)
    finally:
        said.end()


def _by_name(model: CTMDP, start: np.ndarray, name: str, tolerance: float, said: Progress) -> Solution:
    try:
        return _proved(model, start, name, tolerance, said)
    except TooLarge as trouble:
        raise TooLarge(f"{trouble} Method {name!r} needs that for this model. Leave `method` out: `auto` takes the way that suits "
                       "the model.") from None


def _first_that_proves(model: CTMDP, start: np.ndarray, tolerance: float, said: Progress) -> Solution:
    """Return the solution by the first method whose proof is as narrow as asked; where none is, raise the best failure."""
    long = LONG // (len(model.next_state) + 1)
    steps = [("sweeps", TRIAL), ("multigrid", TRIAL), ("policy-iteration", long), ("sweeps", long), ("multigrid", long),
             ("value-iteration", long)]
    if model.n_states <= DENSE or is_line(model, start):
        steps = [("policy-iteration", long), ("value-iteration", long)]
    best: ToleranceError | None = None
    for name, patience in steps:
        try:
            return _proved(model, start, name, tolerance, said, patience)
        except NotEnded as stopped:
            start = stopped.pairs if stopped.pairs is not None else start
        except ToleranceError as trouble:
            best = trouble if best is None else _narrower(best, trouble)
    assert best is not None
    raise best


def _narrower(one: ToleranceError, other: ToleranceError) -> ToleranceError:
    """Return the failure that proves more."""
    def width(error: ToleranceError) -> float:
        return error.best.gain_bounds[1] - error.best.gain_bounds[0] if isinstance(error.best, Solution) else np.inf

    return one if width(one) <= width(other) else other


def _proved(model: CTMDP, start: np.ndarray, name: str, tolerance: float, said: Progress, patience: int = 0) -> Solution:
    """Return the solution by one method, or raise ToleranceError where the proof is wider than asked.

    Where there are others to try, `patience` is the number of sweeps after which a method that gets nowhere raises NotEnded.
    """
    began = time.perf_counter()
    found = _BY_NAME[name](model, start, tolerance, said, patience)
    with np.errstate(over="ignore", invalid="ignore"):  # a bias beyond floats proves nothing, and the bounds say so
        gain, u, bounds, chosen, floor = _best_proof(model, found, tolerance)
    width = bounds[1] - bounds[0]
    note = "" if width <= tolerance * abs(gain) else (
        f"the gain is so near 0, beside the incomes that make it up, that floats prove it to a width of {width:.3g} only")
    bias = np.clip(u - u[0], -LARGEST, LARGEST)
    solution = Solution(gain, bias, model.pair_action[chosen], bounds, found.by or name, found.iterations,
                        time.perf_counter() - began, model, note)
    if not width <= max(tolerance * abs(gain), floor):
        raise ToleranceError(
            f"the gain is {gain:.12g}, proved in [{bounds[0]:.12g}, {bounds[1]:.12g}]: the width {width:.3g} is above the "
            f"tolerance {tolerance:g} (relative to |gain|). Raise `tolerance`, or take the answer from `.best`.", solution)
    return solution


Proof = tuple[float, np.ndarray, tuple[float, float], np.ndarray, float]  # gain, bias, bounds, pair per state, least width


def _best_proof(model: CTMDP, found: Answer, tolerance: float) -> Proof:
    """Return what one Bellman step proves, and the lowest actions that are as good as the best.

    Where that proves less than asked, an evaluated policy is proved by more digits.
    """
    income = model.expected_reward[found.pairs] * model.rate[found.pairs] + model.running[found.pairs]
    size = min(abs(found.gain), float(np.abs(income - found.gain).mean()))  # a constant income has no say in ties
    floor = tolerance * float(np.finfo(float).eps * np.abs(income).max())  # beside the incomes, the gain is 0
    gain, u, value = found.gain, found.bias, found.value
    if value is None or found.enough:
        bounds, chosen = proved_and_chosen(model, u, tolerance / 10 * size)
    if value is not None and not (found.enough and bounds[1] - bounds[0] <= tolerance * abs(gain)):
        fine = tolerance if found.enough else min(tolerance, 1e-9)
        gain, u, bounds, chosen, least = _evaluated_proof(model, found.pairs, value, tolerance, fine / 10 * size)
        floor = max(floor, least)
    if not bounds[1] - bounds[0] <= tolerance * abs(gain):  # also where nothing is paid and the gain is 0
        income_step = generator_step(model, np.zeros(model.n_states))  # no gain is above the largest income
        bounds = met(bounds, step_bounds(model, *income_step, chosen))
    return float(min(max(gain, bounds[0]), bounds[1])), u, bounds, chosen, floor


def _evaluated_proof(model: CTMDP, pairs: np.ndarray, value: PolicyValue, tolerance: float, accuracy: float) -> Proof:
    """Return the proof where the policy was evaluated: with 16 digits, or 32 where these do not suffice.

    The gain of the policy that is chosen lies in the interval too.
    """
    gain, u, floor, own = value.gain, value.bias, 0.0, value.bounds
    values, error = advantages(model, gain, u), noise(model, gain, u)
    only = model.n_pairs == model.n_states  # one policy: its own gain is the optimum, else a lower bound
    step = generator_step(model, u)
    bounds = met(step_bounds(model, *step), own if only else (own[0], np.inf))
    narrow = bounds[1] - bounds[0] <= 0.5 * min(tolerance, 1e-9) * abs(gain) and (error * model.rate).max() <= accuracy
    proofs = [partial(step_bounds, model, *step)]
    near = value.beyond is None and model.n_states <= PROVED_POLICY_STATES and several_tie(model, values, error, accuracy)
    if value.beyond is None and (near or not narrow):
        found, excess, wrong = optimal_refined(model, pairs, 0.0 if near else accuracy / 100, value)
        gain, u, pairs, own = float(found.gain[0]), found.bias[0], found.pairs, found.value.bounds
        bounds = met(met(bounds, bounds_of(model, found, excess, wrong)), (own[0], np.inf))
        if bounds[1] - bounds[0] > tolerance * abs(gain):
            own = met(own, evaluated_bounds(model, found.pairs, found.value))
            bounds = met(bounds, (own[0], highest_gain(model, found, own, excess, wrong)))
        values, error, floor = excess / model.rate, wrong / model.rate, found.smallest_width(model)
        proofs.append(partial(bounds_of, model, found, excess, wrong))
    chosen = tied_pairs(model, values, error, 0.0 if near else accuracy) if np.isfinite(values).all() else pairs
    chosen, low = _lowest_gain(chosen, pairs, own[0], proofs, bounds[1] - tolerance * abs(gain))
    return gain, u, (low, bounds[1]), chosen, floor


def _lowest_gain(chosen: np.ndarray, pairs: np.ndarray, own: float, proofs: Sequence[Callable[[np.ndarray], tuple[float, float]]],
                 enough: float) -> tuple[np.ndarray, float]:
    """Return (pair per state, a lower bound on what they earn): those chosen among ties, or where that proves too little, `pairs`.

    The policy `pairs` earns `own` at least; what others earn the `proofs` say.
    """
    low = float(np.fmax.reduce([proof(chosen)[0] for proof in proofs]))
    if np.array_equal(chosen, pairs):
        return chosen, float(np.fmax(low, own))
    if not low >= enough:
        least = float(np.fmax.reduce([own, *(proof(pairs)[0] for proof in proofs)]))
        if not least <= low:
            return pairs, least
    return chosen, low


def _policy_iteration(model: CTMDP, start: np.ndarray, tolerance: float, said: Progress, patience: int) -> Answer:
    """Until nothing improves; where the method was not asked for by name, large models as far as `tolerance` needs."""
    if not patience or model.n_states <= DIRECT:
        pairs, value, iterations = improve_until_optimal(model, start)
        return Answer(pairs, value.gain, value.bias, iterations, value)
    from sojourn.solving.embedded import Guess, bellman, scale_of

    arrays, guess = arrays_of(model), Guess(start, 0.0, np.zeros(0))

    def enough(pairs: np.ndarray, value: PolicyValue) -> bool:
        guess.pairs, guess.gain, guess.u, guess.sweeps = pairs.copy(), value.gain, value.bias, guess.sweeps + 1
        bellman(arrays, guess, 0.0)
        goal = tolerance / 4 * scale_of(arrays, guess)
        said.show("policy iteration", guess.sweeps, guess.width, goal)
        guess.ended = guess.width <= goal
        return guess.ended

    pairs, value, iterations = improve_until_optimal(model, start, enough)
    return Answer(pairs, value.gain, value.bias, iterations, value, guess.ended)


def _sweeps(model: CTMDP, start: np.ndarray, tolerance: float, said: Progress, patience: int) -> Answer:
    from sojourn.solving.embedded import swept

    return _finished(model, swept(arrays_of(model), tolerance / 4, patience or MANY, said), patience)


def _multigrid(model: CTMDP, start: np.ndarray, tolerance: float, said: Progress, patience: int) -> Answer:
    from sojourn.solving.nested import nested

    return _finished(model, nested(arrays_of(model), model.n_actions, tolerance / 4, said, patience == TRIAL), patience)


def _finished(model: CTMDP, guess: Guess, patience: int) -> Answer:
    """Return a guess as an answer.  By name, small models and what did not end are finished by policy iteration."""
    if guess.ended and (patience or model.n_states > DIRECT):
        return Answer(guess.pairs, guess.gain, guess.u - guess.u[0], guess.sweeps)
    if patience:
        raise NotEnded(guess.start)
    return _improved(model, guess.pairs, guess.sweeps)


def _improved(model: CTMDP, pairs: np.ndarray, before: int) -> Answer:
    """Return the policy evaluated, and improved where that is possible: then it is one of policy iteration, and is said to be."""
    best, value, more = improve_until_optimal(model, pairs)
    return Answer(best, value.gain, value.bias, before + more, value, by="" if np.array_equal(best, pairs) else "policy-iteration")


def _value_iteration(model: CTMDP, start: np.ndarray, tolerance: float, said: Progress, patience: int) -> Answer:
    """Values by sweeps; small models, and those whose sweeps do not converge, are finished by policy iteration."""
    from sojourn.solving.value_iteration import SMALL_WORK, WORK, iterate_values, settle

    small = model.n_states <= DIRECT
    pairs, gain, u, sweeps, enough = iterate_values(model, tolerance / 4, SMALL_WORK if small else WORK)
    if enough and not small:
        u, gain = settle(model, pairs, u, sweeps)
        return Answer(pairs, gain, u, sweeps)
    try:
        return _improved(model, pairs, sweeps)
    except TooLarge:
        return Answer(pairs, gain, u, sweeps)


def _linear_programming(model: CTMDP, start: np.ndarray, tolerance: float, said: Progress, patience: int) -> Answer:
    """The policy of the best frequencies; states that it never visits are settled by policy iteration, which is named where it
    changed others.
    """
    from sojourn.solving.linear_program import best_frequencies, policy_of

    frequency, _, iterations = best_frequencies(model)
    pairs, visited = policy_of(model, frequency, start)
    found = _improved(model, pairs, iterations)
    return found if (found.pairs != pairs)[visited].any() else found._replace(by="")


_BY_NAME: dict[str, Callable[[CTMDP, np.ndarray, float, Progress, int], Answer]] = {
    "policy-iteration": _policy_iteration, "sweeps": _sweeps, "multigrid": _multigrid, "value-iteration": _value_iteration,
    "linear-programming": _linear_programming,
}

"""Ordinary queues and walks on which floating-point linear algebra used to fail, with exact expected values."""

import math
from fractions import Fraction

import numpy as np
import pytest

import sojourn
from exact import ExactModel, embedded_law, policy_gains
from exact_optimum import optimum_bounds
from shapes import walk_arrays
from sojourn import Choice
from sojourn.errors import ToleranceError
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.evaluate import evaluate
from sojourn.solving.solve import solve


def exact_gain(model, policy):
    """The exact gain of a policy with one recurrent class, of the numbers as stored."""
    exact = ExactModel(model)
    (gain,) = policy_gains(exact, exact.choice(model.policy_pairs(policy)))
    return gain


def is_proved(answer, low, high):
    """The gain is right, its interval holds it, and the interval is narrow."""
    lo, hi = answer.gain_bounds
    assert Fraction(lo) <= high and low <= Fraction(hi), f"[{lo!r}, {hi!r}] misses {float(low)!r}"
    assert lo <= answer.gain <= hi and hi - lo <= 1e-9 * abs(answer.gain)
    return True


def is_solved(model):
    """The optimum is proved and agrees with exact policy iteration, which begins anywhere."""
    return is_proved(solve(model), *optimum_bounds(ExactModel(model), model.pair_start[:-1]))


def random_walk(seed, n=400):
    """Random up-probabilities, multiples of 2^-20; unit rates; reward s mod 3; turned back at both ends."""
    up = np.random.default_rng(seed).integers(1, 2**20, n) / 2**20
    return CTMDP.from_arrays(**walk_arrays(up[:, None], np.ones((n, 1)), (np.arange(n) % 3.0)[:, None], held=False))


def leaving_walk(n=600):
    """Up-probability 0.01 below the middle and 0.99 above: the ends hold the walk."""
    up = np.where(np.arange(n) < n // 2, 0.01, 0.99)
    return CTMDP.from_arrays(**walk_arrays(up[:, None], np.ones((n, 1)), (np.arange(n) % 3.0)[:, None]))


def wells(e, size):
    """Two rings of `size` states paying 1 and 3 a visit; from the first to the second with probability e, back with 2e."""
    n, half = 2 * size, (1 - e) / 2
    p, s = np.zeros((n, 1, n)), np.arange(size)
    for begin in (0, size):
        np.add.at(p, (begin + s, 0, begin + (s + 1) % size), 0.5)
        np.add.at(p, (begin + s, 0, begin + (s - 1) % size), 0.5)
    p[0, 0, [1, size - 1]], p[0, 0, size] = half if size > 2 else 1 - e, e
    p[size, 0, [size + 1, n - 1]], p[size, 0, 0] = (1 - 2 * e) / 2 if size > 2 else 1 - 2 * e, 2 * e
    return CTMDP.from_arrays(p, np.ones((n, 1)), np.repeat([1.0, 3.0], size)[:, None])


@pytest.mark.parametrize("capacity", [285, 300, 412, 600, 900])
def test_a_queue_with_adjustable_speed_is_solved_at_every_capacity(capacity):
    assert is_solved(sojourn.make("service-rate", capacity=capacity))


@pytest.mark.parametrize("capacity", [285, 300, 900])
def test_a_queue_with_one_speed_everywhere_is_evaluated_at_every_capacity(capacity):
    model = sojourn.make("service-rate", capacity=capacity)
    for action in (1, 3):
        policy = [0] + [action] * capacity
        truth = exact_gain(model, policy)
        assert is_proved(evaluate(model, policy), truth, truth)


@pytest.mark.parametrize("arrival", [0.8, 1.5])
def test_the_queue_of_the_readme_is_solved_with_room_for_250(arrival):
    def choices(waiting):
        arrive = {waiting + 1: arrival} if waiting < 250 else {}
        if waiting == 0:
            return {"idle": Choice(rates=arrive)}
        return {speed: Choice(rates={**arrive, waiting - 1: mu}, running_cost=waiting + price)
                for speed, mu, price in [("slow", 1.0, 0.5), ("fast", 2.0, 8.0)]}

    model = CTMDP.explore(0, choices)
    assert is_solved(model)
    never_hurry = ["idle"] + ["slow"] * 250
    truth = exact_gain(model, never_hurry)
    assert is_proved(evaluate(model, never_hurry), truth, truth)


def test_a_walk_with_random_drift_earns_what_exact_arithmetic_says():
    model = random_walk(43)
    truth = exact_gain(model, [0] * 400)
    assert float(truth) == pytest.approx(1.2371207048703363, rel=1e-15)
    assert is_proved(evaluate(model, [0] * 400), truth, truth) and is_proved(solve(model), truth, truth)


@pytest.mark.parametrize("seeds", [range(20), range(20, 40), range(40, 60)], ids=["0 to 19", "20 to 39", "40 to 59"])
def test_sixty_walks_with_random_drift_are_evaluated_with_proof(seeds):
    for seed in seeds:
        model = random_walk(seed)
        truth = exact_gain(model, [0] * 400)
        assert is_proved(evaluate(model, [0] * 400), truth, truth), seed


@pytest.mark.parametrize("n", [100, 300, 600, 1000])
def test_a_walk_that_leaves_its_middle_is_evaluated_with_proof(n):
    model = leaving_walk(n)
    truth = exact_gain(model, [0] * n)
    assert is_proved(evaluate(model, [0] * n), truth, truth)


@pytest.mark.parametrize("n", [100, 300, 600, 1000])
def test_a_walk_that_leaves_its_middle_is_solved_with_bounds_that_hold_or_refused_with_such(n):
    model = leaving_walk(n)
    truth = exact_gain(model, [0] * n)
    try:
        answer = solve(model)
    except ToleranceError as error:  # its bias is beyond what floats can hold
        answer = error.best
    lo, hi = answer.gain_bounds
    assert lo <= truth <= hi and lo <= answer.gain <= hi


@pytest.mark.parametrize("n", [100, 600])
def test_nothing_of_a_walk_that_leaves_its_middle_is_nan(n):
    value = evaluate(leaving_walk(n), [0] * n)
    assert not np.isnan(value.bias).any() and value.stationary.sum() == pytest.approx(1, rel=1e-12)
    assert np.isfinite(value.stationary).all() and np.isfinite(value.occupancy).all() and math.isfinite(value.gain)


@pytest.mark.parametrize("size", [2, 60, 150, 400])
@pytest.mark.parametrize("e", [1e-5, 1e-9, 1e-12, 1e-14, 3e-15, 1e-15])
def test_two_wells_joined_by_little_keep_gain_and_stationary_law(e, size):
    model = wells(e, size)
    law, truth = embedded_law(ExactModel(model), range(2 * size)), exact_gain(model, [0] * 2 * size)
    value = evaluate(model, [0] * 2 * size)
    np.testing.assert_allclose(value.stationary, np.array(law, dtype=float), rtol=1e-9)
    assert is_proved(value, truth, truth) and is_proved(solve(model), truth, truth)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
@pytest.mark.parametrize("what", ["money", "time"])
def test_a_tandem_of_1600_states_has_the_same_policy_in_every_unit(what, unit):
    model = sojourn.make("tandem", capacity=39)
    if what == "money":
        other, factor = model.replace(reward=model.reward * unit, running=model.running * unit, transition_reward=(
            None if model.transition_reward is None else model.transition_reward * unit)), unit
    else:
        other, factor = model.replace(rate=model.rate * unit, running=model.running * unit), unit
    one, two = solve(model), solve(other)
    assert two.gain == pytest.approx(one.gain * factor, rel=2e-9, abs=0)
    lo, hi = two.gain_bounds
    assert hi - lo <= 1e-9 * abs(two.gain)
    earned = evaluate(model, two.policy).gain
    assert earned == pytest.approx(one.gain, rel=2e-9, abs=0) and (one.policy != two.policy).sum() <= 5


@pytest.mark.parametrize("length, load", [(1000, 1.0), (3000, 0.95), (10_000, 0.3)])
def test_a_long_river_is_swum_though_the_first_thousands_of_improvements_gain_nothing(length, load):
    model = sojourn.make("river-swim", length=length, forward=0.35, back=0.35 * load)
    solution = solve(model)
    lo, hi = solution.gain_bounds
    assert hi - lo <= 1e-9 * solution.gain
    swim = evaluate(model, [1] * length).gain_bounds
    assert solution.gain >= swim[0] > evaluate(model, [0] * length).gain  # to give in to the current is worse


def test_a_policy_that_is_never_paid_earns_exactly_nothing():
    model = sojourn.make("river-swim", length=30)
    policy = [1] * 29 + [0]
    for table in (policy, np.eye(2)[policy]):
        value = evaluate(model, table)
        assert (value.gain, value.gain_bounds) == (0.0, (0.0, 0.0))
    paid = model.replace(running=np.where(np.arange(model.n_pairs) == 5, 1e-300, model.running))
    assert evaluate(paid, policy).gain_bounds[1] > 0

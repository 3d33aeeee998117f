"""The exact judge itself: against closed forms, by hand and by enumeration."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from exact import ExactModel, class_gain, embedded_law, policy_gains
from exact_lower_bound import lower_bound_constant
from exact_optimum import best_gains, diameter, gain_losses, optimal_gains, optimum_bounds
from shapes import case, walk_arrays
from sojourn.model.ctmdp import CTMDP

GOLDEN = ["two_state", "three_state", "boundary_cases", "ties", "machine_maintenance"]


@pytest.mark.parametrize("name", GOLDEN)
def test_the_judge_agrees_with_the_reference_constants(golden, golden_model, name):
    exact, constants = ExactModel(golden_model(name)), golden(name)["constants"]
    gains = optimal_gains(exact)
    assert len(set(gains)) == 1 and float(gains[0]) == pytest.approx(constants["rho"], rel=1e-15)
    if "g" in constants and name != "ties":  # whose ties are not exact in floats
        assert float(gain_losses(exact)[0]) == pytest.approx(constants["g"], rel=1e-13)
    if "D" in constants:
        assert float(diameter(exact)) == pytest.approx(constants["D"], rel=1e-13)
    if name not in ("ties", "boundary_cases"):
        assert float(lower_bound_constant(golden_model(name))) == pytest.approx(float(constants["C_M"]), rel=1e-12)


def test_the_law_of_a_walk_is_its_product_form():
    up = np.array([1, 0.25, 0.5, 0.125, 0])[:, None]
    exact = ExactModel(CTMDP.from_arrays(**walk_arrays(up, np.ones((5, 1)), np.zeros((5, 1)))))
    weight = [Fraction(1)]
    for s in range(4):
        weight.append(weight[-1] * Fraction(up[s, 0]) / (1 - Fraction(up[s + 1, 0])))
    for x, w in zip(embedded_law(exact, range(5)), weight):
        assert abs(Fraction(x) - w / sum(weight)) < Fraction(1, 10**50)


def test_a_mixture_earns_reward_per_visit_over_time_per_visit():
    model = CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[3.0, 5], [2, 7]], [[5.0, 8], [-4, -12]])
    exact = ExactModel(model)
    reward = Fraction(5 + 3 * 8, 4) - Fraction(4 + 12, 2)
    time = Fraction(1, 12) + Fraction(3, 20) + Fraction(1, 4) + Fraction(1, 14)
    assert policy_gains(exact, exact.mixture([0.25, 0.75, 0.5, 0.5])) == [reward / time]


def test_an_optimum_is_the_best_of_all_policies_from_every_state():
    for index in range(60):
        model = case(11, index, ("plain", "multichain", "absorbing", "periodic", "transition rewards")).model
        exact = ExactModel(model)
        options = [range(a, b) for a, b in zip(exact.pair_start, exact.pair_start[1:])]
        if np.prod([len(o) for o in options]) > 200:
            continue
        best = [max(values) for values in zip(*(_gains_by_state(exact, pairs) for pairs in product(*options)))]
        assert optimal_gains(exact) == best


def _gains_by_state(exact, pairs):
    from exact import policy_values

    return [g * exact.unit for g in policy_values(exact.choice(pairs))[0]]


def test_bounds_in_fixed_point_enclose_the_exact_optimum():
    for index in range(12):
        drawn = case(3, index, ("plain", "walk", "running"))
        exact = ExactModel(drawn.model)
        if exact.n <= 40:
            low, high = optimum_bounds(exact, exact.pair_start[:-1])
            truth = best_gains(exact, small=40)[0][0]
            assert low <= truth <= high and high - low < 1e-25


def test_rows_that_miss_one_by_rounding_can_be_read_in_two_ways():
    third = 1 / 3
    model = CTMDP.from_arrays([[[third, third, third]], [[1, 0, 0]], [[1, 0, 0]]], np.ones((3, 1)), [[1.0], [0.0], [0.0]])
    given, divided = ExactModel(model), ExactModel(model, divide=True)
    assert given.sums_to_one() and not divided.sums_to_one()
    q = 2 * Fraction(third)  # the rate at which state 0 is left, as stored
    assert class_gain(given.choice(range(3)), [0, 1, 2], given.unit) == 1 / (1 + q)
    assert class_gain(divided.choice(range(3)), [0, 1, 2], divided.unit) == Fraction(3, 5)

"""The interval that proves the gain contains it, for any guess, and is narrow for the right one."""

from fractions import Fraction

import numpy as np
import pytest

from sojourn.errors import ModelError, ParameterError
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.certificate import gain_bounds
from sojourn.solving.double_double import add, generator_values, multiply, two_product, two_sum
from sojourn.solving.refine import bounds_of, optimal_refined
from sojourn.solving.solve import solve

GOLDEN = ["two_state", "three_state", "boundary_cases", "ties", "miller_n3_m3", "machine_maintenance"]


@pytest.mark.parametrize("name", GOLDEN)
def test_any_guess_gives_bounds_that_hold(golden, golden_model, name):
    model, exact = golden_model(name), Fraction(golden(name)["constants"]["rho_exact"])
    rng = np.random.default_rng(0)
    for size in (0.0, 1e-12, 1e-6, 1.0, 1e6, 1e12):
        for _ in range(20):
            guess = solve(model).bias + size * rng.normal(size=model.n_states)
            lo, hi = gain_bounds(model, guess, rate=2 * model.rate.max())
            assert Fraction(lo) <= exact <= Fraction(hi)


def test_the_bounds_do_not_depend_on_a_level_and_are_those_of_one_uniformized_step(golden_model):
    model = golden_model("machine_maintenance")
    u = np.array([0.0, 1, -2, 0.5])
    assert gain_bounds(model, u) == gain_bounds(model, u + 1024)
    mdp = model.uniformized(8.0)
    step = np.maximum.reduceat(mdp.reward + mdp.matrix @ u, mdp.pair_start[:-1]) - u
    np.testing.assert_allclose(gain_bounds(model, u, rate=8.0), (8 * step.min(), 8 * step.max()), rtol=1e-12)


def test_rounding_alone_would_break_the_interval_without_its_widening():
    # the exact step is 1/3 for certain states; its floating value is not
    model = CTMDP.from_arrays([[[1.0]]], [[3.0]], [[1 / 9]])
    lo, hi = gain_bounds(model, [0.0])
    assert lo < 1 / 3 < hi and Fraction(lo) < Fraction(1, 3) < Fraction(hi) and hi - lo < 1e-14


def test_a_rate_below_the_models_own_is_refused(golden_model):
    with pytest.raises(ParameterError, match="rate is 5; uniformization needs at least the largest rate, 7"):
        gain_bounds(golden_model("two_state"), [0.0, 0.0], rate=5.0)


def test_values_that_are_not_finite_are_refused(golden_model):
    with pytest.raises(ModelError, match=r"u\[1\] is inf"):
        gain_bounds(golden_model("two_state"), [0.0, float("inf")])


def test_double_double_keeps_thirty_digits():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=50) * 10.0 ** rng.uniform(-9, 9, 50), rng.normal(size=50) * 10.0 ** rng.uniform(-9, 9, 50)
    for x, y, s, p in zip(a, b, np.transpose(two_sum(a, b)), np.transpose(two_product(a, b))):
        assert Fraction(s[0]) + Fraction(s[1]) == Fraction(x) + Fraction(y)
        assert Fraction(p[0]) + Fraction(p[1]) == Fraction(x) * Fraction(y)
    low = 1e-17 * b
    total = multiply(add((a, low), (b, -low)), b)
    for i in range(50):
        exact = (Fraction(a[i]) + Fraction(b[i])) * Fraction(b[i])
        size = (abs(Fraction(a[i])) + abs(Fraction(b[i]))) * abs(Fraction(b[i]))
        assert abs(Fraction(total[0][i]) + Fraction(total[1][i]) - exact) < size * Fraction(1, 10**29)


def test_double_double_steps_are_within_their_stated_error():
    rng = np.random.default_rng(4)
    n, a = 4, 2
    p = rng.random((n, a, n))
    model = CTMDP.from_arrays(p / p.sum(-1, keepdims=True), 10.0 ** rng.uniform(-5, 5, (n, a)), rng.normal(size=(n, a)),
                              rng.normal(size=(n, a)), transition_reward=rng.normal(size=(n, a, n)))
    u = (1e6 * rng.normal(size=n), 1e-11 * rng.normal(size=n))
    value, error = generator_values(model, u)
    level = [Fraction(x) + Fraction(y) for x, y in zip(*u)]
    for k in range(model.n_pairs):
        row = range(model.row_start[k], model.row_start[k + 1])
        s = model.pair_state[k]
        paid = [Fraction(model.transition_reward[i]) + level[model.next_state[i]] - level[s] for i in row]
        mean = Fraction(model.reward[k]) + sum(Fraction(model.probability[i]) * x for i, x in zip(row, paid))
        exact = Fraction(model.running[k]) + Fraction(model.rate[k]) * mean
        assert abs(Fraction(value[0][k]) + Fraction(value[1][k]) - exact) <= Fraction(error[k])


def test_double_double_steps_count_what_cancels_between_large_values_close_together():
    rng = np.random.default_rng(5)
    p = rng.random((6, 1, 6))
    model = CTMDP.from_arrays(p / p.sum(-1, keepdims=True), np.ones((6, 1)))
    u = (1e6 + 1e-9 * rng.integers(0, 2, 6), 1e-11 * rng.normal(size=6))
    value, error = generator_values(model, u)
    level = [Fraction(x) + Fraction(y) for x, y in zip(*u)]
    off = []
    for s in range(6):
        exact = sum(Fraction(x) * (level[j] - level[s]) for j, x in enumerate(model.probability[6 * s:6 * s + 6]))
        off.append(abs(Fraction(value[0][s]) + Fraction(value[1][s]) - exact))
        assert off[-1] <= Fraction(error[s])
    assert max(off) > Fraction(1e-29)  # so that a bound relative to the differences alone, some 1e-38, would not do


@pytest.mark.parametrize("name", GOLDEN)
def test_the_refined_interval_contains_the_rational_truth(golden, golden_model, name):
    model, exact = golden_model(name), golden(name)["constants"]
    pairs = model.policy_pairs([actions[-1] for actions in exact["O"]])
    found, excess, error = optimal_refined(model, pairs, 1e-12)
    gain, (lo, hi) = float(found.gain[0]), bounds_of(model, found, excess, error)
    bias = found.bias[0] - found.bias[0][0]
    assert gain == pytest.approx(exact["rho"], abs=1e-14) and np.abs(bias - exact["h"]).max() < 1e-14
    assert Fraction(lo) <= Fraction(exact["rho_exact"]) <= Fraction(hi) and hi - lo < 1e-12

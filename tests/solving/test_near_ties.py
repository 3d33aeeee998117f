"""Up to 200 states the policy returned is the best one, as exact arithmetic knows it, however little it is better."""

from fractions import Fraction

import numpy as np
import pytest

from exact import ExactModel, class_gain, policy_values
from exact_optimum import improved, optimal_pairs
from shapes import case
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.solve import METHODS, solve


def near_ties(index, copies):
    """A model with several copies of every choice, their rewards and rates off by 1e-9 to 1e-15 of themselves; in some unit."""
    base = case(101, index, ("plain", "running", "self-loops", "wide rates")).model
    rng = np.random.default_rng([101, index])
    dense = base.dense()
    transition, rate, reward, running = (np.nan_to_num(dense[name]) for name in ("transition", "rate", "reward", "running"))
    money, time = 10.0 ** rng.choice([-9, 0, 9]), 10.0 ** rng.choice([-9, 0, 9])
    parts = []
    for i in range(copies):
        off = [1 + (i > 0) * rng.choice([-1, 1], rate.shape) * 10.0 ** rng.uniform(-15, -9, rate.shape) for _ in range(2)]
        parts.append((transition, rate * off[1] / time, reward * off[0] * money, running * money / time))
    order = rng.permutation(copies * rate.shape[1])
    stacked = [np.concatenate(x, axis=1)[:, order] for x in zip(*parts)]
    return CTMDP.from_arrays(*stacked, normalize_rows=True)


def judge(model, solution):
    """Assert that the policy is optimal, that its actions are the lowest among exact ties, and that the proof holds."""
    exact = ExactModel(model)
    own = [int(k) for k in model.policy_pairs(solution.policy)]
    gain, bias = policy_values(exact.choice(own))
    assert improved(exact, own, gain, bias) == own
    low, high = (Fraction(x) for x in solution.gain_bounds)
    assert low <= gain[0] * exact.unit <= high
    for s, k in enumerate(own):
        for lower in range(exact.pair_start[s], k):
            other = own.copy()
            other[s] = lower
            assert class_gain(exact.choice(other), list(range(exact.n)), Fraction(1)) < gain[0]


def test_the_policy_is_the_best_of_many_that_nearly_tie():
    missed = 0
    for index in range(40):
        model = near_ties(index, 3)
        judge(model, solve(model))
        lowest = np.array([solve(model).policy, model.pair_action[optimal_pairs(ExactModel(model))]])
        missed += not np.array_equal(*lowest)
    assert missed == 0


@pytest.mark.parametrize("method", METHODS)
def test_every_method_returns_the_best_policy(method):
    for index in range(3):
        model = near_ties(index, 2)
        judge(model, solve(model, method=method))


@pytest.mark.parametrize("off", [1e-10, 1e-12, 2.0**-52])
def test_an_action_that_is_better_by_a_hair_is_taken_and_one_that_ties_exactly_is_not(off):
    model = CTMDP.from_arrays(np.full((2, 3, 2), 0.5), np.ones((2, 3)), [[1.0, 1.0 + off, 1.0 + off], [0.0, 0.0, -1.0]])
    assert solve(model).policy.tolist() == [1, 0]


def test_two_hundred_states_are_proved_too():
    """A line of 200 states, every choice twice, the second better by 2^-40 of its lump sum in every other state."""
    n = 200
    transition, reward = np.zeros((n, 2, n)), np.repeat((np.arange(n) % 7 / 8.0 + 1)[:, None], 2, axis=1)
    for s in range(n):
        transition[s, :, min(s + 1, n - 1)] += 0.5
        transition[s, :, max(s - 1, 0)] += 0.5
    reward[::2, 1] *= 1 + 2.0**-40
    model = CTMDP.from_arrays(transition, np.ones((n, 2)), reward)
    assert np.array_equal(solve(model).policy, (np.arange(n) + 1) % 2)

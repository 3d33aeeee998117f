"""The plausible set: radii, rate intervals and truncation as printed."""

import numpy as np
import pytest

from sojourn.learn.counts import Counts
from sojourn.learn.plausible import holding_radius, plausible_set, rate_interval, reward_radius, transition_radius
from sojourn.model.knowledge import Knowledge


def one_pair(rate_bounds=(1.0, 5.0), n_states=1):
    return Knowledge.from_arrays(np.full((n_states, 1), 0.5), rate_bounds)


def test_the_truncated_mean_is_the_golden_one(golden):
    for case in golden("estimators")["truncated"]:
        counts = Counts(one_pair((case["lambda_min"], 50.0)), case["delta"])
        kept = 0
        for sample in case["samples"]:
            before = counts.holding_sum[0]
            counts.add(0, sample, 0)
            kept += counts.holding_sum[0] != before
        assert counts.truncated_mean[0] == pytest.approx(case["truncated_mean"], abs=1e-12)
        assert kept == case["kept"]


def test_the_radii_are_the_golden_ones(golden):
    for case in golden("estimators")["radii"]:
        n, size = np.array([case["n"]]), (case["S"], case["A"], case["t"], case["delta"])
        assert transition_radius(n, *size)[0] == pytest.approx(case["radius_p"], abs=1e-12)
        assert holding_radius(n, *size, case["lambda_min"])[0] == pytest.approx(case["radius_mean"], abs=1e-12)


def test_the_rate_intervals_are_the_golden_ones(golden):
    for case in golden("estimators")["rate_intervals"]:
        low, high, empty = rate_interval(np.array([1]), np.array([case["mean_hat"]]), np.array([case["radius"]]),
                                         case["lambda_min"], case["lambda_max"])
        assert [low[0], high[0], bool(empty[0])] == pytest.approx(case["interval"], abs=1e-12)


def test_without_data_the_whole_interval_and_the_whole_simplex_are_plausible_whatever_the_scale():
    knowledge = one_pair((1.0, 5.0), n_states=3)
    plausible = plausible_set(Counts(knowledge, 0.1), knowledge, 0.1, radius_scale=1e-6)
    assert plausible.rate_low.tolist() == [1.0] * 3 and plausible.rate_high.tolist() == [5.0] * 3
    assert plausible.reach.tolist() == [1.0] * 3
    assert plausible.empty_intervals == 0
    assert plausible.contains(np.eye(3)[[2, 0, 1]], np.array([1.0, 5.0, 3.0]))


def test_a_rate_interval_that_misses_the_bounds_becomes_the_nearer_end_and_is_counted():
    knowledge = one_pair((1.0, 5.0), n_states=2)
    counts = Counts(knowledge, 1.0)
    for _ in range(10):
        counts.add(0, 3.0, 1)
        counts.add(1, 0.01, 0)
    plausible = plausible_set(counts, knowledge, 0.5, radius_scale=1e-3)
    assert (plausible.rate_low.tolist(), plausible.rate_high.tolist()) == ([1.0, 5.0], [1.0, 5.0])
    assert plausible.empty_intervals == 2


def test_the_scale_multiplies_both_radii_and_leaves_the_estimates_alone():
    knowledge = one_pair(n_states=2)
    counts = Counts(knowledge, 0.1)
    counts.add(0, 0.4, 1)
    whole, half = (plausible_set(counts, knowledge, 0.1, radius_scale=x) for x in (1.0, 0.5))
    np.testing.assert_array_equal(half.transition_radius, 0.5 * whole.transition_radius)
    np.testing.assert_array_equal(half.holding_radius, 0.5 * whole.holding_radius)
    np.testing.assert_array_equal(half.truncated_mean, whole.truncated_mean)


def test_the_actions_in_the_radii_are_the_most_that_any_state_has():
    admissible = np.array([[True, True, False, False], [False, False, False, True]])
    knowledge = Knowledge.from_arrays(np.full((2, 4), 0.5), (1, 2), admissible=admissible)
    plausible = plausible_set(Counts(knowledge, 0.1), knowledge, 0.1)
    np.testing.assert_array_equal(plausible.transition_radius, transition_radius(np.zeros(3), 2, 2, 1, 0.1))


def test_unknown_rewards_are_planned_at_the_mean_plus_the_radius():
    knowledge = one_pair(n_states=2)
    counts = Counts(knowledge, 0.1)
    for reward in (0.0, 1.0, 0.5):
        counts.add(0, 0.4, 1, reward)
    plausible = plausible_set(counts, knowledge, 0.1, unknown_rewards=True)
    assert plausible.reward.tolist() == (np.array([0.5, 0.0]) + reward_radius(np.array([3, 0]), 2, 1, 4, 0.1)).tolist()
    scaled = plausible_set(counts, knowledge, 0.1, unknown_rewards=True, reward_scale=2.0)
    assert scaled.reward[0] == pytest.approx(0.25 + reward_radius(np.array([3]), 2, 1, 4, 0.1)[0], abs=1e-15)


def test_an_unknown_reward_without_data_is_planned_above_every_possible_one_however_small_the_radii():
    knowledge = one_pair(n_states=2)
    counts = Counts(knowledge, 1.0)
    counts.add(0, 0.4, 1, 0.5)
    plausible = plausible_set(counts, knowledge, 1.0, radius_scale=1e-3, unknown_rewards=True)
    radius = reward_radius(np.array([1, 0]), 2, 1, 2, 1.0)
    assert plausible.reward[0] == pytest.approx(0.5 + 1e-3 * radius[0]) and plausible.reward[1] == radius[1] > 1


def test_the_radius_of_a_reward_is_the_one_of_jaksch():
    expected = (7 * np.log(2 * 3 * 2 * 100 / 0.01) / (2 * 50)) ** 0.5
    assert reward_radius(np.array([50]), 3, 2, 100, 0.01)[0] == pytest.approx(expected)


def test_a_model_outside_its_radius_or_interval_is_not_plausible():
    knowledge = one_pair((1.0, 5.0), n_states=2)
    counts = Counts(knowledge, 1.0)
    for _ in range(100):
        counts.add(0, 0.5, 1)
        counts.add(1, 0.5, 0)
    plausible = plausible_set(counts, knowledge, 0.5, radius_scale=0.01)
    swap, rate = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([2.0, 2.0])
    assert plausible.contains(swap, rate)
    assert not plausible.contains(np.array([[0.5, 0.5], [1.0, 0.0]]), rate)
    assert not plausible.contains(swap, np.array([2.0, 4.0]))

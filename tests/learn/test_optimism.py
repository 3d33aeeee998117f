"""Extended value iteration: the golden steps, its guarantees, and the fast way to the same test."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.errors import ToleranceError
from sojourn.kernels import optimism as kernels
from sojourn.learn.counts import Counts
from sojourn.learn.optimism import Improved, extended_iteration
from sojourn.learn.plausible import (
    PlausibleSet,
    extended_value_iteration,
    fast_extended_value_iteration,
    plausible_set,
    rate_interval,
)
from sojourn.model.ctmdp import CTMDP
from sojourn.model.knowledge import Knowledge
from sojourn.solving.solve import solve


def golden_problem(case):
    """Return (plausible set, knowledge) of a golden step, whose estimates are given as dense tables."""
    n_states, n_pairs = case["S"], case["S"] * case["A"]
    knowledge = Knowledge.from_arrays(case["r"], (case["lambda_min"], case["lambda_max"]), running=case["c"])
    flat = {name: np.array(case[name]).ravel() for name in ("radius_p", "mean_hat", "radius_mean", "r")}
    visits = np.ones(n_pairs, dtype=np.int64)
    low, high, _ = rate_interval(visits, flat["mean_hat"], flat["radius_mean"], *(case["lambda_min"], case["lambda_max"]))
    rows = np.tile(np.arange(n_states), n_pairs)
    return PlausibleSet(visits, np.arange(n_pairs + 1) * n_states, rows, np.array(case["p_hat"]).ravel(), flat["radius_p"],
                        flat["mean_hat"], flat["radius_mean"], low, high, flat["r"], 0), knowledge


def one_step(plausible, knowledge, u):
    n = knowledge.n_states
    u_next, pair, rising = np.empty(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
    kernels.bellman_step(u, u_next, pair, rising, None, None, np.empty(n), np.arange(n), plausible.iteration(knowledge).problem)
    rate = np.where(rising, plausible.rate_high[pair], plausible.rate_low[pair])
    return u_next, knowledge.pair_action[pair], rate


def test_one_step_is_the_golden_step(golden):
    for case in golden("evi_steps"):
        plausible, knowledge = golden_problem(case)
        expected = np.array(case["rate_interval"])[..., :2].reshape(-1, 2)
        np.testing.assert_allclose(np.stack([plausible.rate_low, plausible.rate_high], axis=1), expected, rtol=0, atol=1e-12)
        u_next, policy, rate = one_step(plausible, knowledge, np.array(case["u"]))
        np.testing.assert_allclose(u_next, case["u_next"], rtol=0, atol=1e-12)
        assert policy.tolist() == case["policy"]
        np.testing.assert_allclose(rate, case["chosen_rate"], rtol=0, atol=1e-12)


def test_the_whole_iteration_is_the_golden_one(golden):
    for case in golden("evi_steps"):
        plausible, knowledge = golden_problem(case)
        found, expected = extended_value_iteration(plausible, knowledge, case["full_evi"]["eps_uniformised"]), case["full_evi"]
        assert found.policy.tolist() == expected["policy"]
        assert found.sweeps == expected["iters"]
        assert found.gain_bounds == pytest.approx((expected["rho_lo"], expected["rho_hi"]), abs=1e-12)


def test_ties_go_to_the_lowest_action():
    knowledge = Knowledge.from_arrays(np.full((3, 4), 0.5), (1.0, 2.0))
    plausible = plausible_set(Counts(knowledge, 0.1), knowledge, 0.1)
    for planner in (extended_value_iteration, fast_extended_value_iteration):
        assert planner(plausible, knowledge, 1.0).policy.tolist() == [0, 0, 0]


def random_model(rng, n_states, n_actions=2, successors=None):
    shape = (n_states, n_actions)
    transition = rng.dirichlet(np.ones(n_states), size=shape)
    if successors:
        keep = np.argsort(rng.random((*shape, n_states)), axis=-1) < successors
        transition = np.where(keep, transition, 0)
        transition /= transition.sum(axis=-1, keepdims=True)
    return CTMDP.from_arrays(transition, rng.uniform(1, 3, shape), rng.uniform(0, 1, shape), rate_bounds=(1.0, 3.0))


def observed(rng, model, knowledge, visits, delta=0.1):
    """Return counts as if every pair had been visited about `visits` times."""
    counts = Counts(knowledge, delta)
    dense = np.asarray(model.matrix.todense())
    for pair in range(len(model.rate)):
        for state in rng.choice(model.n_states, size=visits, p=dense[pair]):
            counts.add(pair, rng.exponential(1 / model.rate[pair]), int(state))
    return counts


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.02, 0.05, 0.3]))
def test_no_plausible_model_beats_the_planned_gain(seed, scale):
    from sojourn.solving.solve import solve

    rng = np.random.default_rng(seed)
    model = random_model(rng, 4)
    knowledge = model.knowledge()
    plausible = plausible_set(observed(rng, model, knowledge, 60), knowledge, 0.1, radius_scale=scale)
    gain = solve(model).gain
    for planner in (extended_value_iteration, fast_extended_value_iteration):
        best = planner(plausible, knowledge, 1e-4)
        assert best.gain_bounds[1] - best.gain_bounds[0] < 1e-4 * knowledge.rate_max
        if plausible.contains(model.matrix, model.rate):
            assert best.gain >= gain - 1e-9


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.01, 0.05, 0.3]), n_states=st.integers(2, 7), known=st.booleans())
def test_fast_planning_ends_in_the_same_test_with_a_policy_greedy_in_its_values(seed, scale, n_states, known):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n_states, 3, successors=2 if known else None)
    knowledge = model.knowledge(supports=known)
    plausible = plausible_set(observed(rng, model, knowledge, 30), knowledge, 0.1, radius_scale=scale)
    found = fast_extended_value_iteration(plausible, knowledge, 1e-3, start=rng.normal(size=n_states))
    u_next, policy, rate = one_step(plausible, knowledge, found.values)
    step = u_next - found.values
    assert step.max() - step.min() < 1e-3
    assert knowledge.rate_max * np.array([step.min(), step.max()]) == pytest.approx(found.gain_bounds, abs=1e-9)
    assert policy.tolist() == found.policy.tolist()
    assert rate.tolist() == found.rate.tolist()
    slow = extended_value_iteration(plausible, knowledge, 1e-3)
    assert max(slow.gain_bounds[0], found.gain_bounds[0]) <= min(slow.gain_bounds[1], found.gain_bounds[1]) + 1e-9


@given(seed=st.integers(0, 10**6), n_states=st.integers(2, 6), tolerance=st.sampled_from([1.0, 0.1, 0.01]))
def test_the_span_of_accepted_values_is_at_most_the_diameter_in_steps_times_the_largest_gain_of_a_step(seed, n_states, tolerance):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n_states, successors=min(n_states, 3))
    knowledge = model.knowledge()
    plausible = plausible_set(observed(rng, model, knowledge, 20), knowledge, 0.1, radius_scale=0.3)
    diameter = longest_shortest_time(model)
    if not (plausible.contains(model.matrix, model.rate) and np.isfinite(diameter)):
        return
    for found in (extended_value_iteration(plausible, knowledge, tolerance),
                  fast_extended_value_iteration(plausible, knowledge, tolerance, start=3 * rng.normal(size=n_states))):
        span = np.ptp(found.values)
        assert span <= found.gain * diameter + 1e-9
        assert span <= (1 + tolerance) * knowledge.rate_max * diameter + 1e-9


def longest_shortest_time(model):
    """D(M): the largest over (from, to) of the least expected time, by value iteration on first passages."""
    dense, worst = np.asarray(model.matrix.todense()), 0.0
    for target in range(model.n_states):
        time = np.zeros(model.n_states)
        for _ in range(20_000):
            new = np.minimum.reduceat(1 / model.rate + dense @ time, model.pair_start[:-1])
            new[target] = 0.0
            done = np.abs(new - time).max() < 1e-12
            time = new
            if done:
                break
        else:
            return np.inf
        worst = max(worst, time.max())
    return worst


def swap():
    """Two states that swap at rate_max: without mass on the best state itself the printed iteration cycles."""
    return CTMDP.from_arrays([[[0, 1.0]], [[1.0, 0]]], [[2.0], [2.0]], [[1.0], [0.0]])


def test_with_known_supports_a_swap_at_the_largest_rate_is_planned_for_though_the_printed_iteration_cycles():
    model = swap()
    knowledge = model.knowledge(supports=True)
    plausible = plausible_set(Counts(knowledge, 0.1), knowledge, 0.1)
    for planner in (extended_value_iteration, fast_extended_value_iteration):
        found = planner(plausible, knowledge, 1e-6)
        assert found.gain_bounds == pytest.approx((1.0, 1.0), abs=1e-5)
    problem = plausible.iteration(knowledge).problem
    assert not kernels.extended_value_iteration(np.zeros(2), 1e-6, 10_000, 1.0, problem)[5]


def test_known_supports_rule_out_staying_in_the_best_state():
    cycle = np.eye(3)[[1, 2, 0]][:, None, :]
    model = CTMDP.from_arrays(cycle, [[1.0], [1.0], [2.0]], [[1.0], [0.0], [0.5]])
    told, untold = model.knowledge(supports=True), model.knowledge()
    counts = observed(np.random.default_rng(3), model, untold, 50)
    gains = [extended_value_iteration(plausible_set(counts, k, 0.1, radius_scale=0.05), k, 1e-6).gain for k in (told, untold)]
    assert gains[0] < gains[1] - 0.01


class Known:
    """A confidence set of one model: plain value iteration, damped.  All that a new set must bring."""

    remedy = "Wait."

    def __init__(self, model):
        self.model = model

    def improve(self, u, tolerance, most):
        m, top = self.model, self.model.bounds[1]
        value = (m.reward + m.matrix @ u - u[m.pair_state]) * m.rate / top + m.running / top
        pair = m.pair_start[:-1] + [int(np.argmax(row)) for row in np.split(value, m.pair_start[1:-1])]
        step = value[pair]
        if np.ptp(step) >= tolerance:
            u += 0.9 * step
        return Improved(pair, m.rate[pair], 1, step.min(), step.max(), bool(np.ptp(step) < tolerance))


def test_a_new_set_needs_no_more_than_its_own_iteration():
    model = random_model(np.random.default_rng(4), 5)
    found = extended_iteration(Known(model), model.knowledge(), 1e-9)
    best = solve(model)
    assert found.policy.tolist() == best.policy.tolist() and found.gain == pytest.approx(best.gain, abs=1e-6)
    with pytest.raises(ToleranceError, match=r"after 3 steps.*Wait"):
        extended_iteration(Known(model), model.knowledge(), 1e-9, max_steps=3)


def test_too_few_sweeps_raise_with_the_best_so_far():
    rng = np.random.default_rng(0)
    model = random_model(rng, 5)
    plausible = plausible_set(observed(rng, model, model.knowledge(), 50), model.knowledge(), 0.1, radius_scale=0.01)
    with pytest.raises(ToleranceError, match="after 2 steps") as error:
        extended_value_iteration(plausible, model.knowledge(), 1e-12, max_sweeps=2)
    assert error.value.best.sweeps == 2

"""Planning in real time: the move to the values of a policy against a dense solve, and what a plan proves against plain code."""

from fractions import Fraction

import numpy as np
import pytest

import sojourn
from sojourn.kernels.gain_planning import LEAK, policy_move, policy_move_reference
from sojourn.kernels.jit import from_python
from sojourn.kernels.joint_optimism import joint_drift_reference
from sojourn.kernels.kl_optimism import kl_drift, kl_drift_reference
from sojourn.kernels.planning import Model
from sojourn.learn.learner import History
from sojourn.learn.optimism import income_spread, optimistic_plan
from sojourn.solving.evaluate import evaluate

MOVE = from_python(policy_move)
LEARNERS = ("ct-kl-ucrl", "ct-joint-ucrl")


def random_model(rng, n_states, scale=1.0):
    """Two actions a state, rows over all states, some of them rare; rates over `scale` powers of ten."""
    pairs = 2 * n_states
    rows = rng.dirichlet(np.full(n_states, 0.5), pairs)
    state = np.repeat(np.arange(n_states), 2)
    return sojourn.CTMDP.from_pairs(state, np.tile([0, 1], n_states), rows, 10 ** rng.uniform(0, scale, pairs),
                                    rng.normal(size=pairs), rng.normal(size=pairs), normalize_rows=True)


def played(name, model, rng, decisions, supports=True, rate_bounds=None):
    """Return a learner that has watched random play from state 0; no more than some pairs are tried."""
    state, seen = 0, []
    for _ in range(decisions):
        i = rng.integers(model.pair_start[state], model.pair_start[state + 1])
        row = slice(model.row_start[i], model.row_start[i + 1])
        after = int(rng.choice(model.next_state[row], p=model.probability[row] / model.probability[row].sum()))
        seen.append((state, model.pair_action[i], rng.exponential(1 / model.rate[i]), after, model.reward[i]))
        state = after
    learner = sojourn.learner(name, model.knowledge(rate_bounds, supports), seed=3)
    if seen:
        learner.observe(History(*(np.array(column) for column in zip(*seen))))
    return learner


def gain_of(rows, problem, pair, rate, next_state):
    """Return the largest gain of a recurrent class of a policy, in exact fractions."""
    n = len(pair)
    flow, income = [[Fraction(0)] * n for _ in range(n)], []
    for s, i in enumerate(pair):
        for k in range(problem.row_start[i], problem.row_start[i + 1]):
            flow[s][next_state[k]] += Fraction(float(rate[i])) * Fraction(float(rows[k]))
        income.append(Fraction(float(problem.reward[i])) * Fraction(float(rate[i])) + Fraction(float(problem.running[i])))
    there = np.linalg.matrix_power(np.eye(n) + np.array([[float(x > 0) for x in row] for row in flow]), n) > 0
    gains = []
    for s in range(n):
        members = [y for y in range(n) if there[s, y]]
        if all(there[y, s] for y in members):  # a closed class: its states are taken out one after another
            a = {x: {y: flow[x][y] for y in members if y != x} for x in members}
            earned, time = {x: income[x] for x in members}, {x: Fraction(1) for x in members}
            while len(members) > 1:
                k = members.pop()
                out = sum(a[k][y] for y in members)
                for x in members:
                    f = a[x][k] / out
                    earned[x], time[x] = earned[x] + f * earned[k], time[x] + f * time[k]
                    for y in members:
                        if y != x:
                            a[x][y] += f * a[k][y]
            gains.append(earned[members[0]] / time[members[0]])
    return float(max(gains))


def test_a_move_makes_all_drifts_of_a_policy_equal():
    rng = np.random.default_rng(5)
    for n in (1, 2, 7, 30):
        for _ in range(10):
            rows, rate = rng.dirichlet(np.ones(n), n), 10 ** rng.uniform(-3, 3, n)
            model = Model(np.arange(n + 1), np.arange(n + 1) * n, np.tile(np.arange(n), n), rows.ravel(), np.zeros(n), np.zeros(n),
                          rate)
            drift, anchor, found = rng.normal(size=n), int(rng.integers(n)), np.empty(n)
            MOVE(drift, model, np.arange(n), anchor, found)
            generator = rate[:, None] * (rows - np.eye(n))
            after = drift + generator @ found
            assert np.ptp(after) <= 1e-9 * np.abs(generator).max() * max(np.ptp(found), 1e-300)
            expected = policy_move_reference(drift, generator, rate, anchor)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


def test_a_move_keeps_its_digits_where_classes_are_left_once_in_1e11_jumps():
    """Two pairs of states, a pair left at 1e-11 of its rate; rates 1e-6 and 1e6.  The gain is that of exact arithmetic."""
    rates = np.array([1e6, 1e6, 1e-6, 1e-6])
    rows = np.array([[0, 1, 0, 0], [1 - 1e-11, 0, 1e-11, 0], [0, 0, 0, 1], [1e-11, 0, 1 - 1e-11, 0]])
    model = Model(np.arange(5), np.arange(5) * 4, np.tile(np.arange(4), 4), rows.ravel(), np.zeros(4), np.zeros(4), rates)
    drift, found = np.array([1.0, 1.0, 3.0, 3.0]), np.empty(4)
    better = MOVE(drift, model, np.arange(4), 0, found)
    assert better in (2, 3)  # the anchor is hardly ever visited
    MOVE(drift, model, np.arange(4), better, found)
    after = drift + rates * (rows @ found - found)
    assert np.ptp(after[2:]) < 1e-6 and after[2] == pytest.approx(3.0, abs=1e-6)
    assert LEAK < 1e-11


def test_the_drifts_of_a_kl_set_are_those_of_its_twin():
    rng = np.random.default_rng(8)
    for n in (2, 5):
        for decisions in (0, 6, 300):
            problem = played("ct-kl-ucrl", random_model(rng, n, 2.0), rng, decisions, bool(n % 2)).known_now().iteration().problem
            u = rng.normal(size=n)
            drift, pair, rate, rows = kl_drift(u, problem)
            expected, their_pair, their_rate, their_rows = kl_drift_reference(u, problem)
            np.testing.assert_allclose(drift, expected, rtol=1e-9, atol=1e-9)
            assert np.array_equal(pair, their_pair) and np.array_equal(rate[pair], their_rate[pair])
            for i in pair:
                row = slice(problem.row_start[i], problem.row_start[i + 1])
                np.testing.assert_allclose(rows[row], their_rows[row], atol=1e-7)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("supports", [True, False])
@pytest.mark.parametrize("told", [None, (1e-6, 1e6)])
def test_a_plan_finds_the_best_gain_of_all_models_of_the_sets(name, supports, told):
    """By bisection for every pair no drift exceeds `high`, and the rates and rows that bisection finds earn it."""
    rng = np.random.default_rng(11)
    for decisions in (0, 5, 40, 400, 4000):
        learner = played(name, random_model(rng, 4, 1.5), rng, decisions, supports, told)
        iteration = learner.known_now().iteration()
        found = optimistic_plan(iteration, learner.knowledge, 0.0, None, 400)
        low, high = found.gain_bounds
        problem = iteration.problem
        if name == "ct-kl-ucrl":
            drift, pair, rate, rows = kl_drift_reference(found.values, problem)
            after = problem.next_state
        else:
            drift, pair, rate, rows, after = joint_drift_reference(found.values, problem)
        size = (rate[pair] * (np.abs(problem.reward[pair]) + np.ptp(found.values)) + problem.running[pair]).max()
        assert iteration.base + drift.max() <= high + 1e-9 * size and high - low <= 1e-9 * size
        earned = iteration.base + gain_of(rows, problem, pair, rate, after)
        assert earned == pytest.approx(high, abs=2e-9 * size)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_plan_made_again_from_its_values_takes_few_looks(name):
    rng = np.random.default_rng(2)
    model = random_model(rng, 12, 1.0)
    learner = played(name, model, rng, 3000)
    plan = learner.plan()
    assert plan.info["sweeps"] < 30
    assert learner.plan().info["sweeps"] == 1
    state = int(rng.integers(12))
    learner.observe(History(*(np.full(20, x) for x in (state, 0, 0.3, (state + 1) % 12, 0.0))))
    assert learner.plan().info["sweeps"] <= 4


def test_the_scale_of_a_plan_is_that_of_the_pairs_tried_and_settles():
    rng = np.random.default_rng(3)
    model = random_model(rng, 3)
    incomes = model.reward * model.rate + model.running
    spreads = []
    for decisions in (50, 500, 50_000):
        learner = played("ct-joint-ucrl", model, rng, decisions, rate_bounds=(1e-6, 1e6))
        known = learner.known_now()
        spreads.append(income_spread(learner.knowledge, learner.counts.visits, known.rate_low))
        kl = played("ct-kl-ucrl", model, rng, decisions, rate_bounds=(1e-6, 1e6)).known_now()
        assert (kl.rate_low <= model.rate).all() and (known.rate_low <= model.rate).all()
        assert (known.problem.rate_high >= model.rate).all()
    assert spreads[-1] == pytest.approx(np.ptp(incomes), rel=0.1)
    assert abs(spreads[-1] - np.ptp(incomes)) < abs(spreads[0] - np.ptp(incomes))


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("model", ["three-state", "river-swim", "maintenance"])
def test_bounds_told_far_too_wide_cost_little(name, model):
    """No more than 1.3 times what true ones cost and thirty tries of every pair."""
    made, regret = sojourn.make(model), []
    for told in (None, (1e-6, 1e6)):
        regret.append(np.mean([sojourn.simulate(made, sojourn.learner(name, made.knowledge(told, supports=True), seed=seed),
                                                max_epochs=20_000, seed=seed).pseudo_regret[-1] for seed in range(3)]))
    assert regret[1] < 1.3 * regret[0] + 30 * np.nansum(sojourn.difficulty(made).gaps)


@pytest.mark.parametrize("seed", [11, 12, 19])
def test_a_state_that_is_left_very_fast_does_not_hide_that_a_plan_is_poor_in_others(seed):
    """Rates from 1e-9 to 1e9, incomes of order 1.  The drift of the fastest state is known to some 100 only, the others' well."""
    rng = np.random.default_rng(seed)
    rate, lump, running = 10 ** rng.uniform(-9, 9, (4, 2)), rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    model = sojourn.CTMDP.from_arrays(rng.dirichlet(np.ones(4), (4, 2)), rate, lump / rate, running)
    learner = sojourn.learner("ct-joint-ucrl", model.knowledge(supports=True), seed=1)
    sojourn.simulate(model, learner, max_epochs=30_000, seed=1)
    assert evaluate(model, learner.plan().policy).gain == pytest.approx(sojourn.solve(model).gain, rel=1e-6)

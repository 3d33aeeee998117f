"""The steps of the proof that the regret of events-ucrl is logarithmic (docs/events-proofs.md), each with numbers."""

import numpy as np
import pytest
from scipy.special import gammaln

import sojourn
from sojourn.instance.diameter import diameter
from sojourn.learn.catalogue import learner_for
from sojourn.learn.event_belief import SHAPE, intervals
from sojourn.simulation.walk import Walk
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make


def test_the_mixture_regret_is_bounded_as_in_step_4():
    """log(n/(zX)) n - n + zX <= log(1/delta) + log 9 + n log(1 + b/X) + log(1 + X/b)/2 at both ends of 4,000 intervals."""
    rng = np.random.default_rng(1)
    n = np.floor(10.0 ** rng.uniform(0, 6, 4000)) - 1
    x, unit, level = 10.0 ** rng.uniform(-6, 6, 4000), 10.0 ** rng.uniform(-4, 4), 5.0
    assert (gammaln(n + 0.5) >= np.log(np.pi) / 2 + np.where(n > 0, n * np.log(np.maximum(n, 1)), 0.0) - n - 1e-9).all()
    low, high = intervals(n, x, unit, level)
    b = SHAPE / unit
    most = level + np.log(9) + n * np.log1p(b / x) + np.log1p(x / b) / 2
    for end in (np.where(n > 0, low, high), high):
        m = end * x
        spent = np.where(n > 0, n * np.log(np.maximum(n, 1) / np.maximum(m, 1e-300)), 0.0) - n + m
        assert (spent <= most * (1 + 1e-9) + 1e-6 * n * 1e-3).all()
        assert ((np.sqrt(n) - np.sqrt(m)) ** 2 <= spent * (1 + 1e-6) + 1e-6).all()


def test_the_width_of_an_interval_that_holds_is_as_in_step_4():
    """Both ends within 5 √(θ A/X) of every rate that lies in it, once X >= 4b and 16 A/θ."""
    rng, met = np.random.default_rng(2), 0
    for _ in range(2000):
        theta, unit, level = 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(-3, 3), rng.uniform(1, 30)
        x = 10.0 ** rng.uniform(0, 5) / theta
        n = np.array([float(rng.poisson(theta * x))])
        (low,), (high,) = intervals(n, np.array([x]), unit, level)
        b = SHAPE / unit
        wide = 2 * (level + np.log(9)) + np.log1p(x / b) + 4 * theta * b
        if low <= theta <= high and x >= max(4 * b, 16 * wide / theta):
            met += 1
            assert max(high - theta, theta - low) <= 5 * np.sqrt(theta * wide / x)
            assert theta / 4 <= low and high <= 9 * theta / 4
    assert met > 300


@pytest.mark.parametrize("shape", [0.1, 1.0, 3.0])
def test_a_sum_of_widths_telescopes_as_in_step_8(shape):
    """Added Δ <= C X with Y' <= 3 X: Δ/√X is at most (√(3 + C) + √3) times what √Y' grows by."""
    rng = np.random.default_rng(3)
    x, before = rng.uniform(0.1, 10, 10_000), rng.uniform(0, 1, 10_000)
    added, before = rng.uniform(0, shape, 10_000) * x, 3 * before * x
    grown = np.sqrt(before + added) - np.sqrt(before)
    assert (added / np.sqrt(x) <= (np.sqrt(3 + shape) + np.sqrt(3)) * grown * (1 + 1e-9)).all()


def test_time_is_not_much_less_than_expected_as_in_step_1():
    """Y log 2 - X > x log(1/0.05) at some time in at most 5 % of 4,000 paths: were it so often, more than 7 % have chance 1e-8."""
    rng = np.random.default_rng(4)
    mean = rng.choice([0.1, 0.5, 1.0], size=(4000, 500))
    excess = np.cumsum(mean * np.log(2) - rng.exponential(mean), axis=1)
    assert (excess.max(axis=1) > np.log(20)).mean() <= 0.07


@pytest.mark.parametrize("name", ["service-rate:capacity=4", "admission:servers=2,capacity=3", "routing:capacity=3"])
def test_every_plan_satisfies_what_step_7_says_of_it(name):
    """Optimism, the span, and the gap of every pair of the plan against widths and biases; the true rates lie in all intervals."""
    model = make(name)
    best, events = solve(model), model.events
    theta, income = events.value, events.income(events.value)
    fast, omega, paid = diameter(model), np.abs(income).max(), np.abs(events.payment).max() + np.abs(events.reward).max()
    gap = sojourn.gaps(model, best)[model.pair_state, model.pair_action]
    rate = events.rate(theta)
    walk, looked = Walk(model, learner_for(model, "events-ucrl", seed=1), seed=1), 0
    learner = walk.learner
    while walk.epoch < 500:
        before, (low, high), t = learner.found, learner.open_rates(), learner.counts.epoch
        walk.step(until_epoch=walk.epoch + 1)
        if learner.found is before or np.isinf(high).any():
            continue
        assert (low <= theta).all() and (theta <= high).all()
        u, pairs = learner.found.bias, learner.found.pair
        least, most = learner.planner.bracket(low, high, learner.found)
        rounding = 1e-7 * (abs(most) + omega)
        assert most - least <= abs(most + least) / 2 / np.sqrt(t) + rounding
        assert best.gain <= most + rounding and np.ptp(u) <= fast * (most + omega) + rounding
        worth = worths(events, u, model.pair_state)
        for p in pairs:
            mine = worth[p]
            chosen = np.where(mine > 0, high, low)
            assert (np.abs(mine) <= coefficient(events, p) * (paid + np.ptp(u)) * (1 + 1e-9)).all()
            width = float(((chosen - theta) * mine).sum()) / rate[p]
            f = u - best.bias
            moves = (events.pair == p) & events.jumps
            step = f[events.next_state[moves]] - f[model.pair_state[p]]
            onward = float((events.intensity(theta)[moves] * step).sum()) / rate[p]
            assert gap[p] <= (most - least) / rate[p] + width + onward + rounding * (1 + 1 / rate[p])
            looked += 1
    assert looked > 60


def worths(events, u, state):
    """Return (P, K): what an event is worth in a pair, b_k(p)."""
    found = np.zeros((events.n_pairs, events.n_events))
    jump = np.where(events.jumps, events.reward[events.pair] + u[events.next_state] - u[state[events.pair]], 0.0)
    np.add.at(found, (events.pair, events.event), events.coefficient * (events.payment + jump))
    return found


def coefficient(events, p):
    """Return (K,): the total coefficient of each event in pair p."""
    return np.bincount(events.event[events.pair == p], events.coefficient[events.pair == p], minlength=events.n_events)

"""The confidence sets of ct-kl-ucrl: how often they fail, optimism while they hold, and how they tighten."""

from math import exp, log

import numpy as np
import pytest
from scipy.stats import binom, gamma

from sojourn.kernels.kl_optimism import exponential_interval, kl_sets, row_threshold
from sojourn.learn.ct_kl_ucrl import CTKLUCRL
from sojourn.simulation.walk import Walk
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make


def exact_failure(n, x):
    """Return the exact probability that the mean of n exponentials of mean 1 leaves {n (y - 1 - log y) <= x}."""
    low, high = exponential_interval(x / n)
    return gamma.cdf(n * low, n) + gamma.sf(n * high, n)


@pytest.mark.parametrize("n", [1, 2, 5, 20, 100, 10_000])
@pytest.mark.parametrize("x", [0.5, 1.0, 3.0, 10.0, 25.0])
def test_the_exponential_interval_fails_no_more_often_than_promised(n, x):
    assert 0 < exact_failure(n, x) <= 2 * exp(-x)


def test_the_exact_failure_rate_is_what_samples_show_and_a_narrower_interval_would_be_noticed():
    """40,000 means of 5 exponentials; false alarms 1e-6.  An interval with 20 % less x is rejected by the same test."""
    rng, n, x, trials = np.random.default_rng(11), 5, 2.0, 40_000
    mean = rng.standard_exponential((trials, n)).mean(axis=1)
    low, high = exponential_interval(x / n)
    failures = int(((mean < low) | (mean > high)).sum())

    def accepted(p):
        return binom.ppf(5e-7, trials, p) <= failures <= binom.ppf(1 - 5e-7, trials, p)

    assert accepted(exact_failure(n, x))
    assert not accepted(exact_failure(n, 0.8 * x))


def ever_outside(rng, runs, epochs, confidence):
    """Return how many of `runs` exponential samples ever leave the interval valid at all times."""
    n = np.arange(1, epochs + 1)
    ends = np.array([exponential_interval(log(2 * k * (k + 1) / confidence) / k) for k in n])
    mean = np.cumsum(rng.standard_exponential((runs, epochs)), axis=1) / n
    return int(((mean < ends[:, 0]) | (mean > ends[:, 1])).any(axis=1).sum())


def test_the_union_over_all_numbers_of_visits_holds_at_all_times():
    """4,000 samples of 300 at confidence 0.5: false alarms below 1e-6 if the promise holds; without the union it does not."""
    runs = 4000
    assert ever_outside(np.random.default_rng(3), runs, 300, 0.5) <= binom.ppf(1 - 1e-6, runs, 0.5)
    n = np.arange(1, 301)
    fixed = np.array([exponential_interval(log(2 / 0.5) / k) for k in n])  # valid at one n only
    mean = np.cumsum(np.random.default_rng(3).standard_exponential((runs, 300)), axis=1) / n
    outside = ((mean < fixed[:, 0]) | (mean > fixed[:, 1])).any(axis=1).sum()
    assert outside > binom.ppf(1 - 1e-6, runs, 0.5)


@pytest.mark.parametrize("p", [[0.5, 0.5], [0.05, 0.9, 0.05], [0.25, 0.25, 0.25, 0.25]])
def test_a_row_leaves_its_kl_ball_at_some_time_no_more_often_than_promised(p):
    """1,000 samples of 400 at confidence 0.3; false alarms below 1e-6."""
    rng, runs, epochs, confidence = np.random.default_rng(8), 1000, 400, 0.3
    p = np.array(p)
    failures = 0
    for _ in range(runs):
        counts = np.cumsum(np.eye(len(p), dtype=np.int64)[rng.choice(len(p), size=epochs, p=p)], axis=0)
        n = np.arange(1, epochs + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            spent = np.where(counts > 0, counts * np.log(counts / n[:, None] / p), 0.0).sum(axis=1)
        worst = np.argsort(-spent)[:20]  # the threshold varies slowly: it is left, if at all, where the most is spent
        failures += any(spent[i] > row_threshold(counts[i], confidence) for i in worst)
    assert failures <= binom.ppf(1 - 1e-6, runs, confidence)


def test_planned_gains_are_at_least_the_true_one_whenever_the_model_is_plausible():
    """30 runs at delta = 0.2: plausible in all but a few (false alarms below 1e-6), and optimistic in every plan where it is."""
    model = make("three-state")
    gain, matrix, runs, covered = solve(model).gain, model.matrix.toarray(), 30, 0
    for seed in range(runs):
        learner = CTKLUCRL(model.knowledge(), delta=0.2, seed=seed)
        walk = Walk(model, learner, seed=seed)
        always, seen = True, None
        while walk.step(until_epoch=3000):
            if walk.episode is not seen:
                seen = walk.episode
                plausible = learner.contains(matrix, model.rate)
                always = always and plausible
                assert not plausible or seen.plan.info["optimistic_gain"] >= gain - 1e-9
        covered += always
    assert covered >= binom.ppf(1e-6, runs, 0.8)


def test_sets_tighten_as_the_same_frequencies_are_seen_more_often():
    row_start, share = np.array([0, 3, 6]), np.array([5, 3, 2, 10, 0, 0])
    before = None
    for times in (1, 2, 4, 16, 256, 4096):
        visits = np.array([10, 10]) * times
        radius, low, high, empty = kl_sets(row_start, share * times, visits, visits / np.array([2.0, 3.0]), 1e-3, 0.5, 10.0)
        assert empty == 0 and (low <= [2.0, 3.0]).all() and (high >= [2.0, 3.0]).all()
        if before is not None:
            assert (radius < before[0]).all() and (low >= before[1]).all() and (high <= before[2]).all()
        before = radius, low, high
    assert (before[2] - before[1] < 0.3).all() and (before[0] < 1e-3).all()


def test_an_interval_outside_the_bounds_is_put_at_the_nearer_one_and_counted():
    visits = np.array([500, 500])
    _, low, high, empty = kl_sets(np.array([0, 1, 2]), visits, visits, np.array([5.0, 5000.0]), 0.1, 1.0, 7.0)
    assert empty == 2 and low.tolist() == high.tolist() == [7.0, 1.0]


def test_a_restored_learner_has_the_same_confidence_sets():
    model = make("three-state")
    walk = Walk(model, CTKLUCRL(model.knowledge(), delta=0.05), seed=1)
    walk.advance(until_epoch=20_000)
    restored = CTKLUCRL(model.knowledge(), delta=0.05)
    restored.restore(walk.learner.state())
    wrong = np.full((model.n_pairs, model.n_states), 1 / model.n_states)
    for subject in (walk.learner, restored):
        assert subject.contains(model.matrix.toarray(), model.rate)
        assert not subject.contains(wrong, model.rate)

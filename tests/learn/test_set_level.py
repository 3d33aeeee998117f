"""The level of the sets and the length of the plans of ct-kl-ucrl and ct-joint-ucrl (learn/set_level.py, decisions/0010)."""

from itertools import pairwise
from math import log

import numpy as np
import pytest
from scipy.stats import binom

import sojourn
from sojourn.errors import ParameterError
from sojourn.kernels.joint_optimism import joint_threshold
from sojourn.kernels.kl_optimism import exponential_interval, row_threshold
from sojourn.learn.catalogue import learner as made
from sojourn.learn.catalogue import learner_class
from sojourn.learn.learner import History
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.session import Session
from sojourn.simulation.walk import Walk
from sojourn.zoo.catalogue import make

NAMES = ("ct-kl-ucrl", "ct-joint-ucrl")
MODEL = make("three-state")


def after(name, decisions, seed=1, supports=False, **given):
    """Return the learner after so many decisions."""
    walk = Walk(MODEL, made(name, MODEL.knowledge(supports=supports), seed=seed, **given), seed=seed)
    walk.advance(decisions)
    return walk.learner


def budgets(name, learner, total=None):
    """Return per pair what the sets now leave to an alternative beyond the mixture's regret: log(1/level) of a single set."""
    known, counts = learner.known_now(total), learner.counts
    start, _, count = counts.rows()
    found = []
    for i in np.flatnonzero(counts.visits):
        seen = count[start[i]:start[i + 1]]
        if name == "ct-kl-ucrl":
            found.append(known.row_radius[i] * counts.visits[i] - row_threshold(seen, 1.0, MODEL.n_states))
        else:
            time, prior = learner.counts.holding_sum[i], 1 / np.sqrt(learner.knowledge.rate_min * learner.knowledge.rate_max)
            found.append(known.problem.bound[i] - joint_threshold(seen, time, MODEL.n_states, prior, 1.0))
    return np.array(found)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("decisions", [60, 1000, 20_000])
def test_the_budget_of_each_set_is_the_logarithm_of_the_decision_times_the_number_of_sets(name, decisions):
    learner = after(name, decisions)
    sets = MODEL.n_pairs * (2 if name == "ct-kl-ucrl" else 1)
    assert learner.counts.epoch == decisions + 1
    assert budgets(name, learner) == pytest.approx(log(sets * (decisions + 1)))
    assert budgets(name, learner, 0.2) == pytest.approx(log(sets / 0.2))
    assert budgets(name, after(name, decisions, delta=0.05)) == pytest.approx(log(sets / 0.05))
    assert budgets(name, after(name, decisions, horizon=500)) == pytest.approx(log(sets * 500))
    assert budgets(name, after(name, decisions, radius_scale=0.5)) == pytest.approx(log(sets * (decisions + 1)) / 2)


def test_the_intervals_of_rates_have_the_same_level():
    learner = after("ct-kl-ucrl", 5000)
    known, n = learner.known_now(), learner.counts.visits
    for i in np.flatnonzero(n):
        x = log(4 * MODEL.n_pairs * 5001 * n[i] * (n[i] + 1)) / n[i]
        ends = np.array(exponential_interval(x)) * n[i] / learner.counts.holding_sum[i]
        bounds = learner.knowledge.rate_min, learner.knowledge.rate_max
        assert (known.rate_low[i], known.rate_high[i]) == pytest.approx(tuple(np.clip(ends, *bounds)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("growth", [0.1, 0.37, 1.0])
def test_a_plan_ends_when_a_pair_has_grown_by_its_share(name, growth):
    """Every plan of 3,000 decisions but the last: no pair passed its quota, and the next pair had met it."""
    run = sojourn.simulate(MODEL, name, max_epochs=3000, seed=2, parameters={"growth": growth}, record=True)
    walked, starts = run.trajectory, [*(run.episodes.start_epoch - 1), 3000]
    pair = run.model.knowledge().pair_table[walked.state, walked.action]
    known = run.model.knowledge().pair_table
    visits = np.zeros(MODEL.n_pairs, dtype=np.int64)
    for number, (begin, end) in enumerate(pairwise(starts)):
        quota = np.maximum(1, np.floor(growth * visits).astype(int))
        within = np.bincount(pair[begin:end], minlength=MODEL.n_pairs)
        assert (within <= quota).all()
        if end < 3000:
            state = walked.state[end]
            would = known[state, run.episodes[number].policy[state]]
            assert within[would] == quota[would]
        visits += within
    assert len(starts) > (100 if growth == 0.1 else 10)
    if growth == 1.0:
        assert len(starts) < 60


@pytest.mark.parametrize("name", NAMES)
def test_simulation_and_session_agree_decision_for_decision(name):
    run = sojourn.simulate(MODEL, name, max_epochs=1500, seed=6, record=True)
    session = Session(name, run.start, knowledge=MODEL.knowledge(), seed=6)
    told = run.trajectory
    for i in range(1500):
        assert session.action_index == told.action[i], i
        session.report(told.holding_time[i], MODEL.states[told.next_state[i]])
    assert session.episode.index == run.episodes.total or session._episode.epochs_left <= 0


def misses(name, shares, runs, decision):
    """Return how often the sets at a decision miss the truth, with budgets multiplied by each of `shares`: 40 tossed coins."""
    n, rng = 40, np.random.default_rng(5)
    state, transition = np.arange(n), np.zeros((n, 1, n))
    transition[state, 0, (state + 1) % n] = transition[state, 0, (state + 2) % n] = 0.5
    coins = CTMDP.from_arrays(transition, np.ones((n, 1)), np.zeros((n, 1)), rate_bounds=(1e-3, 1e3))
    known, matrix, missed = coins.knowledge(supports=True), coins.matrix.toarray(), dict.fromkeys(shares, 0)
    for _ in range(runs):
        learner, steps = made(name, known), decision - 1
        path = np.cumsum(np.append(0, rng.integers(1, 3, steps))) % n
        learner.observe(History(path[:-1], np.zeros(steps, dtype=int), rng.exponential(size=steps), path[1:], np.zeros(steps)))
        for share in shares:
            learner.radius_scale = share
            missed[share] += not learner.known_now().contains(matrix, coins.rate)
    return missed


@pytest.mark.parametrize("name", NAMES)
def test_sets_hold_as_often_as_their_level_says_and_half_the_budget_is_noticed(name):
    """Level 1/400 at decision 400, 300 runs; false alarms below 1e-6."""
    allowed = binom.ppf(1 - 1e-6, 300, 1 / 400)
    missed = misses(name, (1.0, 0.5), 300, 400)
    assert missed[1.0] <= allowed < missed[0.5]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("growth", [0, -0.1, 1.01, float("nan"), True, "0.1"])
def test_growth_is_a_share(name, growth):
    with pytest.raises(ParameterError, match=r"growth is .*it must be in \(0, 1\]"):
        made(name, MODEL.knowledge(), growth=growth)


@pytest.mark.parametrize("name", NAMES)
def test_sets_at_a_level_that_is_none_are_refused(name):
    learner = made(name, MODEL.knowledge())
    for total in (0, 2, float("nan")):
        with pytest.raises(ParameterError, match="the level of all sets together is"):
            learner.known_now(total)


@pytest.mark.parametrize("name", NAMES)
def test_a_radius_scale_whose_level_would_leave_the_floats_is_refused(name):
    """At a fixed level it may be larger than where the level falls for 2^62 decisions."""
    known = MODEL.knowledge()
    for scale, given, words in ((20, {}, r"delta = 1/t; \(delta/2?P\)\^radius_scale must be at least 1e-300 at t = 2\^62"),
                                (200, {"delta": 0.01}, r"delta = 0\.01; \(delta/2?P\)\^radius_scale must be at least 1e-300\.")):
        with pytest.raises(ParameterError, match=f"radius_scale is {scale} with {words}"):
            made(name, known, radius_scale=scale, **given)
    assert made(name, known, radius_scale=20, delta=0.01).level() >= 1e-300
    assert made(name, known, radius_scale=14).level(0.5**62) >= 1e-300


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_said_is_not_among_the_settings(name):
    known, plain = MODEL.knowledge(), {"radius_scale": 1.0, "growth": 0.1, "planning": "real-time"}
    assert made(name, known).settings == plain
    assert made(name, known, horizon=50).settings == {"delta": 0.02, "horizon": 50, **plain}
    assert learner_class(name)(known).delta is None


@pytest.mark.parametrize("name", NAMES)
def test_planning_in_uniformised_steps_needs_rate_bounds(name):
    with pytest.raises(ParameterError, match="planning is 'uniformised' and no rate bounds are told"):
        made(name, MODEL.knowledge(rate_bounds="unknown"), planning="uniformised")
    with pytest.raises(ParameterError, match="planning is 'fast'"):
        made(name, MODEL.knowledge(), planning="fast")

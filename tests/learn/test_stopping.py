"""Certificates: the gains they prove, the policy they name, and when they are wrong."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

import sojourn
from sojourn.errors import ParameterError
from sojourn.learn import stopping
from sojourn.learn.counts import Counts
from sojourn.learn.joint_set import JointSet, joint_set
from sojourn.learn.learner import History
from sojourn.learn.stopping import best_tried, certificate
from sojourn.model.closeness import within
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.looks import looks_until
from sojourn.simulation.session import Session
from sojourn.simulation.simulate import simulate
from sojourn.simulation.walk import Walk
from sojourn.zoo.catalogue import make

TWO = CTMDP.from_arrays([[[0.3, 0.7], [0.6, 0.4]], [[0.8, 0.2], [0.5, 0.5]]], [[2.0, 3.0], [1.0, 1.5]], [[1.0, 0.4], [0.2, 0.0]],
                        [[0.0, 0.5], [-0.2, 0.3]], rate_bounds=(0.1, 20.0))
ARMS = CTMDP.from_arrays([[[1.0], [1.0], [1.0]]], [[1.0, 1.1, 1.2]], [[1.0, 1.0, 1.0]], rate_bounds=(0.3, 4.0))
GENERIC = object()  # a learner that says nothing


def counted(model, epochs, seed, supports=True):
    """Return (counts, knowledge) after so many random decisions."""
    run = simulate(model, "random", max_epochs=epochs, seed=seed, knowledge=model.knowledge(supports=supports))
    return run.learner.counts, run.learner.knowledge


def shrunk(monkeypatch, factor):
    """Plant a fault: sets whose radius is too small."""
    def small(counts, knowledge, level):
        problem = joint_set(counts, knowledge, level).problem
        return JointSet(problem._replace(bound=problem.bound * factor))

    monkeypatch.setattr(stopping, "joint_set", small)


# ---- what is proved ------------------------------------------------------------------------------------------------------


def extreme_gain(sets, model, pairs, sign):
    """Return the largest (sign 1) or least gain of a policy of a two-state model over the joint sets, by a general solver.

    The variables are the four intensities; the chain's balance is x_0 Q_01 = x_1 Q_10.
    """
    p = sets.problem

    def gain(q):
        share = np.array([q[2], q[1]]) / (q[1] + q[2])
        rate = np.array([q[0] + q[1], q[2] + q[3]])
        return float(share @ (model.reward[pairs] * rate + model.running[pairs]))

    def room(i):
        n, t = p.jumps[p.row_start[pairs[i]]:p.row_start[pairs[i] + 1] - 1], p.time[pairs[i]]
        return lambda q: float(p.bound[pairs[i]] - np.sum(n * np.log(n / (q[2 * i:2 * i + 2] * t)) - n + q[2 * i:2 * i + 2] * t))

    start = np.concatenate([p.jumps[p.row_start[k]:p.row_start[k + 1] - 1] / p.time[k] for k in pairs])
    found = minimize(lambda q: -sign * gain(q), start, constraints=[{"type": "ineq", "fun": room(i)} for i in (0, 1)],
                     bounds=[(1e-6, 20.0)] * 4, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12})
    return gain(found.x)


@pytest.mark.parametrize("epochs, seed", [(60, 1), (600, 2), (6000, 3)])
def test_the_gains_are_those_of_a_general_solver_over_the_sets(epochs, seed):
    counts, known = counted(TWO, epochs, seed)
    found = certificate(GENERIC, counts, known, None, 0.05)
    sets = joint_set(counts, known, 0.05 / 4)
    policies = [np.array([a, 2 + b]) for a in (0, 1) for b in (0, 1)]
    assert found.high == pytest.approx(max(extreme_gain(sets, TWO, pairs, 1) for pairs in policies), rel=1e-5)
    named = known.pair_table[[0, 1], found.policy]
    elsewhere = max(extreme_gain(sets, TWO, pairs, 1) for pairs in policies if not np.array_equal(pairs, named))
    assert found.others == pytest.approx(max(elsewhere, found.low), rel=1e-5)
    assert found.low == pytest.approx(extreme_gain(sets, TWO, named, -1), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("epochs", [12, 900])
def test_where_the_supports_are_told_and_rows_are_sure_only_the_rates_are_open(epochs):
    """A cycle of three states, two ways in the first: 3 a round, over the sum of 1/rate; each rate ends where its set does."""
    cycle = CTMDP.from_pairs([0, 0, 1, 2], [0, 1, 0, 0], np.eye(3)[[1, 1, 2, 0]], [2.0, 1.5, 1.0, 3.0], [3.0, 3.0, 0.0, 0.0],
                             rate_bounds=(0.05, 50.0))
    counts, known = counted(cycle, epochs, 4)
    found = certificate(GENERIC, counts, known, None, 0.05)
    p = joint_set(counts, known, 0.05 / 4).problem

    def rate(k, up):
        n, t = counts.visits[k], p.time[k]
        end = 50.0 if up else 0.05

        def lacks(q):
            return n * np.log(n / (q * t)) - n + q * t - p.bound[k]

        return brentq(lacks, n / t, end) if lacks(end) > 0 else end

    def gain(pairs, up):
        return 3 / sum(1 / rate(k, up) for k in pairs)

    named = int(found.policy[0])
    assert found.low == pytest.approx(gain((named, 2, 3), False), rel=1e-7)
    assert found.high == pytest.approx(max(gain((0, 2, 3), True), gain((1, 2, 3), True)), rel=1e-7)
    assert found.others == pytest.approx(gain((1 - named, 2, 3), True), rel=1e-7) and found.others < found.high


@pytest.mark.parametrize("name", ["three-state", "admission:capacity=5"])
@pytest.mark.parametrize("supports", [True, False])
def test_models_in_the_sets_earn_what_is_proved(name, supports):
    """The true model is nearly always in the sets; so is the one at the means, whose best policy is the one named."""
    model = make(name)
    counts, known = counted(model, 4000, 5, supports)
    found = certificate(GENERIC, counts, known, None)
    assert found.low < sojourn.evaluate(model, found.policy).gain < sojourn.solve(model).gain + 1e-9 < found.high
    start, after, count = counts.rows()
    row = np.zeros((known.n_pairs, known.n_states))
    row[np.repeat(np.arange(known.n_pairs), np.diff(start)), after] = count / np.repeat(counts.visits, np.diff(start))
    rate = np.clip(counts.visits / counts.holding_sum, *model.bounds)
    mean = CTMDP.from_pairs(known.pair_state, known.pair_action, row, rate, known.reward, known.running, rate_bounds=model.bounds)
    assert found.low < sojourn.evaluate(mean, found.policy).gain < sojourn.solve(mean).gain + 1e-9 < found.high
    assert sojourn.evaluate(mean, found.policy).gain == pytest.approx(sojourn.solve(mean).gain, rel=1e-2)


def wrong_at_some_look(model, seed, epochs, delta):
    """Return whether a certificate was wrong at any look of a run."""
    walk = Walk(model, sojourn.learner("random", model.knowledge(supports=True), seed=seed), seed=seed)
    every = {policy: sojourn.evaluate(model, policy).gain for policy in product(range(3))}
    best = max(every.values())
    for at in looks_until(epochs, model.n_states)[::3]:
        walk.advance(until_epoch=at)
        found = certificate(walk.learner, walk.learner.counts, walk.knowledge, None, delta)
        if found.policy is not None:
            key = tuple(found.policy)
            rival = max((gain for other, gain in every.items() if other != key), default=found.low)
            if not (found.low <= every[key] <= best <= found.high and rival <= found.others):
                return True
    return False


def test_certificates_at_all_looks_together_are_wrong_at_most_as_often_as_stated(monkeypatch):
    """15 runs at delta 0.2: more than 8 wrong ones have probability below 1e-3.  The power: sets of a twelfth of the radius."""
    assert sum(wrong_at_some_look(ARMS, seed, 800, 0.2) for seed in range(15)) <= 8
    shrunk(monkeypatch, 1 / 12)
    assert sum(wrong_at_some_look(ARMS, seed, 800, 0.2) for seed in range(15)) > 8


def test_a_rule_with_a_planted_too_small_radius_names_wrong_policies_and_the_right_one_does_not(monkeypatch):
    """Three arms of rates 1, 1.1 and 1.2; within 0.15 of the best the first is not good enough."""
    def named(seed):
        walk = Walk(ARMS, sojourn.learner("random", ARMS.knowledge(supports=True), seed=seed), seed=seed)
        for at in looks_until(100_000, 1)[::4]:
            walk.advance(until_epoch=at)
            if found := certificate(walk.learner, walk.learner.counts, walk.knowledge, within(0.15)):
                return int(found.policy[0])
        raise AssertionError("never certified")

    assert 0 not in [named(seed) for seed in range(5)]
    shrunk(monkeypatch, 0.001)
    assert [named(seed) for seed in range(40)].count(0) > 7  # at most as many as 7 have probability above 0.999 if delta is 0.05


def test_the_best_policy_is_certified_as_the_best_however_small_epsilon():
    """Choices that cannot be the best any more are ruled out, though the gain itself is known to a few per cent only."""
    counts, known = counted(ARMS, 40_000, 2)
    found = certificate(GENERIC, counts, known, within(1e-9))
    assert found and found.gap == 0 and found.policy.tolist() == [2] and "the policy is the best one" in str(found)
    assert found.others == found.low < found.high - 0.03
    fewer, known = counted(ARMS, 3_000, 2)
    found = certificate(GENERIC, fewer, known, within(1e-9))
    assert not found and found.gap > 0


def test_a_choice_that_was_never_tried_may_be_the_best():
    known = ARMS.knowledge(supports=True)
    counts = told(known, [(0, a, 1 / rate, 0) for a, rate in ((1, 1.1), (2, 1.2))] * 20_000)
    found = certificate(GENERIC, counts, known, within(1e-9))
    assert not found and found.others == pytest.approx(4.0, rel=1e-6) and found.policy.tolist() == [2]


def test_where_there_is_nothing_to_choose_the_policy_is_the_best():
    cycle = CTMDP.from_arrays([[[0, 1.0]], [[1.0, 0]]], [[1.0], [2.0]], [[1.0], [0.0]], rate_bounds=(0.2, 9.0))
    counts, known = counted(cycle, 20, 1)
    found = certificate(GENERIC, counts, known, within("1%"))
    assert found and found.gap == 0 and found.low < found.high


# ---- the policy named ----------------------------------------------------------------------------------------------------


def told(known, rows):
    """Return counts of rows (state, action, held, next state)."""
    counts, columns = Counts(known), [np.array(column) for column in zip(*rows)]
    counts.observe(History(columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2].astype(float),
                           columns[3].astype(np.int64), np.zeros(len(rows))), known)
    return counts


def test_only_choices_that_were_tried_are_named_however_much_another_promises():
    tempting = TWO.replace(reward=[1.0, 50.0, 0.2, 0.0])
    known = tempting.knowledge()
    counts = told(known, [(0, 0, 0.5, 1), (1, 0, 1.0, 0)] * 50)
    found = certificate(GENERIC, counts, known, within("50%"))
    assert found.policy.tolist() == [0, 0] and not found and found.high > 40 * max(found.low, 0.1)


def test_no_policy_is_named_while_a_state_was_never_left():
    known = TWO.knowledge()
    for counts in (Counts(known), told(known, [(0, 0, 0.5, 0)] * 5)):
        found = certificate(GENERIC, counts, known, within("50%"))
        assert found.policy is None and not found and found.policy_labels == {} and "no choice was tried yet" in str(found)
        assert found.low <= found.high and found.as_dict()["policy"] is None


@pytest.mark.parametrize("seed", range(3))
def test_the_policy_named_is_the_best_at_the_means(seed):
    counts, known = counted(make("random:seed=3"), 30_000, seed)
    gain, pair = best_tried(joint_set(counts, known, 0.01), counts, known)
    start, after, count = counts.rows()
    row = np.zeros((known.n_pairs, known.n_states))
    row[np.repeat(np.arange(known.n_pairs), np.diff(start)), after] = count / np.repeat(counts.visits, np.diff(start))
    rate = counts.visits / counts.holding_sum
    mean = CTMDP.from_pairs(known.pair_state, known.pair_action, row, rate, known.reward, known.running, rate_bounds=(1e-3, 1e3))
    best = sojourn.solve(mean)
    assert gain == pytest.approx(best.gain, rel=1e-2)
    assert sojourn.evaluate(mean, known.pair_action[pair]).gain == pytest.approx(best.gain, rel=1e-4)


def test_tied_policies_are_certified_when_the_ends_have_met_and_not_before():
    """Two choices that are the same: every policy is optimal from the start, and nothing is known of the gain."""
    tied = CTMDP.from_arrays([[[0.3, 0.7]] * 2, [[0.8, 0.2]] * 2], [[2.0] * 2, [1.0] * 2], [[1.0] * 2, [0.2] * 2],
                             rate_bounds=(0.2, 10.0))
    for wish in (within("20%"), within(0.2)):
        run = simulate(tied, "ct-joint-ucrl", max_epochs=10**5, seed=2, knowledge=tied.knowledge(supports=True), stop_when=wish)
        found = run.certificate
        assert found and found.gap <= found.epsilon and 300 < run.epochs[-1] < 10**5
        assert found.epsilon == pytest.approx(0.2 if not wish.relative else 0.2 * found.low)


# ---- what epsilon means --------------------------------------------------------------------------------------------------


def test_a_share_is_taken_of_the_least_size_that_the_best_gain_can_have():
    wish = within("10%")
    assert wish.allowed(2.0, 3.0) == pytest.approx(0.2) and wish.allowed(-3.0, -2.0) == pytest.approx(0.2)
    assert wish.allowed(-0.1, 3.0) == 0 and within(0.3).allowed(-0.1, 3.0) == 0.3
    for best in (2.0, -2.0):
        assert wish.least(best) == pytest.approx(best - 0.2) and wish.best_for(wish.least(best)) == pytest.approx(best)
    assert wish.text == "10%" and within("0.05").text == "0.05" and within(wish) is wish


def test_shares_of_costs_are_certified_and_shares_of_a_gain_that_may_be_0_are_not():
    costs = ARMS.replace(reward=-ARMS.reward)
    counts, known = counted(costs, 40_000, 1)
    found = certificate(GENERIC, counts, known, within("10%"))
    assert found and found.high < 0 and found.policy.tolist() == [0] and found.epsilon == pytest.approx(-0.1 * found.high)
    even = ARMS.replace(running=-1.2 * np.ones(3))  # the best gain is 0
    counts, known = counted(even, 2_000, 1)
    found = certificate(GENERIC, counts, known, within("50%"))
    assert not found and found.relative_gap == np.inf and certificate(GENERIC, counts, known, within(0.5))


def test_without_a_wish_it_says_how_close():
    counts, known = counted(TWO, 20_000, 1)
    found = certificate(GENERIC, counts, known, None, 0.1)
    assert not found and np.isnan(found.epsilon) and found.delta == 0.1 and f"within {found.gap:.4g}" in str(found)
    assert certificate(GENERIC, counts, known, within(found.gap * 1.03, 0.1))
    assert not certificate(GENERIC, counts, known, within(found.gap * 0.97, 0.1))


def test_units_of_money_and_time_do_not_matter():
    counts, known = counted(TWO, 5_000, 1)
    found = certificate(GENERIC, counts, known, within("20%"))
    dear = replace(known, reward=1e4 * known.reward, running=1e4 * known.running)
    again = certificate(GENERIC, counts, dear, within("20%"))
    np.testing.assert_allclose([again.low, again.high], [1e4 * found.low, 1e4 * found.high], rtol=2e-3)
    slow = replace(known, running=known.running / 60, rate_min=known.rate_min / 60, rate_max=known.rate_max / 60)
    state = counts.state()
    later = Counts(slow)
    later.restore({**state, "holding_sum": 60 * state["holding_sum"]})
    third = certificate(GENERIC, later, slow, within("20%"))
    np.testing.assert_allclose([third.low, third.high], [found.low / 60, found.high / 60], rtol=2e-3)


# ---- learners ------------------------------------------------------------------------------------------------------------


def test_a_session_says_whether_it_is_good_enough_whatever_its_learner_keeps(tmp_path):
    model, rng = make("two-state"), np.random.default_rng(3)
    known = model.knowledge(supports=True)
    answers = []
    for name in ("ct-kl-ucrl", "ct-ucrl", "random"):
        session = Session(name, 0, knowledge=known, parameters={"reward_range": "auto"} if name == "ct-ucrl" else None)
        for _ in range(300):
            pair = known.pair_table[session.state_index, session.action_index]
            session.report(float(rng.exponential(1 / model.rate[pair])), 1 - session.state_index)
        found = session.good_enough("30%", delta=0.1)
        assert found.epochs == 300 and found.delta == 0.1 and ("wait" in found.note) == (name != "ct-kl-ucrl")
        session.save(tmp_path / f"{name}.session")
        again = Session.load(tmp_path / f"{name}.session").good_enough("30%", delta=0.1)
        assert str(again) == str(found) and again.as_dict() == found.as_dict() and again.policy_labels == found.policy_labels
        answers.append(found)
    assert answers[0].low <= answers[0].high and "ct-kl-ucrl" in answers[2].note and "offered" not in answers[2].note


def test_a_learner_of_events_is_judged_by_the_intervals_of_its_events():
    model = make("criss-cross:capacity=2")
    run = simulate(model, "events-ucrl", max_epochs=100_000, seed=1, stop_when=within("80%"))
    found, best = run.certificate, sojourn.solve(model).gain
    assert found and run.epochs[-1] < 100_000 and found.low < sojourn.evaluate(model, found.policy).gain < best + 1e-9 < found.high
    assert found.note == ""


def test_where_nothing_can_be_proved_it_is_said_who_can():
    model = make("three-state")
    for name in ("ct-ucrl", "ct-ucrl-doubling"):
        with pytest.raises(ParameterError, match="'ct-kl-ucrl' and 'ct-joint-ucrl' count them"):
            simulate(model, name, max_epochs=100, stop_when=within("5%"))
    with pytest.warns(sojourn.errors.SojournWarning, match="wait for a certificate in vain; 'ct-kl-ucrl'"):
        simulate(model, "random", max_epochs=100, stop_when=within("5%"))
    eventful = make("criss-cross:capacity=2")
    with pytest.raises(ParameterError, match="a learner of events"):
        certificate(GENERIC, Counts(eventful.knowledge(events=True)), eventful.knowledge(events=True), within("5%"))
    with pytest.raises(ParameterError, match=r"stop_when is '5%'; it must be what sojourn\.within makes"):
        simulate(model, "ct-kl-ucrl", max_epochs=100, stop_when="5%")


def test_a_lucky_choice_that_is_not_tried_again_does_not_keep_a_certificate_away():
    """Choice 0 of state 0 never leads to where income is; one short sojourn makes it the best at the means all the same."""
    to = [[[0, 0, 1], [0, 1, 0]], [[1, 0, 0]] * 2, [[1, 0, 0]] * 2]
    model = CTMDP.from_arrays(to, [[10.0, 0.2], [1.0, 1.0], [5.0, 5.0]], np.zeros((3, 2)), [[0, 0], [1, 1], [0, 0]],
                              rate_bounds=(0.1, 20.0))
    known = model.knowledge(supports=True)
    seen = [(0, 1, 5.0, 1), (1, 0, 1.0, 0), (0, 1, 5.0, 1), (1, 1, 1.0, 0)] * 10_000
    counts = told(known, [(0, 0, 0.06, 2), (2, 0, 0.2, 0), (0, 1, 5.0, 1), (1, 0, 1.0, 0), *seen, (0, 1, 5.0, 1)])
    assert best_tried(joint_set(counts, known, 0.01), counts, known)[1][0] == 0
    found = certificate(GENERIC, counts, known, within("20%"))
    assert found and found.policy[0] == 1 and found.low < 1 / 6 < found.high
    assert certificate(GENERIC, counts, known, None).policy[0] == 1


def test_without_rate_bounds_nothing_is_certified_and_it_is_said_what_to_tell():
    model = make("three-state")
    known = model.knowledge("unknown", supports=True)
    said = r"no rate bounds are told, and a certificate needs some; tell rate_bounds=\(lo, hi\), however wide\.$"
    session = Session("random", "A", knowledge=known)
    assert session.action in model.actions
    session.report(0.5, "B")
    for asked in (("5%",), (0.1,), ()):  # and how close it is now
        with pytest.raises(ParameterError, match=said):
            session.good_enough(*asked)
    for name in ("default", "ct-kl-ucrl", "ct-joint-ucrl", "ct-psrl"):
        with pytest.raises(ParameterError, match=said):  # before a decision is taken
            simulate(model, name, knowledge=known, max_epochs=10**9, stop_when=within("5%"))


def test_rate_bounds_may_be_told_far_too_wide_for_a_certificate():
    known = ARMS.knowledge(supports=True)
    wide = replace(known, rate_min=1e-4, rate_max=1e4)
    counts, _ = counted(ARMS, 40_000, 1)
    close, far = (certificate(GENERIC, counts, told_, within("10%")) for told_ in (known, wide))
    assert far and far.policy.tolist() == close.policy.tolist() == [2]
    assert far.low == pytest.approx(close.low, rel=0.01) and far.high == pytest.approx(close.high, rel=0.01)


def test_nothing_is_certified_where_holding_times_contradict_the_bounds_that_were_told():
    known = ARMS.knowledge(supports=True)
    counts = told(known, [(0, a, 1000.0, 0) for a in (0, 1, 2)] * 500)
    found = certificate(GENERIC, counts, known, within(100.0))
    assert not found and "3 choices contradict the rate bounds" in str(found)

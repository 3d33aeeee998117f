"""Learning where no rate bounds are told."""

import numpy as np
import pytest

import sojourn
from command_line import run
from sojourn.control.estimate_words import lines
from sojourn.errors import ModelError, ParameterError, SojournError
from sojourn.kernels.joint_optimism import joint_bounds, joint_drift_reference
from sojourn.kernels.kl_optimism import kl_drift_reference
from sojourn.learn.estimate import estimated
from sojourn.learn.learner import History
from sojourn.learn.untried import least_time
from sojourn.model.knowledge_file import knowledge_from, knowledge_tree
from sojourn.simulation.session import Session
from sojourn.study.bounds import bounds_of
from sojourn.study.entries import LearnerEntry
from sojourn.study.spec import read_study

LEARNERS = ("ct-kl-ucrl", "ct-joint-ucrl")
ALL = (*LEARNERS, "default", "ct-psrl")


def walk_of(name, model, epochs, seed=4, supports=True):
    subject = sojourn.learner(name, model.knowledge("unknown", supports=supports), seed=seed)
    return subject, sojourn.simulate(model, subject, max_epochs=epochs, seed=seed)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("model", ["three-state", "river-swim", "maintenance"])
@pytest.mark.parametrize("supports", [True, False])
def test_no_bounds_cost_little_more_than_the_true_ones(name, model, supports):
    """No more than 1.3 times what true ones cost and thirty tries of every pair."""
    made, regret = sojourn.make(model), []
    for told in (None, "unknown"):
        known = made.knowledge(told, supports)
        regret.append(np.mean([sojourn.simulate(made, sojourn.learner(name, known, seed=seed), max_epochs=20_000,
                                                seed=seed).pseudo_regret[-1] for seed in range(3)]))
    assert regret[1] < 1.3 * regret[0] + 30 * np.nansum(sojourn.difficulty(made).gaps)


@pytest.mark.parametrize("name", ALL)
def test_units_of_time_and_reward_change_no_decision(name):
    model = sojourn.make("maintenance")
    plain = walk_of(name, model, 1500)[1].visits
    for time, reward in ((2.0**10, 1.0), (2.0**-30, 1.0), (1.0, 2.0**40)):
        scaled = model.replace(rate=model.rate * time, running=model.running * time * reward, reward=model.reward * reward,
                               transition_reward=model.transition_reward * reward, rate_bounds=None)
        assert np.array_equal(plain, walk_of(name, scaled, 1500)[1].visits)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("bounds", ["unknown", (0.1, 10.0)])
def test_payments_whose_squares_are_no_numbers_change_no_decision(name, bounds):
    taken = []
    for unit in (1.0, 2.0**664, 2.0**-664):
        rows = {"a": {"x": {"reward": unit, "running": unit}, "y": {"reward": unit / 3}},
                "b": {"x": {"running": 2 * unit}, "y": -unit}}
        session = Session(name, state="a", knowledge=sojourn.Knowledge.from_choices(rows, rate_bounds=bounds), seed=1)
        rng, actions = np.random.default_rng(1), []
        for _ in range(80):
            actions.append(session.action)
            session.report(rng.exponential(), str(rng.choice(["a", "b"])))
        taken.append(actions)
    assert taken[0] == taken[1] == taken[2]


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("supports", [True, False])
def test_untried_actions_are_sought_through_a_communicating_model(name, supports):
    """A corridor that falls back under the other action: every pair is tried within few decisions."""
    model = sojourn.make("river-swim")
    subject, _ = walk_of(name, model, 3000, supports=supports)
    assert subject.counts.visits.min() >= (2 if name == "ct-joint-ucrl" else 1)
    assert "optimistic_gain" in subject.plan().info


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("supports", [True, False])
def test_the_way_to_untried_actions_takes_the_least_time_that_the_sets_allow(name, supports):
    """Against value iteration by the twins, over the sets of all states, with time 0 where an action is untried."""
    model, rng, state = sojourn.make("river-swim"), np.random.default_rng(3), 0
    subject = sojourn.learner(name, model.knowledge("unknown", supports=supports), seed=1)
    for _ in range(60):  # all pairs of the first half of the river, and none of the others
        pair = model.pair_start[state] + rng.integers(2)
        row = slice(model.row_start[pair], model.row_start[pair + 1])
        after = min(2, int(rng.choice(model.next_state[row], p=model.probability[row])))
        told = state, model.pair_action[pair], rng.exponential(1 / model.rate[pair]), after, 0.0
        subject.observe(History(*(np.array([x]) for x in told)))
        state = after
    known, plan = subject.knowledge, subject.plan()
    untried = subject.counts.visits < (2 if name == "ct-joint-ucrl" else 1)
    sought = untried.reshape(-1, 2).any(axis=1)
    assert plan.info["untried"] == untried.sum() and 0 < sought.sum() < known.n_states
    iteration = subject.known_now().iteration()
    pair, time, _ = least_time(iteration, known, sought, 1.0, 1e-8, 20_000)
    assert np.array_equal(plan.policy[sought], known.pair_action[[known.pair_start[s] + np.argmax(untried[2 * s:2 * s + 2])
                                                                  for s in np.flatnonzero(sought)]])
    zero, problem = np.zeros(known.n_pairs), iteration.problem
    if name == "ct-kl-ucrl":
        problem = problem._replace(reward=zero, running=zero, rate_high=np.minimum(problem.rate_high, 1e6))
    else:
        problem = problem._replace(reward=zero, running=zero, rate_max=1e6)
    reference, u = kl_drift_reference if name == "ct-kl-ucrl" else joint_drift_reference, np.zeros(known.n_states)
    for _ in range(400):
        drift, chosen, rate = reference(u, problem)[:3]
        u = np.where(sought, 0.0, u + 0.9 * (drift - 1.0) / np.maximum(rate[chosen], problem.rate_high[chosen]))
    np.testing.assert_allclose(-u[~sought], time, rtol=1e-4)
    assert np.array_equal(chosen[~sought], pair)


def test_a_state_from_which_no_jumps_lead_to_an_untried_action_is_named():
    """Known supports: the first state is left for good, before both of its actions were tried."""
    rows = {"start": {"a": {"next": ["on"]}, "b": {"next": ["on"]}}, "on": {"go": {"running": 1.0, "next": ["off"]}},
            "off": {"go": {"next": ["on"]}}}
    known = sojourn.Knowledge.from_choices(rows, rate_bounds="unknown")
    session = Session("ct-kl-ucrl", state="start", knowledge=known, seed=1)
    with pytest.raises(ParameterError, match=r"'start' has an action .* never tried.*, and no jumps lead there from state 'on'"):
        for after in ("on", "off", "on", "off", "on", "off"):
            _ = session.action
            session.report(0.5, after)


@pytest.mark.parametrize("name", ["ct-ucrl", "ct-ucrl-doubling", "ct-bk", "ct-ce", "smdp-ucrl", "ucrl2",
                                  "kl-ucrl", "scal", "rvi-q", "optimistic-q"])
def test_a_learner_that_needs_rate_bounds_says_so_and_names_those_that_do_not(name):
    with pytest.raises(ParameterError, match=rf"^'{name}' needs rate bounds.*Tell rate_bounds=\(lo, hi\).*the default, ct-kl-ucrl"):
        sojourn.learner(name, sojourn.make("three-state").knowledge("unknown"))


@pytest.mark.parametrize("name", ["random", "smart", "ct-ucrl-unknown-rates"])
def test_a_learner_that_uses_no_rate_bounds_needs_none(name):
    model = sojourn.make("three-state")
    told, none = (sojourn.simulate(model, sojourn.learner(name, model.knowledge(bounds), seed=2), max_epochs=600, seed=2)
                  for bounds in (None, "unknown"))
    assert np.array_equal(told.visits, none.visits)


def test_bounds_that_are_no_pair_and_no_word_are_refused():
    model = sojourn.make("three-state")
    with pytest.raises(ModelError, match=r'rate_bounds is \'none\'; it must be a pair \(rate_min, rate_max\), or "unknown"'):
        model.knowledge("none")
    assert model.knowledge("unknown", events=True).rate_max == model.knowledge(events=True).rate_max
    assert "rates unknown" in repr(model.knowledge("unknown"))


def test_knowledge_without_rate_bounds_is_written_and_read_back():
    known = sojourn.make("three-state").knowledge("unknown", supports=True)
    tree = knowledge_tree(known)
    assert tree["rate_bounds"] == "unknown" and "rate_min" not in tree
    again = knowledge_from(tree)
    assert not again.rates_told and (again.rate_min, again.rate_max) == (0.0, np.inf)
    assert "rate_bounds" not in knowledge_tree(sojourn.make("three-state").knowledge())  # files of before look as they did


@pytest.mark.parametrize("name", ALL)
def test_a_saved_learner_goes_on_alike(name, tmp_path):
    model = sojourn.make("river-swim")
    for epochs in (7, 400):
        subject, _ = walk_of(name, model, epochs)
        twin = sojourn.learner(name, model.knowledge("unknown", supports=True), seed=99)
        twin.restore(subject.state())
        one, two = subject.plan(), twin.plan()
        assert np.array_equal(one.policy, two.policy) and one.info == two.info
    session = Session(name, state=model.states[0], knowledge=model.knowledge("unknown"), seed=1)
    for after in (0, 1, 0, 0, 1):
        _ = session.action
        session.report(0.3, model.states[after])
    session.save(tmp_path / "s.session")
    again = Session.load(tmp_path / "s.session")
    assert again.action == session.action and not again.knowledge.rates_told


def test_folded_counts_and_single_reports_keep_the_same_first_sojourns():
    model = sojourn.make("river-swim")
    subject = sojourn.learner("ct-joint-ucrl", model.knowledge("unknown", supports=True), seed=4)
    run = sojourn.simulate(model, subject, max_epochs=300, seed=4, record=True)
    twin = sojourn.learner("ct-joint-ucrl", subject.knowledge, seed=4)
    told = run.trajectory
    for k in range(300):
        twin.observe(History(*(column[k:k + 1] for column in (told.state, told.action, told.holding_time, told.next_state,
                                                              told.reward))))
    subject.plan()
    assert np.array_equal(twin.first.next_state, subject.first.next_state)
    np.testing.assert_allclose(twin.first.time, subject.first.time, rtol=1e-12)


def test_the_first_sojourn_of_a_pair_is_taken_out():
    known = sojourn.make("three-state").knowledge("unknown")
    learner = sojourn.learner("ct-joint-ucrl", known)
    at = int(known.pair_action[0])
    learner.observe(History(*(np.array(x) for x in ([0, 0, 0], [at, at, at], [0.25, 1.0, 2.0], [1, 2, 1], [0.0, 0.0, 0.0]))))
    start, after, count, visits, time = learner.first.without(*learner.counts.rows(), learner.counts)
    assert visits[0] == 2 and time[0] == pytest.approx(3.0) and learner.first.time[0] == 0.25
    assert sorted(zip(after.tolist(), count.tolist())) == [(1, 1), (2, 1)] and start[1] == 2


def test_joint_sets_without_rate_bounds_hold_the_truth_as_often_as_stated():
    """One pair, three successors, 400 runs of 200 jumps at rates from 1e-3 to 1e3, level 0.1.

    At most 0.1 of the runs lose the truth; 60 of 400 or more has a probability below 1e-3 then (3.3 standard deviations).
    """
    rng, p, level, lost = np.random.default_rng(6), np.array([0.6, 0.3, 0.1]), 0.1, 0
    steps = np.unique(np.round(np.geomspace(2, 200, 25)).astype(int))
    for _ in range(400):
        rate = 10 ** rng.uniform(-3, 3)
        tau, to = rng.exponential(1 / rate, 200), rng.choice(3, 200, p=p)
        for n in steps:
            seen = np.bincount(to[1:n], minlength=3).astype(float)
            spent = tau[1:n].sum()
            q = rate * p
            lack = np.sum(np.where(seen > 0, seen * np.log(np.maximum(seen, 1) / (q * spent)), 0.0) - seen + q * spent)
            bound = joint_bounds(np.array([0, (seen > 0).sum()]), seen[seen > 0], np.array([spent]), np.array([3]),
                                 tau[:1], level)[0]
            if lack > bound:
                lost += 1
                break
    assert lost <= 60


def test_an_estimate_without_rate_bounds_leaves_open_what_was_never_tried():
    model = sojourn.make("three-state")
    for supports in (True, False):
        subject, _ = walk_of("ct-kl-ucrl", model, 3000, supports=supports)
        found = estimated(subject.counts, subject.knowledge)
        told = estimated(subject.counts, model.knowledge(supports=supports))
        low, high = found.gain_bounds
        assert low <= sojourn.solve(model).gain <= high < np.inf and "unknown" in repr(found.knowledge)
        assert low == pytest.approx(told.gain_bounds[0], abs=0.5 * abs(told.gain))
        fresh = estimated(sojourn.learner("ct-kl-ucrl", subject.knowledge).counts, subject.knowledge)
        assert fresh.gain_bounds == (-np.inf, np.inf) and np.isinf(fresh.rate_bounds[:, 1]).all()
        assert np.isnan(fresh.gain) and "nothing is known of its gain" in repr(fresh) and "earns nan" not in repr(fresh)
        assert "nothing is known of its gain" in lines(fresh)[1] and found.gain == pytest.approx(told.gain, rel=1e-6)


def test_the_command_line_tells_no_rate_bounds():
    told = run("learn", "three-state", "--learner", "ct-kl-ucrl", "--no-rate-bounds", "--epochs", 300, "--json")
    assert told.code == 0, told.err
    words = run("learn", "three-state", "--learner", "ct-kl-ucrl", "--no-rate-bounds", "--epochs", 300)
    assert "lower bound    none: no rate bounds are told" in words.out and "Theorem" not in words.out
    refused = run("learn", "three-state", "--learner", "ct-ucrl", "--no-rate-bounds", "--epochs", 300)
    assert refused.code and "or ct-joint-ucrl, which learn without" in " ".join(refused.err.split())
    assert "Tell some (--rate-bounds LO HI)" in " ".join(refused.err.split()) and "rate_bounds=" not in refused.err
    both = run("learn", "three-state", "--no-rate-bounds", "--rate-bounds", 1, 5, "--epochs", 300)
    assert both.code and "give one of them" in both.err


def test_a_study_tells_a_learner_no_rate_bounds(tmp_path):
    text = """
    [study]
    name = "none"
    epochs = 300
    replications = 2
    [[models]]
    zoo = "three-state"
    [[learners]]
    name = "ct-kl-ucrl"
    [[learners]]
    name = "ct-kl-ucrl"
    label = "untold"
    rate_bounds = "unknown"
    """
    path = tmp_path / "none.toml"
    path.write_text(text)
    told, untold = read_study(path).learners
    assert told.rates_told and not untold.rates_told and told.key != untold.key
    assert "no rate bounds told" in untold.knows and untold.source["rate_bounds"] == "unknown"
    model = sojourn.make("three-state")
    assert told.make(model, 0).knowledge.rates_told and not untold.make(model, 0).knowledge.rates_told
    path.write_text(text.replace('"unknown"', "[1, 5]"))
    with pytest.raises(SojournError, match="a learner is told those of the model, or none"):
        read_study(path)
    path.write_text(text.replace("ct-kl-ucrl", "ct-ucrl"))
    with pytest.raises(SojournError, match="'ct-ucrl' needs rate bounds; remove rate_bounds = \"unknown\", or take"):
        read_study(path)


def test_theorems_for_told_rate_bounds_are_not_named_where_none_are_told():
    model, given = sojourn.make("three-state"), {"growth": 0.1}
    for name, proved in (("ct-kl-ucrl", "Theorem 3"), ("ct-joint-ucrl", "nothing without rate bounds")):
        assert bounds_of(model, [(name, given)], 1000).upper
        assert not bounds_of(model, [(name, given | {"rate_bounds": "unknown"})], 1000).upper
        told, untold = (LearnerEntry(name, name, rates_told=told) for told in (True, False))
        assert "Theorem 1" in told.proved and proved in untold.proved and "Theorem 1" not in untold.proved
        assert told.knows == "rewards; rate bounds and supports if told"
        assert untold.knows == "rewards; supports if told; no rate bounds told"
        assert LearnerEntry(name, name, parameters={"radius_scale": 0.5}).proved == "nothing with radius_scale = 0.5"


@pytest.mark.parametrize("name", ALL)
def test_a_controller_learns_without_rate_bounds(name, tmp_path):
    """Any holding time is taken, and none raises an alarm; the file goes on alike."""
    model = sojourn.make("three-state")
    path, rng = tmp_path / "c.sojourn", np.random.default_rng(1)
    with sojourn.Controller.create(path, model.knowledge("unknown"), name, model.states[0], seed=1) as controller:
        for k in range(60):
            _ = controller.action
            controller.report(k + 1, 1e9 if k == 5 else rng.exponential(), model.states[int(rng.integers(3))])
        assert not controller.status()["alarms"]
        action = controller.action
    with sojourn.Controller.open(path) as again:
        assert again.action == action

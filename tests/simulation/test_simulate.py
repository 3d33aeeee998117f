"""Runs: checkpoints, the four regrets, episodes, interruption, trajectories."""

import re
import signal
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.errors import ModelError, ParameterError
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.learner import History, Plan
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation import episodes as episode_module
from sojourn.simulation.regret import yardstick
from sojourn.simulation.session import Session
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make


def ucrl(model: CTMDP, delta: float = 0.01, **more) -> CTUCRL:
    return CTUCRL(model.knowledge(), delta=delta, reward_range=(-12, 8), **more)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), paid=st.booleans())
def test_the_regrets_are_what_the_trajectory_says(lab, seed, paid):
    """Recomputed from every single epoch, against the definitions."""
    model = lab.model(seed, paid=paid)
    run = simulate(model, lab.build("ct-ucrl", model), max_epochs=120, seed=seed, checkpoints=10, record=True)
    path, gain = run.trajectory, solve(model).gain
    pairs = np.array([model.pair_at(int(s), int(a)) for s, a in zip(path.state, path.action)])
    lump, flow = model.reward[pairs], model.running[pairs] * path.holding_time
    jump = path.lump - lump
    assert np.array_equal(path.running, flow) and np.array_equal(path.reward, path.lump + path.running)
    for i, n in enumerate(run.epochs):
        before = path.holding_time[: n - 1].sum()
        reward = lump[:n].sum() + (flow + jump)[: n - 1].sum()
        assert np.isclose(run.times[i], before) and np.isclose(run.rewards[i], reward)
        assert np.isclose(run.regret[i], gain * before - reward, atol=1e-9)
        completed = gain * path.holding_time[:n].sum() - path.reward[:n].sum()
        assert np.isclose(run.completed_regret[i], completed, atol=1e-9)
        cost = (gain - model.running) / model.rate - model.expected_reward
        assert np.isclose(run.adjusted_regret[i], cost[pairs[:n]].sum(), atol=1e-9)
        gap = cost - model.matrix @ run.bias + run.bias[model.pair_state]
        assert np.isclose(run.pseudo_regret[i], gap[pairs[:n]].sum(), atol=1e-8)
    counts = np.bincount(pairs, minlength=model.n_pairs)
    assert np.array_equal(run.visits, model.table(counts, fill=0)) and run.state == path.next_state[-1]


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), paid=st.booleans())
def test_regret_at_a_fixed_time_includes_the_unfinished_sojourns_running_reward(lab, seed, paid):
    model = lab.model(seed, paid=paid)
    stops = [0.01, 0.5, 3.0, 3.01, 20.0]
    run = simulate(model, lab.build("ct-ucrl", model), max_time=20.0, checkpoints=stops, seed=seed, record=True)
    path, gain = run.trajectory, run.gain
    pairs = np.array([model.pair_at(int(s), int(a)) for s, a in zip(path.state, path.action)])
    ends = np.cumsum(path.holding_time)
    starts = ends - path.holding_time
    assert np.array_equal(run.times, stops)
    for i, stop in enumerate(stops):
        n = int((starts <= stop).sum())
        assert run.epochs[i] == n  # N(T) counts the decision at time 0
        lump = model.reward[pairs[:n]].sum()
        flow = (model.running[pairs[:n]] * (np.minimum(ends[:n], stop) - starts[:n])).sum()
        jumps = (path.lump - model.reward[pairs])[: n - 1].sum()
        assert np.isclose(run.regret[i], gain * stop - (lump + flow + jumps), atol=1e-9)


def test_more_checkpoints_and_another_form_of_them_change_nothing(lab):
    model = make("three-state")
    few = simulate(model, ucrl(model), max_epochs=5000, seed=3, checkpoints=1)
    many = simulate(model, ucrl(model), max_epochs=5000, seed=3, checkpoints=500)
    given_ = simulate(model, ucrl(model), max_epochs=5000, seed=3, checkpoints=[7, 4999])
    assert few.regret[-1] == many.regret[-1] == given_.regret[-1]
    assert lab.equal(few.learner.state(), many.learner.state())
    assert given_.epochs.tolist() == [7, 4999, 5000] and many.epochs[0] == 1


def test_the_same_seed_is_the_same_run_and_another_is_not():
    model = make("three-state")
    one, two, other = (simulate(model, [0, 0, 1], max_epochs=1000, seed=s) for s in (5, 5, 6))
    assert np.array_equal(one.regret, two.regret) and not np.array_equal(one.regret, other.regret)


def test_recording_does_not_change_the_run():
    model = make("three-state")
    plain = simulate(model, ucrl(model), max_epochs=3000, seed=1)
    recorded = simulate(model, ucrl(model), max_epochs=3000, seed=1, record=True)
    assert np.array_equal(plain.regret, recorded.regret) and len(recorded.trajectory) == 3000
    assert plain.trajectory is None


def test_policies_in_every_form_walk_alike():
    model = make("three-state")
    forms = [np.array([0, 1, 1]), [model.actions[0], model.actions[1], model.actions[1]],
             {s: model.actions[a] for s, a in zip(model.states, (0, 1, 1))}]
    runs = [simulate(model, form, max_epochs=500, seed=2) for form in forms]
    table = simulate(model, [[1.0, 0], [0, 1], [0, 1]], max_epochs=500, seed=2)
    assert all(np.array_equal(runs[0].regret, run.regret) for run in [*runs[1:], table])
    assert np.array_equal(runs[0].regret, simulate(model, runs[0].learner, max_epochs=500, seed=2).regret)


def test_a_plain_python_learner_of_a_few_lines_runs():
    model = make("three-state")

    class Greedy:
        def __init__(self):
            self.chunks = []

        def plan(self):
            return Plan(np.array([0, 0, 1]), max_epochs=1000)

        def observe(self, history: History):
            self.chunks.append(len(history))

    learner = Greedy()
    run = simulate(model, learner, max_epochs=150_000)
    assert sum(learner.chunks) == 150_000 and max(learner.chunks) <= 2**20 and run.episodes.total == 150
    assert run.pseudo_regret[-1] < 1e-9


def test_a_unit_model_is_a_discrete_time_one():
    model = CTMDP.from_mdp([[[0.5, 0.5], [0.1, 0.9]], [[0.7, 0.3], [0.2, 0.8]]], [[1.0, 0.2], [0.1, 0.4]])
    run = simulate(model, [0, 1], max_epochs=1000)
    assert np.array_equal(run.times, run.epochs - 1.0)


def test_episodes_say_when_they_began_and_what_they_cost():
    model = make("three-state")
    run = simulate(model, ucrl(model), max_epochs=20_000)
    e = run.episodes
    assert e.start_epoch[0] == 1 and e.epochs.sum() == 20_000
    assert np.array_equal(e.start_epoch[1:], 1 + np.cumsum(e.epochs)[:-1])
    assert np.isclose(e.adjusted_regret.sum(), run.adjusted_regret[-1])
    assert (e.optimistic_gain > run.gain - 1).all() and (e.sweeps >= 1).all() and (e.empty_intervals == 0).all()
    assert e[0].policy.shape == (3,) and len(list(e)) == len(e) == e.total
    assert run.bad_steps(-1e9) == 20_000 and run.bad_steps(1e9) == 0
    assert run.bad_steps(0.01) == sum(k.epochs for k in e if k.adjusted_regret / k.epochs >= 0.01)


def test_a_slice_of_the_episodes_holds_the_same_episodes():
    model = make("three-state")
    episodes = simulate(model, CTUCRL(model.knowledge(), delta=0.1), max_epochs=2000).episodes
    first = episodes[:2]
    assert len(first) == first.total == 2 and repr(list(first)) == repr([episodes[0], episodes[1]])
    assert [e.start_epoch for e in episodes[-3:]] == episodes.start_epoch[-3:].tolist()
    assert len(episodes[5:5]) == 0 and first.bad_steps(-10.0) == first.epochs.sum()


@pytest.mark.parametrize("name", ["two-state", "three-state"])
def test_the_number_of_episodes_obeys_its_bound(name):
    model = make(name)
    size = model.n_states * model.n_actions
    for n in (10, 1000, 100_000):
        for seed in range(5):
            for scale in (1.0, 0.01):
                run = simulate(model, ucrl(model, radius_scale=scale), max_epochs=n, seed=seed, checkpoints=1)
                assert run.episodes.total <= size * np.log2(8 * n / size)


def test_only_so_many_episodes_are_kept_and_then_bad_steps_are_refused(monkeypatch):
    monkeypatch.setattr(episode_module, "KEPT", 5)
    model = make("three-state")
    run = simulate(model, ucrl(model), max_epochs=1000)
    assert len(run.episodes) == 5 < run.episodes.total
    with pytest.raises(ParameterError, match="only the first 5"):
        run.bad_steps(0.1)


def test_an_interruption_leaves_a_usable_partial_run_that_is_a_piece_of_the_whole():
    model = make("three-state")

    def interrupt(walk):
        if walk.epoch >= 3_000_000:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    run = simulate(model, [0, 0, 1], max_epochs=10**9, seed=4, progress=interrupt)
    assert run.interrupted and 3_000_000 <= run.epochs[-1] < 10**7 and "interrupted" in repr(run)
    assert signal.getsignal(signal.SIGINT) is before
    whole = simulate(model, [0, 0, 1], max_epochs=int(run.epochs[-1]), seed=4)
    assert whole.regret[-1] == run.regret[-1] and run.visits.sum() == run.epochs[-1]


def test_a_second_interruption_raises():
    model = make("two-state")

    def twice(walk):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        simulate(model, [1, 0], max_epochs=10**9, progress=twice)


def test_a_run_in_another_thread_leaves_signals_alone():
    found = []
    worker = threading.Thread(target=lambda: found.append(simulate(make("two-state"), [1, 0], max_epochs=100)))
    worker.start()
    worker.join()
    assert found[0].epochs[-1] == 100


def test_whichever_limit_comes_first_ends_the_run():
    model = make("three-state")
    by_epochs = simulate(model, [0, 0, 1], max_epochs=50, max_time=1e9)
    assert by_epochs.epochs[-1] == 50
    by_time = simulate(model, [0, 0, 1], max_epochs=10**9, max_time=5.0)
    assert by_time.times[-1] == 5.0


def test_a_model_whose_gain_depends_on_the_state_has_no_regret_but_runs():
    rows = [[[1.0, 0]], [[0, 1.0]]]
    run = simulate(CTMDP.from_arrays(rows, [[1.0], [2.0]], [[1.0], [0.0]]), [0, 0], max_epochs=10)
    assert np.isnan(run.regret).all() and run.rewards[-1] == 10.0


@pytest.mark.parametrize("options", [
    {}, {"max_epochs": 0}, {"max_epochs": 1.5}, {"max_epochs": -3}, {"max_epochs": "many"}, {"max_epochs": True}, {"max_time": 0},
    {"max_time": float("nan")}, {"max_time": float("inf")}, {"max_epochs": 10, "seed": -1}, {"max_epochs": 10, "seed": 1.5},
    {"max_epochs": 10, "checkpoints": 0}, {"max_epochs": 10, "checkpoints": [3, 2]}, {"max_epochs": 10, "checkpoints": [11]},
    {"max_epochs": 10, "checkpoints": "often"}, {"max_epochs": 10, "holding_times": "sometimes"},
    {"max_epochs": 10, "holding_times": "gamma"}, {"max_epochs": 10, "holding_times": "gamma:shape=-1"},
    {"max_epochs": 10, "holding_times": "gamma:size=1"}, {"max_epochs": 10, "holding_times": {3: "unit"}},
    {"max_epochs": 10, "holding_times": 2.0}, {"max_epochs": 10, "holding_times": "unit"},
])
def test_bad_options_are_refused_with_a_reason(options):
    with pytest.raises(ParameterError) as caught:
        simulate(make("two-state"), [0, 0], **options)
    assert len(str(caught.value)) > 30


@pytest.mark.parametrize("start", [2, -1, "limbo", 0.0])
def test_an_unknown_start_is_refused(start):
    with pytest.raises(ModelError, match="state"):
        simulate(make("two-state"), [0, 0], max_epochs=1, start=start)


def test_a_plain_learner_may_call_its_own_things_counts_and_episode():
    class Mine:
        def __init__(self, knowledge):
            self.knowledge, self.episode = knowledge, 0
            self.counts = np.zeros((knowledge.n_states, knowledge.n_actions))

        def plan(self):
            self.episode += 1
            return Plan(self.counts.argmin(axis=1), max_epochs=7)

        def observe(self, history):
            np.add.at(self.counts, (history.state, history.action), 1)

    model = make("three-state")
    learner = Mine(model.knowledge())
    run = simulate(model, learner, max_epochs=100, seed=2, record=True)
    assert learner.episode == run.episodes.total == 15 and np.array_equal(learner.counts, run.visits)
    session = Session(Mine(model.knowledge()), 0)
    for action, tau, after in zip(run.trajectory.action, run.trajectory.holding_time, run.trajectory.next_state):
        assert session.action_index == action
        session.report(tau, int(after))
    assert (session.learner.episode, session.episode.start_epoch) == (15, 99)


def test_a_yardstick_belongs_to_one_model_and_one_solution(lab):
    one, two = lab.model(3), lab.model(3)
    solution = solve(one)
    assert yardstick(one, solution) is yardstick(one, solution)
    assert yardstick(two, solution) is not yardstick(one, solution)
    assert np.array_equal(yardstick(one, solution).gap, yardstick(one).gap)


class Acts:
    """Chooses the same thing whatever happens."""

    def __init__(self, choice):
        self.choice = choice

    def act(self, state):
        return self.choice

    def observe(self, history): ...


@pytest.mark.parametrize("choice", [None, float("nan"), float("inf"), "a", 0.5, [0]])
def test_what_a_learner_chooses_must_be_an_action(choice):
    model, learner = make("three-state"), Acts(choice)
    words = rf"act\(0\) of Acts returned {re.escape(repr(choice))}; it must return the index of an action"
    with pytest.raises(ParameterError, match=words):
        simulate(model, learner, max_epochs=5)
    with pytest.raises(ParameterError, match=words):
        _ = Session(learner, 0, knowledge=model.knowledge()).action


class Plans:
    """Makes the same plan whatever happens."""

    def __init__(self, plan):
        self.made = plan

    def plan(self):
        return self.made

    def observe(self, history): ...


FIRST = np.zeros(3, dtype=np.int64)


@pytest.mark.parametrize(("plan", "words"), [
    (Plan(np.array([[np.inf, 0], [1, 0], [1, 0]])), r"policy\[.*, .*\] is inf; a probability"),
    (Plan([[1], [1, 0], [1, 0]]), r"policy is \[\[1\], \[1, 0\]"),
    (Plan(FIRST, max_epochs=float("nan")), "max_epochs is nan; it must be a number of decisions, at least 1"),
    (Plan(FIRST, max_epochs="many"), "max_epochs is 'many'"),
    (Plan(FIRST, max_epochs=0), "max_epochs is 0"),
    (Plan(FIRST, quota=["one"] * 6), r"quota is \['one', .*it must hold numbers"),
    (Plan(FIRST, quota=[[1], [1, 2]]), r"quota is \[\[1\], \[1, 2\]\]; it must hold numbers"),
])
def test_a_plan_that_cannot_be_walked_is_refused_with_its_value(plan, words):
    with pytest.raises(ParameterError, match=words):
        simulate(make("three-state"), Plans(plan), max_epochs=5)


def test_a_plan_without_end_may_say_so_in_floats():
    assert int(simulate(make("three-state"), Plans(Plan(FIRST, max_epochs=float("inf"))), max_epochs=50).epochs[-1]) == 50


def test_a_law_whose_spread_is_beyond_floats_is_refused():
    with pytest.raises(ParameterError, match=r"cv is 1e\+200; it must be above 0 and below 1e\+100"):
        simulate(make("three-state"), FIRST, max_epochs=5, holding_times="lognormal:cv=1e200")


def test_something_else_than_a_model_is_refused():
    with pytest.raises(ModelError, match=r"the model is None \(a NoneType\); it must be a CTMDP"):
        simulate(None, FIRST, max_epochs=5)


@pytest.mark.parametrize("checkpoints", [1, 2, 9, 11, 37, 200])
def test_the_table_of_a_run_begins_with_its_first_checkpoint_and_ends_with_its_last(checkpoints):
    run = simulate(make("two-state"), [1, 0], max_epochs=12_345, checkpoints=checkpoints)
    rows = re.findall(r"<tr><td>(.*?)</td>", run._repr_html_())
    assert rows[-1] == "12,345" and rows[0] == f"{run.epochs[0]:,}" and len(rows) == min(9, len(run.epochs))

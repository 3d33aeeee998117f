"""Every entrance takes a state as the user calls it: one model with shuffled whole numbers, with tuples and with texts."""

import json

import numpy as np
import pytest

import sojourn
from command_line import run
from sojourn import Choice
from sojourn.errors import ParameterError, ReportError
from sojourn.learn.learner import Learner, Plan
from sojourn.simulation.walk import Walk
from sojourn.study.entries import ModelEntry
from sojourn.study.store import Store

SIZE = 6


def line(n):
    """A queue with room for SIZE - 1; the slow server is action 2, the fast one action 0: whole numbers that are no positions."""
    arrive = {n + 1: 0.8} if n + 1 < SIZE else {}
    if n == 0:
        return {7: Choice(arrive)}
    return {a: Choice({**arrive, n - 1: mu}, running_cost=n + price) for a, mu, price in ((2, 1.0, 0.5), (0, 2.0, 3.0))}


def pairs(state):
    """The same queue with states (n, SIZE - n) and actions that are tuples."""
    return {("speed", a): Choice({(m, SIZE - m): rate for m, rate in choice.rates.items()}, running_cost=choice.running_cost)
            for a, choice in line(state[0]).items()}


def texts(state):
    return {f"a{a}": Choice({f"{m} in": rate for m, rate in choice.rates.items()}, running_cost=choice.running_cost)
            for a, choice in line(int(state.split()[0])).items()}


MODELS = {
    "numbers": (sojourn.CTMDP.explore(5, line), lambda n: n, lambda a: a),
    "labelled": (sojourn.CTMDP.explore(5, line, label=lambda n: f"{n} waiting"), lambda n: n, lambda a: a),
    "tuples": (sojourn.CTMDP.explore((5, 1), pairs), lambda n: (n, SIZE - n), lambda a: ("speed", a)),
    "texts": (sojourn.CTMDP.explore("5 in", texts), lambda n: f"{n} in", lambda a: f"a{a}"),
}
every = pytest.mark.parametrize("kind", MODELS)


def own(kind):
    model, state, action = MODELS[kind]
    assert [model.states[s] for s in range(2)] == [state(5), state(4)], "found from 5 downwards, so that no name is its position"
    return model, state, action


@every
def test_solving_gives_the_policy_in_the_users_words_and_evaluating_takes_it_back(kind):
    model, state, action = own(kind)
    found = sojourn.solve(model)
    labels = found.policy_labels
    assert labels[state(0)] == action(7) and labels[state(1)] == action(2) and labels[state(5)] == action(0)
    for policy in (labels, list(labels.values()), found.policy, dict(reversed(labels.items()))):
        assert sojourn.evaluate(model, policy).gain == pytest.approx(found.gain, abs=1e-12)
    never = {s: action(2) if s != state(0) else action(7) for s in model.states}
    assert sojourn.evaluate(model, never).gain < found.gain - 0.1
    assert sojourn.simulate(model, never, max_epochs=50).pseudo_regret[-1] > 0
    assert abs(sojourn.simulate(model, labels, max_epochs=50).pseudo_regret[-1]) < 1e-9
    assert sojourn.simulate(model, found, max_epochs=5).start == state(5)


@every
def test_a_run_starts_and_ends_where_the_user_says(kind):
    model, state, action = own(kind)
    for n in range(SIZE):
        run = sojourn.simulate(model, "random", start=state(n), max_epochs=3, record=True)
        assert run.start == state(n) and model.states[run.trajectory.state[0]] == state(n)
        assert run.state == model.states[run.trajectory.next_state[-1]]
    assert sojourn.simulate(model, "random", max_epochs=3).start == state(5)  # by default the model's first, where exploring began
    with pytest.raises(sojourn.SojournError, match="state"):
        sojourn.simulate(model, "random", start="nowhere", max_epochs=3)
    held = sojourn.simulate(model, "random", max_epochs=9, record=True, start=state(0),
                            holding_times={(state(0), action(7)): "deterministic"}).trajectory
    assert held.holding_time[0] == 1 / 0.8


@every
def test_a_session_speaks_the_users_words(kind):
    model, state, action = own(kind)
    session = sojourn.Session("ct-ucrl", state(5), knowledge=model.knowledge(), parameters={"delta": 0.1})
    assert session.state == state(5) and session.state_index == 0
    assert session.action in (action(2), action(0)) and model.actions[session.action_index] == session.action
    session.report(0.3, state(4))
    assert session.state == state(4) and session.state_index == model.state(state(4))
    _ = session.action
    with pytest.raises(ReportError, match=r"next_state is .*Nothing was counted"):
        session.report(0.3, "nowhere")
    with pytest.raises(ParameterError, match="state is"):
        sojourn.Session("ct-ucrl", state(17), knowledge=model.knowledge())


def test_whole_numbers_that_are_no_states_are_refused_not_taken_for_positions():
    narrow = sojourn.CTMDP.explore(25, lambda n: {"go": Choice({25 + (n - 24) % 5: 1.0})})  # the states 25 to 29
    for start in (0, 1, 4):
        with pytest.raises(sojourn.SojournError, match=f"there is no state {start}"):
            sojourn.simulate(narrow, "random", start=start, max_epochs=2)
        with pytest.raises(ParameterError, match=f"there is no state {start}"):
            sojourn.Session("random", start, knowledge=narrow.knowledge())


@every
def test_plans_histories_and_visits_keep_positions(kind):
    model, state, _ = own(kind)

    class Plain(Learner):
        folds = False

        def plan(self):
            return Plan(np.array(self.knowledge.pair_action[self.knowledge.pair_start[:-1]]), max_epochs=7)

        def observe(self, history):
            assert history.state.max() < SIZE and history.action.max() < 3 and history.state.dtype == np.int64
            super().observe(history)

    walk = Walk(model, Plain(model.knowledge()), start=state(2), seed=1)
    walk.advance(until_epoch=20)
    assert walk.start == model.state(state(2)) and walk.visits.sum() == 20


@every
def test_files_keep_the_users_names(kind, tmp_path):
    model, state, action = own(kind)
    for suffix in (".json", ".npz"):
        model.save(tmp_path / f"m{suffix}")
        again = sojourn.load(tmp_path / f"m{suffix}")
        assert again.equals(model) and [type(s) for s in again.states] == [type(s) for s in model.states]
        assert again.pair(state(3), action(2)) == model.pair(state(3), action(2)) and again.states.labels == model.states.labels


def test_files_of_version_1_still_load(tmp_path):
    top = {"format": "sojourn/ctmdp", "version": 1, "states": ["1", "0"], "choices": [
        {"state": s, "action": "a", "rate": 2.0, "next": {t: 1.0}} for s, t in (("1", "0"), ("0", "1"))]}
    (tmp_path / "old.json").write_text(json.dumps(top))
    old = sojourn.load(tmp_path / "old.json")
    assert old.states == ("1", "0") and old.state("0") == 1
    with pytest.raises(sojourn.ModelError, match="state 0 could be position 0 or state '0', which stands at position 1"):
        old.state(0)


@every
def test_the_command_line_takes_a_state_as_it_reads(kind, tmp_path):
    model, state, _ = own(kind)
    model.save(tmp_path / "m.json")
    label = model.states.label(model.state(state(2)))
    for text in {label, "2" if kind in ("numbers", "labelled") else label}:
        found = run("learn", str(tmp_path / "m.json"), "--learner", "random", "--epochs", "5", "--start", text, "--json")
        assert found.code == 0, found.err
    assert run("learn", str(tmp_path / "m.json"), "--learner", "random", "--epochs", "5", "--start", "nowhere").code == 1
    solved = json.loads(run("solve", str(tmp_path / "m.json"), "--json").out)
    assert list(solved["policy"]) == list(model.states.labels)
    assert label in run("show", str(tmp_path / "m.json")).out


@every
def test_environments_start_where_the_user_says(kind):
    gym = pytest.importorskip("sojourn.gym")
    model, state, _ = own(kind)
    env = gym.CTMDPEnv(model, start=state(3), render_mode="ansi")
    assert env.reset(seed=1)[0] == model.state(state(3)) and env.reset(options={"state": state(1)})[0] == model.state(state(1))
    assert model.states.label(model.state(state(1))) in env.render()
    driven = gym.drive(gym.CTMDPEnv(model, start=state(3)), "random", max_epochs=20, seed=1)
    assert driven.state[0] == model.state(state(3)) and driven.session.state == model.states[driven.next_state[-1]]


@every
def test_a_study_starts_where_the_user_says_and_its_store_keeps_the_names(kind, tmp_path):
    model, state, _ = own(kind)
    for n in (None, 0, 3):
        start = {} if n is None else {"start": state(n)}
        study = sojourn.Study("names", models=[model], learners=["random"], epochs=1, replications=1,
                              store=tmp_path / f"{n}.sqlite", **start).run(workers=1)
        with Store(study.store_path) as store:
            (stored,), (result,) = store.models(), store.results()
        assert stored.model.equals(model.renamed(stored.label))
        assert model.pair_state[np.flatnonzero(result.data["visits"])].tolist() == [model.state(state(5 if n is None else n))]


def test_study_keys_depend_on_what_the_states_read_as_so_that_stores_go_on():
    by_number = sojourn.CTMDP.from_arrays([[[0, 1]], [[1, 0]]], [[2.0], [1.0]])
    by_text = by_number.replace(states=["0", "1"], actions=["0"])
    assert ModelEntry("a", {}, by_number).key == ModelEntry("b", {}, by_text).key
    assert ModelEntry("a", {}, by_text).key == "386efeb919dfaa4cadf0e9f0e8600e0ddb2fe177948563306095dd05e3d76463"


@every
def test_pictures_and_cards_show_the_labels(kind):
    pytest.importorskip("matplotlib")
    model, _, _ = own(kind)
    model.plot()
    assert model.states.label(0) in model._repr_html_() and model.states.label(0) in sojourn.solve(model)._repr_html_()
    card = sojourn.difficulty(model)
    assert str(card) and list(json.loads(json.dumps(card.as_dict()))["policy"]) == list(model.states.labels)


@every
def test_witnesses_pairs_and_episodes_are_in_the_users_words(kind):
    model, state, _ = own(kind)
    found = sojourn.difficulty(model)
    least = {(s, t): found.diameter - _time_between(model, s, t) for s in model.states for t in model.states if s != t}
    assert least[found.diameter_pair] == pytest.approx(0, abs=1e-9) and found.diameter.pair == found.diameter_pair
    where, what = found.gain_gap.pair
    labels = dict(zip(model.states, (model.actions[a] for a in found.second_best_policy)))
    assert labels[where] == what != sojourn.solve(model).policy_labels[where]
    episode = sojourn.simulate(model, "ct-ucrl", start=state(2), max_epochs=50, parameters={"delta": 0.1}).episodes[0]
    assert episode.start_state == state(2) and f"in state {state(2)!r} first" in repr(episode)
    assert model.actions.label(episode.policy[0]) + ", " in repr(episode)


@every
def test_a_verdict_names_its_witness_in_the_users_words(kind):
    model, state, action = own(kind)
    chosen = {s: {a: Choice({t: 1.0 for t in ([s] if s == state(4) and a == action(0) else model.states)}) for a in
                  ([action(7)] if s == state(0) else [action(2), action(0)])} for s in model.states}
    stuck = sojourn.CTMDP.explore(state(5), chosen.__getitem__)  # action 0 stays in 4 for ever
    verdict = sojourn.check(stuck).irreducible
    assert not verdict and verdict.states == (state(4),) and verdict.unreached in model.states
    assert stuck.actions[verdict.policy[stuck.state(state(4))]] == action(0)
    apart = sojourn.CTMDP.explore(state(5), lambda s: {action(0): Choice({s: 1.0})} if s in (state(4), state(3)) else
                                  {action(0): Choice({state(4): 1.0, state(3): 1.0})})
    assert sojourn.check(apart).unichain.states + sojourn.check(apart).unichain.others == (state(4), state(3))
    assert sojourn.check(apart).communicating.unreached == state(5)


def _time_between(model, s, t):
    """The least expected time from s to t, by iterating on times to t."""
    source, target, times = model.state(s), model.state(t), np.zeros(model.n_states)
    for _ in range(4000):
        ahead = np.add.reduceat(model.probability * times[model.next_state], model.row_start[:-1])
        times = np.minimum.reduceat(1 / model.rate + ahead, model.pair_start[:-1])
        times[target] = 0
    return times[source]

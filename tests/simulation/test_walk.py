"""A walk is the session's, decision for decision, however it is cut, stopped and restored."""

import copy
import io
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.errors import ModelError, ParameterError
from sojourn.learn.catalogue import LEARNERS
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.learner import Plan
from sojourn.model.ctmdp import CTMDP
from sojourn.model.knowledge import Knowledge
from sojourn.simulation import walk as walking
from sojourn.simulation.session import Session
from sojourn.simulation.walk import Walk
from sojourn.zoo.catalogue import make

NAMES = [name for name in LEARNERS if name != "default"]


def follow(session, history) -> None:
    """Feed a recorded trajectory to a session, which must choose the same actions."""
    rows = zip(history.state, history.action, history.holding_time, history.next_state, history.lump)
    for epoch, (state, action, tau, next_state, reward) in enumerate(rows, start=1):
        assert (session.state_index, session.action_index) == (state, action), f"epoch {epoch}"
        session.report(tau, int(next_state), lump=reward)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), paid=st.booleans())
def test_a_session_fed_the_same_observations_decides_like_the_walk(lab, name, seed, paid):
    model = lab.model(seed, paid=paid)
    recorded = Walk(model, lab.build(name, model, seed), seed=seed, record=True)
    recorded.advance(150)
    silent = Walk(model, lab.build(name, model, seed), seed=seed)
    silent.advance(150)
    assert lab.equal(recorded.learner.state(), silent.learner.state())
    session = Session(lab.build(name, model, seed), 0)
    for chunk in recorded.recorded:
        follow(session, chunk)
    assert lab.equal(session.learner.state(), silent.learner.state())


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_plain_learners_walk_like_their_sessions_too(lab, seed):
    model = lab.model(seed)
    for kind in (lab.Wanderer, lab.Chooser):
        walk = Walk(model, kind(model.knowledge()), seed=seed, record=True)
        walk.advance(120)
        session = Session(kind(model.knowledge()), 0)
        for chunk in walk.recorded:
            follow(session, chunk)
        if kind is lab.Wanderer:
            assert session.learner.rows == walk.learner.rows and len(walk.learner.rows) == 120


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=6)
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(1, 199), max_size=4))
def test_stopping_and_restoring_at_random_epochs_changes_nothing(lab, name, seed, cuts):
    model = lab.model(seed)
    whole = Walk(model, lab.build(name, model, seed), seed=seed)
    whole.advance(200)
    walk = Walk(model, lab.build(name, model, seed), seed=seed)
    for cut in sorted(cuts):
        walk.advance(cut)
        saved = walk.state()
        walk = Walk(model, lab.build(name, model, seed), seed=999)
        walk.restore(saved)
    walk.advance(200)
    assert lab.equal(walk.state(), whole.state())


@pytest.mark.parametrize("law", [None, "erlang:stages=2"])
def test_the_size_of_the_calls_changes_nothing(lab, law, monkeypatch):
    model = lab.model(3)
    states = []
    for block in (2**20, 64):
        monkeypatch.setattr(walking, "MAX_CHUNK", block)
        walk = Walk(model, lab.build("ct-ucrl", model), holding_times=law)
        walk.advance(1000)
        states.append(walk.state())
    assert lab.equal(*states)


def as_first_saved(state: dict) -> dict:
    """Return the state of a walk as format 1 had it: a learner that says nothing of itself, Plan.info in columns of the rows."""
    learner = {key: value for key, value in state["learner"].items() if key not in ("format", "class", "parameters", "knowledge")}
    learner |= {"episode": state["episode"]}
    learner.pop("planned_epoch", None)
    log = dict(state["log"])
    info, rows = log.pop("info"), log["rows"]
    names = ("optimistic_gain", "sweeps", "empty_intervals")
    more = [info.get(name, np.full(len(rows), np.nan)) for name in names]
    return {key: value for key, value in state.items() if key != "own"} | {
        "learner": learner, "log": log | {"rows": np.column_stack([rows, *more])}}


@pytest.mark.parametrize("name", ["ct-ucrl", "ct-psrl", "ct-imed", "ct-ce", "random"])
def test_a_walk_saved_by_an_earlier_version_goes_on(lab, name):
    model = lab.model(7)
    whole, first, again = (Walk(model, lab.build(name, model, 3), seed=3) for _ in range(3))
    whole.advance(300)
    first.advance(123)
    again.restore(as_first_saved(first.state()))
    again.advance(300)
    assert np.array_equal(whole.visits, again.visits) and whole.time == again.time
    episodes = [walk.log.episodes(walk.epoch, walk.visits) for walk in (whole, again)]
    assert np.array_equal(episodes[0].start_epoch, episodes[1].start_epoch)
    assert np.array_equal(episodes[0].sweeps, episodes[1].sweeps, equal_nan=True)


def test_a_refused_state_leaves_the_walk_as_it_was(lab):
    model = lab.model(7)
    walk, other = Walk(model, lab.build("ct-ce", model)), Walk(model, lab.build("ct-ucrl", model))
    walk.advance(50)
    other.advance(20)
    before = walk.state()
    with pytest.raises(ParameterError, match="this learner is a"):
        walk.restore(other.state())
    assert lab.equal(walk.state(), before)


def test_a_state_survives_a_file_without_pickle(lab):
    model = lab.model(8)
    walk = Walk(model, lab.build("ct-ucrl", model))
    walk.advance(500)
    flat = {}

    def flatten(prefix, value):
        for key, part in value.items():
            flatten(f"{prefix}{key}/", part) if isinstance(part, dict) else flat.__setitem__(prefix + key, part)

    flatten("", walk.state())
    file = io.BytesIO()
    np.savez(file, **flat)
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        assert set(loaded.files) == set(flat)


def test_a_fixed_policy_restores_in_the_middle_too(lab):
    model = lab.model(5)
    table = np.where(model.admissible, 1.0, 0.0)
    table /= table.sum(axis=1, keepdims=True)
    whole, walk = Walk(model, table, seed=2), Walk(model, table, seed=2)
    whole.advance(300)
    walk.advance(100)
    again = Walk(model, table, seed=77)
    again.restore(walk.state())
    again.advance(300)
    assert lab.equal(again.state(), whole.state())


def test_sums_restart_in_blocks_so_that_rounding_does_not_grow(monkeypatch):
    monkeypatch.setattr(walking, "BLOCK", 1000)
    model = CTMDP.from_mdp([[[0, 1.0]], [[1.0, 0]]], [[0.1], [0.1]])
    walk = Walk(model, [0, 0])
    walk.advance(10_000)
    assert walk.time == 10_000.0 and walk.base[0] == 10_000.0


def test_a_learner_without_state_cannot_be_saved_and_the_error_says_so(lab):
    model = lab.model(1)
    walk = Walk(model, lab.Wanderer(model.knowledge()))
    walk.advance(10)
    with pytest.raises(ParameterError, match="Wanderer has no state"):
        walk.state()


def test_a_learner_is_asked_for_a_plan_only_when_a_decision_needs_one():
    model = make("three-state")

    class Counting:
        plans = 0

        def plan(self):
            self.plans += 1
            return Plan(np.array([0, 0, 1]), max_epochs=10)

        def observe(self, history):
            pass

    learner = Counting()
    walk = Walk(model, learner)
    walk.advance(10)
    assert learner.plans == 1
    walk.advance(11)
    assert learner.plans == 2


def test_a_trained_learner_goes_on_in_another_walk():
    model = make("three-state")
    learner = CTUCRL(model.knowledge(), delta=0.1)
    Walk(model, learner).advance(1000)
    again = Walk(model, learner, seed=5)
    again.advance(1000)
    assert learner.counts.epoch == 2001 and again.visits.sum() == 1000 and learner.counts.visits.sum() == 2000
    assert again.log.episodes(again.epoch, again.visits).epochs.sum() == 1000


def test_counts_made_by_a_session_in_between_are_seen_by_the_walk():
    model = make("three-state")
    learner = CTUCRL(model.knowledge(), delta=0.1)
    walk = Walk(model, learner)
    walk.advance(3)
    session = Session(learner, 0)
    for _ in range(40):
        _ = session.action
        session.report(0.3, 1 if session.state_index == 0 else 0)
    walk.advance(400)
    assert learner.counts.visits.sum() == learner.counts.slot_count.sum() == 440
    row_start, _, count = learner.counts.rows()
    assert (np.diff(np.concatenate([[0], np.cumsum(count)])[row_start]) == learner.counts.visits).all()


def test_room_for_new_successors_is_made_again_after_someone_else_has_counted():
    states = 6
    rows = np.full((states, 1, states), 1e-6)
    rows[:, 0, 0] += 1 - rows.sum(axis=2)[:, 0]
    model = CTMDP.from_arrays(rows, np.ones((states, 1)), np.ones((states, 1)))
    learner = CTUCRL(model.knowledge(), delta=0.1)
    walk = Walk(model, learner)
    walk.advance(5)
    for k in range(1, states):
        learner.counts.add(k, 0.5, 0)  # takes room that the walk had set aside
    walk.advance(6)
    unknown = int((walk.ledger.counts.slot_of < 0).sum())
    assert len(learner.counts.slot_state) - int(learner.counts.used[0]) >= unknown > 20


@pytest.mark.parametrize("knowledge, words", [
    (Knowledge.from_arrays([[0.0, 1]], (1, 7)), "1 states"),
    (Knowledge.from_arrays([[0.0, 1]] * 3, (1, 7), admissible=np.array([[True, True], [True, False], [True, True]])), "5 pairs"),
    (Knowledge.from_arrays([[0.0, 1]] * 3, (2, 7)), r"\[2, 7\]"),
    (Knowledge.from_arrays([[0.0, 1]] * 3, (1, 6)), "Widen"),
])
def test_knowledge_of_another_model_is_refused(knowledge, words):
    with pytest.raises(ModelError, match=words):
        Walk(make("three-state"), CTUCRL(knowledge, delta=0.1))


@pytest.mark.parametrize("policy", [[0, 0], [0.5, 0, 1], [[0.5, 0.5]], 3, "go", [0, 0, 7], [[[0.1]]], None])
def test_what_is_neither_a_learner_nor_a_policy_is_refused(policy):
    with pytest.raises((ModelError, ParameterError)):
        Walk(make("three-state"), policy).advance(1)


def test_saying_how_far_is_required():
    with pytest.raises(ParameterError, match="both None"):
        Walk(make("two-state"), [0, 0]).advance()


@pytest.mark.parametrize("name", ["ct-ce", "ct-psrl", "random"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda walk: pickle.loads(pickle.dumps(walk))])
def test_a_copy_goes_on_alone(lab, name, copied):
    model = lab.model(3)
    walk = Walk(model, lab.build(name, model, 3), seed=3)
    walk.advance(200)
    other = copied(walk)
    other.advance(500)
    assert walk.visits.sum() == walk.epoch == 200
    walk.advance(500)
    assert np.array_equal(walk.visits, other.visits) and walk.time == other.time

"""Events in sessions: named, told by successor or pay, asked for where neither does; and the same decisions as a walk."""

import numpy as np
import pytest

from sojourn.errors import ReportError
from sojourn.learn.catalogue import learner_for
from sojourn.model.explore import Choice
from sojourn.model.knowledge import Knowledge
from sojourn.model.rates import Rate
from sojourn.simulation.session import Session
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import make

LEARNERS = ["events-psrl", "events-ucrl", "events-ce"]


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("model_name", ["service-rate:capacity=4", "customer-selection", "call-centre:agents=1,lines=3"])
def test_a_session_takes_the_decisions_of_the_walk_and_goes_on_from_a_file(name, model_name, tmp_path):
    model = make(model_name)
    run = simulate(model, learner_for(model, name, seed=3), max_epochs=400, seed=5, record=True)
    path, table = run.trajectory, model.events
    session = Session(learner_for(model, name, seed=3), model.states[0])
    for n in range(400):
        if n == 200:
            session.save(tmp_path / "s.session")
            session = Session.load(tmp_path / "s.session")
        assert session.action_index == path.action[n]
        seen = {table.names[k]: int(times) for k, times in zip(table.silent, path.silent[n]) if times}
        session.report(path.holding_time[n], model.states[path.next_state[n]], event=table.names[path.event[n]], silent=seen)
    assert (session.learner.events.count == run.learner.events.count).all()


def test_the_event_is_told_by_successor_and_pay_and_asked_for_where_they_do_not():
    model = make("customer-selection")
    known = model.knowledge(events=True)
    session = Session(learner_for(model, "events-ce"), model.states[3])
    _ = session.action
    pair = session._pair
    mine = slice(*known.events.row_start[pair:pair + 2])
    admitted = known.events.event[mine][known.events.next_state[mine] == 2]
    pay = known.events.payment[mine][known.events.next_state[mine] == 2]
    assert len(admitted) > 1, "the first plan admits several classes"
    before = session.learner.state()
    with pytest.raises(ReportError, match="say which, with event="):
        session.report(0.5, model.states[2], silent={})
    with pytest.raises(ReportError, match="no event named 'class 9'"):
        session.report(0.5, model.states[2], silent={}, event="class 9")
    with pytest.raises(ReportError, match="does not lead from"):
        session.report(0.5, model.states[2], silent={}, event="serve")
    with pytest.raises(ReportError, match="whole number of times"):
        session.report(0.5, model.states[2], silent={"class 1": 0.5}, event="class 1")
    assert str(before) == str(session.learner.state())
    session.report(0.5, model.states[2], reward=float(pay[1]), silent={})  # the pay tells
    assert session.epoch == 2 and session.learner.events.unit > 0


def test_a_report_may_name_events_by_their_rates():
    counts = []
    for arrive, fast in [("arrive", "fast"), (Rate("arrive"), Rate("fast", 2.0))]:
        session = Session("events-psrl", 1, knowledge=two_places())
        for _ in range(2):  # the first sojourn is not counted
            session.state = 1
            _ = session.action
            session.report(0.5, 0, event=fast, silent={arrive: 2}, action="fast")
        counts.append(session.learner.events.count.tolist())
    assert counts[0] == counts[1] and sum(counts[0]) == 3


def test_a_refused_report_leaves_the_pending_action_as_it_was():
    session = Session("events-psrl", 1, knowledge=two_places())
    advised = session.action
    other = {"slow": "fast", "fast": "slow"}[advised]
    with pytest.raises(ReportError, match="how often"):
        session.report(0.5, 0, action=other)
    assert session.action == advised
    session.report(0.5, 0, silent={})
    assert session.counts.visits[session.knowledge.pair(1, advised)] == 1


def two_places():
    """Return what is known of a queue with one place, two speeds, and arrivals that are turned away."""
    arrive, slow, fast = Rate("arrive"), Rate("slow"), Rate("fast")

    def choices(n):
        if n == 0:
            return {"idle": Choice({1: arrive})}
        return {speed.name: Choice({0: speed}, silent={arrive: -1.0}) for speed in (slow, fast)}

    return Knowledge.explore(0, choices)


def test_a_learner_that_was_not_told_of_events_takes_none():
    model = make("tandem")
    session = Session(learner_for(model, "default"), model.states[0])
    _ = session.action
    with pytest.raises(ReportError, match="was not told of events"):
        session.report(1.0, model.states[8], event="arrive")


def test_gymnasium_names_the_events_and_a_learner_of_events_drives():
    gymnasium = pytest.importorskip("gymnasium")
    from sojourn.gym import CTMDPEnv, drive

    del gymnasium
    model = make("service-rate:capacity=4")
    paths = []
    for events in (model.events, None):
        env = CTMDPEnv(model.replace(events=events))
        env.reset(seed=4)
        paths.append([env.step(int(np.flatnonzero(env.action_mask())[0])) for _ in range(300)])
    assert [p[:2] for p in paths[0]] == [p[:2] for p in paths[1]]  # events change no path
    assert {p[4]["event"] for p in paths[0]} <= set(model.events.names) and "event" not in paths[1][0][4]
    assert any(p[4]["silent"].get("arrive") for p in paths[0])
    driven = drive(CTMDPEnv(model), "events-psrl", max_epochs=300, seed=1)
    assert driven.session.learner.events.count.sum() >= 299

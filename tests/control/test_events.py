"""A controller of a learner of events: labels, silent events, alarms about the structure, forbidden actions."""

import numpy as np
import pytest

import sojourn
from sojourn.control.controller import Controller
from sojourn.errors import ReportError

QUEUE = sojourn.make("service-rate:capacity=4")
TOLD = QUEUE.knowledge(events=True)
FULL = QUEUE.states[4]


def reports_of(run: sojourn.Run, model: sojourn.CTMDP) -> list[dict[str, object]]:
    """What a recorded run saw."""
    path, table, n = run.trajectory, model.events, len(run.trajectory.state)
    return [{"seq": i + 1, "holding_time": float(path.holding_time[i]), "next_state": model.states[path.next_state[i]],
             "action": model.actions[path.action[i]], "event": table.names[path.event[i]],
             "silent": {table.names[k]: int(times) for k, times in zip(table.silent, path.silent[i]) if times}} for i in range(n)]


def test_silent_events_are_counted_paid_journaled_and_folded_again(path):
    run = sojourn.simulate(QUEUE, "events-ce", max_epochs=300, seed=3, record=True)
    said = reports_of(run, QUEUE)
    start = QUEUE.states[0]
    with Controller.create(path, TOLD, "events-ce", start) as controller:
        assert any(row["silent"] for row in said)
        controller.report_many(said[:150])
        for row in said[150:]:
            controller.report(**row)
        assert (controller._fold.session.learner.events.count == run.learner.events.count).all()
        status = controller.status()
        assert (status["epochs"], status["followed"], status["alarms"]) == (300, 300, 0)
        busy = sum(o.holding_time * TOLD.running[TOLD.pair(o.state, o.action)] for o in controller.observations())
        lost = sum(row["silent"].get("arrive", 0) for row in said)  # 10 is paid for each
        assert lost and status["reward"] == pytest.approx(busy - lost * 10.0, rel=1e-9)
        assert [o.silent for o in controller.observations()] == [row["silent"] for row in said]
        controller.verify()
    with Controller.open(path) as controller:
        controller.verify()
        controller.report(**said[200])
        with pytest.raises(ReportError, match="silent"):
            controller.report(**{**said[200], "silent": {"arrive": 77}})


@pytest.mark.parametrize(("wrong", "words"), [
    ({"silent": {"arrive": -1}}, "how often"), ({"silent": {"arrive": 2**70}}, "how often"),
    ({"silent": ["arrive"]}, "how often"), ({"silent": {"fall": 1}}, "no event named"),
    ({"event": "fall"}, "no event named"), ({"silent": None}, "nothing says how often"),
])
def test_what_a_learner_of_events_could_not_understand_is_refused_and_those_before_it_are_kept(path, wrong, words):
    below = QUEUE.states[3]
    with Controller.create(path, TOLD, "events-ce", FULL) as controller:
        with pytest.raises(ReportError, match=words):
            controller.report_many([{"seq": 1, "holding_time": 0.5, "next_state": below, "silent": {"arrive": 2}},
                                    {"seq": 2, "holding_time": 0.5, "next_state": FULL, "silent": {}},
                                    {"seq": 3, "holding_time": 0.5, "next_state": below, "silent": {}, **wrong}])
        assert controller.status()["next_seq"] == 3
        controller.verify()


def test_events_that_cannot_have_happened_raise_an_alarm_and_are_not_counted(path):
    below = QUEUE.states[3]
    with Controller.create(path, TOLD, "events-ce", FULL) as controller:
        controller.report(1, 0.5, below, event="arrive", silent={})
        assert controller.alarms[-1].kind == "structure" and "does not lead" in controller.alarms[-1].text
        controller.report(2, 0.5, FULL, silent={"arrive": 1})  # below the limit an arrival leads somewhere
        assert controller.status()["alarms"] == 2 and controller.status()["epochs"] == 0
        assert controller.status()["state"] == FULL
        controller.report(3, 0.5, below, silent={"arrive": 1})
        assert controller.status()["epochs"] == 1
        controller.verify()


def test_an_alarm_is_raised_once_when_the_declared_events_no_longer_hold(path):
    arrive, serve = sojourn.Rate("arrive", 1.0), sojourn.Rate("serve", 1.5)

    def choices(n):
        up = {n + 1: arrive} if n < 5 else {}
        return {"go": sojourn.Choice(rates={**up, **({n - 1: serve} if n else {})}, running_cost=float(n))}

    model, rng, n, rows = sojourn.CTMDP.explore(0, choices), np.random.default_rng(1), 0, []
    for seq in range(1, 3001):
        rates = [1.0 if n < 5 else 0.0, (1.5 if n < 3 else 6.0) if n else 0.0]  # in truth the server hurries in a crowd
        tau = float(rng.exponential(1 / sum(rates)))
        n += 1 if rng.random() < rates[0] / sum(rates) else -1
        rows.append({"seq": seq, "holding_time": tau, "next_state": n, "silent": {}})
    with Controller.create(path, model.knowledge(events=True), "events-ce", 0, false_alarms=0) as controller:
        controller.report_many(rows)
        found = [alarm for alarm in controller.alarms if alarm.kind == "structure"]
        assert len(found) == 1 and "'serve'" in found[0].text and "do not hold" in found[0].text
        controller.verify()


def test_forbidden_actions_and_events_go_together(path):
    forbidden = {FULL: [QUEUE.actions[1]]}
    with Controller.create(path, TOLD, "events-psrl", FULL, forbidden=forbidden) as controller:
        for seq in range(1, 40):
            state = controller.status()["state"]
            assert (state, controller.action) != (FULL, QUEUE.actions[1])
            controller.report(seq, 0.3, QUEUE.states[3] if state == FULL else FULL, silent={})
        assert controller.status()["epochs"] == 39
        controller.verify()

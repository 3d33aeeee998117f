"""Reports that cannot be: an answer to each, an alarm where they contradict what was told, and a plan that fails is no end."""

import os
import shutil
import signal
import threading
import time
import warnings

import numpy as np
import pytest

from control_plant import MODEL, Plant, drive
from sojourn.control import planner
from sojourn.control.controller import Controller
from sojourn.control.planner import PATIENCE, Planner
from sojourn.control.setting import checked_setting
from sojourn.errors import ReportError, SojournError, ToleranceError
from sojourn.learn.catalogue import LEARNERS
from sojourn.learn.ct_ce import CTCE
from sojourn.learn.kl_ucrl import KLUCRL

KNOWN, START = MODEL.knowledge(), ("up", 0)
UCRL = {"learner": "ct-ucrl", "parameters": {"delta": 0.01}}


def kinds(controller: Controller) -> list[str]:
    return [alarm.kind for alarm in controller.alarms]


@pytest.mark.parametrize("learner", ["default", "kl-ucrl", "ucrl2", "scal", "ct-joint-ucrl", "ct-kl-ucrl", "ct-ce"])
@pytest.mark.parametrize("factor", [1e6, 1e-9])
def test_times_in_another_unit_raise_an_alarm_and_never_end_the_controller(path, learner, factor):
    """Within 5 reports: the probability that a right program fails is below 1e-4 a case."""
    plant = Plant(MODEL, START)
    with Controller.create(path, KNOWN, learner, START) as controller:
        for seq in range(1, 61):
            tau, state = plant.step(controller.action)
            controller.report(seq, factor * tau, state)
            assert seq < 5 or "holding times" in kinds(controller)
        words = next(alarm.text for alarm in controller.alarms if alarm.kind == "holding times")
        assert ("too long" if factor > 1 else "too short") in words and "Check the unit" in words and "from 0.3 to 3" in words
        assert controller.missed(("up", 0)) and controller.verify()["answers_that_differ"] == 0
        before = controller._fold.to_bytes()
    with Controller.open(path) as controller:
        assert controller._fold.to_bytes() == before


def test_an_import_in_another_unit_raises_an_alarm_at_once(path):
    log = {"state": [START] * 3, "action": ["run"] * 3, "holding_time": [2e6, 1e6, 3e6], "next_state": [("up", 1)] * 3,
           "trajectory": [1, 2, 3]}
    with Controller.create(path, KNOWN, "ct-ce", START) as controller:
        controller.import_log(log)
        assert kinds(controller) == ["holding times"] and "3 of 'run' in state" in controller.alarms[0].text
        controller.verify()


def test_the_same_time_again_and_again_raises_an_alarm(path):
    with Controller.create(path, KNOWN, start=START, **UCRL) as controller:
        for seq in range(1, 13):
            controller.report(seq, 0.5, ("up", seq % 2) if seq < 3 else controller.status()["state"])
        assert kinds(controller) == ["holding times"] and "the last 10 holding times are all 0.5" in controller.alarms[0].text


@pytest.mark.parametrize("safe", [None, "run", "rush"])
@pytest.mark.parametrize("max_late", [0, 2])
def test_a_plan_that_fails_gives_the_safe_action_or_the_last_policy_and_an_alarm_and_is_retried(path, monkeypatch, safe, max_late):
    monkeypatch.setattr(planner.Planner, "start", lambda self: None)
    right, calls, failing = CTCE.plan, [], [22, 10**9]

    def plan(self):
        calls.append(self.counts.epoch)
        if failing[0] <= self.counts.epoch < failing[1]:
            raise ToleranceError("it did not settle.")
        return right(self)

    monkeypatch.setattr(CTCE, "plan", plan)
    with Controller.create(path, KNOWN, "ct-ce", START, safe_action=safe, max_late=max_late) as controller:
        plant = Plant(MODEL, START)
        drive(controller, plant, 20)
        policy, tried = controller._fold.session._episode.plan.policy, len(calls)
        for _ in range(200):
            drive(controller, plant, 1)
            if controller._fold.session.failures and not (max_late and controller.status()["plan_due"]):
                state, action = controller.status()["state"], controller.action
                choices = {MODEL.actions[int(MODEL.pair_action[k])] for k in range(MODEL.n_pairs)
                           if MODEL.states[int(MODEL.pair_state[k])] == state}
                assert action == (safe if safe in choices else MODEL.actions[int(policy[MODEL.states.position(state)])])
        assert 2 <= len(calls) - tried <= 6  # after 10, 20, 40, 80 more decisions
        assert kinds(controller) == ["plan"] * (len(calls) - tried)
        assert "ToleranceError: it did not settle." in controller.alarms[-1].text
        assert controller.missed(START) is not None and controller.missed() == (safe or controller.action)
        controller.missed(START)
        plant.state = START
        controller.verify()
        before = controller._fold.to_bytes()
        assert controller.replay()["answers_that_differ"] == 0 and controller._fold.to_bytes() == before
        failing[1] = controller._fold.session.learner.counts.epoch + 1
        drive(controller, plant, 200)
        assert controller._fold.session.failures == 0


def test_a_controller_whose_first_plan_fails_is_not_made(path, monkeypatch):
    def plan(self):
        raise ToleranceError("it did not settle.")

    monkeypatch.setattr(KLUCRL, "plan", plan, raising=False)
    with pytest.raises(ToleranceError):
        Controller.create(path, KNOWN, "kl-ucrl", START)
    assert not os.path.exists(path)


def test_a_planner_that_stands_still_is_waited_for_no_longer_than_a_second(path, monkeypatch):
    """By the rounds of a twentieth of a second in which it was waited for, however busy the machine is."""
    plant, rounds, right = Plant(MODEL, START), [], Planner._end_if_still
    with Controller.create(path, KNOWN, "ct-ce", START, max_late=1) as controller:
        drive(controller, plant, 20)
        assert controller._plans._planner._ready.wait(60) and controller._plans._planner._thread.join(60) is None
        process = controller._plans._planner._process
        process.send_signal(signal.SIGSTOP)
        monkeypatch.setattr(Planner, "_end_if_still", lambda self: rounds.append(self._process is process) or right(self))
        begun = time.monotonic()
        drive(controller, plant, 200)
        assert 0 < sum(rounds) <= 1 / (PATIENCE / 5)
        assert controller.status()["late_plans"] >= 2 and process.returncode == -signal.SIGKILL
        assert time.monotonic() - begun < 60  # for ever before; a plan here takes milliseconds, and the machine may be busy
        assert controller._plans._planner._process is not process
        assert controller.verify()["answers_that_differ"] == 0


def test_a_planner_that_never_reads_what_it_is_told_is_not_waited_for(path, monkeypatch):
    """A setting larger than a pipe holds kept the controller until the new process had started, and for ever if it never did."""
    monkeypatch.setattr(planner.sys, "executable", shutil.which("sleep"))  # a process that ends at once would break the pipe
    right = planner.subprocess.Popen
    monkeypatch.setattr(planner.subprocess, "Popen", lambda args, **more: right([args[0], "1000"], **more))
    found = Planner(checked_setting(KNOWN, "ct-ce", START, 0, None, None, None, False, 100, 0.01, 2))
    monkeypatch.setattr(type(found.setting), "to_bytes", lambda self: bytes(2**20))
    asked = threading.Thread(target=lambda: (found.start(), found.ask({})), daemon=True)
    asked.start()
    asked.join(20)
    waits = asked.is_alive()
    found.stop()
    assert not waits


@pytest.mark.parametrize("reports", [None, 7, "abc", b"abc", {"seq": 1}, [None], [[]], ["seq"], object()],
                         ids=lambda value: type(value).__name__)
def test_what_is_no_list_of_reports_is_refused_in_words(path, reports):
    with Controller.create(path, KNOWN, start=START, **UCRL) as controller, pytest.raises(ReportError, match="dict"):
        controller.report_many(reports)


def deep(levels: int) -> tuple:
    value: tuple = ()
    for _ in range(levels):
        value = (value,)
    return value


NUMBERS = [0, -0.0, -1.0, float("nan"), float("inf"), -float("inf"), True, "0.5", None, [], [0.5], 1j, 10**400, -10**5000, 1e-320,
           1e-300, 1e300, np.float64("nan"), np.array([0.5]), np.datetime64("2026-01-01"), np.timedelta64(3, "s"), b"1", object()]
STATES = ["fire", 7, 7.5, None, True, float("nan"), [("up", 0)], {}, deep(60), deep(100_000), "x" * 10**6, np.array([1, 2]), b"up",
          "\ud800", ("up",), ("up", 0, 0), object(), 10**5000]
ODD = [*({"holding_time": x} for x in NUMBERS), *({"next_state": x} for x in STATES),
       *({"action": x} for x in STATES if x is not None),
       *({"reward": x} for x in NUMBERS if x is not None and x not in (0, -1.0, 1e-300, 1e-320)),
       *({"event": x} for x in (float("nan"), object(), deep(100_000), "\ud800", [1], "x" * 10**6)),
       *({"silent": x} for x in (5, [], {1: 2}, {"x": True}, {"x": -1}, {"x": 0.5}, {"x": 2**60}, {"x": None})),
       *({"seq": x} for x in (0, -1, 2, 1.0, True, "1", None, 10**5000, 2**63, np.float64(1), [1]))]


def test_a_report_of_what_cannot_be_is_refused_in_words_and_the_next_one_is_answered(path):
    """Every odd value in every place, each without a warning; the session is as it was."""
    with warnings.catch_warnings(), Controller.create(path, KNOWN, start=START, **UCRL) as controller:
        warnings.simplefilter("error")
        before = controller._fold.to_bytes()
        for wrong in ODD:
            with pytest.raises(ReportError) as told:
                controller.report(**{"seq": 1, "holding_time": 0.5, "next_state": ("up", 1), **wrong})
            assert len(str(told.value)) < 1000
        assert controller._fold.to_bytes() == before
        assert controller.report(np.int64(1), np.float32(0.5), ("up", np.int64(1)), np.int8(3)) in ("run", "service")
        controller.verify()


@pytest.mark.parametrize("state", STATES[1:], ids=range(1, len(STATES)))
def test_a_state_that_nobody_has_heard_of_is_answered_or_refused_also_where_there_is_a_safe_action(path, state):
    with Controller.create(path, KNOWN, start=START, safe_action="run", **UCRL) as controller:
        for say in (lambda: controller.report(1, 0.5, state), lambda: controller.missed(state)):
            try:
                assert say() == "run" and (state is None or "unknown state" in kinds(controller))
            except SojournError as error:
                assert len(str(error)) < 1000
        assert controller.missed() == "run"
        controller.verify()


def test_the_largest_and_smallest_reports_that_are_taken_make_no_warning(path):
    """In every learner that is not shown the model: rewards and times at the ends of what is taken, then plans."""
    from sojourn.control.said import BEYOND, LARGEST

    times = [1.01 / BEYOND / KNOWN.rate_max, 0.99 * BEYOND / KNOWN.rate_min, 1.0]
    for name in LEARNERS:
        if name in ("oracle", "fixed") or name.startswith("events") or not LEARNERS[name].built_in:
            continue
        with warnings.catch_warnings(), Controller.create(
                f"{path}.{name}", KNOWN, name, START, parameters={"delta": 0.01} if name == "ct-ucrl" else {}) as controller:
            warnings.simplefilter("error")
            plant = Plant(MODEL, START)
            for seq in range(1, 31):
                _, state = plant.step(controller.action)
                controller.report(seq, times[seq % 3], state, reward=(LARGEST, -LARGEST, None, 5e-324)[seq % 4])
            assert "plan" not in kinds(controller), (name, controller.alarms)
            controller.verify()


@pytest.mark.parametrize("max_late", [0, 2])
def test_times_in_nanoseconds_since_1970_can_be_saved_and_read_again(path, max_late):
    """Their sum is beyond 2^62, which a snapshot was refused for: with `max_late` every later report failed."""
    with Controller.create(path, KNOWN, "ct-ce", START, max_late=max_late) as controller:
        plant = Plant(MODEL, START)
        for seq in range(1, 40):
            controller.report(seq, 1.7e18 + seq, plant.step(controller.action)[1])
        assert controller.alarms[0].kind == "holding times" and controller.verify()["answers_that_differ"] == 0
        controller._fold.restore(controller._fold.to_bytes())
        assert controller.status()["epochs"] == 39

"""Plans that come late: only where that was asked for, at most so many answers, journaled, and the same when folded again."""

import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

import sojourn
from control_plant import MODEL, Plant, drive
from sojourn.control import planner
from sojourn.control.controller import Controller
from sojourn.control.journal import Note
from sojourn.control.setting import Setting
from sojourn.errors import ParameterError
from sojourn.simulation.session import Session

KNOWN = MODEL.knowledge()


@pytest.fixture
def slow(monkeypatch):
    """No process; a plan is there only when it is waited for."""
    right = planner.Planner.answer
    monkeypatch.setattr(planner.Planner, "start", lambda self: None)
    monkeypatch.setattr(planner.Planner, "answer", lambda self, wait: right(self, True) if wait else None)


def plans(controller: Controller) -> list[Note]:
    return [entry for entry in controller._journal.entries() if isinstance(entry, Note) and entry.kind == "plan"]


@pytest.mark.parametrize("learner", ["default", "ct-psrl", "ct-ce", "ct-kl-ucrl"])
def test_a_late_plan_is_bounded_journaled_and_the_same_when_folded_again_or_after_a_restart(path, slow, learner):
    plant = Plant(MODEL, ("up", 0))
    Controller.create(path, KNOWN, learner, ("up", 0), seed=3, max_late=4).close()
    for _ in range(12):
        with Controller.open(path) as controller:
            drive(controller, plant, 11)
            assert controller.verify()["answers_that_differ"] == 0
    with Controller.open(path) as controller:
        notes, status = plans(controller), controller.status()
        assert notes and all(b'"late": 4' in note.body for note in notes)
        assert status["late_plans"] == len(notes) and status["late"] >= 4 * len(notes) and status["epochs"] == 132
        before = controller._fold.to_bytes()
        assert controller.replay()["answers_that_differ"] == 0 and controller._fold.to_bytes() == before


def test_a_plan_of_the_other_process_is_what_would_have_been_planned_here(path, tmp_path, slow, monkeypatch):
    def walk(where: str, other: bool = False) -> bytes:
        plant = Plant(MODEL, ("up", 0))
        with Controller.create(where, KNOWN, "default", ("up", 0), seed=5, max_late=1) as controller:
            drive(controller, plant, 10)
            other_process = controller._plans._planner
            assert not other or (other_process._ready.wait(60) and other_process._thread.join(60) is None)
            drive(controller, plant, 20)
            assert controller.verify()["answers_that_differ"] == 0 and plans(controller)
            return controller._fold.to_bytes()

    here = walk(path)
    monkeypatch.undo()
    made = []
    unpack = planner.unpack
    monkeypatch.setattr(planner, "unpack", lambda data: made.append(1) or unpack(data))
    assert walk(str(tmp_path / "there"), other=True) == here
    assert made  # the other process did answer


def test_if_the_other_process_dies_the_plan_is_made_here(path, monkeypatch):
    monkeypatch.setattr(planner.sys, "executable", "/bin/false")
    with Controller.create(path, KNOWN, "ct-ce", ("up", 0), max_late=2) as controller:
        drive(controller, Plant(MODEL, ("up", 0)), 40)
        assert plans(controller) and controller.verify()["answers_that_differ"] == 0


def test_without_max_late_every_answer_is_that_of_a_session(path):
    session, plant = Session("ct-ce", ("up", 0), KNOWN), Plant(MODEL, ("up", 0))
    with Controller.create(path, KNOWN, "ct-ce", ("up", 0)) as controller:
        for seq in range(1, 60):
            tau, state = plant.step(session.action)
            session.report(tau, state)
            assert controller.report(seq, tau, state) == session.action
        assert controller.status()["late"] == 0 and not plans(controller)


def test_an_import_does_not_wait_for_a_late_plan_and_is_learned_from(path, slow):
    with Controller.create(path, KNOWN, "ct-ce", ("up", 0), max_late=50) as controller:
        plant = Plant(MODEL, ("up", 0))
        drive(controller, plant, 30)
        columns = ("state", "action", "holding_time", "next_state")
        log = {name: [getattr(o, name) for o in controller.observations()] for name in columns}
        assert controller.status()["plan_due"]
        controller.import_log(log)
        assert not controller.status()["plan_due"] and controller._fold.session.learner.counts.epoch == 61
        drive(controller, plant, 30)
        controller.verify()


def test_a_plan_that_was_due_before_an_import_is_not_taken_for_a_later_one(path, slow):
    """It was: the learner forgot the import, and the journal folded again gave another state."""
    with Controller.create(path, KNOWN, "ct-ce", ("up", 0), max_late=3) as controller:
        plant = Plant(MODEL, ("up", 0))
        while not controller.status()["plan_due"]:
            drive(controller, plant, 1)
        columns = ("state", "action", "holding_time", "next_state")
        imported = controller.import_log({name: [getattr(o, name) for o in controller.observations()] for name in columns})
        drive(controller, plant, 60)
        status = controller.status()
        assert status["late_plans"] > 2 and controller._fold.session.learner.counts.epoch == 1 + imported + status["epochs"]
        assert controller.verify()["answers_that_differ"] == 0


@pytest.mark.parametrize(("more", "words"), [({"max_late": -1}, "max_late"), ({"max_late": 1.5}, "max_late"),
                                             ({"max_late": 3, "learner": "control_plant:Plant"}, "catalogue")])
def test_a_delay_that_cannot_be_is_refused(path, more, words):
    with pytest.raises((ParameterError, sojourn.SojournError), match=words):
        Controller.create(path, KNOWN, **{"start": ("up", 0), **more})


def test_late_plans_within_one_write_of_many_reports_are_journaled_too(path, slow):
    plant, rows, state = Plant(MODEL, ("up", 0)), [], ("up", 0)
    for seq in range(1, 151):
        action = "run" if state[0] == "up" else "repair"
        tau, state = plant.step(action)
        rows.append({"seq": seq, "holding_time": tau, "next_state": state, "action": action})
    with Controller.create(path, KNOWN, "ct-ce", ("up", 0), max_late=3) as controller:
        controller.report_many([*rows[:100], rows[5], *rows[100:]])
        assert plans(controller) and controller.status()["next_seq"] == 151
        controller.missed(("down", 0))
        controller.report(151, 0.5, ("up", 0), action="repair")
        assert controller.verify()["answers_that_differ"] == 0


@pytest.mark.parametrize("said", [b"", b"\0\0", b"\0\0\0\0\0\0\0\x05abc"])
def test_a_planner_whose_controller_was_killed_at_once_ends_without_a_word(said):
    ran = subprocess.run([sys.executable, "-m", "sojourn.control.planner"], input=said, capture_output=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_a_planner_that_nobody_listens_to_any_more_ends_without_a_word_too():
    """The controller was killed while it started; what it could not be told was complained of on stderr."""
    data = Setting(KNOWN, "ct-ce", {}, 0, ("up", 0)).to_bytes()
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run([sys.executable, "-m", "sojourn.control.planner"], input=len(data).to_bytes(8, "big") + data,
                         stdout=writing, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": ""})
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_where_no_processor_time_can_be_read_the_other_process_is_waited_for_as_patiently(monkeypatch):
    """It was ended at the first look."""
    now, gate, ended = [1000.0], threading.Event(), []
    monkeypatch.setattr(planner, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for name, stand_in in (("_cpu_time", lambda self: ""), ("_wait", staticmethod(lambda *given: gate.wait(60))),
                           ("stop", lambda self: ended.append(now[0])), ("start", lambda self: None)):
        monkeypatch.setattr(planner.Planner, name, stand_in)
    asked = planner.Planner(Setting(KNOWN, "ct-ce", {}, 0, ("up", 0)))
    asked.ask({})
    for later in (0.0, 0.9, 1.1):
        now[0] = 1000.0 + later * planner.PATIENCE
        asked._end_if_still()
    gate.set()
    assert ended == [1000.0 + 1.1 * planner.PATIENCE]

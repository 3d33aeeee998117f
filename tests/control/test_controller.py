"""The controller: durable, idempotent, exact after a restart, and safe in what it advises."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sojourn
from control_plant import MODEL, Plant, drive
from sojourn.control.controller import Controller
from sojourn.errors import ControlError, ParameterError, ReportError
from sojourn.learn.learner import Learner
from sojourn.simulation.session import Session

KNOWN = MODEL.knowledge()
UCRL = {"learner": "ct-ucrl", "parameters": {"delta": 0.01}}


def counted(controller: Controller) -> tuple[object, ...]:
    """Everything that a report could change."""
    status = controller.status()
    return (status["next_seq"], status["epochs"], status["time"], status["reward"], controller._fold.to_bytes())


@pytest.mark.parametrize("learner", ["default", "ct-ucrl", "ct-psrl", "ct-ce"])
def test_a_controller_decides_as_a_session_does_also_when_it_is_opened_anew_after_every_report(path, learner):
    parameters = {"delta": 0.01} if learner == "ct-ucrl" else {}
    session = Session(learner, ("up", 0), KNOWN, seed=3, parameters=parameters)
    plant = Plant(MODEL, ("up", 0))
    Controller.create(path, KNOWN, learner, ("up", 0), seed=3, parameters=parameters).close()
    for seq in range(1, 16):
        with Controller.open(path) as controller:
            assert controller.action == session.action
            tau, state = plant.step(session.action)
            session.report(tau, state)
            assert controller.report(seq, tau, state) == session.action
    with Controller.open(path) as controller:
        status = controller.status()
        assert (status["epochs"], status["state"], status["next_seq"]) == (15, session.state, 16)
        assert status["time"] == session.time
        assert controller.verify()["answers_that_differ"] == 0


def test_a_report_needs_no_earlier_look_at_the_action(path):
    with Controller.create(path, KNOWN, start=("up", 0)) as controller:
        assert controller.report(1, 0.5, ("up", 1)) in ("run", "service")


def test_create_refuses_an_existing_path_and_leaves_it_alone(controller, path):
    drive(controller, Plant(MODEL, ("up", 0)), 3)
    with pytest.raises(ControlError, match="exists already"):
        Controller.create(path, KNOWN, start=("up", 0))
    assert controller.status()["epochs"] == 3


def test_the_file_is_the_only_one_left_after_closing_and_after_creating(path):
    controller = Controller.create(path, KNOWN, start=("up", 0))
    drive(controller, Plant(MODEL, ("up", 0)), 3)
    controller.close()
    assert [file.name for file in Path(path).parent.iterdir()] == ["plant.control"]


def test_the_same_report_gets_the_same_answer_and_counts_nothing(controller):
    plant = Plant(MODEL, ("up", 0))
    reports = []
    for seq in range(1, 21):
        tau, state = plant.step(controller.action)
        reports.append((seq, tau, state, controller.report(seq, tau, state)))
    before = counted(controller)
    rng = np.random.default_rng(5)
    for i in rng.integers(0, 20, size=200):
        seq, tau, state, answer = reports[i]
        assert controller.report(seq, tau, state) == answer
    assert counted(controller) == before


@pytest.mark.parametrize("change", [{"holding_time": 0.51}, {"next_state": ("down", 0)}, {"reward": 1.0}, {"event": "x"},
                                    {"action": "service"}])
def test_another_content_under_a_known_number_is_refused_with_what_was_stored(controller, change):
    first = {"seq": 1, "holding_time": 0.5, "next_state": ("up", 1)}
    controller.report(**first)
    before = counted(controller)
    with pytest.raises(ReportError, match="report 1 came before with"):
        controller.report(**{**first, **change})
    assert counted(controller) == before


def test_a_gap_is_refused_with_the_number_that_was_expected(controller):
    with pytest.raises(ReportError, match="next report is number 1"):
        controller.report(2, 0.5, ("up", 1))


@pytest.mark.parametrize("wrong", [{"holding_time": 0}, {"holding_time": -1.0}, {"holding_time": float("nan")},
                                   {"holding_time": True},
                                   {"next_state": ("up", 7)}, {"next_state": None}, {"seq": 0}, {"seq": True}, {"seq": 1.0},
                                   {"reward": float("inf")}, {"action": "fly"}, {"event": object()}])
def test_a_report_that_cannot_be_is_refused_and_nothing_is_written(controller, wrong):
    before = counted(controller)
    with pytest.raises(ReportError):
        controller.report(**{"seq": 1, "holding_time": 0.5, "next_state": ("up", 1), **wrong})
    assert counted(controller) == before
    assert controller.report(1, 0.5, ("up", 1)) in ("run", "service")


def test_several_reports_in_one_write_are_the_same_as_one_by_one(controller, tmp_path):
    drive(controller, Plant(MODEL, ("up", 0)), 50)
    said = [{"seq": o.seq, "holding_time": o.holding_time, "next_state": o.next_state} for o in controller.observations()]
    with Controller.create(tmp_path / "batch", KNOWN, start=("up", 0), **UCRL) as batch:
        answers = batch.report_many([*said[:30], said[4], *said[30:]])
        assert answers[30] == answers[4]
        assert batch._fold.to_bytes() == controller._fold.to_bytes()
        with pytest.raises(ReportError, match="number 52"):
            batch.report_many([{"seq": 51, "holding_time": 1.0, "next_state": ("up", 0)},
                               {"seq": 53, "holding_time": 1.0, "next_state": ("up", 0)}])
        assert batch.status()["next_seq"] == 52


@pytest.mark.parametrize("wrong, words", [
    ({"seq": 1, "holding_tme": 1.0}, "'holding_tme'"), ({1: 2}, "the key 1"), (7, "must be a dict")])
def test_a_report_with_another_key_is_refused_in_words(controller, wrong, words):
    before = counted(controller)
    with pytest.raises(ReportError, match=words):
        controller.report_many([wrong])
    assert counted(controller) == before


def test_what_was_really_done_is_what_is_counted(path):
    with Controller.create(path, KNOWN, start=("up", 1), **UCRL) as controller:
        other = "service" if controller.action == "run" else "run"
        controller.report(1, 0.5, ("up", 0) if other == "service" else ("down", 0), action=other)
        visits = KNOWN.table(controller._fold.session.counts.visits, 0)
        assert visits[KNOWN.states.position(("up", 1)), KNOWN.actions.position(other)] == 1
        assert next(iter(controller.observations())).action == other and controller.status()["followed"] == 0


def test_observations_are_what_was_reported_in_the_user_s_own_words(controller):
    controller.report(1, 0.5, ("up", 1), reward=0.25, event="wear")
    (found,) = controller.observations()
    assert (found.seq, found.state, found.action, found.holding_time, found.next_state) == (1, ("up", 0), "run", 0.5, ("up", 1))
    assert (found.reward, found.event, found.advised) == (0.25, "wear", controller.action)


def test_nothing_is_counted_across_a_missed_event(controller):
    drive(controller, Plant(MODEL, ("up", 0)), 5)
    before = controller.status()
    controller.missed()
    assert controller.status()["state"] is None
    assert controller.missed() == controller.action  # said twice is once
    controller.report(6, 123.0, ("up", 0))
    after = controller.status()
    assert (after["epochs"], after["time"], after["reward"]) == (5, before["time"], before["reward"])
    assert (after["state"], after["next_seq"], after["uncounted"]) == (("up", 0), 7, 1)
    controller.report(7, 0.5, ("up", 1))
    assert controller.status()["epochs"] == 6 and controller.verify()["notes"] == 1


def test_after_a_missed_event_the_plant_may_say_where_it_is(controller):
    controller.missed(("down", 0))
    assert controller.action in ("repair", "rush")
    controller.report(1, 0.5, ("up", 0))
    assert controller.status()["epochs"] == 1
    with pytest.raises(ReportError):
        controller.missed(("down", 9))


def test_an_unknown_state_gets_the_safe_action_and_an_alarm(path):
    with Controller.create(path, KNOWN, start=("up", 0), safe_action="run", **UCRL) as controller:
        assert controller.report(1, 0.5, ("fire", 1)) == "run"
        assert controller.alarms[-1].kind == "unknown state" and "fire" in controller.alarms[-1].text
        assert controller.status()["state"] == ("fire", 1)
    with Controller.open(path) as controller:
        assert (controller.action, controller.status()["state"]) == ("run", ("fire", 1))
        assert controller.report(2, 0.5, ("down", 0)) in ("repair", "rush")
        assert controller.status()["epochs"] == 0
        controller.report(3, 0.5, ("up", 0))
        assert controller.status()["epochs"] == 1
        controller.verify()


def test_forbidden_actions_are_never_advised_and_raise_an_alarm_when_done(path):
    forbidden = {("up", 1): ["run"], ("down", 0): ["rush"]}
    with Controller.create(path, KNOWN, start=("up", 0), forbidden=forbidden, learner="random") as controller:
        drive(controller, Plant(MODEL, ("up", 0)), 200)
        assert not {(o.state, o.action) for o in controller.observations()} & {(("up", 1), "run"), (("down", 0), "rush")}
        controller.missed(("down", 0))
        controller.report(201, 0.5, ("up", 0), action="rush")
        assert controller.alarms[-1].kind == "forbidden action" and controller.status()["uncounted"] == 1
        controller.verify()


@pytest.mark.parametrize(("wrong", "words"), [
    ({"forbidden": {("up", 0): ["run"]}}, "every action of state"), ({"forbidden": {("up", 0): ["rush"]}}, "not among its actions"),
    ({"safe_action": "rush", "forbidden": ["rush"]}, "forbidden everywhere"),
    ({"safe_action": "fly"}, "safe_action"), ({"start": "nowhere"}, "start"), ({"learner": "ctucrl"}, "no learner named"),
    ({"parameters": {"delta": object()}}, "numbers, texts"), ({"window": 3}, "window"), ({"false_alarms": 1.5}, "false_alarms"),
    ({"learner": object()}, "name it"), ({"learner": "oracle"}, "model"),
])
def test_a_setting_that_cannot_be_is_refused_and_no_file_is_made(path, wrong, words):
    with pytest.raises((ParameterError, sojourn.SojournError, TypeError), match=words):
        Controller.create(path, KNOWN, **{"start": ("up", 0), **wrong})
    assert not Path(path).exists()


def test_a_transition_outside_the_known_structure_raises_an_alarm_and_is_not_counted(path):
    with Controller.create(path, MODEL.knowledge(supports=True), start=("up", 1), **UCRL) as controller:
        controller.report(1, 0.5, ("up", 1), action="service")
        assert controller.alarms[-1].kind == "structure" and controller.status()["epochs"] == 0
        controller.verify()


def test_in_shadow_mode_every_report_says_what_was_done(path):
    with Controller.create(path, KNOWN, start=("up", 0), shadow=True, **UCRL) as controller:
        with pytest.raises(ReportError, match="only advises"):
            controller.report(1, 0.5, ("up", 1))
        controller.report(1, 0.5, ("up", 1), action="run")
        assert controller.status()["shadow"] and controller.status()["followed"] == 1


def test_a_rate_that_drifts_raises_an_alarm(path):
    with Controller.create(path, KNOWN, "fixed", ("up", 0), parameters={"policy": [0, 1, 2]}, window=50) as controller:
        def walk(first: int, scale: float) -> None:
            rng = np.random.default_rng(first)
            controller.report_many([{"seq": first + i, "holding_time": scale * rng.exponential() if i % 2 == 0 else 1.0,
                                     "next_state": ("down", 0) if i % 2 == 0 else ("up", 0)} for i in range(1000)])

        walk(1, 1.0)
        assert not controller.alarms
        walk(1001, 0.3)
        assert any(alarm.kind == "drift" and "rate" in alarm.text for alarm in controller.alarms)


def test_a_past_log_is_learned_from_and_the_first_decision_knows_it(path):
    plant = Plant(MODEL, ("up", 0))
    rng, rows = np.random.default_rng(7), []
    for _ in range(3000):
        state = plant.state
        actions = [KNOWN.actions[a] for a in np.flatnonzero(KNOWN.pair_table[KNOWN.states.position(state)] >= 0)]
        action = actions[rng.integers(len(actions))]
        tau, after = plant.step(action)
        rows.append((state, action, tau, after))
    log = {name: [row[i] for row in rows] for i, name in enumerate(("state", "action", "holding_time", "next_state"))}
    with Controller.create(path, KNOWN, "ct-ce", plant.state) as controller:
        assert controller.import_log(log) == 3000
        best = dict(zip(MODEL.states, sojourn.solve(MODEL).policy_labels.values()))
        assert controller.action == best[plant.state]
        drive(controller, plant, 20)
        assert all(o.action == best[o.state] for o in controller.observations())
        with pytest.raises(sojourn.SojournError, match="row 3"):
            controller.import_log({**log, "action": ["run", "run", "rush", *log["action"][3:]]})
    with Controller.open(path) as controller:
        assert controller.status()["imported"] == 3000 and controller.status()["epochs"] == 20
        controller.verify()


def test_a_controller_says_whether_learning_could_stop_from_all_that_was_imported_and_reported(path):
    model = sojourn.make("two-state")
    known = model.knowledge((0.5, 60.0), supports=True)
    walked = sojourn.simulate(model, "random", max_epochs=3000, seed=1, record=True).trajectory
    log = {"state": [model.states[s] for s in walked.state], "action": [model.actions[a] for a in walked.action],
           "holding_time": walked.holding_time.tolist(), "next_state": [model.states[s] for s in walked.next_state]}
    with Controller.create(path, known, "ct-joint-ucrl", model.states[int(walked.next_state[-1])]) as controller:
        assert not controller.good_enough("30%") and controller.good_enough("30%").policy is None
        controller.import_log(log)
        found = controller.good_enough("30%", delta=0.1)
        assert found and found.epochs == 3000 and found.delta == 0.1 and not controller.good_enough("30%", 1e-200)
        assert found.policy_labels == sojourn.solve(model).policy_labels
        assert "good_enough" not in controller.status()
    with Controller.open(path, write=False) as looking:
        assert str(looking.good_enough("30%", delta=0.1)) == str(found)
        assert looking.status("30%", delta=0.1)["good_enough"] == found.as_dict()
        for ask in (looking.good_enough, looking.status):  # the file is not to blame
            with pytest.raises(ParameterError, match=r"^epsilon is"):
                ask("much")


def test_a_controller_that_is_told_no_rate_bounds_says_why_it_cannot_certify(path):
    known = sojourn.make("two-state").knowledge("unknown")
    with Controller.create(path, known, "random", known.states[0]) as controller:
        controller.report(1, 0.5, known.states[1])
        for ask in (controller.good_enough, controller.status):
            with pytest.raises(ParameterError, match=r"^no rate bounds are told, and a certificate needs some; tell "):
                ask("30%")
        assert controller.status()["epochs"] == 1 and controller.alarms == ()


class Steady(Learner):
    """Always the first action: a learner of one's own."""

    def act(self, state: int) -> int:
        return int(self.knowledge.pair_action[self.knowledge.pair_start[state]])


def test_a_learner_of_one_s_own_is_given_again_when_the_file_is_opened(path):
    with Controller.create(path, KNOWN, Steady, ("up", 0)) as controller:
        drive(controller, Plant(MODEL, ("up", 0)), 5)
    with pytest.raises(ParameterError, match="not of the catalogue"):
        Controller.open(path)
    with Controller.open(path, learner=Steady) as controller:
        assert controller.status()["epochs"] == 5 and controller.verify()["answers_that_differ"] == 0


def test_what_was_learned_comes_with_intervals(controller):
    drive(controller, Plant(MODEL, ("up", 0)), 300)
    found = controller.estimate(0.9)
    low, middle, high = found.rate_of(("up", 0), "run")
    assert low < middle < high and low < 0.7 < high
    assert found.gain_bounds[0] <= sojourn.solve(MODEL).gain <= found.gain_bounds[1]


# ---- one owner -----------------------------------------------------------------------------------------------------


def test_a_second_owner_is_refused_in_the_same_process_and_the_first_goes_on(controller, path):
    with pytest.raises(ControlError, match="in this process already"):
        Controller.open(path)
    drive(controller, Plant(MODEL, ("up", 0)), 3)
    assert controller.status()["epochs"] == 3


def test_a_second_owner_in_another_process_is_refused_while_readers_may_look(controller, path):
    drive(controller, Plant(MODEL, ("up", 0)), 3)
    code = f"from sojourn.control.controller import Controller; Controller.open({path!r})"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "owned by another process" in there.stderr
    with Controller.open(path, write=False) as reader:
        assert reader.status()["epochs"] == 3 and "process" in reader.status()["owner"]
        with pytest.raises(ControlError, match="look only"):
            reader.report(4, 1.0, ("up", 0))
    drive(controller, Plant(MODEL, controller.status()["state"]), 3)
    assert controller.status()["epochs"] == 6


def test_an_owner_that_was_superseded_can_write_no_more(controller, path):
    """Should the lock fail (a file system without locks), the token in the file still keeps the old owner out."""
    other = sqlite3.connect(path)
    value = '{"token": 99, "who": "another"}'
    from sojourn.control.database import checksum

    other.execute("UPDATE meta SET value = ?, checksum = ? WHERE key = 'owner'", (value, checksum("owner", value)))
    other.commit()
    other.close()
    with pytest.raises(ControlError, match="another owner now"):
        controller.report(1, 0.5, ("up", 1))


# ---- errors --------------------------------------------------------------------------------------------------------


def test_after_a_failed_commit_everything_is_read_from_the_file_again(controller, monkeypatch):
    drive(controller, Plant(MODEL, ("up", 0)), 5)
    before = counted(controller)
    journal = controller._journal
    full = ControlError("database or disk is full")

    def append(*_: object) -> None:
        raise full

    monkeypatch.setattr(journal, "append", append)
    state = controller.status()["state"]
    tau, arrived = Plant(MODEL, state).step(controller.action)
    with pytest.raises(ControlError, match="full"):
        controller.report(6, tau, arrived)
    assert counted(controller) == before and controller._journal is not journal
    controller.report(6, tau, arrived)
    assert controller.status()["epochs"] == 6


def test_a_damaged_snapshot_is_passed_over_and_verify_says_so(controller, path):
    drive(controller, Plant(MODEL, ("up", 0)), 5)
    before = counted(controller)
    controller.close()
    other = sqlite3.connect(path)
    other.execute("UPDATE snapshots SET payload = x'00'")
    other.commit()
    other.close()
    with Controller.open(path) as again:
        assert counted(again) == before
        with pytest.raises(ControlError, match="snapshot"):
            again.verify()
        assert again.replay()["answers_that_differ"] == 0
        again.verify()


@pytest.mark.parametrize("statement", [
    "UPDATE reports SET holding_time = holding_time + 1e-9 WHERE seq = 3", "DELETE FROM reports WHERE seq = 3",
    "DELETE FROM reports WHERE seq = 9", "UPDATE reports SET next_state = '[\"down\",0]' WHERE seq = 9",
    "UPDATE reports SET answer = '\"rush\"' WHERE seq = 4", "DELETE FROM notes", "UPDATE notes SET after_seq = 4",
    "UPDATE meta SET value = value || x'00' WHERE key = 'setting'", "UPDATE reports SET event = '1' WHERE seq = 2",
])
def test_a_row_that_was_changed_is_found(controller, path, statement):
    drive(controller, Plant(MODEL, ("up", 0)), 5)
    controller.missed(("up", 0))
    drive(controller, Plant(MODEL, ("up", 0), seed=2), 4)
    controller.close()
    other = sqlite3.connect(path)
    other.execute(statement)
    other.commit()
    other.close()
    with pytest.raises(ControlError, match="damaged"), Controller.open(path) as again:
        again.verify()


def test_a_file_that_is_no_controller_is_left_alone(tmp_path):
    for name, content in (("text", b"hello"), ("empty", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ControlError):
            Controller.open(tmp_path / name)
        assert (tmp_path / name).read_bytes() == content
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE t (a)")
    other.close()
    with pytest.raises(ControlError, match="not that of a controller"):
        Controller.open(tmp_path / "other")
    with pytest.raises(ControlError, match="there is no controller"):
        Controller.open(tmp_path / "nothing")


def test_a_controller_does_not_go_on_with_another_file_that_took_its_place(tmp_path):
    mine, other, older = (tmp_path / name for name in ("mine", "other", "older"))
    controller = Controller.create(mine, KNOWN, start=("up", 0), **UCRL)
    controller.report(1, 1.0, ("down", 0))
    with Controller.create(other, KNOWN, start=("up", 0), **UCRL) as second:
        second.report(1, 9.0, ("down", 0))
    Controller.create(older, KNOWN, start=("up", 0), **UCRL).close()
    os.rename(mine, tmp_path / "kept")
    for beside in ("-wal", "-shm"):
        os.rename(f"{mine}{beside}", f"{tmp_path / 'kept'}{beside}")
    for intruder in (other, older):
        shutil.copy(intruder, mine)
        for _ in range(2):
            with pytest.raises(ControlError, match=r"moved or removed|not the file that was open"):
                controller.report(2, 1.0, ("up", 0))
        for file in tmp_path.glob("mine*"):
            file.unlink()
    os.rename(tmp_path / "kept", mine)
    for file in tmp_path.glob("kept-*"):
        os.rename(file, tmp_path / file.name.replace("kept", "mine"))
    controller.report(2, 1.0, ("up", 0))
    assert (controller.status()["next_seq"], controller.status()["time"]) == (3, 2.0)
    controller.close()


def test_a_file_of_the_first_format_is_migrated_and_its_old_content_kept(tmp_path):
    """tests/data/control/format-1.control was written by the release that had no silent events: 41 reports and a note."""
    path = tmp_path / "plant.control"
    shutil.copy(Path(__file__).parents[1] / "data" / "control" / "format-1.control", path)
    with pytest.raises(ControlError, match="older format 1"):
        Controller.open(path, write=False)
    with Controller.open(path) as again:
        assert again.verify() == {"reports": 41, "notes": 1, "answers_that_differ": 0, "chain": "853175be039dd3f01d1fc85501242fdd"}
        last = list(again.observations())[-1]
        assert (last.reward, last.event, last.silent) == (-1.5, "call", None)
        assert (again.status()["epochs"], again.status()["time"]) == (41, 38.83655652039524)
        drive(again, Plant(MODEL, again.status()["state"]), 5)
        again.verify()
    kept = Path(f"{path}.format-1")
    assert sqlite3.connect(kept).execute("SELECT count(*) FROM reports").fetchone() == (41,)
    assert sqlite3.connect(kept).execute("PRAGMA user_version").fetchone() == (1,)
    assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone() == (2,)


def test_a_file_of_a_newer_format_is_refused(controller, path, monkeypatch):
    from sojourn.control import schema

    controller.close()
    monkeypatch.setattr(schema, "FORMAT", 1)
    with pytest.raises(ControlError, match="newer Sojourn"):
        Controller.open(path)


# ---- what plants may say -------------------------------------------------------------------------------------------


def test_a_reward_of_minus_zero_does_not_make_the_chain_look_damaged(controller):
    """SQLite holds -0.0 as 0.0; the chain is over what is read back."""
    controller.report(1, 0.5, ("up", 1), reward=-0.0)
    assert controller.report(1, 0.5, ("up", 1), reward=0.0) == controller.action
    assert controller.verify()["reports"] == 1


@pytest.mark.parametrize("wrong", [{"holding_time": 1e308}, {"reward": -1e300}, {"event": "\ud800"}, {"next_state": "\ud800"},
                                   {"next_state": [1]}, {"seq": 10**30}, {"silent": {"x": 1.5}}])
def test_what_no_file_or_sum_can_hold_is_refused(path, wrong):
    with Controller.create(path, KNOWN, start=("up", 0), safe_action="run", **UCRL) as controller:
        with pytest.raises(ReportError):
            controller.report(**{"seq": 1, "holding_time": 0.5, "next_state": ("up", 1), **wrong})
        assert controller.verify()["reports"] == 0


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_file_removed_under_its_owner_is_noticed_before_anything_is_acknowledged(controller, path, suffix):
    controller.report(1, 0.5, ("up", 1))
    Path(f"{path}{suffix}").rename(f"{path}.away")
    with pytest.raises(ControlError, match="moved or removed"):
        controller.report(2, 0.5, ("up", 0))


def test_a_relative_path_means_the_same_file_after_the_process_has_moved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Controller.create("plant.control", KNOWN, start=("up", 0), **UCRL) as controller:
        controller.report(1, 0.5, ("up", 1))
        monkeypatch.chdir("/")
        controller._drop()  # as after a failed commit
        assert controller.status()["epochs"] == 1


def test_a_clock_that_goes_backward_changes_nothing_but_the_times_written_down(controller, monkeypatch):
    import time

    controller.report(1, 0.5, ("up", 1))
    monkeypatch.setattr(time, "time", lambda: -5.0)
    controller.report(2, 0.5, ("up", 0), action="service")
    assert [o.at < 0 for o in controller.observations()] == [False, True] and controller.verify()["reports"] == 2


@pytest.mark.parametrize("states", [("null", "None"), ("true", "false"), (True, False), ((1, (2, None)), (1, (2, 0))), (10**30, -1),
                                    (0.5, -0.0)])
def test_states_of_every_kind_come_back_as_they_were(path, states):
    known = sojourn.Knowledge.from_choices({state: {"go": 1.0, "wait": 0.5} for state in states}, (0.01, 100))
    Controller.create(path, known, "ct-ce", states[0]).close()
    for seq in range(1, 4):
        with Controller.open(path) as controller:
            controller.report(seq, 0.5, states[seq % 2])
    with Controller.open(path) as controller:
        controller.verify()
        found = [o.next_state for o in controller.observations()]
        assert found == [states[1], states[0], states[1]] and [type(s) for s in found] == [type(states[i]) for i in (1, 0, 1)]

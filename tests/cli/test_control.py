"""`sojourn control`: from creating to verifying, in words and as JSON."""

import io
import json
import sys

import pytest

from command_line import run


@pytest.fixture
def path(tmp_path):
    made = run("control", "create", tmp_path / "c", "three-state", "--start", "A", "--learner", "ct-ucrl", "--param", "delta=0.01",
               "--safe-action", "slow", "--forbid", "A", "quick")
    assert (made.code, made.err) == (0, "") and "take action slow in state A" in made.out
    return tmp_path / "c"


def test_reports_are_answered_with_the_next_action_and_the_status_counts_them(path):
    assert run("control", "report", path, 1, 0.4, "C").out.strip() in ("slow", "quick")
    assert json.loads(run("control", "report", path, 1, 0.4, "C", "--json").out)["seq"] == 1
    said = json.loads(run("control", "status", path, "--json").out)
    assert (said["epochs"], said["next_seq"], said["state"]) == (1, 2, "C")
    assert "1 decisions in 0.4" in run("control", "status", path).out and said["parameters"] == {"delta": 0.01}
    assert "ct-ucrl (delta = 0.01): its advice" in run("control", "status", path).out


def test_reports_come_as_lines_and_a_refused_one_does_not_end_them(path, monkeypatch):
    lines = ['{"seq": 1, "holding_time": 0.5, "next_state": "C"}', '{"seq": 3, "holding_time": 1, "next_state": "A"}', "[]", "{",
             '{"seq": 2, "holding_time": 0.5, "next_state": "A", "unknown": 1}',
             '{"seq": 2, "holding_time": 0.5, "next_state": "fire"}']
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
    said = [json.loads(line) for line in run("control", "report", path, "--lines").out.splitlines()]
    assert said[0]["seq"] == 1 and said[5] == {"seq": 2, "action": "slow"}
    assert all("error" in line for line in said[1:5]) and "number 2" in said[1]["error"]
    assert "unknown state" in run("control", "status", path).out


def test_verify_and_replay_say_that_all_is_sound(path):
    run("control", "report", path, 1, 0.4, "C")
    assert "is sound: 1 reports" in run("control", "verify", path).out
    assert json.loads(run("control", "verify", path, "--json").out)["answers_that_differ"] == 0
    assert "folded 1 reports" in run("control", "replay", path).out
    assert json.loads(run("control", "replay", path, "--json").out)["reports"] == 1


def test_what_is_wrong_is_said_in_one_line(path, tmp_path):
    for words in (("create", path, "three-state", "--start", "A"), ("status", tmp_path / "none"), ("verify", tmp_path),
                  ("report", path, 7, 1, "A"), ("report", path, 1, 0, "A")):
        ran = run("control", *words)
        assert ran.code == 1 and ran.err.startswith("error: ") and ran.err.count("\n") == 1
    assert run("control", "report", path).code == 2


def test_a_learner_of_events_is_told_them_and_hears_of_silent_ones(tmp_path):
    made = run("control", "create", tmp_path / "q", "service-rate:capacity=4", "--start", "4", "--learner", "events-ce", "--events",
               "--max-late", 2)
    assert (made.code, made.err) == (0, "")
    assert run("control", "report", tmp_path / "q", 1, 0.4, "3", "--silent", "arrive", 2).code == 0
    assert run("control", "report", tmp_path / "q", 2, 0.4, "4").code == 0
    assert run("control", "report", tmp_path / "q", 3, 0.4, "3").code == 0  # none seen
    said = json.loads(run("control", "status", tmp_path / "q", "--json").out)
    assert (said["epochs"], said["silent_events"], said["plan_due"]) == (3, ["arrive"], said["plan_due"])
    assert "is sound: 3 reports" in run("control", "verify", tmp_path / "q").out

"""`sojourn control`: from creating to verifying, in words and as JSON."""

import io
import json
import shutil
import sys

import pytest

from command_line import run
from sojourn.cli.common import plain
from sojourn.control.controller import Controller
from sojourn.learn.ct_ce import CTCE
from sojourn.zoo.catalogue import make


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


def test_a_learner_of_events_without_events_is_refused_with_the_option(tmp_path):
    ran = run("control", "create", tmp_path / "q", "service-rate:capacity=4", "--start", "4", "--learner", "events-psrl")
    assert ran.code == 1 and "add --events" in ran.err and not (tmp_path / "q").exists()


def test_a_missed_event_is_said_and_the_state_may_be_given_as_it_is_shown(tmp_path):
    path = tmp_path / "m"
    run("control", "create", path, "machine-repair:machines=2", "--start", "0 down", "--learner", "ct-ce")
    assert "; the next report is number 1" in run("control", "missed", path).out
    said = json.loads(run("control", "missed", path, "1 down", "--json").out)
    assert said["next_seq"] == 1 and said["action"] is not None
    assert run("control", "missed", path, "9 down").code == 1

    from sojourn.control.controller import Controller

    with Controller.open(path, write=False) as controller:
        assert controller.status()["state"] == controller._fold.told.states[1]  # the model's own name of it
        assert controller.alarms[-1].kind == "missed" and controller._fold.away is None


def test_what_was_learned_is_said_in_words_and_as_json(path):
    for seq in range(1, 7):
        run("control", "report", path, seq, 0.4, "C" if seq % 2 else "A")
    ran = run("control", "estimate", path, "--confidence", 0.9)
    assert ran.code == 0 and "6 decisions were counted" in ran.out and "0.9 interval" in ran.out and "o be tried" in ran.out
    said = json.loads(run("control", "estimate", path, "--json").out)
    assert said["confidence"] == 0.95 and sum(choice["visits"] for choice in said["choices"]) == 6
    assert said["gain_bounds"][0] <= said["gain"] <= said["gain_bounds"][1]
    assert run("control", "estimate", path, "--confidence", 2).code == 1


def test_what_a_learner_of_events_learned_is_said_per_event(tmp_path):
    run("control", "create", tmp_path / "q", "service-rate:capacity=4", "--start", "4", "--learner", "events-ce", "--events")
    run("control", "report", tmp_path / "q", 1, 0.4, "3", "--silent", "arrive", 2)
    assert "exposure" in run("control", "estimate", tmp_path / "q").out
    said = json.loads(run("control", "estimate", tmp_path / "q", "--json").out)
    assert {event["event"] for event in said["events"]} >= {"arrive"}


def test_a_log_of_the_past_is_imported(path, tmp_path):
    (tmp_path / "log.csv").write_text("from,action,holding_time,next_state\nA,slow,0.5,C\nB,slow,0.5,C\nB,slow,0.5,C\n")
    refused = run("control", "import", path, tmp_path / "log.csv")
    assert refused.code == 1 and "--column THEIRS=OURS" in refused.err
    refused = run("control", "import", path, tmp_path / "log.csv", "--column", "from=state")
    assert refused.code == 1 and "--not-contiguous" in refused.err
    ran = run("control", "import", path, tmp_path / "log.csv", "--column", "from=state", "--not-contiguous", "--json")
    assert json.loads(ran.out)["imported"] == 3
    assert json.loads(run("control", "status", path, "--json").out)["imported"] == 3


def test_a_backup_is_made_and_a_lost_log_is_accepted(path, tmp_path):
    run("control", "report", path, 1, 0.4, "C")
    assert ": 1 reports, 0 notes, chain" in run("control", "backup", path, tmp_path / "kept").out
    assert "exists already" in run("control", "backup", path, tmp_path / "kept", "--json").err
    assert json.loads(run("control", "backup", path, tmp_path / "more", "--json").out)["reports"] == 1
    assert "nothing is lost; the next report is number 2" in run("control", "accept-loss", path).out

    from sojourn.control.controller import Controller

    with Controller.open(path):
        shutil.copy(path, tmp_path / "copy")
    refused = run("control", "status", tmp_path / "copy")
    assert refused.code == 1 and "sojourn control accept-loss PATH" in refused.err and "sojourn control backup" in refused.err
    said = json.loads(run("control", "accept-loss", tmp_path / "copy", "--json").out)
    assert said["next_seq"] == 2 and "copy-wal" in said["lost"]
    assert "lost log" in run("control", "status", tmp_path / "copy").out
    assert "nothing is lost" in run("control", "accept-loss", tmp_path / "copy").out


def test_errors_are_in_the_words_of_the_command_line(path):
    assert plain({"alarm": "look at the alarms before this one, and at `estimate()`."})["alarm"].endswith("estimate PATH`.")
    assert "sojourn control missed PATH" in run("control", "report", path, 7, 1, "A").err
    run("control", "report", path, 1, 0.4, "C")
    assert "Ask `sojourn control status PATH`" in run("control", "report", path, 1, 0.5, "C").err
    assert "`sojourn control report PATH` goes on with it" in run("control", "create", path, "three-state", "--start", "A").err


@pytest.mark.parametrize("line", [
    b"[" * 100_000 + b"]" * 100_000, b'{"seq": 1, "holding_time": 0.5, "next_state": ' + b"[" * 400 + b"]" * 400 + b"}",
    b'{"missed": ' + b"[" * 900 + b"]" * 900 + b"}", b"\xff\xfe", b"1" * 10_000, b"x" * 3_000_000, b'{"seq": ' + b"1" * 5000 + b"}",
    b'{"seq": 1, "holding_time": 1e999, "next_state": "C"}'], ids=range(8))
def test_a_line_that_nothing_can_read_is_refused_in_words_and_the_next_one_is_answered(path, line, monkeypatch):
    source = io.TextIOWrapper(io.BytesIO(line + b'\n{"seq": 1, "holding_time": 0.5, "next_state": "C"}\n'))
    monkeypatch.setattr(sys, "stdin", source)
    said = [json.loads(line) for line in run("control", "report", path, "--lines").out.splitlines()]
    assert len(said) == 2 and len(said[0]["error"]) < 1000 and said[1]["seq"] == 1


@pytest.mark.parametrize(("line", "words"), [
    (b"{}", "the line has no seq; give one JSON object"), (b'{"seq": 1}', "the line has no holding_time"),
    (b'{"seq": 1, "holding_time": 1}', "the line has no next_state"),
    (b'{"seq": 1, "holding_time": 1, "next_state": null}', "the line has no next_state"),
    (b'{"seq": 1, "holding_time": 1, "next_state": "C", "holding_time": 60}', "the line has the key 'holding_time' twice"),
    (b'{"seq": 1, "holding_time": 1, "next_state": "C", "silent": {"a": 1, "a": 2}}', "the line has the key 'a' twice"),
    (b'{"seq": 1, "t": 1}', "a report has the key 't'; its keys may be"),
    (b'{"seq": 1' + b"1" * 5000 + b"}", "the line is no JSON (a number has too many digits); give one JSON object"),
    (b"soon", "the line is no JSON (Expecting value); give one JSON object"), (b"\xff", "the line is not UTF-8; give one JSON"),
    (b"[]", "the line is []; give one JSON object"),
])
def test_a_line_is_refused_in_words_of_json_and_not_of_python(path, line, words, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line + b"\n")))
    (said,) = [json.loads(line)["error"] for line in run("control", "report", path, "--lines").out.splitlines()]
    assert words in said and "Nothing was counted." in said and "report(" not in said and "sys." not in said
    assert "None" not in said and "next report 1" in run("control", "status", path).out


def test_an_event_that_nobody_knows_is_named_by_how_it_was_said(tmp_path):
    path = tmp_path / "queue.control"
    run("control", "create", path, "service-rate:capacity=4", "--start", "0", "--learner", "events-psrl", "--events")
    event = run("control", "report", path, 1, 0.5, "1", "--event", "leave").err
    silent = run("control", "report", path, 1, 0.5, "1", "--silent", "leave", 1).err
    assert "event is 'leave': no event named 'leave'" in event and "speed 1.8. Nothing was counted." in event
    assert "silent names 'leave': no event named 'leave'" in silent and "speed 1.8. Nothing was counted." in silent


@pytest.mark.parametrize(("arguments", "words"), [
    (("create", "new", "three-state", "--start", "A", "--learner", "oracle"), "choose another learner (`sojourn learners`)"),
    (("create", "new", "three-state", "--start", "A", "--safe-action", "no"), "--safe-action is 'no': no action named 'no'"),
    (("create", "new", "three-state", "--start", "A", "--safe-action", "slow", "--forbid", "A", "slow", "--forbid", "B", "slow",
      "--forbid", "C", "slow"), "--safe-action is 'slow', which is forbidden everywhere"),
    (("create", "new", "three-state", "--start", "A", "--learner", "fixed", "--param", "policy=1"), "an action per state"),
    (("import", "known", "LOG"), "or use a model that has these choices"),
    (("import", "known", "LOG", "--column", "theirs=ours"), "--column renames 'theirs'"),
])
def test_controllers_advise_options(path, tmp_path, arguments, words):
    log = tmp_path / "log.csv"
    log.write_text("state,action,holding_time,next_state\n0,speed 1.2,1,1\n", encoding="utf-8")
    run("control", "create", tmp_path / "known", "service-rate:capacity=4", "--start", "0", "--learner", "ct-ce")
    places = {"new": tmp_path / "new", "known": tmp_path / "known", "LOG": log}
    said = run("control", *(places.get(part, part) for part in arguments))
    assert said.code == 1 and words in said.err and "knowledge" not in said.err and "()" not in said.err


def test_an_import_has_the_option_that_its_refusal_names(path, tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    log = tmp_path / "log.parquet"
    parquet.write_table(pyarrow.table({"state": ["A"], "action": ["slow"], "holding_time": [1.0], "next_state": ["B"]}), log)
    refused = run("control", "import", path, log, "--max-bytes", 8)
    assert refused.code == 1 and "raise the limit: --max-bytes BYTES" in refused.err
    assert run("control", "import", path, log, "--max-bytes", 10_000).out.startswith("1 sojourn was counted")


def test_an_import_that_contradicts_the_rate_bounds_says_so_at_once(path, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("state,action,holding_time,next_state\n" + "A,slow,1e9,B\nB,slow,1e9,A\n" * 20, encoding="utf-8")
    said = run("control", "import", path, log).out
    assert said.startswith("40 sojourns were counted; ") and "alarm: the holding times are too long for the rate bounds" in said
    assert len(json.loads(run("control", "import", path, log, "--json").out)["alarms"]) == 0  # each choice raises its alarm once


def test_a_controller_with_a_learner_of_its_own_can_be_copied_though_no_command_can_open_it(tmp_path):
    class Mine(CTCE):
        """One that no catalogue knows."""

    path = tmp_path / "plant.control"
    with Controller.create(path, make("three-state").knowledge(), Mine, "A") as controller:
        controller.report(1, 0.5, "B")
        said = run("control", "backup", path, tmp_path / "copy")
        assert said.code == 0 and "1 reports" in said.out, said.err
    assert run("control", "status", path).code == 1
    with Controller.open(tmp_path / "copy", learner=Mine) as copy:
        assert copy.verify()["reports"] == 1


def test_the_help_says_what_a_line_is_and_shows_no_bounds_that_there_are_not():
    said = " ".join(run("control", "report", "--help").out.split())
    assert '{"seq": 1, "holding_time": 0.5, "next_state": "up"}' in said and '{"missed": true}' in said and "None" not in said
    assert "silent:EVENT" in run("fit", "--help").out and "x<=None" not in run("fit", "--help").out


def test_a_holding_time_below_0_is_not_called_an_unknown_option_alone(path):
    said = run("control", "report", path, 1, "-0.5", "C")
    assert said.code == 2 and "A negative number that is no option stands behind ` -- `." in said.err
    assert "holding_time is -0.5; it must be positive" in run("control", "report", path, "--", 1, "-0.5", "C").err


def test_the_status_says_when_asked_whether_learning_could_stop(path):
    run("control", "report", path, 1, 0.4, "C")
    assert "ertified" not in run("control", "status", path).out and "good_enough" not in json.loads(
        run("control", "status", path, "--json").out)
    asked = run("control", "status", path, "--within", "5%", "--confidence", 0.9)
    assert asked.code == 0 and "Not certified after 1 decision: in some state no choice was tried yet." in asked.out
    said = json.loads(run("control", "status", path, "--within", "5%", "--json").out)["good_enough"]
    assert said["certified"] is False and said["decisions"] == 1 and said["policy"] is None
    assert "--within is '5 %%'" in run("control", "status", path, "--within", "5 %%").err


def test_the_status_names_the_policy_that_is_certified(tmp_path):
    made, log = tmp_path / "c", tmp_path / "log.csv"
    seen = "".join(f"{state},{action},0.4,{after}\n" for state, after in ("AB", "BC", "CA") for action in ("quick", "slow"))
    log.write_text("state,action,holding_time,next_state\n" + 50 * seen, encoding="utf-8")
    run("control", "create", made, "three-state", "--start", "A", "--learner", "random")
    assert "the policy:" not in run("control", "status", made, "--within", 1000).out
    assert run("control", "import", made, log, "--not-contiguous").code == 0
    said = run("control", "status", made, "--within", 1000).out
    assert "Certified after" in said and " in A, " in said.split("the policy: ")[1] and " in C" in said


def test_the_status_without_rate_bounds_names_the_option_that_tells_them(tmp_path):
    made = tmp_path / "untold"
    assert run("control", "create", made, "three-state", "--start", "A", "--learner", "random", "--no-rate-bounds").code == 0
    asked = run("control", "status", made, "--within", "5%")
    assert asked.code == 1 and asked.err.startswith(
        "error: no rate bounds are told, and a certificate needs some; --rate-bounds LO HI of `sojourn learn` or `sojourn control")
    assert run("control", "status", made).code == 0

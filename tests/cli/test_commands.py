"""The command line: solve, check, convert, zoo; one strict JSON object on stdout, one line of error on stderr."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sojourn
from command_line import run
from sojourn.cli.main import COMMANDS, main
from sojourn.model.ctmdp import CTMDP

HERE = ("solve", "check", "convert", "zoo")


def strict(text: str) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    assert text.count("\n") == 1, "exactly one line"
    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def saved(tmp_path: Path, golden_model) -> Path:
    golden_model("three_state").save(tmp_path / "three.json")
    return tmp_path / "three.json"


def test_solve_prints_gain_certificate_and_policy():
    ran = run("solve", "customer-selection:servers=5,classes=3")
    assert ran.code == 0 and ran.err == ""
    assert "gain " in ran.out and "<= gain <=" in ran.out and "policy-iteration" in ran.out
    assert "state" in ran.out and "5 free" in ran.out and "admit {1,2,3}" in ran.out


def test_solve_takes_a_model_that_is_solved_by_compiled_kernels():
    ran = run("solve", "service-rate:capacity=300")
    assert ran.code == 0 and "<= gain <=" in ran.out, ran.err


def test_solve_json_has_exactly_the_documented_keys_and_the_known_answer(saved, golden):
    ran = run("solve", saved, "--json")
    found = strict(ran.out)
    assert ran.err == ""
    assert list(found) == ["gain", "gain_bounds", "policy", "bias", "method", "iterations", "seconds"]
    known = golden("three_state")["constants"]
    assert found["gain"] == pytest.approx(known["rho"], abs=1e-9)
    assert found["gain_bounds"][0] <= known["rho"] <= found["gain_bounds"][1]
    assert found["policy"] == {"0": "0", "1": "0", "2": "1"}
    assert list(found["bias"].values()) == pytest.approx(known["h"], abs=1e-9)
    assert isinstance(found["iterations"], int) and found["seconds"] >= 0


def test_a_large_model_is_cut_on_the_terminal_and_whole_in_json():
    ran = run("solve", "admission:servers=3,capacity=100")
    assert len(ran.out.splitlines()) < 40 and "more states; `--json` prints them all" in ran.out
    assert len(strict(run("solve", "admission:servers=3,capacity=100", "--json").out)["policy"]) == 101


def test_check_says_yes_in_words_and_no_with_a_witness(tmp_path, golden_model, saved):
    good = run("check", saved)
    assert good.code == 0 and "irreducible under every policy: yes" in good.out
    golden_model("riverswim_unichain").save(tmp_path / "river.npz")
    bad = run("check", tmp_path / "river.npz")
    assert bad.code == 0 and "irreducible under every policy: NO" in bad.out
    verdicts = strict(run("check", tmp_path / "river.npz", "--json").out)
    assert verdicts["irreducible"]["holds"] is False and verdicts["communicating"]["holds"] is True
    witness = verdicts["irreducible"]["witness"]
    assert (
        set(witness["policy"]) == {str(i) for i in range(6)} and witness["states"] and witness["unreached"] not in witness["states"]
    )
    assert verdicts["communicating"]["witness"] is None


def test_convert_goes_round_through_both_formats(saved, tmp_path):
    assert run("convert", saved, tmp_path / "m.npz").code == 0
    assert run("convert", tmp_path / "m.npz", tmp_path / "back.json").out.startswith("wrote ")
    assert (tmp_path / "back.json").read_bytes() == saved.read_bytes()
    found = strict(run("convert", "two-state", tmp_path / "two.json", "--json").out)
    assert found["states"] == 2 and sojourn.load(tmp_path / "two.json").name == "two-state"


def test_zoo_lists_every_family_and_explains_one():
    from sojourn.zoo.catalogue import families

    listed = run("zoo").out
    assert all(name in listed for name in families())
    found = strict(run("zoo", "--json").out)["families"]
    assert [each["name"] for each in found] == families()
    assert all({"name", "summary", "gym_id", "parameters", "assumptions"} <= set(each) for each in found)
    assert "servers" in run("zoo", "customer-selection").out
    assert [each["name"] for each in strict(run("zoo", "random", "--json").out)["families"]] == ["random"]


def test_labels_are_printed_as_they_are(tmp_path):
    """Brackets are no markup, and what the terminal cannot show is escaped."""
    model = CTMDP.from_arrays([[[0, 1]], [[1, 0]]], [[1], [2]], [[1], [0]], states=["[red]a[/red]", "[/]"], actions=["é→"])
    model.save(tmp_path / "odd.json")
    assert "[red]a[/red]" in run("solve", tmp_path / "odd.json").out
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "NO_COLOR": "1"}
    for more in ([], ["--json"]):
        ran = subprocess.run(
            [sys.executable, "-m", "sojourn", "solve", str(tmp_path / "odd.json"), *more], env=env, capture_output=True, check=True
        )
        assert b"\x1b" not in ran.stdout and b"Traceback" not in ran.stderr
    assert json.loads(ran.stdout)["policy"] == {"[red]a[/red]": "é→", "[/]": "é→"}


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["solve", "nowhere.json"], "'nowhere.json': No such file"),
        (["solve", "costumer-selection"], "did you mean 'customer-selection'"),
        (["solve", "admission:servers=0"], "servers is 0"),
        (["solve", "admission:servers=x"], "'x'"),
        (["solve", "admission:servers"], "key=value"),
        (["solve", "admission:servers=1,servers=2"], "twice"),
        (["solve", "admission:server=2"], "did you mean 'servers'"),
        (["solve", "admission:self=2"], "'self'"),
        (["solve", "admission:name=2"], "'name'"),
        (["solve", "admission:servers=NaN"], "NaN"),
        (["solve", "admission:servers=1e400"], "inf"),
        (["solve", "admission:servers=" + "9" * 5000], "servers is"),
        (["solve", "admission:servers=[[[["], "[[[["),
        (["solve", "admission:servers=" + "[" * 100_000], "servers is"),
        (["solve", "two-state", "--method", "policyiteration"], "did you mean 'policy-iteration'"),
        (["solve", "two-state", "--tolerance", "nan"], "nan"),
        (["solve", "two-state", "--tolerance", "-1"], "-1"),
        (["zoo", "riverswimm"], "did you mean"),
        (["convert", "two-state", "x.pkl"], "'.pkl'"),
        (["convert", "two-state", "/no/such/x.json"], "No such"),
        (["check", "/"], "'/' is a folder"),
        (["check", ""], "''"),
        (["solve", "a" * 5000], "zoo model"),
        (["solve", "a" * 5000 + ".json"], "too long"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_exit_code_1(arguments, shown):
    ran = run(*arguments)
    assert ran.code == 1 and ran.out == ""
    assert ran.err.startswith("error: ") and ran.err.count("\n") == 1 and shown in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["solve"],
        ["frobnicate"],
        ["solve", "two-state", "extra"],
        ["solve", "--jsno", "two-state"],
        ["solve", "two-state", "--tolerance", "tiny"],
        ["convert", "two-state"],
        ["--frob"],
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments):
    ran = run(*arguments)
    assert ran.code == 2 and ran.out == "" and ran.err.count("\n") == 1 and "--help" in ran.err


def test_a_closed_stdout_is_no_reason_for_a_traceback(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["sojourn", "check", "two-state", "--json"])
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0


def test_help_lists_the_commands_and_every_command_has_help():
    assert all(name in run("--help").out for name in COMMANDS)
    for name in HERE:
        ran = run(name, "--help")
        assert ran.code == 0 and "--json" in ran.out
    assert sojourn.__version__ in run("--version").out


JUNK = [
    b"",
    b"\0",
    b"\0" * 10_000,
    b"{",
    b"{}",
    b"[]",
    b"null",
    b"1",
    b'"x"',
    b"\xff\xfe",
    b"PK\x03\x04",
    b"PK\x05\x06" + b"\0" * 18,
    b"[" * 200_000,
    b'{"format":' * 50_000,
    b"\x93NUMPY",
    b"\x1f\x8b",
    bytes(range(256)) * 4,
    b"NaN",
    b"1e400",
    b'{"format": "sojourn/ctmdp", "version": 1}',
    b'{"format": "sojourn/ctmdp", "version": 1, "states": [[]], "choices": [{}]}',
]


@pytest.mark.parametrize("suffix", ["json", "npz", "drn", "txt", "", "JSON"])
def test_no_junk_file_causes_a_traceback(tmp_path, suffix):
    for i, junk in enumerate(JUNK):
        path = tmp_path / (f"{i}.{suffix}" if suffix else f"file{i}")
        path.write_bytes(junk)
        for command in (["solve", path], ["check", path, "--json"], ["convert", path, tmp_path / "out.json"]):
            ran = run(*command)
            assert ran.code == 1 and ran.out == "" and ran.err.count("\n") == 1, (junk[:20], ran)
    assert not (tmp_path / "out.json").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(saved):
    saved.chmod(0)
    assert "Permission denied" in run("solve", saved).err


def test_a_closed_pipe_is_no_traceback():
    code = f"{sys.executable} -m sojourn zoo --json | head -c 10"
    ran = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.startswith('{"famil') and "Traceback" not in ran.stderr


def test_narrow_terminals_get_whole_lines(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    learned = run("learn", "three-state", "--learner", "random", "--epochs", "3000").out
    assert "decisions  pseudo-regret    regret     time  reward\n" in learned and "adjusted" not in learned
    assert "               uniformly fast learner" in learned and "random, 1 episode\n" in learned
    explained = run("zoo", "customer-selection").out.split("\n\n")[1]
    assert all(len(line) > 40 for line in explained.split("\n")[:-1])  # folded once, not twice
    assert "-0 " not in run("show", "admission:servers=3,capacity=10").out


def test_a_number_of_decisions_is_refused_by_the_name_of_its_option():
    assert "--epochs is -5; it must be a whole number" in run("learn", "three-state", "--epochs", "-5").err


def test_difficulty_with_epochs_gives_the_bounds_at_so_many_decisions():
    plain = strict(run("difficulty", "three-state", "--json").out)
    found = strict(run("difficulty", "three-state", "--epochs", "1e4", "--json").out)
    at = found.pop("at_epochs")
    assert found == plain and at["epochs"] == 1e4
    assert 0 < at["bound_at_low"] <= at["bound_at"] < at["lower_bound"] == pytest.approx(at["payable_bound"], rel=1e-14)
    assert 0.7 * at["bound_at"] < at["bound_proved"] < at["bound_at"]
    assert {a["regime"] for a in at["alternatives"]} <= {"slow in A", "slow in B", "quick in C"} and at["alternatives"]
    text = run("difficulty", "three-state", "--epochs", "1e4").out
    assert f"{at['bound_at']:.9g}" in text and "dearest to rule out" in text
    assert f"{at['bound_proved']:.9g}" in text and "no constant left out" in text
    refused = run("difficulty", "three-state", "--epochs", "0")
    assert refused.code and "--epochs is 0.0; it must be a whole number of decisions, at least 1" in refused.err


@pytest.mark.parametrize("arguments, words", [
    (("three-state", "--plot", "no-such-folder/card.png"), "into 'no-such-folder', a folder that does not exist; make it first"),
    (("customer-selection:pay=transition", "--bernoulli"), "Take the rewards as known (without --bernoulli)"),
    (("three-state", "--epochs", "1.5"), "--epochs is 1.5; it must be a whole number of decisions, at least 1"),
    (("three-state", "--epochs", "nan"), "--epochs is nan; it must be a whole number of decisions, at least 1"),
    (("three-state", "--rate-bounds", "1", "nan"), "rate_bounds[1] is nan; it must be finite. Give an ordinary number"),
    (("three-state", "--rate-bounds", "0", "9"), "must be positive (assume-rate). Give the least rate that may occur"),
    (("three-state", "--rate-bounds", "-1", "3"), "must be positive (assume-rate). Give the least rate that may occur"),
])
def test_difficulty_says_what_to_do_about_bad_input(arguments, words):
    ran = run("difficulty", *arguments)
    assert ran.code == 1 and ran.out == "" and words in ran.err


def test_show_names_a_folder_that_is_missing():
    assert "into 'no-such-folder', a folder that does not exist" in run("show", "two-state", "--plot", "no-such-folder/m.png").err


@pytest.mark.parametrize("arguments", [
    ("solve", "two-state", "--tolerance", "1_0"), ("difficulty", "two-state", "--rate-bounds", "0.1", "1_0"),
    ("learn", "two-state", "--epochs", "1_000"), ("learn", "two-state", "--seed", "\u0663"),
    ("learn", "two-state", "--time", "\uff11"),
    ("fit", "log.csv", "--confidence", "0.9_5"), ("control", "report", "none", "1", "1_5", "up"),
    ("control", "report", "none", "1_0", "1.5", "up"), ("control", "report", "none", "1", "1.5", "up", "--silent", "arrive", "1_0"),
])
def test_a_number_on_the_command_line_is_written_in_decimal_digits(arguments):
    ran = run(*arguments)
    assert ran.code == 2 and "is not a" in ran.err and "number; write it as 12" in ran.err


def test_a_start_that_looks_like_a_number_and_is_none_is_refused_in_words():
    for start in ("--start=--5", "--start=\u00b2"):
        ran = run("learn", "two-state", "--epochs", 10, start)
        assert ran.code == 1 and "Traceback" not in ran.err and "no state named" in ran.err

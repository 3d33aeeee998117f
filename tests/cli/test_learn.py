"""`sojourn learn`: the regret as words, as one JSON object, as a picture; bad input is one line."""

import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from command_line import run as command
from sojourn.instance.difficulty import difficulty
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import make

run = partial(command, "learn")


def test_json_has_the_promised_keys_and_is_what_simulate_says():
    ran = run("two-state", "--learner", "ct-ucrl", "--epochs", "1e4", "--delta", 0.01, "--seed", 3, "--json")
    found = json.loads(ran.out)
    assert ran.code == 0 and ran.out.count("\n") == 1
    keys = ["learner", "epochs", "time", "reward", "regret", "completed_regret", "adjusted_regret", "pseudo_regret", "episodes",
            "decisions_per_second", "checkpoints"]
    assert set(keys) <= set(found) and found["epochs"] == 10_000 and found["learner"] == "ct-ucrl"
    assert "warning: the largest reward is 12" in ran.err
    model = make("two-state")
    with pytest.warns(UserWarning, match="largest reward"):
        learner = CTUCRL(model.knowledge(), delta=0.01, seed=3)
    expected = simulate(model, learner, max_epochs=10_000, seed=3)
    assert found["regret"] == expected.regret[-1] and len(found["checkpoints"]) == len(expected.epochs)
    assert [p["pseudo_regret"] for p in found["checkpoints"]] == expected.pseudo_regret.tolist()


def test_rewards_are_scaled_only_if_asked_for():
    plain = run("two-state", "--learner", "ct-ucrl", "--epochs", 1000)
    assert plain.code == 0 and "warning: the largest reward is 12" in plain.err and "reward_range" not in plain.out
    scaled = run("two-state", "--learner", "ct-ucrl", "--epochs", 1000, "--reward-range", "auto")
    assert scaled.code == 0 and "warning" not in scaled.err and "reward_range = auto" in scaled.out and "episodes" in scaled.out


def test_the_result_says_which_parameters_were_used():
    ran = run("two-state", "--learner", "ct-ucrl", "--epochs", 100)
    assert "parameters     delta = 0.01, radius_scale = 1.0, stop = printed" in ran.out
    told = json.loads(run("two-state", "--learner", "ct-kl-ucrl", "--horizon", 500, "--epochs", 100, "--json").out)
    assert told["parameters"] == {"delta": 0.002, "horizon": 500.0, "radius_scale": 1.0, "growth": 0.1,
                                  "planning": "real-time"}


def test_a_learner_whose_sets_rule_out_nothing_yet_says_so_and_what_makes_them_smaller():
    wide = run("maintenance", "--learner", "ct-ucrl", "--epochs", 1000)
    assert "still open     the rates of 12 of 12 choices" in wide.out and "--param radius_scale=0.05" in wide.out
    for options in (("--learner", "ct-ucrl", "--param", "radius_scale=0.05"), ("--learner", "default"), ("--learner", "random")):
        assert "still open" not in run("maintenance", "--epochs", 1000, *options).out


@pytest.mark.parametrize("name, model, mended, before", [
    ("ct-ucrl", "maintenance", "radius_scale=0.05", None), ("ct-ucrl-doubling", "maintenance", "radius_scale=0.05", None),
    ("ct-ucrl-unknown-rates", "maintenance", None, "radius_scale=1"), ("smart", "call-centre", None, "exploration=0.1"),
    ("optimistic-q", "hospital-beds", None, "bonus=0.02")])
def test_a_learner_beats_playing_at_random_by_its_default_or_by_what_its_page_names(name, model, mended, before):
    """Seeds are fixed: one run each.  The whole of it, over all models, is benchmarks/beats_random.py."""
    def lost(name, given=None):
        options = [] if given is None else ["--param", given]
        return json.loads(run(model, "--learner", name, "--epochs", 2e5, "--json", *options).out)["pseudo_regret"]

    assert lost(name, mended) < 0.9 * lost("random") < lost("random") < lost(name, before)


@pytest.mark.parametrize("scale, rates", [("'auto'", "0"), ("(1.0, 2.0)", "0"), ("1.0", "[[0, 1]]"), ("1.0", "None")])
def test_a_learner_of_ones_own_with_other_ideas_of_a_radius_is_reported(tmp_path, monkeypatch, scale, rates):
    (tmp_path / "own.py").write_text(
        "from sojourn import Learner, Plan\n"
        "class Own(Learner):\n"
        f"    def __init__(self, knowledge, radius_scale={scale}, seed=0):\n"
        "        super().__init__(knowledge, seed)\n"
        "        self.radius_scale = radius_scale\n"
        "    def plan(self):\n"
        "        return Plan(self.knowledge.pair_action[self.knowledge.pair_start[:-1]])\n"
        "    def snapshot(self):\n"
        f"        return {{'rate_interval': {rates}}}\n")
    monkeypatch.chdir(tmp_path)
    ran = run("three-state", "--learner", "own:Own", "--epochs", 2000)
    assert ran.code == 0 and "lost" in ran.out and "still open" not in ran.out


def test_a_learner_is_compared_with_the_bound_of_what_it_knew():
    for told, expected in ((["--supports"], "C(M) = 10.7763:"), ([], "C_u(M) = 11.0445:")):
        assert expected in run("three-state", "--learner", "random", "--epochs", 1000, *told).out


def test_what_is_proved_of_the_learner_is_named_beside_its_run():
    ran = run("three-state", "--learner", "ct-ucrl", "--epochs", 1000)
    value = difficulty(make("three-state")).optimism_bound("printed", 1000, delta=0.01).total
    words = " ".join(ran.out.split())
    assert f"proved a mean pseudo-regret of at most {value:.3g} at this N (Theorem 2, docs/learners-proofs.md)" in words
    assert "(Theorem 1," in run("three-state", "--learner", "ct-joint-ucrl", "--horizon", 2000, "--epochs", 1000).out
    for options in (("--learner", "ct-kl-ucrl", "--delta", 0.01), ("--learner", "ct-ucrl", "--param", "radius_scale=0.5"), ()):
        assert "proved " not in run("three-state", "--epochs", 1000, *options).out


def test_a_learner_that_may_stay_wrong_for_good_is_not_called_uniformly_fast():
    fixed = " ".join(run("three-state", "--learner", "ct-kl-ucrl", "--delta", 0.02, "--epochs", 1000).out.split())
    assert "may stay wrong for good with a probability of up to 0.02, so it need not be uniformly fast" in fixed
    for options in (("--learner", "ct-ucrl", "--delta", 0.02), ("--learner", "ct-psrl")):
        assert "stay wrong" not in run("three-state", "--epochs", 1000, *options).out


def test_a_fixed_time_gives_its_regret():
    found = json.loads(run("three-state", "--learner", "ct-ucrl", "--time", 50, "--json").out)
    assert found["time"] == 50.0 and found["checkpoints"][-1]["time"] == 50.0


def test_a_million_decisions_are_taken_unless_told_otherwise():
    assert json.loads(run("two-state", "--learner", "ct-ucrl", "--json").out)["epochs"] == 10**6


@pytest.mark.parametrize("options", [
    ("--learner", "ct-ucrl-doubling"), ("--learner", "oracle"), ("--learner", "random"),
    ("--learner", "fixed", "--param", "policy=[0,1]"),
    ("--learner", "ct-ucrl", "--horizon", 100, "--rate-bounds", 1, 9, "--supports", "--param", "radius_scale=0.1,planning=fast"),
    ("--start", 1, "--holding-times", "erlang:stages=2", "--checkpoints", 3, "--learner", "ct-ucrl"),
    ("--holding-times", "erlang:stages=2", "--learner", "ct-ucrl", "--reward-range", "-12,8"),
])
def test_the_options_work(options):
    ran = run("two-state", "--epochs", 200, "--json", *options)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["epochs"] == 200


@pytest.mark.parametrize("arguments, words", [
    (("nowhere",), "neither a file nor a zoo model"), (("two-state", "--learner", "ctucrl"), "did you mean 'ct-ucrl'"),
    (("two-state", "--epochs", 0), "--epochs is 0"), (("two-state", "--epochs", 10, "--time", 3), "give one of them"),
    (("two-state", "--time", -1), "max_time is -1"), (("two-state", "--learner", "ct-ucrl", "--delta", 2), "delta is 2"),
    (("two-state", "--learner", "ct-ucrl", "--delta", 0.1, "--horizon", 10), "give one of them"),
    (("two-state", "--learner", "ct-ucrl", "--reward-range", "3"), "give auto, or two numbers"),
    (("two-state", "--learner", "default", "--reward-range", "auto"), "has no reward_range"),
    (("two-state", "--learner", "ct-ucrl-doubling", "--delta", 0.1), "has no delta"),
    (("two-state", "--learner", "ct-ucrl", "--rate-bounds", 3, 5), "rate_bounds is"),
    (("two-state", "--learner", "ct-ucrl", "--rate-bounds", 5, 3), "Swap"), (("two-state", "--start", 7), "state 7 does not exist"),
    (("two-state", "--plot", "regret.txt"), ".png"), (("two-state", "--seed", -1, "--epochs", 10), "seed is -1"),
    (("two-state", "--learner", "ct-ucrl", "--param", "radius=2"), "radius"), (("two-state", "--holding-times", "odd"), "'odd'"),
    (("two-state", "--epochs", "nan"), "--epochs is nan"), (("two-state", "--epochs", "inf"), "max_epochs is inf"),
    (("two-state", "--epochs", 10, "--plot", "no-such-folder/regret.png"), "folder that does not exist"),
])
def test_bad_input_is_one_line_on_stderr(arguments, words):
    ran = run(*arguments)
    assert ran.code == 1 and ran.out == "" and words in ran.err
    assert len([line for line in ran.err.splitlines() if line.startswith("error")]) == 1


def test_the_picture_is_drawn(tmp_path: Path):
    file = tmp_path / "regret.png"
    ran = run("three-state", "--learner", "ct-ucrl", "--epochs", 2000, "--horizon", 2000, "--plot", file)
    assert ran.code == 0 and file.read_bytes()[:4] == b"\x89PNG" and str(file) in ran.out


def test_the_result_is_out_before_the_picture_is_tried(tmp_path: Path):
    ran = run("three-state", "--learner", "ct-ucrl", "--epochs", 1, "--json", "--plot", tmp_path / "regret.png")
    assert ran.code == 1 and json.loads(ran.out)["epochs"] == 1 and "a picture needs at least 2" in ran.err


@pytest.mark.slow
def test_control_c_reports_what_there_is():
    command = [sys.executable, "-c", "from sojourn.cli.main import main; main()", "learn", "three-state"]
    options = ["--learner", "ct-ucrl", "--epochs", "1e12", "--json"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    first = process.stderr.readline()  # a line of progress every five seconds
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    found = json.loads(out)
    assert "left" in first and process.returncode == 130 and "interrupted after" in err
    assert found["interrupted"] is True and found["epochs"] > 10**6 and np.isfinite(found["regret"])


def test_within_stops_the_run_and_names_the_policy():
    asked = ("three-state", "--learner", "ct-kl-ucrl", "--supports", "--within", "10%")
    ran = run(*asked, "--confidence", 0.9)
    assert ran.code == 0 and "certificate    Certified after" in ran.out and "with 90 % confidence" in " ".join(ran.out.split())
    assert "the policy     quick in A, " in ran.out and "any rule       that is right as often" in ran.out
    told = json.loads(run(*asked, "--json").out)["certificate"]
    assert told["certified"] and told["decisions"] < 10**5 and told["asked"] == "10%" and told["delta"] == 0.05
    assert len(told["policy"]) == 3 and told["low"] < told["high"] and 0 < told["any_rule_needs"] < told["decisions"]


def test_within_without_rate_bounds_names_the_option_that_tells_them():
    ran = run("three-state", "--no-rate-bounds", "--within", "5%")
    assert ran.code == 1 and ran.out == "" and ran.err == (
        "error: no rate bounds are told, and a certificate needs some; --rate-bounds LO HI of `sojourn learn` or `sojourn control "
        "create` tells them, however wide.\n")


def test_within_says_so_where_the_run_ends_before_the_first_look():
    ran = run("three-state", "--epochs", 9, "--within", "5%", "--learner", "random")
    assert ran.code == 0 and "the run ended before it was asked, which is first after 10 decisions" in ran.err
    assert "before it was asked" not in run("three-state", "--epochs", 10, "--within", "5%", "--learner", "random").err


def test_within_says_where_it_is_not_reached_and_where_it_cannot_be():
    short = run("three-state", "--learner", "default", "--epochs", 300, "--within", "0.5")
    assert short.code == 0 and "Not certified after" in short.out and "0.5 is asked for" in " ".join(short.out.split())
    assert "warning: --within is given, but 'default' does not try" in short.err and "any rule" in short.out
    for options, said in ((("--within", "much"), "--within is 'much'"),
                          (("--within", "5%", "--confidence", 1), "--confidence is 1"),
                          (("--within", "5%", "--learner", "ct-ucrl"), "'ct-kl-ucrl' and 'ct-joint-ucrl' count them")):
        ran = run("three-state", "--epochs", 50, *options)
        assert ran.code == 1 and said in ran.err and "certificate" not in run("three-state", "--epochs", 50).out

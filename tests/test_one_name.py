"""One name, one algorithm: a learner has the same parameters from Python, from the command line and in a study."""

import json

import numpy as np
import pytest

import sojourn
from command_line import run as command
from sojourn.learn.catalogue import LEARNERS
from sojourn.study.spec import checked_study

MODEL = "three-state"


@pytest.mark.parametrize("name", LEARNERS)
def test_the_parameters_are_the_same_from_every_side(name):
    by_python = sojourn.simulate(sojourn.make(MODEL), name, max_epochs=30, seed=1)
    by_command = json.loads(command("learn", MODEL, "--learner", name, "--epochs", 30, "--seed", 1, "--json").out)
    raw = {"study": {"name": "s", "epochs": 30}, "models": [MODEL], "learners": [name]}
    entry = checked_study(raw).learners[0]
    in_study = entry.make(sojourn.make(MODEL), seed=1)
    assert by_command["parameters"] == json.loads(json.dumps(by_python.settings)) == json.loads(json.dumps(in_study.settings))
    assert by_command["regret"] == by_python.regret[-1]
    assert np.array_equal(by_python.visits, sojourn.simulate(sojourn.make(MODEL), in_study, max_epochs=30, seed=1).visits)


def test_the_summary_and_the_report_of_a_study_say_which_values_were_used(tmp_path):
    learners = ["ct-ucrl", {"name": "ct-kl-ucrl", "horizon": 40}, "ct-ucrl-unknown-rates"]
    study = sojourn.Study("values", models=[MODEL, "admission"], learners=learners, epochs=40, replications=2,
                          store=tmp_path / "values.sqlite").run(workers=1)
    used = study.summary().settings
    assert used["ct-ucrl"]["delta"] == 0.01
    assert used["ct-kl-ucrl (horizon=40)"] == {"delta": 1 / 40, "horizon": 40, "radius_scale": 1.0, "growth": 0.1,
                                             "planning": "real-time"}
    assert "exploration" not in used["ct-ucrl-unknown-rates"]  # another one on each model
    assert "ct-ucrl: delta = 0.01, " in str(study.summary())
    assert "delta = 0.025" in study.report(tmp_path / "page.md").read_text()
    told = json.loads(command("study", "summary", tmp_path / "values.sqlite", "--json").out)
    assert told["parameters"]["ct-ucrl"]["delta"] == 0.01

"""`sojourn learners`, and `sojourn learn` with the learners that need something special."""

import json

import pytest

from command_line import run
from sojourn.learn.catalogue import LEARNERS


def test_the_list_names_every_learner_with_what_it_knows_and_what_is_proved():
    code, out, _ = run("learners")
    assert code == 0
    for entry in LEARNERS.values():
        assert all(part in out for part in (entry.name, entry.summary, entry.knows, entry.proved, entry.source))


def test_the_json_list_has_one_object_per_learner():
    code, out, _ = run("learners", "--json")
    listed = json.loads(out)["learners"]
    assert code == 0
    assert [item["name"] for item in listed] == list(LEARNERS)
    keys = ("name", "summary", "knows", "proved", "source")
    assert all(isinstance(item[key], str) and item[key] for item in listed for key in keys)


@pytest.mark.parametrize(
    "words", [("--learner", "oracle"), ("--learner", "fixed", "--param", "policy=[1,0,1]"), (), ("--supports",)])
def test_yardsticks_and_the_default_can_be_run(words):
    code, out, _ = run("learn", "three-state", "--epochs", "2000", "--json", *words)
    assert code == 0
    found = json.loads(out)
    assert found["learner"] == (words[1] if "--learner" in words else "default")
    if "oracle" in words:
        assert abs(found["pseudo_regret"]) < 1e-9

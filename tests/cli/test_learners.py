"""`sojourn learners`, and `sojourn learn` with the learners that need something special."""

import json
import sys

import pytest

from sojourn.cli.main import main
from sojourn.learn.catalogue import LEARNERS


def called(monkeypatch, capsys, *words):
    """Return (exit code, stdout) of the command line."""
    monkeypatch.setattr(sys, "argv", ["sojourn", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0, capsys.readouterr().out


def test_the_list_names_every_learner_with_what_it_knows_and_what_is_proved(monkeypatch, capsys):
    code, out = called(monkeypatch, capsys, "learners")
    assert code == 0
    for entry in LEARNERS.values():
        assert all(part in out for part in (entry.name, entry.summary, entry.knows, entry.proved, entry.source))


def test_the_json_list_has_one_object_per_learner(monkeypatch, capsys):
    code, out = called(monkeypatch, capsys, "learners", "--json")
    listed = json.loads(out)["learners"]
    assert code == 0
    assert [item["name"] for item in listed] == list(LEARNERS)
    keys = ("name", "summary", "knows", "proved", "source")
    assert all(isinstance(item[key], str) and item[key] for item in listed for key in keys)


@pytest.mark.parametrize(
    "words", [("--learner", "oracle"), ("--learner", "fixed", "--param", "policy=[1,0,1]"), (), ("--supports",)])
def test_yardsticks_and_the_default_can_be_run(words, monkeypatch, capsys):
    code, out = called(monkeypatch, capsys, "learn", "three-state", "--epochs", "2000", "--json", *words)
    assert code == 0
    found = json.loads(out)
    assert found["learner"] == (words[1] if "--learner" in words else "default")
    if "oracle" in words:
        assert abs(found["pseudo_regret"]) < 1e-9

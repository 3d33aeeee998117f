"""`sojourn show MODEL`."""

import json

import pytest
from click.testing import CliRunner

from sojourn.cli.main import sojourn as program


def run(*arguments):
    return CliRunner().invoke(program, ["show", *arguments])


def test_a_model_in_words():
    done = run("customer-selection:servers=2")
    assert done.exit_code == 0
    assert "CTMDP 'customer-selection:servers=2': 3 states" in done.output and "admit {1,2}" in done.output


def test_json_is_one_object(tmp_path):
    pytest.importorskip("matplotlib")
    picture = str(tmp_path / "m.png")
    done = run("two-state", "--json", "--plot", picture)
    told = json.loads(done.stdout)
    assert told["states"] == 2 and told["actions"] == ["slow", "fast"] and told["plot"] == picture
    assert (tmp_path / "m.png").exists()


@pytest.mark.parametrize("who", ["ct-ucrl-doubling", "optimal", "random"])
def test_a_sample_path_is_drawn(who, tmp_path):
    pytest.importorskip("matplotlib")
    done = run("three-state", "--path", str(tmp_path / "p.png"), "--epochs", "50", "--learner", who)
    assert done.exit_code == 0 and "wrote" in done.output and (tmp_path / "p.png").exists()


def test_a_sample_path_needs_no_more_than_a_file(tmp_path):
    pytest.importorskip("matplotlib")
    done = run("admission", "--path", str(tmp_path / "p.png"), "--epochs", "50")
    assert done.exit_code == 0 and (tmp_path / "p.png").exists()


def test_wrong_pictures_are_one_clear_error():
    for arguments, words in ((["--plot", "m.txt"], "'m.txt'"), (["--plot", "m.png", "--kind", "cube"], "cube"),
                             (["--path", "p.png", "--learner", "nobody"], "nobody")):
        done = run("admission", *arguments)
        assert done.exit_code == (2 if "--kind" in arguments else 1) and words in str(done.exception) + done.output

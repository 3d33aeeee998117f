"""A third party's package, installed into a fresh environment, is used like our own learners and models."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

OUTSIDE = Path(__file__).parents[2] / "examples" / "outside"
SCRIPT = '''
import numpy as np, sojourn
model = sojourn.make("two-printers:price=0.2")
for name in ("optimistic-q", "ucrl2-uniformized"):
    run = sojourn.simulate(model, name, max_epochs=300, seed=2, record=True)
    assert run.visits.sum() == 300 and np.isfinite(run.pseudo_regret).all()
    whole, first, second = (sojourn.Session(name, state="idle", knowledge=model.knowledge(), seed=2) for _ in range(3))
    path = run.trajectory
    rows = list(zip(path.holding_time.tolist(), path.next_state.tolist(), path.lump.tolist()))
    def play(session, rows):
        actions = []
        for row in rows:
            actions.append(session.action_index)
            session.report(*row[:2], lump=row[2])
        return actions
    wanted = play(whole, rows)
    assert wanted == path.action.tolist(), name
    assert play(first, rows[:100]) == wanted[:100], name
    second.restore(first.save())
    assert play(second, rows[100:]) == wanted[100:], name
print("good")
'''
STUDY = '''
[study]
name = "outside"
epochs = 200
replications = 2
[[models]]
zoo = "two-printers"
[[learners]]
name = "optimistic-q"
[[learners]]
name = "ucrl2-uniformized"
delta = 0.1
'''


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Return a function that runs a program of a fresh environment with the package in it, and sees our own packages."""
    home = tmp_path_factory.mktemp("outside")
    shutil.copytree(OUTSIDE, home / "package", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home / "venv"], check=True)
    python = home / "venv" / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    there = Path(subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.strip())
    ours = sysconfig.get_path("purelib")
    (there / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")

    def run(*words: object) -> str:
        clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        done = subprocess.run([python, "-m", *map(str, words)], cwd=home, env=clean, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    offline = ("--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    run("pip", "install", "--quiet", *offline, home / "package")
    assert (there / "outside_learners").is_dir()
    (home / "script.py").write_text(SCRIPT)
    (home / "study.toml").write_text(STUDY)
    return run


@pytest.mark.slow
def test_the_lists_of_learners_and_models_have_them(environment):
    found = {entry["name"]: entry for entry in json.loads(environment("sojourn", "learners", "--json"))["learners"]}
    assert found["ucrl2-uniformized"]["summary"].startswith("Plans by optimism over L1 balls")
    assert found["optimistic-q"]["knows"] == "rewards, rate bounds"
    assert "two-printers" in environment("sojourn", "zoo")
    assert "printed fast at a price" in environment("sojourn", "zoo", "two-printers")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["optimistic-q", "ucrl2-uniformized"])
def test_the_command_line_runs_them(environment, name):
    out = json.loads(environment("sojourn", "learn", "two-printers", "--learner", name, "--epochs", "300", "--json"))
    assert out["learner"] == name and out["epochs"] == 300


@pytest.mark.slow
def test_simulations_and_sessions_with_save_and_restore_run_them(environment):
    assert environment("script") == "good\n"


@pytest.mark.slow
def test_a_study_runs_them(environment):
    environment("sojourn", "study", "run", "study.toml", "--workers", "2")
    cells = json.loads(environment("sojourn", "study", "status", "study.sqlite", "--json"))
    assert cells["finished"] == 4 and cells["missing"] == 0


@pytest.mark.slow
def test_they_keep_the_inherited_contracts(environment):
    assert "41 passed" in environment("pytest", "-q", "-p", "no:cacheprovider", "package/tests")


def test_each_learner_takes_at_most_forty_lines():
    for name in ("optimistic_q", "ucrl2"):
        assert len((OUTSIDE / "outside_learners" / f"{name}.py").read_text().splitlines()) <= 40

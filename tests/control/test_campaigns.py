"""Short forms of the campaigns in benchmarks/control_*.py: kills, losses of power, faults, flips, duplicates, races; mutants."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def strace_works() -> bool:
    return shutil.which("strace") is not None and subprocess.run(["strace", "-qq", "-o", os.devnull, "true"]).returncode == 0


needs_strace = pytest.mark.skipif(not strace_works(), reason="strace is not installed, or may not trace here")


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def campaign(name: str):
    return importlib.import_module(name)


def kills(tmp_path: Path, *words: str) -> subprocess.CompletedProcess:
    """In a process of its own, since it forks."""
    command = [sys.executable, str(BENCHMARKS / "control_kill.py"), "--folder", str(tmp_path), "--fresh", "0", "--rounds", "20"]
    return subprocess.run([*command, *words], capture_output=True, text=True)


def test_nothing_is_lost_by_40_kills(tmp_path):
    ran = kills(tmp_path, "--kills", "40")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_nothing_is_lost_by_kills_while_plans_are_late(tmp_path):
    ran = kills(tmp_path, "--kills", "4", "--late", "5")
    assert ran.returncode == 0 and "Traceback" not in ran.stderr, ran.stdout + ran.stderr


def test_an_acknowledgement_before_the_commit_is_caught(tmp_path):
    ran = kills(tmp_path, "--kills", "100", "--mutant", "early")
    assert ran.returncode == 1 and "lost" in ran.stdout


@needs_strace
@pytest.mark.parametrize("mutant", ["", "no-fsync", "normal"])
def test_a_loss_of_power_loses_nothing_that_was_acknowledged_and_careless_syncing_is_caught(tmp_path, mutant):
    found = campaign("control_power").campaign(tmp_path / "power", reports=24, images=40, mutant=mutant, seed=1)
    assert bool(found["wrong"]) == bool(mutant), found


def faults(tmp_path: Path, *words: str) -> subprocess.CompletedProcess:
    """In a process of its own, since it forks."""
    command = [sys.executable, str(BENCHMARKS / "control_faults.py"), "--folder", str(tmp_path), *words]
    return subprocess.run(command, capture_output=True, text=True)


@needs_strace
@pytest.mark.parametrize("work", ["report", "migration"])
def test_a_write_that_fails_loses_nothing(tmp_path, work):
    ran = faults(tmp_path, "--work", work, "--most", "6")
    assert ran.returncode == 0, ran.stdout + ran.stderr


@needs_strace
def test_a_report_acknowledged_though_its_write_failed_is_caught(tmp_path):
    ran = faults(tmp_path, "--most", "16", "--mutant", "careless")
    assert ran.returncode == 1 and '"wrong": ["' in ran.stdout, ran.stdout + ran.stderr


def test_no_flipped_bit_is_silent(tmp_path):
    found = campaign("control_damage").flips(tmp_path / "flips", 150, seed=2)
    assert not found["silent"] and found["noticed"] > 50


def test_reports_said_again_altered_or_early_change_nothing(tmp_path):
    found = campaign("control_damage").again(tmp_path / "again", 2000, seed=2)
    assert found["counts_changed"] == 0 and min(found["same"], found["altered"], found["early"]) > 100


@pytest.mark.parametrize("mutant", [(), ("--mutant", "no-lock")])
def test_two_processes_that_race_are_never_owners_at_once(tmp_path, mutant):
    command = [sys.executable, str(BENCHMARKS / "control_damage.py"), "race", "--count", "15", "--folder", str(tmp_path / "race")]
    ran = subprocess.run([*command, *mutant], capture_output=True, text=True)
    assert ran.returncode == bool(mutant), ran.stdout + ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    assert bool(found["two_owners_at_once"]) == bool(mutant)
    assert "acknowledged twice" not in ran.stdout  # by the token in the file; without the lock a file may be refused afterwards
    assert mutant or not found["wrong"]


@pytest.mark.parametrize("learner", ["default", "scal", "events-ucrl"])
def test_what_cannot_be_is_answered_and_noticed_within_the_reports_that_are_stated(tmp_path, learner):
    """One seed; `benchmarks/control_misreports.py` does it with every learner."""
    which = campaign("control_misreports")
    kinds = ["x1e-9", "clock", "late", "unknown", "largest"]
    found = list(which.campaign(str(tmp_path), [learner], kinds, seeds=1, right=12, wrong=12))
    assert len(found) == 2 * (len(kinds) + 1) and not [row for row in found if row["wrong"]]
    assert all(row["noticed"] for row in found if which.KINDS[row["kind"]].within)


def test_a_test_of_the_rate_bounds_that_never_speaks_is_caught(tmp_path, monkeypatch):
    which = campaign("control_misreports")
    monkeypatch.setattr(which.BoundsTest, "tell", lambda self, pair, time: None)
    monkeypatch.setattr(which.BoundsTest, "of_pair", lambda self, *counted: None)
    found = list(which.campaign(str(tmp_path), ["ct-ce"], ["x1e6"], seeds=1, right=12, wrong=12))
    assert any("noticed after None" in words for row in found for words in row["wrong"])

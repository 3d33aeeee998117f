"""`sojourn study` from the outside."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from command_line import run
from sojourn.cli.study import command
from sojourn.errors import SojournError
from sojourn.study.store import Store

FILE = """
[study]
name = "tiny"
epochs = 300
replications = 3
checkpoints = 10

[[models]]
zoo = "three-state"

[[learners]]
name = "ct-ucrl"

[[learners]]
name = "random"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(FILE)
    return path


def call(*words, fails=False):
    result = CliRunner().invoke(command, [str(word) for word in words])
    assert bool(result.exit_code) == fails, (result.output, result.exception)
    return result


def test_a_model_without_a_lower_bound_says_why(file):
    file.write_text(FILE.replace("three-state", "two-state").replace('name = "ct-ucrl"', 'name = "ct-ucrl"\nsupports = true'))
    store = call("run", file, "--workers", 1).stdout.strip()
    assert "two-state: no lower bound, because no pair is critical (C(M) = 0)" in call("summary", store).stdout


def test_a_study_is_run_looked_at_and_exported(file, tmp_path):
    store = tmp_path / "study.sqlite"
    done = call("run", file, "--workers", 1)
    assert done.stdout.strip() == str(store) and "2 x 3 replications" in done.stderr
    assert "6 of 6 replications of N = 300 decisions" in call("status", store).stdout
    status = json.loads(call("status", store, "--json").stdout)
    assert status["finished"] == 6 and status["missing"] == 0
    text = call("summary", store).stdout
    assert "slope / bound" in text and "C_u(M)" in text and "ct-ucrl vs random" in text
    found = json.loads(call("summary", store, "--json", "--regret", "completed", "--band", "bootstrap").stdout)
    assert found["rows"][0]["replications"] == 3 and found["comparisons"][0]["test"] == "Welch t"
    assert call("summary", store, "--latex").stdout.startswith(r"\begin{tabular}")
    assert "6 replications" in call("export", store, tmp_path / "x.csv").stdout
    assert call("report", store).stdout.strip() == str(tmp_path / "report.html")
    assert len(call("plot", store, "--format", "svg", "--out", tmp_path / "figures").stdout.split()) >= 4


def test_shards_are_run_and_merged_from_the_command_line(file, tmp_path):
    for i in range(3):
        call("run", file, "--workers", 1, "--store", tmp_path / f"{i}.sqlite", "--replications", f"{i}:{i + 1}", "--quiet")
    assert "4 are missing" in call("export", tmp_path / "0.sqlite", tmp_path / "0.csv").stderr
    done = call("merge", tmp_path / "all.sqlite", *(tmp_path / f"{i}.sqlite" for i in range(3)))
    assert "6 replications copied" in done.stdout
    done = call("merge", tmp_path / "saved.sqlite", tmp_path / "all.sqlite", "--salvage", "--study", file)
    assert "6 intact replications copied" in done.stdout
    assert "--salvage needs --study" in str(
        call("merge", tmp_path / "n.sqlite", tmp_path / "all.sqlite", "--salvage", fails=True).exception
    )
    assert "FIRST:END" in str(call("run", file, "--replications", "2:9", fails=True).exception)


def test_all_problems_of_a_study_file_are_printed_each_on_its_line(file):
    file.write_text(FILE.replace("epochs", "epoch").replace('"ct-ucrl"', '"ct-ucl"'))
    said = call("run", file, fails=True).stderr
    assert (
        said.startswith("error: ")
        and said.count("\n") == 4
        and "did you mean 'epochs'?" in said
        and "did you mean 'ct-ucrl'?" in said
    )


LONG = FILE.replace("epochs = 300", "epochs = 30_000_000").replace("replications = 3", "replications = 40")


@pytest.mark.slow
def test_ctrl_c_leaves_the_store_whole_and_says_so(file, tmp_path):
    file.write_text(LONG)
    words = [sys.executable, "-m", "sojourn", "study", "run", str(file), "--workers", "2", "--checkpoint-seconds", "0.2"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    store = tmp_path / "study.sqlite"
    for _ in range(600):
        time.sleep(0.1)
        if store.exists() and _rows(store):
            break
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: everybody gets it
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said, said
    assert said.rstrip().endswith("Run the same command to go on: nothing is computed twice."), said
    with Store(store) as opened:
        assert opened.verify() >= 0 and opened.replications == 40
    assert not list(tmp_path.glob("*-wal"))


def _rows(path):
    try:
        with Store(path) as store:
            return store._rows("SELECT count(*) FROM checkpoints")[0][0] + sum(store.counts().values())
    except Exception:
        return 0


def test_a_store_whose_run_was_ended_before_it_began_is_said_to_be_empty(tmp_path):
    Store(tmp_path / "new.sqlite", write=True).close()
    result = CliRunner().invoke(command, ["status", str(tmp_path / "new.sqlite")])
    assert isinstance(result.exception, SojournError) and "holds no study yet" in str(result.exception)


def test_an_export_into_a_folder_that_is_not_there_names_the_folder(file, tmp_path):
    call("run", file, "--workers", 1)
    result = CliRunner().invoke(command, ["export", str(tmp_path / "study.sqlite"), str(tmp_path / "no" / "x.csv")])
    assert isinstance(result.exception, SojournError) and "there is no folder" in str(result.exception)


@pytest.mark.parametrize("word", ["status", "summary", "plot", "report", "failures"])
@pytest.mark.parametrize("store", ["/", "", "."])
def test_a_store_that_cannot_be_one_is_refused_in_one_line(word, store):
    ran = run("study", word, store)
    assert ran.code == 1 and ran.err.startswith("error: ") and len(ran.err.splitlines()) == 1


def test_a_study_with_fractional_checkpoints_is_refused_before_its_store_is_made(file, tmp_path):
    file.write_text(FILE.replace("checkpoints = 10", "checkpoints = [10.5, 300]"))
    ran = run("study", "run", file, "--workers", 1)
    assert ran.code == 1 and "checkpoints holds 10.5" in ran.err and not (tmp_path / "study.sqlite").exists()


def test_on_a_narrow_terminal_the_summary_is_blocks_of_lines(file, monkeypatch):
    store = call("run", file, "--workers", 1).stdout.strip()
    wide = call("summary", store).stdout
    monkeypatch.setenv("COLUMNS", "60")
    narrow = call("summary", store).stdout
    assert "is a study file; its results are in a store" in str(call("summary", file, fails=True).exception)
    assert "model          three-state\nlearner        ct-ucrl\nruns           3\n" in narrow
    assert max(map(len, narrow.splitlines())) <= 60 < max(map(len, wide.splitlines()))
    assert sorted(set("".join(wide.split()))) == sorted(set("".join(narrow.split())))

"""Runs and solutions as tables and files."""

import numpy as np
import pytest

import sojourn
from sojourn.errors import FileError
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import make

RUN = simulate(make("three-state"), "random", max_epochs=500, seed=1, record=True)


def test_the_frame_of_a_run_is_its_checkpoints():
    frame = RUN.frame()
    assert list(frame.columns) == ["epoch", "time", "reward", "regret", "completed_regret", "adjusted_regret", "pseudo_regret"]
    assert np.array_equal(frame.regret, RUN.regret) and np.array_equal(frame.epoch, RUN.epochs) and len(frame) == len(RUN.points())


def test_tables_in_files_read_back_to_the_same_bits(tmp_path):
    pandas = pytest.importorskip("pandas")
    for name in ("run.csv", "run.parquet"):
        RUN.save(tmp_path / name)
    head, *rows = (tmp_path / "run.csv").read_text().splitlines()
    assert head.split(",") == list(RUN.frame().columns)
    assert [tuple(map(float, row.split(","))) for row in rows] == [tuple(point) for point in RUN.points()]
    assert pandas.read_parquet(tmp_path / "run.parquet").equals(RUN.frame())


def test_the_arrays_of_a_run_open_without_pickle(tmp_path):
    RUN.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz", allow_pickle=False) as found:
        assert np.array_equal(found["pseudo_regret"], RUN.pseudo_regret) and np.array_equal(found["visits"], RUN.visits)
        assert found["states"].tolist() == ["A", "B", "C"] and str(found["start"]) == "A" and str(found["learner"]) == "random"
        assert np.array_equal(found["trajectory_reward"], RUN.trajectory.reward) and float(found["gain"]) == RUN.gain


def test_other_files_are_refused_and_nothing_is_left(tmp_path):
    for name in ("run.txt", "run", "no/folder.csv"):
        with pytest.raises(FileError):
            RUN.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_the_frame_of_a_solution_speaks_the_users_words():
    model = sojourn.CTMDP.explore((1, 0), lambda s: {0: sojourn.Choice({(s[1], s[0]): 2.0}, reward=s[0])})
    frame = sojourn.solve(model).frame()
    assert frame.state.tolist() == [(1, 0), (0, 1)] and frame.action.tolist() == [0, 0] and frame.bias[0] == 0

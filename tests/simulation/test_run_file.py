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


@pytest.mark.parametrize("learner", ["random", "ct-ucrl", "default", [0, 1, 1], {}])
def test_a_run_comes_back_whole(tmp_path, learner):
    model = make("three-state")
    if learner == {}:
        learner = {state: model.actions[0] for state in model.states}
    run = simulate(model, learner, max_epochs=3000, start="B", seed=3)
    run.save(tmp_path / "run.npz")
    again = sojourn.Run.load(tmp_path / "run.npz")
    assert repr(again) == repr(run) and again.model.equals(model) and (again.start, again.state) == ("B", run.state)
    for name in ("epochs", "times", "rewards", "regret", "completed_regret", "adjusted_regret", "pseudo_regret", "visits", "bias"):
        assert np.array_equal(getattr(again, name), getattr(run, name)), name
    assert [tuple(map(str, e)) for e in again.episodes] == [tuple(map(str, e)) for e in run.episodes]
    assert again.settings == run.settings and again.points() == run.points() and again.trajectory is None and again.seed == 3
    if isinstance(learner, str):
        one, two = (sojourn.Session(run_.learner, "A", seed=1) for run_ in (run, again))
        assert [one.action] == [two.action] and repr(one.learner) == repr(two.learner)
    pytest.importorskip("matplotlib")
    assert [text.get_text() for text in again.plot().texts] == [text.get_text() for text in run.plot().texts]
    again.save(tmp_path / "twice.npz")
    assert np.array_equal(sojourn.Run.load(tmp_path / "twice.npz").visits, run.visits)


def test_a_run_keeps_own_states_its_trajectory_and_a_learner_from_outside_by_name(tmp_path):
    model = sojourn.CTMDP.explore((1, 0), lambda s: {7: sojourn.Choice({(s[1], s[0]): 2.0}, reward=s[0])})

    class Mine:
        settings = {"pace": 2}  # noqa: RUF012

        def act(self, state):
            return 0

    run = simulate(model, Mine(), max_epochs=40, record=True)
    run.save(tmp_path / "run.npz")
    again = sojourn.Run.load(tmp_path / "run.npz")
    assert again.start == (1, 0) and len(again.episodes) == 0 and again.settings == {"pace": 2}
    assert np.array_equal(again.trajectory.holding_time, run.trajectory.holding_time) and repr(again) == repr(run)


def test_files_that_hold_no_whole_run_are_refused(tmp_path):
    RUN.save(tmp_path / "run.csv")
    RUN.save(tmp_path / "run.npz")
    np.savez(tmp_path / "numbers.npz", epoch=RUN.epochs)
    (tmp_path / "text.npz").write_text("no")
    make("three-state").save(tmp_path / "model.npz")
    data = dict(np.load(tmp_path / "run.npz"))
    data["whole"] = data["whole"] ^ (np.arange(len(data["whole"])) == 900).astype(np.uint8)
    np.savez(tmp_path / "flipped.npz", **data)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "run.npz").read_bytes()[:-200])
    refused = {"run.csv": "checkpoints only", "numbers.npz": "all of a run", "text.npz": "not a whole", "cut.npz": "not a whole",
               "flipped.npz": "damaged", "model.npz": "all of a run", "none.npz": "cannot read"}
    for name, words in refused.items():
        with pytest.raises(FileError, match=words):
            sojourn.Run.load(tmp_path / name)
    with pytest.raises(FileError, match=r"holds a run, not a model; read it with `sojourn\.Run\.load`"):
        sojourn.load(tmp_path / "run.npz")

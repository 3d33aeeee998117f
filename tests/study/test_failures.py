"""A replication that raises is recorded and named, the others go on, and the next run computes only the failed ones."""

import contextlib
import json
import shlex
import sqlite3
import sys

import pytest

from command_line import run
from sojourn.errors import ParameterError, ReplicationError, StoreError, ToleranceError
from sojourn.learn.abilities import called
from sojourn.simulation.regret import yardstick
from sojourn.solving.solve import solve
from sojourn.study import task
from sojourn.study.executors import Inline
from sojourn.study.failures import described
from sojourn.study.merge import merge
from sojourn.study.run import run_study
from sojourn.study.store import Store

BRITTLE = '''
import os
from sojourn.learn.learner import Plan

class Brittle:
    """Raises in some of its runs (told by its seed) while the file BRITTLE_FILE is there."""

    def __init__(self, knowledge, seed=0):
        self.knowledge, self.seen = knowledge, 0
        self.unlucky = seed.spawn_key[-1] in (1, 4, 7) if hasattr(seed, "spawn_key") else False

    def plan(self):
        if self.unlucky and self.seen >= 100 and os.path.exists(os.environ["BRITTLE_FILE"]):
            raise ZeroDivisionError("by design")
        return Plan(self.knowledge.pair_action[self.knowledge.pair_start[:-1]], max_epochs=50)

    def observe(self, history):
        self.seen += len(history)

    def state(self):
        return {"seen": self.seen}

    def restore(self, state):
        self.seen = int(state["seen"])
'''
FAILED = [1, 4, 7]


@pytest.fixture
def brittle(tmp_path, monkeypatch):
    """The learner's class as a study names it, and the file whose removal mends it."""
    (tmp_path / "brittle_learner.py").write_text(BRITTLE)
    (tmp_path / "broken").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "brittle_learner", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("BRITTLE_FILE", str(tmp_path / "broken"))
    return {"class": "brittle_learner:Brittle", "label": "brittle"}, tmp_path / "broken"


def ten(small_study, brittle, name="store"):
    return small_study(name, models=["three-state"], learners=[brittle[0], "random"], replications=10)


def content(study):
    with Store(study.store_path) as store:
        store.verify()
        return store.content_hash()


def check(study, **how):
    """Run a study of which three replications fail, then again when nothing fails any more."""
    with pytest.raises(ReplicationError, match=r"3 replications failed; all others .* are in the store") as failed:
        study.run(**how)
    assert [one.replication for one in failed.value.failures] == FAILED
    assert (study.tally.replications, len(study.tally.failures)) == (17, 3)
    kept = study.failures()
    assert [one.replication for one in kept] == FAILED and {one.epoch for one in kept} == {100}
    assert all(one.spawn_key[-1] == one.replication and one.seed == 5 for one in kept)
    assert "in plan" in kept[0].place and kept[0].traceback.endswith("by design")
    status = study.status()
    assert (status["finished"], status["missing"], status["failed"]) == (17, 3, 3)


def test_failing_replications_are_recorded_the_others_finish_and_only_they_run_again(small_study, brittle):
    study = ten(small_study, brittle)
    check(study, workers=1)
    with pytest.raises(ReplicationError):
        study.run(workers=1)
    assert (study.tally.replications, len(study.failures())) == (0, 3)  # nothing but the failed ones was tried
    brittle[1].unlink()
    assert study.run(workers=1).tally.replications == 3
    assert study.failures() == [] and study.status()["missing"] == 0
    assert content(study) == content(ten(small_study, brittle, "never-failed").run(workers=1))


def test_finished_replications_of_the_same_batch_are_kept(small_study, brittle):
    study = ten(small_study, brittle)
    entry, model = study.spec.learners[0], study.spec.models[0]
    batch = task.Batch(model.packed, model.key, None, entry, study.spec.horizon, [(r, None) for r in range(10)], 60.0)
    outcome = task.work(batch)
    assert [number for number, *_ in outcome.finished] == [0, 2, 3, 5, 6, 8, 9]
    assert [number for number, _ in outcome.failed] == FAILED and outcome.share == 10


def test_a_replication_that_fails_after_it_was_put_aside_begins_anew(small_study, brittle):
    study = ten(small_study, brittle)
    with Store(study.store_path, write=True) as store:
        assert len(run_study(study.spec, store, Inline(), slice_seconds=0.0).failures) == 3
        assert store._rows("SELECT count(*) FROM checkpoints") == [(0,)]
    brittle[1].unlink()
    study.run(workers=1)
    assert content(study) == content(ten(small_study, brittle, "never-failed").run(workers=1))


@pytest.mark.slow
def test_failures_are_recorded_by_a_pool_of_processes(small_study, brittle):
    check(ten(small_study, brittle), workers=2)


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
@pytest.mark.filterwarnings("ignore")
def test_failures_are_recorded_on_dask(small_study, brittle):
    distributed = pytest.importorskip("distributed")
    with contextlib.ExitStack() as stack:
        cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50)
        client = stack.enter_context(distributed.Client(stack.enter_context(cluster), set_as_default=False))
        check(ten(small_study, brittle), executor=client.get_executor(pure=False))


def test_an_error_is_described_whatever_its_text():
    class Mute(Exception):
        def __str__(self):
            raise ValueError("no text")

    assert described(ValueError("half \udcff"))["error"] == r"ValueError: half \udcff"
    assert described(KeyError())["error"] == "KeyError" and described(KeyError())["place"] == ""
    assert described(Mute())["error"] == "Mute: (its text cannot be shown)"
    assert len(described(ValueError("x" * 10_000))["error"]) == 500


def test_a_learner_that_ends_the_program_ends_its_own_replication_only(small_study, brittle):
    place = brittle[1].with_name("brittle_learner.py")
    place.write_text(BRITTLE.replace("raise ZeroDivisionError", "raise SystemExit"))
    study = ten(small_study, brittle)
    with pytest.raises(ReplicationError, match="replications 1, 4, 7 failed with SystemExit: by design"):
        study.run(workers=1)
    assert study.status()["finished"] == 17


class Refusing(Inline):
    """An executor that cannot carry the tasks of one learner."""

    def submit(self, fn, /, *args, **kwargs):
        if args[0].learner.label == "brittle":
            return super().submit(lambda: (_ for _ in ()).throw(TypeError("cannot pickle this")))
        return super().submit(fn, *args, **kwargs)


def test_a_task_that_cannot_be_carried_to_a_worker_is_a_failure_of_its_replications(small_study, brittle):
    study = ten(small_study, brittle)
    with pytest.raises(ReplicationError, match=r"brittle on three-state: replications 0, 1, .* and 2 more failed with TypeError"):
        study.run(executor=Refusing)
    assert study.status()["finished"] == 10


def test_a_model_that_cannot_be_solved_fails_its_own_replications_only(small_study, monkeypatch):
    known = task._known

    def breaks(data):
        if data == study.spec.models[0].packed:
            raise ValueError("singular")
        return known(data)

    study = small_study()
    monkeypatch.setattr(task, "_known", breaks)
    with pytest.raises(ReplicationError, match="on three-state: replications 0, 1, 2 failed with ValueError: singular"):
        study.run(workers=1)
    assert study.status()["finished"] == 3


def test_a_proof_wider_than_asked_is_used_as_simulate_uses_it(small_study, monkeypatch):
    def narrow(model, *more):
        raise ToleranceError("the width is above the tolerance", solve(model))

    study = small_study(models=["three-state"])
    whole = content(small_study("whole", models=["three-state"]).run(workers=1))
    task._known.cache_clear()
    monkeypatch.setattr(task, "solve", narrow)
    monkeypatch.setattr("sojourn.instance.gaps.solve", narrow)
    assert yardstick(study.spec.models[0].model).gain > 0
    try:
        assert content(study.run(workers=1)) == whole
    finally:
        task._known.cache_clear()


def test_a_store_of_before_has_no_failures_and_gets_their_table_when_it_is_written(small_study, brittle):
    study = small_study(models=["three-state"], learners=["random"], replications=2).run(workers=1)
    with sqlite3.connect(study.store_path) as database:
        database.execute("DROP TABLE failures")
    assert study.failures() == [] and study.summary().failures == [] and study.status()["failed"] == 0
    more = small_study(models=["three-state"], learners=[brittle[0], "random"], replications=5)
    with pytest.raises(ReplicationError):
        more.run(workers=1)
    assert [one.replication for one in more.failures()] == [1, 4]


def test_a_failure_travels_with_its_shard_until_another_shard_succeeds(small_study, brittle, tmp_path):
    first = ten(small_study, brittle, "first")
    with pytest.raises(ReplicationError):
        first.run(workers=1, replications=range(5))
    merge(tmp_path / "all.sqlite", [first.store_path])
    second = ten(small_study, brittle, "all")
    assert [one.replication for one in second.failures()] == [1, 4]
    brittle[1].unlink()
    first.run(workers=1, replications=range(2))
    merge(tmp_path / "all.sqlite", [first.store_path])
    assert [one.replication for one in second.failures()] == [4]


def test_a_failed_replication_is_repeated_from_its_seed_with_its_error(small_study, brittle):
    study = ten(small_study, brittle)
    with pytest.raises(ReplicationError):
        study.run(workers=1)
    with pytest.raises(ZeroDivisionError, match="by design"):
        study.repeat("three-state", "brittle", 4)
    again = study.repeat("three-state", "brittle", 3)
    assert again.done
    assert repr(again) == (f"<Replication of {called(again.walk.learner)} on {again.walk.model.name}: pseudo-regret "
                           f"{again.points[-1].pseudo_regret:.6g} after {again.points[-1].epochs:,} decisions, ended>")
    for wrong, words in ((("two-state", "brittle", 4), "no model named"), (("three-state", "brittel", 4), "did you mean 'brittle'"),
                         (("three-state", "brittle", 10), "from 0 to 9")):
        with pytest.raises(ParameterError, match=words):
            study.repeat(*wrong)
    place = brittle[1].with_name("brittle_learner.py")
    place.write_text(place.read_text() + "\n# changed\n")
    with pytest.raises(StoreError, match="not what it was"):
        study.repeat("three-state", "brittle", 4)


def test_the_command_line_names_the_failed_ones_at_the_end_and_exits_with_1(brittle, tmp_path):
    file, store = tmp_path / "study.toml", tmp_path / "study.sqlite"
    file.write_text('[study]\nname = "x"\nepochs = 300\nreplications = 5\ncheckpoints = 10\n[[models]]\nzoo = "three-state"\n'
                    '[[learners]]\nclass = "brittle_learner:Brittle"\nlabel = "brittle"\n')
    done = run("study", "run", file, "--workers", 1, "--report", tmp_path / "report.html")
    assert done.code == 1 and "Traceback" not in done.err
    assert "brittle on three-state: replications 1, 4 failed with ZeroDivisionError: by design" in done.err
    command = f"sojourn study repeat {shlex.quote(str(store))} 1 --model three-state --learner brittle"
    assert command in done.err and "replication 1 failed" in done.err.splitlines()[1]
    page = (tmp_path / "report.html").read_text()
    assert "2 replications are still missing" in page and "replications 1, 4 failed with ZeroDivisionError" in page
    assert "2 failed when last tried" in run("study", "status", store).out
    assert "replications 1, 4 failed with ZeroDivisionError" in run("study", "summary", store).out
    listed = run("study", "failures", store).out
    assert command in listed and "SeedSequence(0, spawn_key=(" in listed and "raise ZeroDivisionError" in listed
    assert [one["replication"] for one in json.loads(run("study", "failures", store, "--json").out)["failures"]] == [1, 4]
    again = run(*shlex.split(command)[1:])
    assert again.code == 1 and "in plan" in again.err and again.err.splitlines()[-1].startswith("error: replication 1 of brittle")
    brittle[1].unlink()
    assert "did not fail" in run(*shlex.split(command)[1:]).out
    assert run("study", "run", file, "--workers", 1).code == 0
    assert run("study", "failures", store).out == "no replication has failed\n"

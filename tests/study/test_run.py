"""Results do not depend on workers, executors or interruptions, and nothing is computed twice."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

from sojourn.errors import SojournError, StoreError
from sojourn.learn.catalogue import learner
from sojourn.simulation.simulate import simulate
from sojourn.study.executors import Inline, end_with_parent, process_pool
from sojourn.study.run import run_study
from sojourn.study.store import Store
from sojourn.study.task import Replication, seed_address

CELLS = 2


def content(study):
    with Store(study.store_path) as store:
        return store.content_hash(), store.verify()


@pytest.fixture
def reference(small_study):
    """The hash of the small study, run at once in this process."""
    return content(small_study("reference").run(workers=1))


class Shuffled(Executor):
    """Finishes tasks at once, but breaks for the first `breaks` of them, as a pool does whose worker was killed."""

    def __init__(self, breaks):
        self.breaks = breaks

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        if self.breaks:
            self.breaks -= 1
            future.set_exception(BrokenProcessPool("a worker was killed"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_a_study_gives_the_same_numbers_on_any_executor(small_study, reference):
    assert content(small_study("threads").run(executor=lambda: ThreadPoolExecutor(3))) == reference
    with ThreadPoolExecutor(2) as threads:
        assert content(small_study("given").run(executor=threads)) == reference


@pytest.mark.slow
def test_a_study_gives_the_same_numbers_in_a_pool_of_processes(small_study, reference):
    assert content(small_study("processes").run(workers=2)) == reference


def test_a_study_gives_the_same_numbers_when_every_replication_is_cut_into_pieces(small_study, reference):
    study = small_study("pieces")
    with Store(study.store_path, write=True) as store:
        tally = run_study(study.spec, store, Inline(), slice_seconds=0.0)
    assert content(study) == reference
    assert tally.tasks > 3 * CELLS  # it was cut


def test_a_replication_is_what_simulate_gives_for_its_seed(small_study):
    study = small_study(learners=[{"name": "ct-ucrl", "delta": 0.1}], models=["three-state"]).run(workers=1)
    spec = study.spec
    seed = seed_address(spec.horizon, spec.models[0].key, spec.learners[0].key, 1)
    model = spec.models[0].model
    run = simulate(model, learner("ct-ucrl", model.knowledge(), seed=seed, delta=0.1), max_epochs=400, checkpoints=12, seed=seed)
    with Store(study.store_path) as store:
        stored = next(r.data for r in store.results() if r.replication == 1)
    for name in ("epochs", "times", "rewards", "regret", "completed_regret", "adjusted_regret", "pseudo_regret"):
        assert np.array_equal(stored[name], getattr(run, name)), name
    assert np.array_equal(model.table(stored["visits"], fill=0), run.visits)
    assert stored["policy_epochs"].sum() == 400


def test_every_replication_learner_and_model_has_its_own_random_numbers(small_study):
    study = small_study(learners=[{"name": "ct-ucrl", "delta": d, "reward_range": [0, 12]} for d in (0.1, 0.2)]).run(workers=1)
    with Store(study.store_path) as store:
        times = [float(r.data["times"][-1]) for r in store.results()]
    assert len(set(times)) == len(times) == 12


def test_common_random_numbers_share_the_world_and_not_the_learner(small_study):
    both = [{"name": "ct-ucrl", "delta": d, "reward_range": [0, 12]} for d in (0.1, 0.2)]
    study = small_study(learners=both, models=["three-state"], common_random_numbers=True).run(workers=1)
    with Store(study.store_path) as store:
        first, second = [[float(r.data["times"][1]) for r in store.results(learner=i)] for i in (1, 2)]
    assert first == second  # the first sojourn, before the learners differ


def test_running_again_computes_nothing_and_adding_computes_only_the_new(small_study, small_spec):
    study = small_study().run(workers=1)
    assert study.tally.replications == 6
    assert study.run(workers=1).tally.replications == 0
    assert small_study(replications=5).run(workers=1).tally.replications == 2 * CELLS
    more = [{"name": "ct-ucrl", "delta": 0.1, "reward_range": [0, 12]}, {"name": "ct-ucrl", "delta": 0.5, "reward_range": [0, 12]}]
    assert small_study(replications=5, learners=more).run(workers=1).tally.replications == 5 * CELLS
    whole = small_study("whole", replications=5, learners=more).run(workers=1)
    assert content(whole)[0] == content(study)[0]


@pytest.mark.parametrize(
    "changes", [{"epochs": 401}, {"seed": 6}, {"checkpoints": 13}, {"common_random_numbers": True}, {"start": 1}]
)
def test_a_changed_study_is_refused_by_its_old_store(small_study, changes):
    before = content(small_study().run(workers=1))
    (key,) = changes
    with pytest.raises(StoreError, match=f"made with {key} = .* now says {key} = .* cannot be mixed"):
        small_study(**changes).run(workers=1)
    assert content(small_study()) == before


def test_a_changed_model_or_learner_under_an_old_label_is_refused(small_study):
    small_study(models=[{"zoo": "two-state", "label": "m"}]).run(workers=1)
    with pytest.raises(StoreError, match="the model 'm' is not what it was"):
        small_study(models=[{"zoo": "three-state", "label": "m"}]).run(workers=1)
    with pytest.raises(StoreError, match="already, under the label 'm'"):
        small_study(models=[{"zoo": "two-state", "label": "n"}]).run(workers=1)
    with pytest.raises(StoreError, match=r"the learner .* is not what it was"):
        small_study(
            models=[{"zoo": "two-state", "label": "m"}],
            learners=[
                {"name": "ct-ucrl", "delta": 0.3, "label": "ct-ucrl (delta=0.1, reward_range=[0, 12])", "reward_range": [0, 12]}
            ],
        ).run(workers=1)


def test_a_learner_whose_parameters_were_edited_is_refused_and_one_added_beside_it_is_not(small_study):
    old, new = {"name": "ct-ucrl", "delta": 0.1}, {"name": "ct-ucrl", "delta": 0.2}
    small_study(learners=[old]).run(workers=1)
    with pytest.raises(StoreError, match=r"'ct-ucrl \(delta=0.1\)' .* is 'ct-ucrl \(delta=0.2\)' in the study now.*List both"):
        small_study(learners=[new]).run(workers=1)
    assert small_study(learners=[{"name": "random"}]).run(workers=1).tally.replications == 3 * CELLS
    assert small_study(learners=[old, new]).run(workers=1).tally.replications == 3 * CELLS
    assert small_study(learners=[{**new, "delta": 0.3, "label": "third"}]).run(workers=1).tally.replications == 3 * CELLS
    small_study("zoo", models=[{"zoo": "random", "states": 4}], learners=["random"]).run(workers=1)
    with pytest.raises(StoreError, match=r"the model 'random:states=4' .* is 'random:states=3' in the study now"):
        small_study("zoo", models=[{"zoo": "random", "states": 3}], learners=["random"]).run(workers=1)


def test_a_changed_program_is_accepted_if_it_gives_the_same_numbers_and_refused_if_not(small_study, monkeypatch):
    small_study().run(workers=1)
    monkeypatch.setattr("sojourn.study.adopt.fingerprint", lambda: "another")
    assert small_study(replications=4).run(workers=1).tally.replications == CELLS
    with Store(small_study().store_path) as store:
        assert len(store.codes()) == 2
    monkeypatch.setattr("sojourn.study.adopt.fingerprint", lambda: "a third")
    honest = Replication.columns
    monkeypatch.setattr(Replication, "columns", lambda self: {k: v + (k == "rewards") for k, v in honest(self).items()})
    with pytest.raises(StoreError, match=r"program has changed .* rewards = "):
        small_study(replications=5).run(workers=1)
    with Store(small_study().store_path) as store:  # what was refused left no trace
        assert store.replications == 4 and len(store.codes()) == 2


@pytest.mark.parametrize(("column", "factor", "goes_on"), [("regret", 1 + 1e-13, True), ("pseudo_regret", 1 + 1e-11, True),
                                                           ("pseudo_regret", 1 + 1e-3, False), ("times", 1 + 1e-15, False)])
def test_a_changed_program_may_change_the_last_digits_of_regrets_only(small_study, monkeypatch, column, factor, goes_on):
    small_study().run(workers=1)
    monkeypatch.setattr("sojourn.study.adopt.fingerprint", lambda: "another")
    honest = Replication.columns
    monkeypatch.setattr(
        Replication, "columns", lambda self: {k: v * (factor if k == column else 1) for k, v in honest(self).items()}
    )
    if goes_on:
        assert small_study(replications=4).run(workers=1).tally.replications == CELLS
    else:
        with pytest.raises(StoreError, match=f"program has changed .* {column} = "):
            small_study(replications=4).run(workers=1)


def test_a_changed_program_that_fails_where_the_old_one_did_not_is_refused_in_words(small_study, monkeypatch):
    small_study().run(workers=1)
    monkeypatch.setattr("sojourn.study.adopt.fingerprint", lambda: "another")
    monkeypatch.setattr(Replication, "step", lambda self: 1 / 0)
    with pytest.raises(StoreError, match="was finished there and now fails with ZeroDivisionError: division by zero"):
        small_study().run(workers=1)


def test_an_executor_that_breaks_is_made_anew_and_nothing_is_lost(small_study, reference):
    made = []

    def make():
        made.append(1)
        return Shuffled(breaks=2 if len(made) < 3 else 0)

    study = small_study("broken").run(executor=make)
    assert content(study) == reference and study.tally.breaks >= 2 and len(made) >= 3


def test_an_executor_that_always_breaks_is_given_up_with_the_names_of_what_it_was_doing(small_study, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(StoreError, match=r"lost 6 times in a row .* on three-state, replications \[0"):
        small_study().run(executor=lambda: Shuffled(breaks=10**9))
    with pytest.raises(StoreError, match="cannot be rebuilt"):
        small_study().run(executor=Shuffled(breaks=10**9))


FAILING = '''
import numpy as np
from sojourn.learn.learner import Plan

class Failing:
    """A plain learner of 15 lines, which fails in its third run."""

    def __init__(self, knowledge, fail=True):
        self.knowledge, self.fail, self.seen = knowledge, fail, 0

    def plan(self):
        if self.fail and self.seen > 100:
            raise ZeroDivisionError("by design")
        return Plan(self.knowledge.pair_action[self.knowledge.pair_start[:-1]], max_epochs=50)

    def observe(self, history):
        self.seen += len(history)
'''


def test_a_learner_of_ones_own_takes_part_and_its_failure_is_reported_with_its_place(small_study, tmp_path, monkeypatch):
    (tmp_path / "failing_learner.py").write_text(FAILING)
    monkeypatch.syspath_prepend(tmp_path)
    said = "Failing on three-state: replications 0, 1, 2 failed with ZeroDivisionError: by design"
    with pytest.raises(SojournError, match=said):
        small_study(learners=[{"class": "failing_learner:Failing"}]).run(workers=1)
    study = small_study("good", learners=[{"class": "failing_learner:Failing", "fail": False, "label": "mine"}]).run(workers=1)
    assert study.status()["missing"] == 0
    (tmp_path / "failing_learner.py").write_text(FAILING + "\n# changed\n")
    with pytest.raises(StoreError, match="the learner 'mine' is not what it was"):
        small_study("good", learners=[{"class": "failing_learner:Failing", "fail": False, "label": "mine"}]).run(workers=1)


def test_a_shard_computes_its_part_only(small_study):
    study = small_study().run(workers=1, replications=range(1, 3))
    with Store(study.store_path) as store:
        assert {r.replication for r in store.results()} == {1, 2}
    assert study.status()["missing"] == CELLS
    assert study.run(workers=1).tally.replications == CELLS


def test_a_horizon_in_time_stops_at_that_time(small_study, reference):
    changes = {"epochs": None, "time": 30.0, "models": ["three-state"]}
    study = small_study("timed", **changes)
    study.run(workers=1)
    with Store(study.store_path) as store:
        assert all(float(r.data["times"][-1]) == 30.0 for r in store.results())
    pieces = small_study("timed-pieces", **changes)
    with Store(pieces.store_path, write=True) as store:
        run_study(pieces.spec, store, Inline(), slice_seconds=0.0)
    assert content(pieces) == content(study)


@pytest.mark.slow
def test_a_pool_whose_worker_is_killed_loses_nothing(small_study, reference):
    pools = []

    def make():
        pools.append(process_pool(2))
        return pools[-1]

    study = small_study("killed")

    class Killer:
        """Kills a worker when the first task lands."""

        done = False

        def begin(self, *values): ...

        def advance(self, cell, outcome):
            if not self.done:
                self.done = True
                os.kill(next(iter(pools[0]._processes)), signal.SIGKILL)

        def say(self, text): ...

        def end(self): ...

    study.run(executor=make, progress=Killer())
    assert content(study) == reference and len(pools) >= 1


@pytest.mark.slow
def test_workers_end_when_their_coordinator_is_killed(tmp_path):
    code = (
        "import time, os, sys\nfrom sojourn.study.executors import process_pool\n"
        "if __name__ == '__main__':\n    pool = process_pool(1)\n    print(pool.submit(os.getpid).result(), flush=True)\n"
        "    pool.submit(time.sleep, 60)\n    time.sleep(60)\n"
    )
    (tmp_path / "coordinator.py").write_text(code)
    with subprocess.Popen([sys.executable, tmp_path / "coordinator.py"], stdout=subprocess.PIPE, text=True) as process:
        worker = int(process.stdout.readline())
        process.kill()
    for _ in range(100):
        try:
            os.kill(worker, 0)
            time.sleep(0.05)
        except ProcessLookupError:
            return
    pytest.fail(f"worker {worker} is still there")


def test_a_worker_started_by_nobody_needs_no_parent():
    before = signal.getsignal(signal.SIGINT)
    try:
        end_with_parent()
    finally:
        signal.signal(signal.SIGINT, before)


SCRIPT = """
import sojourn
print("top")
study = sojourn.Study("s", models=["three-state"], learners=["ct-ucrl", "random"], epochs=300, replications=2, store="s.sqlite")
print(study.run(workers=2).tally.replications)
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["file", "stdin"])
def test_a_script_without_a_main_guard_runs_a_study_on_several_workers(tmp_path, way):
    (tmp_path / "script.py").write_text(SCRIPT)
    words, text = ([tmp_path / "script.py"], None) if way == "file" else (["-"], SCRIPT)
    ran = subprocess.run([sys.executable, *words], input=text, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.stdout.split() == ["top", "4"], ran.stderr

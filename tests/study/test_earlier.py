"""Stores begun when a study without `delta` meant delta = 1/N.  The golden one was written by that program: 1 of 2 replications."""

from pathlib import Path
from shutil import copy

import pytest

from sojourn.errors import StoreError
from sojourn.study.merge import merge, salvage
from sojourn.study.run import run_study
from sojourn.study.spec import checked_study
from sojourn.study.store import Store

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "study_without_delta.sqlite"
HEAD = {"name": "without delta", "epochs": 60, "replications": 2, "seed": 7, "checkpoints": 4}
LEARNERS = [{"name": "ct-ucrl"}, {"name": "ct-kl-ucrl", "radius_scale": 0.5}]


class Listener:
    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)

    def begin(self, *more): ...

    def advance(self, *more): ...

    def end(self): ...


def study(learners=LEARNERS, **head):
    return checked_study({"study": {**HEAD, **head}, "models": ["two-state"], "learners": learners})


def run_into(path, spec):
    heard = Listener()
    with Store(path, write=True) as store:
        return run_study(spec, store, workers=1, watcher=heard), heard.said


def contents(path):
    with Store(path) as store:
        return store.verify(), {entry.label: entry.settings for entry in store.learners()}


def test_an_old_store_goes_on_as_it_began_and_says_so(tmp_path):
    old = copy(GOLDEN, tmp_path / "old.sqlite")
    for missing in (2, 0):  # to the end, and once more
        done, said = run_into(old, study())
        assert done.replications == missing
        assert len(said) == 2 and all("horizon = 60 (delta = 1/N)" in sentence for sentence in said)
    assert contents(old) == (4, {"ct-ucrl": {"horizon": 60}, "ct-kl-ucrl (radius_scale=0.5)": {"horizon": 60, "radius_scale": 0.5}})


def test_the_numbers_that_go_on_are_those_of_the_horizon_written_out(tmp_path):
    old = copy(GOLDEN, tmp_path / "old.sqlite")
    run_into(old, study())
    explicit = [{**LEARNERS[0], "horizon": 60, "label": "ct-ucrl"},
                {**LEARNERS[1], "horizon": 60, "growth": 1, "planning": "uniformised",  # as then
                 "label": "ct-kl-ucrl (radius_scale=0.5)"}]
    done, said = run_into(tmp_path / "new.sqlite", study(explicit))
    assert done.replications == 4 and said == []
    with Store(old) as one, Store(tmp_path / "new.sqlite") as two:
        assert [r.key for r in one.results()] == [r.key for r in two.results()]
    assert merge(tmp_path / "both.sqlite", [old, tmp_path / "new.sqlite"]).known == 4  # equal number by number


def test_in_a_new_store_the_same_file_means_one_hundredth(tmp_path):
    _, said = run_into(tmp_path / "new.sqlite", study())
    assert said == [] and contents(tmp_path / "new.sqlite")[1]["ct-ucrl"]["delta"] == 0.01
    with pytest.raises(StoreError, match=r"horizon = 60\) is not that of .*delta = 0.01"):
        merge(tmp_path / "new.sqlite", [GOLDEN])


def test_a_horizon_taken_out_of_a_file_is_a_change_and_refused(tmp_path):
    run_into(tmp_path / "store.sqlite", study([{"name": "ct-ucrl", "horizon": 60, "label": "mine"}]))
    with pytest.raises(StoreError, match="is not what it was"):
        run_into(tmp_path / "store.sqlite", study([{"name": "ct-ucrl", "label": "mine"}]))


def test_a_damaged_old_store_is_saved_and_goes_on_as_it_began(tmp_path):
    assert salvage(tmp_path / "saved.sqlite", GOLDEN, study()).copied == 2
    done, said = run_into(tmp_path / "saved.sqlite", study())
    assert done.replications == 2 and len(said) == 2

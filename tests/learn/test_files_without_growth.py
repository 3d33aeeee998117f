"""Files of ct-kl-ucrl and ct-joint-ucrl from before `growth`: delta was 0.01 unless told, and plans doubled (decisions/0010).

The files in tests/data/doubling were written by that program, and expected.json says how it went on from each.
"""

import json
from pathlib import Path
from shutil import copy

import pytest

import sojourn
from sojourn.control.controller import Controller
from sojourn.errors import ParameterError, StoreError
from sojourn.learn.catalogue import learner as made
from sojourn.learn.saving import meant_parameters
from sojourn.simulation.run import Run
from sojourn.simulation.session import Session
from sojourn.study.merge import merge, salvage
from sojourn.study.run import run_study
from sojourn.study.spec import checked_study
from sojourn.study.store import Store
from sojourn.study.study import Study

OLD = Path(__file__).parents[1] / "data" / "doubling"
EXPECTED = json.loads((OLD / "expected.json").read_text())
THEN = {"growth": 1.0, "planning": "uniformised"}
MEANT = {"default": {"delta": 0.01, **THEN}, "delta": {"delta": 0.05, **THEN},
         "horizon": {"delta": 1e-3, "horizon": 1000, **THEN}}
NOW = {"growth": 0.1, "planning": "real-time"}
HEAD = {"name": "doubling", "epochs": 600, "replications": 2, "seed": 7, "checkpoints": [600]}
LEARNERS = [{"name": name, **given} for name in ("ct-kl-ucrl", "ct-joint-ucrl")
            for given in ({}, {"delta": 0.05}, {"horizon": 1000})]


def files(kind):
    return sorted(path.name for path in OLD.glob(f"*.{kind}"))


def meant(name):
    return MEANT[name.partition(".")[0].rpartition("-")[2]]


@pytest.mark.parametrize("name", files("session"))
def test_a_session_goes_on_decision_for_decision(name, tmp_path):
    expected = EXPECTED[name.removesuffix(".session")]
    session = Session.load(OLD / name)
    assert session.learner.settings == {**meant(name), "radius_scale": 1.0}
    half = len(expected["reports"]) // 2
    for i, (time, after) in enumerate(expected["reports"]):
        if i == half:  # as written anew it still means the same
            session.save(tmp_path / "again.session")
            session = Session.load(tmp_path / "again.session")
        assert (session.action, session.episode.index) == (expected["actions"][i], expected["episodes"][i]), i
        session.report(time, after)


@pytest.mark.parametrize("name", files("control"))
def test_a_controller_goes_on_decision_for_decision(name, tmp_path):
    expected = EXPECTED[name.removesuffix(".control")]
    path = copy(OLD / name, tmp_path / "old.control")
    with Controller.open(path) as controller:
        assert controller.status()["parameters"] == meant(name)
        for i, (time, after) in enumerate(expected["reports"]):
            assert controller.action == expected["actions"][i], i
            controller.report(151 + i, time, after)
        assert controller.verify()["reports"] == 300
    with Controller.open(path) as controller:
        assert controller.replay()["answers_that_differ"] == 0


def test_a_new_controller_says_which_growth_it_has(tmp_path):
    known = sojourn.make("three-state").knowledge()
    for given, shown in (({}, NOW), ({"delta": 0.01}, {"delta": 0.01, **NOW})):
        with Controller.create(tmp_path / str(len(given)), known, "ct-kl-ucrl", "A", parameters=given) as controller:
            controller.report(1, 0.5, "B")
        with Controller.open(tmp_path / str(len(given))) as controller:
            learner = controller._fold.session.learner
            assert controller.status()["parameters"] == shown and learner.growth == 0.1
            assert learner.delta == given.get("delta")


@pytest.mark.parametrize("name", files("npz"))
def test_the_learner_of_a_run_goes_on_decision_for_decision(name, tmp_path):
    expected = EXPECTED[name.removesuffix(".npz")]
    run = Run.load(OLD / name)
    assert run.settings == {**meant(name), "radius_scale": 1.0}
    run.save(tmp_path / "again.npz")
    on = sojourn.simulate(run.model, Run.load(tmp_path / "again.npz").learner, max_epochs=1500, seed=5, checkpoints=[1500])
    assert (on.visits.tolist(), on.episodes.total) == (expected["visits"], expected["plans"])


def test_a_learner_with_todays_defaults_refuses_a_saved_state_of_then():
    saved = Session.load(OLD / "ct-kl-ucrl-default.session").save()["learner"]
    known = sojourn.make("three-state").knowledge()
    for name in ("delta", "growth", "planning"):
        del saved["parameters"][name]
    with pytest.raises(ParameterError, match=r"with delta = 0\.01, this one has delta = None"):
        made("ct-kl-ucrl", known).restore(saved)
    made("ct-kl-ucrl", known, delta=0.01, **THEN).restore(saved)


def test_what_other_learners_were_given_means_what_it_meant():
    assert meant_parameters(sojourn.CTUCRL, {"delta": 0.3}) == {"delta": 0.3}


# ---- studies -----------------------------------------------------------------------------------------------------------


class Listener:
    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)

    def begin(self, *more): ...

    def advance(self, *more): ...

    def end(self): ...


def study(learners=LEARNERS):
    return checked_study({"study": HEAD, "models": ["three-state"], "learners": learners})


def run_into(path, spec):
    heard = Listener()
    with Store(path, write=True) as store:
        return run_study(spec, store, workers=1, watcher=heard).replications, heard.said


def rows(path):
    with Store(path) as store:
        label = {e.id: e.label for e in store.learners()}
        return [{"learner": label[r.learner], "replication": r.replication, "key": r.key, "visits": r.data["visits"].tolist(),
                 "plans": int(r.data["episodes"])} for r in store.results()]


@pytest.fixture
def old(tmp_path):
    """The store of then with the first of two replications of each learner."""
    return copy(OLD / "study.sqlite", tmp_path / "old.sqlite")


def test_a_store_goes_on_as_it_began_and_says_so(old):
    assert [run_into(old, study())[0] for _ in range(2)] == [6, 0]
    assert rows(old) == EXPECTED["study"]
    said = run_into(old, study())[1]
    assert len(said) == 6 and all("growth = 1.0" in sentence for sentence in said)
    assert said[0] == (
        "'ct-kl-ucrl' goes on as its results were begun: with delta = 0.01 and growth = 1.0 and planning = uniformised, which a "
        "study that does not say delta or growth or planning meant then. In a new store it has today's defaults (`sojourn "
        "learners`); write delta = 0.01, growth = 1.0, planning = uniformised "
        'and label = "ct-kl-ucrl" to have these there.')


def test_a_store_opened_without_its_file_goes_on_as_it_began(old):
    Study.open(old, replications=2).run(workers=1)
    assert rows(old) == EXPECTED["study"]


def test_a_damaged_store_is_saved_and_goes_on_as_it_began(old, tmp_path):
    assert salvage(tmp_path / "saved.sqlite", old, study()).copied == 6
    assert run_into(tmp_path / "saved.sqlite", study())[0] == 6
    assert rows(tmp_path / "saved.sqlite") == EXPECTED["study"]
    assert Study.open(tmp_path / "saved.sqlite").summary().settings["ct-joint-ucrl"] == MEANT["default"] | {"radius_scale": 1.0}


def test_todays_defaults_have_other_keys_and_results_and_are_not_mixed_with_those_of_then(old, tmp_path):
    new = tmp_path / "new.sqlite"
    assert run_into(new, study()) == (12, [])
    then = EXPECTED["study"]
    assert {row["key"] for row in rows(new)}.isdisjoint(row["key"] for row in then)
    plans = [sum(row["plans"] for row in found if row["learner"] == "ct-joint-ucrl") for found in (rows(new), then)]
    assert plans[0] > 3 * plans[1]
    with pytest.raises(StoreError, match=r"the learner .ct-kl-ucrl. of .* is not that of"):
        merge(tmp_path / "both.sqlite", [old, new])


def test_a_fixed_delta_and_doubling_written_out_are_the_results_of_then(old, tmp_path):
    """Same keys and numbers, so that they count as the same; only the old default had a key of its own."""
    written = [{**entry, **THEN, "label": label} for entry, label in zip(LEARNERS, [
        "ct-kl-ucrl", "ct-kl-ucrl (delta=0.05)", "ct-kl-ucrl (horizon=1000)", "ct-joint-ucrl", "ct-joint-ucrl (delta=0.05)",
        "ct-joint-ucrl (horizon=1000)"], strict=True) if "delta" in entry or "horizon" in entry]
    new = tmp_path / "new.sqlite"
    assert run_into(new, study(written)) == (8, [])
    assert rows(new) == [row for row in EXPECTED["study"] if "(" in row["learner"]]
    assert merge(tmp_path / "both.sqlite", [old, new]).known == 4


def test_a_growth_taken_out_of_a_file_is_a_change_and_refused(tmp_path):
    mine = {"name": "ct-kl-ucrl", "delta": 0.05, "label": "mine"}
    run_into(tmp_path / "store.sqlite", study([{**mine, "growth": 1}]))
    with pytest.raises(StoreError, match="is not what it was"):
        run_into(tmp_path / "store.sqlite", study([mine]))

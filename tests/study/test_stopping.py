"""Studies that ask when their runs could have stopped."""

import json
from html import escape

import numpy as np
import pytest

from command_line import run as command
from sojourn.errors import ParameterError, StoreError
from sojourn.model.closeness import Within, within
from sojourn.simulation.simulate import simulate
from sojourn.study.merge import merge
from sojourn.study.run import run_study
from sojourn.study.spec import checked_study
from sojourn.study.stopping import Stopping, stopping_of
from sojourn.study.store import Store
from sojourn.study.study import Study
from sojourn.study.task import Replication
from sojourn.zoo.catalogue import make

ASKED = {"epochs": 3000, "replications": 3, "within": "30%", "models": [{"zoo": "two-state", "rate_bounds": [0.5, 60.0]}],
         "learners": [{"name": "ct-joint-ucrl", "supports": True}, {"name": "ct-ucrl", "reward_range": [0, 12]}]}


def test_each_run_notes_when_it_could_have_stopped_and_goes_on_to_its_horizon(small_study):
    study = small_study("asked", **ASKED).run(workers=1)
    joint, printed = study.summary().stopping
    assert (joint.runs, joint.stopped, joint.correct, joint.refused) == (3, 3, 3, "")
    assert 10 < joint.early <= joint.median <= joint.late < 3000 and joint.least == 0
    assert printed.stopped == 0 and printed.median == np.inf and "'ct-ucrl' leaves out long holding times" in printed.refused
    plain = small_study("plain", **{**ASKED, "within": None}).run(workers=1).summary()
    assert plain.stopping == [] and [row.replications for row in plain.rows] == [3, 3]
    with Store(study.store_path) as store:
        first = next(store.results(1, 1)).data
    assert first["epochs"][-1] == 3000 and first["stopping"]["epochs"] in (joint.early, joint.median, joint.late)


def test_a_learner_without_rate_bounds_is_said_in_the_words_of_a_study_file(small_study):
    study = small_study("untold", **{**ASKED, "epochs": 100, "replications": 1, "models": ASKED["models"],
                                     "learners": [{"name": "random", "rate_bounds": "unknown"}]}).run(workers=1)
    (found,) = study.summary().stopping
    assert found.stopped == 0 and found.refused == (
        "no rate bounds are told, and a certificate needs some; leave rate_bounds = \"unknown\" out of the learner's table.")
    assert found.refused in str(study.summary()) and found.refused in command("study", "summary", study.store_path).out
    assert escape(found.refused) in study.summary()._repr_html_()


def test_a_replication_stops_where_simulate_stops(small_spec):
    spec = small_spec(**ASKED)
    model, learner = spec.models[0], spec.learners[0]
    walked = Replication(model.model, learner, 0, spec.horizon, model.key)
    while not walked.done:
        walked.step()
    found = walked.result()["stopping"]
    own = Replication(model.model, learner, 0, spec.horizon, model.key)
    run = simulate(model.model, own.walk.learner, max_epochs=3000, stop_when=within("30%"), seed=_world(spec, model, learner))
    assert run.certificate and run.certificate.epochs == found["epochs"] and found["correct"] == 1
    assert found["short"] == pytest.approx(0, abs=1e-9)


def _world(spec, model, learner):
    from sojourn.study.task import seed_addresses

    return seed_addresses(spec.horizon, model.key, learner.key, 0)[1]


def test_a_replication_put_aside_and_taken_up_stops_where_it_would_have(small_spec):
    spec = small_spec(**ASKED)
    model, learner = spec.models[0], spec.learners[0]

    def begun():
        return Replication(model.model, learner, 1, spec.horizon, model.key)

    whole = begun()
    while not whole.done:
        whole.step()
    until = whole.result()["stopping"]["epochs"]
    for pause in (until // 2, until, until + 50):
        first = begun()
        while first.walk.epoch < pause:
            first.step()
        second = begun()
        second.restore(first.state())
        while not second.done:
            second.step()
        assert second.result()["stopping"] == whole.result()["stopping"]


def test_what_is_asked_is_said_in_the_study_file_the_store_and_the_report(small_study, tmp_path, monkeypatch):
    monkeypatch.setattr("sojourn.report.study_page.FIGURES", {})  # they take seconds to draw
    study = small_study("asked", **ASKED).run(workers=1)
    assert 'within = {epsilon = "30%", delta = 0.05}' in study.spec.text
    assert Study.open(study.store_path).spec.within == Within(0.3, True, 0.05) == study.spec.within
    text = str(study.summary())
    assert "any rule needs" in text and "within 30 % of the best gain, with 95 % confidence" in text and "cannot say" in text
    for page in ("page.html", "page.md"):
        assert "When learning could stop" in study.report(tmp_path / page).read_text(encoding="utf-8")
    said = json.loads(command("study", "summary", study.store_path, "--json").out)
    assert said["stopping"][0]["stopped"] == 3 and said["stopping"][1]["median"] is None and said["within"]["epsilon"] == "30%"


def test_results_with_and_without_the_question_are_not_mixed(small_study, small_spec, tmp_path):
    asked, plain = small_study("asked", **ASKED).run(workers=1), small_study("plain", **{**ASKED, "within": None}).run(workers=1)
    for study, changes in ((asked, {"within": None}), (plain, {"within": "30%"}), (asked, {"within": "20%"})):
        with Store(study.store_path, write=True) as store, pytest.raises(StoreError, match="within"):
            run_study(small_spec(**{**ASKED, **changes}), store, workers=1)
    for first, second in ((asked, plain), (plain, asked)):
        with pytest.raises(StoreError, match="within"):
            merge(tmp_path / f"{first.spec.name}-{id(first)}.sqlite", [first.store_path, second.store_path])


@pytest.mark.parametrize("value, rule", [
    ("5 per cent", "epsilon is '5 per cent'"), (0, "above 0"), ({"delta": 0.1}, "a table has epsilon"),
    ({"epsilon": "5%", "delta": 2}, "delta is 2"), ({"epsilon": 0.1, "x": 1}, "a table has epsilon")])
def test_a_question_that_makes_no_sense_is_refused(small_raw, value, rule):
    with pytest.raises(ParameterError, match=rule):
        checked_study(small_raw(within=value))


def test_figures_of_stopping_times_done_by_hand():
    def of(epochs, correct=1):
        return {"epochs": epochs, "time": epochs / 2, "short": 0.0, "correct": correct, "refused": ""}

    found = stopping_of([of(100), of(300), of(0, 0), of(200, 0)], "m", "x", 7.0)
    assert found == Stopping("m", "x", 4, 3, 2, 100.0, 200.0, np.inf, 100.0, 7.0)


def test_a_wrong_certificate_counts_as_wrong(small_spec, monkeypatch):
    """The policy named is replaced by the worse one of two-state; the study knows the model."""
    spec = small_spec(**ASKED)
    model = make("two-state").replace(rate_bounds=(0.5, 60.0))
    walked = Replication(model, spec.learners[0], 0, spec.horizon, spec.models[0].key)
    while not walked.done:
        walked.step()
    last = walked.watch.looks.last
    best = last.policy.copy()
    for policy in ([0, 0], [0, 1], [1, 0], [1, 1]):
        object.__setattr__(last, "policy", np.array(policy))
        assert walked.watch.result()["stopping"]["correct"] == (policy == best.tolist())

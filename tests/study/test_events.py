"""Studies with learners of events: what is in the keys of their results, and what the test of the events says."""

from dataclasses import replace

import numpy as np
import pytest

from sojourn.errors import StoreError
from sojourn.report.study_page import write_report
from sojourn.study.entries import ModelEntry
from sojourn.study.merge import merge
from sojourn.study.store import Store
from sojourn.study.words import structure_lines, summary_text
from sojourn.zoo.catalogue import make

TANDEM = make("tandem:capacity=2")
BARE = TANDEM.replace(events=None)
KNOWN = TANDEM.with_events(replace(TANDEM.events, low=TANDEM.events.value / 2, high=TANDEM.events.value * 2))
WORLDS = (TANDEM, BARE, KNOWN)


def entry(model):
    return {"model": model, "label": "queue"}


def keys(study):
    with Store(study.store_path) as store:
        return {(r.learner, r.replication): r.key for r in store.results()}


def test_events_are_in_the_keys_of_learners_that_are_told_of_them_and_of_no_others():
    plain = {ModelEntry("m", {}, model).key_for(told_events=False) for model in WORLDS}
    told = [ModelEntry("m", {}, model).key_for(told_events=True) for model in WORLDS]
    assert len(plain) == 1 and len(set(told)) == 3
    assert told[1] in plain  # where none are declared, nothing is added


def test_results_of_tabular_learners_have_one_key_whatever_events_are_declared(small_study):
    both = ["ct-psrl", "events-ce"]
    found = [keys(small_study(f"store{i}", models=[entry(model)], learners=both, replications=1).run(workers=1))
             for i, model in enumerate(WORLDS)]
    tabular, events = ({one[learner, 0] for one in found} for learner in (1, 2))
    assert len(tabular) == 1 and len(events) == 3


def test_a_store_goes_on_with_other_events_unless_a_learner_is_told_of_them(small_study):
    for model, learners, done in ((BARE, ["ct-psrl"], 3), (TANDEM, ["ct-psrl"], 0)):
        assert small_study(models=[entry(model)], learners=learners).run(workers=1).tally.replications == done
    with pytest.raises(StoreError, match=r"'queue' declares other events than when .* was written.*another --store"):
        small_study(models=[entry(TANDEM)], learners=["ct-psrl", "events-ce"]).run(workers=1)
    assert small_study(models=[entry(BARE)], learners=["ct-psrl", "events-ce"]).run(workers=1).tally.replications == 3
    small_study("other", models=[entry(TANDEM)], learners=["events-ce"]).run(workers=1)
    with pytest.raises(StoreError, match="'queue' declares other events in"):
        merge(small_study("other").store_path, [small_study().store_path])


def test_the_summary_and_the_report_say_whether_the_declared_events_hold(small_study, tmp_path):
    study = small_study(models=[entry(TANDEM)], learners=["events-ce"], epochs=1000).run(workers=1)
    summary = study.summary()
    (line,) = structure_lines(summary)
    assert line.startswith("events-ce on queue: nothing speaks against the declared events (evidence of at most 1 to 1 in 3 runs")
    assert line in summary_text(summary)
    page = write_report(study.store_path, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Do the declared events hold?" in page and "nothing speaks against the declared events" in page
    bad = ({"log_e": 9.0, "event": "serve 2", "rejected": 300}, {"log_e": 0.1, "event": "arrive", "rejected": 0},
           {"log_e": 8.0, "event": "serve 2", "rejected": 500})
    cell = replace(summary.curves[0], structure=bad)
    assert "do not hold, found in 2 of 3 runs (median: after 400 decisions), most of it about 'serve 2'" in structure_lines(
        replace(summary, curves=[cell]))[0]


def test_a_study_without_learners_of_events_says_nothing_of_them(small_study):
    study = small_study(models=[entry(TANDEM)], learners=["random"]).run(workers=1)
    assert not structure_lines(study.summary())
    with Store(study.store_path) as store:
        assert all("structure" not in result.data for result in store.results())


def test_a_rejected_structure_is_kept_with_the_epoch_at_which_it_was_seen(small_study, monkeypatch):
    monkeypatch.setattr("sojourn.learn.structure_test.REJECT", 1e-6)
    study = small_study(models=[entry(TANDEM)], learners=["events-ce"], epochs=1000, replications=1).run(workers=1)
    with Store(study.store_path) as store:
        (found,) = [result.data["structure"] for result in store.results()]
    assert 100 <= found["rejected"] < 1000 and found["event"] in TANDEM.events.names and np.isfinite(found["log_e"])

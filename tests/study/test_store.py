"""The store by itself, and what a study says of it."""

import sqlite3

import pytest

from sojourn.errors import StoreError
from sojourn.study.store import Store
from sojourn.study.study import Study, status


def test_a_study_file_is_kept_once_for_each_time_that_it_changed(tmp_path):
    with Store(tmp_path / "a.sqlite", write=True) as store:
        for text in ("one", "one", "two", "two", "one"):
            store.add_spec(text)
        assert store.specs() == ["one", "two", "one"]


def test_a_program_is_kept_once_and_found_again_with_its_versions(tmp_path):
    with Store(tmp_path / "a.sqlite", write=True) as store:
        assert [store.add_code(print_, {"numpy": print_}) for print_ in ("a", "b", "a", "b", "c")] == [1, 2, 1, 2, 3]
        assert store.codes() == [(1, "a", {"numpy": "a"}), (2, "b", {"numpy": "b"}), (3, "c", {"numpy": "c"})]


def test_only_the_opening_that_made_a_store_takes_it_away_again(tmp_path):
    path = tmp_path / "a.sqlite"
    made = Store(path, write=True)
    assert made.new
    made.discard()
    assert list(tmp_path.iterdir()) == []
    Store(path, write=True).close()
    with Store(path, write=True) as again:
        assert not again.new
        again.discard()
    assert path.exists()
    with Store(path) as reader:
        assert not reader.new and reader.name == "" and reader.horizon == {} and reader.replications == 0


def test_a_replication_that_was_taken_out_is_missed(small_study):
    """Every page and every row that is left is sound; only the number of those acknowledged tells."""
    study = small_study().run(workers=1)
    with Store(study.store_path) as store:
        assert store.verify() == 6
    database = sqlite3.connect(study.store_path)
    database.execute("DELETE FROM results WHERE id = 6")
    database.commit()
    database.close()
    with Store(study.store_path) as store, pytest.raises(StoreError, match="5 replications are readable, 6 were acknowledged"):
        store.verify()


def test_status_counts_each_learner_on_each_model(small_study):
    """Two models and two learners, of which one cell is done."""
    learners = [{"name": "ct-ucrl", "delta": 0.1, "reward_range": [0, 12], "label": "first"}, {"name": "random"}]
    small_study(models=[{"zoo": "three-state"}], learners=learners[:1]).run(workers=1)
    study = small_study(learners=learners)
    study.run(workers=1, replications=range(0))
    assert study.status() == {"study": "small", "epochs": 400, **{key: study.status()[key] for key in study.spec.horizon},
                              "finished": 3, "missing": 9, "failed": 0,
                              "cells": [{"model": m.label, "learner": e.label, "asked": 3, "failed": 0,
                                         "finished": 3 * (m.label == "three-state" and e.label == "first")}
                                        for m in study.spec.models for e in study.spec.learners]}
    with Store(study.store_path) as store:
        assert status(store) == study.status() and store.name == "small" and store.replications == 3
        assert store.counts() == {(1, 1): 3} and [m.id for m in store.models()] == [1, 2]


def test_what_is_not_told_of_a_study_has_its_printed_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = Study("my study: 1", models=["two-state"], learners=["random"], epochs=10)
    assert study.spec.replications == 20 and study.spec.seed == 0 and str(study.store_path) == "my-study-1.sqlite"
    assert Study("?!", models=["two-state"], learners=["random"], time=10).store_path.name == "study.sqlite"
    told = Study("a", models=["two-state"], learners=["random"], epochs=10, store=tmp_path / "b.sqlite")
    assert told.store_path == tmp_path / "b.sqlite"
    text = '[study]\nname = "c"\nepochs = 10\n[[models]]\nzoo = "two-state"\n[[learners]]\nname = "random"\n'
    (tmp_path / "c.toml").write_text(text)
    assert Study.from_toml(tmp_path / "c.toml").store_path == tmp_path / "c.sqlite"
    assert Study.from_toml(tmp_path / "c.toml", tmp_path / "d.sqlite").store_path == tmp_path / "d.sqlite"


class Listener:
    """A watcher that keeps what it is told."""

    def __init__(self):
        self.heard = []

    def begin(self, cells, finished, total, epochs):
        self.heard.append(("begin", total, epochs))

    def advance(self, cell, outcome):
        self.heard.append(("advance", cell))

    def say(self, text):
        self.heard.append(("say", text))

    def end(self):
        self.heard.append(("end",))


@pytest.mark.parametrize("progress, shown", [(True, True), (False, False), (None, False)])
def test_progress_is_shown_where_it_is_asked_for(small_study, capsys, progress, shown):
    study = small_study()
    assert study.run(workers=1, progress=progress) is study and not study.interrupted
    assert bool(capsys.readouterr().err) == shown


def test_a_watcher_of_ones_own_is_told_how_it_goes(small_study, capsys):
    listener = Listener()
    small_study().run(workers=1, progress=listener)
    kinds = [heard[0] for heard in listener.heard]
    assert listener.heard[0] == ("begin", 3, 400) and kinds[-1] == "end"
    assert {heard[1] for heard in listener.heard if heard[0] == "advance"} == {0, 1}
    assert capsys.readouterr().err == ""

"""A stored study opens without its file or script: the same tables, and it goes on where it stopped."""

import pytest

import sojourn
from sojourn import Choice
from sojourn.errors import ParameterError, StoreError
from sojourn.study.store import Store


def shelf(n):
    """States 3, 2, 1, 0, found downwards from 3."""
    if n == 0:
        return {"refill": Choice({3: 0.5}, cost=1.0)}
    return {"sell": Choice({n - 1: 1.0}, reward=1.0), "refill": Choice({3: 0.5}, cost=0.4 * (3 - n))}


def made(path, replications=2, **more):
    return sojourn.Study("reopened", models=[sojourn.CTMDP.explore(3, shelf), "two-state"],
                         learners=["random", {"name": "ct-ucrl", "delta": 0.1}], epochs=60,
                         replications=replications, checkpoints=[1, 10, 60], store=path, **more)


@pytest.mark.filterwarnings("ignore::sojourn.errors.RewardScaleWarning")
def test_a_store_alone_gives_the_study_and_goes_on_as_one_that_never_stopped(tmp_path):
    for more in ({}, {"start": 0}, {"common_random_numbers": True}):
        path, whole = tmp_path / f"{len(more)}{list(more)}.sqlite", tmp_path / f"whole{list(more)}.sqlite"
        first = made(path, **more).run(workers=1)
        again = sojourn.Study.open(path)
        assert repr(again) == repr(first) and again.spec.horizon == first.spec.horizon and again.spec.start == first.spec.start
        assert again.frame().equals(first.frame()) and str(again.summary()) == str(first.summary())
        assert [m.key for m in again.spec.models] == [m.key for m in first.spec.models]
        sojourn.Study.open(path, replications=3).run(workers=1)
        assert again.frame().equals(made(whole, replications=3, **more).run(workers=1).frame())
        with Store(path) as store:
            assert store.replications == 3


def test_what_is_no_study_is_refused(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        sojourn.Study.open(tmp_path / "none.sqlite")
    Store(tmp_path / "empty.sqlite", write=True).close()
    with pytest.raises(StoreError, match="holds no study yet"):
        sojourn.Study.open(tmp_path / "empty.sqlite")
    made(tmp_path / "a.sqlite", replications=1).run(workers=1)
    for wrong in (0, -1, 1.5, True, "3"):
        with pytest.raises(ParameterError, match="replications is"):
            sojourn.Study.open(tmp_path / "a.sqlite", replications=wrong)


def test_ctrl_c_returns_with_a_warning_that_says_how_to_go_on(tmp_path, monkeypatch):
    def pressed(*args, **more):
        raise KeyboardInterrupt

    study = made(tmp_path / "a.sqlite").run(workers=1)
    monkeypatch.setattr("sojourn.study.study.run_study", pressed)
    with pytest.warns(sojourn.errors.SojournWarning, match=r"interrupted: 8 of 8 .*a\.sqlite\. Run it again to go on"):
        assert study.run(workers=1) is study and study.interrupted
    monkeypatch.undo()
    assert not study.run(workers=1).interrupted

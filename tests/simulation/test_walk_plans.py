"""A learner whose plans are compiled into the driver is the same learner, bit for bit, as one asked for every plan."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.errors import ParameterError
from sojourn.learn.abilities import abilities_of
from sojourn.learn.ct_bk import CTBK
from sojourn.learn.ct_imed import CTIMED
from sojourn.learn.ct_psrl import CTPSRL
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation import episodes as logging
from sojourn.simulation.session import Session
from sojourn.simulation.walk import Walk
from sojourn.zoo.catalogue import make


def asked(kind):
    """Return `kind` with a `plan` of its own, which is therefore asked for every plan; it goes by the name of `kind`."""
    return type(kind.__name__, (kind,), {"plan": lambda self: kind.plan(self), "__module__": kind.__module__})


GIVEN = [(CTPSRL, {}), (CTPSRL, {"samples": 3}), (CTPSRL, {"episodes": "doubling"}),
         (CTPSRL, {"prior": 0.5, "rate_prior": (2.0, 1.0)}), (CTIMED, {}), (CTIMED, {"draws": 2, "depth": 0.0}),
         (CTIMED, {"draws": 0}), (CTIMED, {"prior": 0.5, "depth": 0.3}), (CTBK, {}), (CTBK, {"draws": 0})]
KINDS = [CTPSRL, CTIMED, CTBK]
LAWS = [None, "deterministic", "lognormal:cv=1"]


def walks(model, seed, law=None, supports=False, given=(CTPSRL, {}), start=0):
    """Return a walk of plans walked in one call, and one of plans asked for one by one."""
    known, (kind, more) = model.knowledge(supports=supports), given
    return [Walk(model, each(known, seed=seed, **more), seed=seed, holding_times=law, start=start)
            for each in (kind, asked(kind))]


def rows(walk):
    return [tuple(np.asarray(x).tolist() for x in row) for row in walk.log.episodes(walk.epoch, walk.visits)]


def same(lab, one, two):
    plans = [walk.episode.plan for walk in (one, two)]
    assert lab.equal(one.state(), two.state())
    assert repr(rows(one)) == repr(rows(two))
    assert one.time == two.time and one.moment()[:-1] == two.moment()[:-1]
    assert plans[0].info == plans[1].info and all(type(value) is float for plan in plans for value in plan.info.values())
    return True


@settings(max_examples=80)
@given(seed=st.integers(0, 10**6), paid=st.booleans(), law=st.sampled_from(LAWS), supports=st.booleans(),
       given=st.sampled_from(GIVEN), cuts=st.lists(st.integers(1, 300), max_size=5))
def test_plans_in_one_call_are_the_plans_asked_one_by_one_however_they_are_cut(lab, seed, paid, law, supports, given, cuts):
    model = lab.model(seed, paid=paid)
    one, two = walks(model, seed, law, supports, given)
    two.advance(300)
    for cut in [*sorted(cuts), 300]:
        one.advance(cut)
    assert same(lab, one, two)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), law=st.sampled_from(LAWS), given=st.sampled_from(GIVEN),
       times=st.lists(st.floats(0.1, 150), min_size=1, max_size=4))
def test_the_same_with_times_to_stop_at(lab, seed, law, given, times):
    model = lab.model(seed)
    one, two = walks(model, seed, law, given=given)
    for time in sorted(times):
        one.advance(until_time=time)
        two.advance(until_time=time)
        if two.epoch:
            assert same(lab, one, two)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), stop=st.integers(1, 250), law=st.sampled_from(LAWS), given=st.sampled_from(GIVEN))
def test_a_state_saved_by_one_is_taken_up_by_the_other(lab, seed, stop, law, given):
    model = lab.model(seed)
    one, two = walks(model, seed, law, given=given)
    whole = walks(model, seed, law, given=given)[1]
    whole.advance(300)
    one.advance(stop)
    two.restore(one.state())
    one.restore(two.state())
    for walk in (one, two):
        walk.advance(300)
        assert same(lab, walk, whole)


def test_long_runs_over_several_calls_and_blocks_are_the_same(lab, monkeypatch):
    monkeypatch.setattr("sojourn.learn.sampling.MOST_PLANS", 100)
    monkeypatch.setattr("sojourn.simulation.walk.BLOCK", 2**12)
    for name, law, kind in itertools.product(("river-swim", "three-state"), ("deterministic", None), KINDS):
        one, two = walks(make(name), 5, law, given=(kind, {}))
        one.advance(60_000)
        two.advance(60_000)
        assert one.log.total > 300 and same(lab, one, two)


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_decides_as_plans_in_one_call_do(lab, kind):
    model = lab.model(11)
    one = walks(model, 11, given=(kind, {}))[0]
    one.advance(400)
    recorded = Walk(model, kind(model.knowledge(), seed=11), seed=11, record=True)
    recorded.advance(400)
    session = Session(kind(model.knowledge(), seed=11), 0)
    for path in recorded.recorded:
        for tau, arrived, reward in zip(path.holding_time, path.next_state, path.lump, strict=True):
            assert session.action_index >= 0
            session.report(tau, int(arrived), lump=reward)
    assert lab.equal(one.learner.state(), session.learner.state())


@pytest.mark.parametrize("kind", KINDS)
def test_a_learner_in_the_middle_of_a_plan_is_asked_for_another_one_by_another_walk(lab, kind):
    model = lab.model(4)
    pair = walks(model, 4, given=(kind, {}))
    for walk in pair:
        walk.advance(137)
    later = [Walk(model, walk.learner, seed=8, start=walk.position) for walk in pair]
    for walk in later:
        walk.advance(200)
    assert same(lab, *later) and later[0].log.rows[0][0] == 1


def test_the_log_keeps_no_more_episodes_than_it_may(lab, monkeypatch):
    monkeypatch.setattr(logging, "KEPT", 30)
    model = make("three-state")
    for cuts in ([2000], [100, 700, 2000], list(range(50, 2001, 50))):
        one, two = walks(model, 2)
        for cut in cuts:
            one.advance(cut)
        two.advance(2000)
        assert one.log.total > 31 and len(one.log.rows) == len(one.log.closed) == 30
        assert same(lab, one, two)


@pytest.mark.parametrize("kind", KINDS)
def test_a_jump_outside_the_known_supports_is_refused_with_the_same_words(kind):
    rows = np.array([[[0.7, 0.3, 0.0]], [[0.5, 0.0, 0.5]], [[1.0, 0.0, 0.0]]])
    told = CTMDP.from_arrays(rows, np.ones((3, 1)), np.ones((3, 1)))
    true = CTMDP.from_arrays(0.97 * rows + 0.01, np.ones((3, 1)), np.ones((3, 1)))
    ends = []
    for each in (kind, asked(kind)):
        walk = Walk(true, each(told.knowledge(supports=True), seed=1), seed=6)
        with pytest.raises(ParameterError, match="outside its known support") as refusal:
            walk.advance(1000)
        ends.append((str(refusal.value), walk.epoch, walk.position, walk.time, walk.visits.tolist(), walk.log.total))
    assert ends[0] == ends[1] and ends[0][1] > 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_that_a_subclass_or_the_object_has_replaced_is_asked_for(lab, kind):
    model = lab.model(1)
    known = model.knowledge()
    learner = kind(known)
    assert abilities_of(learner).compiled_plan is kind.compiled_plan is not None
    assert abilities_of(asked(kind)(known)).compiled_plan is None and abilities_of(lab.Wanderer(known)).compiled_plan is None
    times = []
    plan = learner.plan
    learner.plan = lambda: times.append(1) or plan()
    Walk(model, learner).advance(50)
    assert len(times) > 3

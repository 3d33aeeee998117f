"""Compiled Q-learners and their driver equal themselves in plain Python, filled in with their readable twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.test_driver import some_model

from sojourn.kernels import q_learning as q
from sojourn.kernels.acting import acting, walk_acts
from sojourn.kernels.driver import PlainBox, boxed, filled_with
from sojourn.kernels.ledger import empty_begun, empty_ledger
from sojourn.kernels.walk import walk_plan_reference
from sojourn.learn.catalogue import learner
from sojourn.learn.counts import Counts
from sojourn.learn.streams import stream, stream_state
from sojourn.simulation.world import world_of

TWINS = {"smart": (q.smart_act_reference, q.smart_learn_reference), "rvi-q": (q.rvi_act_reference, q.rvi_learn_reference),
         "optimistic-q": (q.optimistic_act_reference, q.optimistic_learn_reference)}


def walked(model, name, seed, law, plain, calls):
    """Return everything that some calls of the driver leave behind."""
    known = model.knowledge()
    subject, counts, rng, own = learner(name, known), Counts(known), stream(seed), stream(seed + 1)
    counts.reserve(known.n_pairs * known.n_states)
    arrays = counts.arrays(np.full(len(model.next_state), -1, dtype=np.int64))
    ledger = empty_ledger(world_of(model, law), arrays, empty_begun(1, known.n_states, known.n_pairs, 0), 200)
    act, learn = TWINS[name]
    walk = filled_with(walk_acts, act=act, learn=learn, body=walk_plan_reference) if plain else acting(*type(subject).compiled_act)
    box = (PlainBox if plain else boxed)(ledger)
    for epochs, max_time in calls:
        assert not walk(subject.table, box, rng, own, epochs, max_time)
    return [np.array(a) for a in (*subject.table, *arrays, ledger.visits, ledger.clock, ledger.at, *ledger.plan, *ledger.trace,
                                  stream_state(rng), stream_state(own))]


@pytest.mark.parametrize("name", TWINS)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), law=st.sampled_from([None, "erlang:stages=2"]), max_time=st.sampled_from([np.inf, 30.0]))
def test_a_compiled_walk_of_a_q_learner_is_that_of_its_readable_twin(name, seed, law, max_time):
    model, calls = some_model(seed), [(150, max_time), (1, max_time), (40, max_time)]
    for one, two in zip(*(walked(model, name, seed, law, plain, calls) for plain in (False, True)), strict=True):
        assert np.allclose(one, two, rtol=1e-12, atol=1e-12, equal_nan=True)


def test_the_schedule_begins_at_its_start_and_falls_like_one_over_the_steps():
    assert q.searched(0.1, 100.0, 0.0) == 0.1
    assert q.searched(0.1, 100.0, 100.0) == pytest.approx(0.1 / 51)
    assert q.searched(0.1, 100.0, 1e9) == pytest.approx(1e-10, rel=1e-4)

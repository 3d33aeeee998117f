"""The compiled walks equal the plain one bit for bit: state, counts, clock, slots and what is left of the random stream."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.kernels import fast_walk, walk
from sojourn.kernels.jit import from_python
from sojourn.kernels.ledger import DONE, STATE, TAKEN, book, book_reference, empty_begun, empty_ledger
from sojourn.kernels.walk import holding_time, holding_time_reference, walk_plan_reference
from sojourn.learn.counts import Counts
from sojourn.learn.streams import stream_state
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.holding import LAWS, law_of
from sojourn.simulation.world import world_of

walk_fast, walk_plan = from_python(fast_walk.walk_fast), from_python(walk.walk_plan)
WRITTEN = {"gamma": "gamma:shape=0.7", "erlang": "erlang:stages=3", "weibull": "weibull:shape=1.5", "pareto": "pareto:shape=2.5",
           "uniform": "uniform:spread=0.5", "lognormal": "lognormal:cv=2", "hyperexponential": "hyperexponential:probability=0.3"}


def some_model(seed: int, running: bool = False, paid: bool = False) -> CTMDP:
    rng = np.random.default_rng(seed)
    states, actions = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    rows = rng.dirichlet(np.full(states, 0.4), (states, actions))
    rows[rows < 0.02] = 0
    rows += (rows.sum(axis=2, keepdims=True) == 0) / states
    rows /= rows.sum(axis=2, keepdims=True)
    more = {"transition_reward": rng.normal(size=rows.shape)} if paid else {}
    flow = rng.normal(size=(states, actions)) if running else None
    return CTMDP.from_arrays(rows, rng.uniform(0.5, 4, (states, actions)), rng.random((states, actions)), flow, **more)


class Setting:
    """A ledger with a plan in it, and both random streams: everything one walk changes, so that two of them can be compared."""

    def __init__(self, model: CTMDP, seed: int, laws=None, randomized: bool = False, rows: int = 0):
        rng = np.random.default_rng(seed + 1)
        known = model.knowledge()
        counts = Counts(known, delta=0.3)
        counts.reserve(len(model.next_state))
        arrays = counts.arrays(np.full(len(model.next_state), -1, dtype=np.int64))
        ledger = empty_ledger(world_of(model, laws), arrays, empty_begun(1, known.n_states, known.n_pairs, 0), rows)
        ledger.plan.left[:] = rng.integers(1, 60, model.n_pairs)
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.own = np.random.Generator(np.random.PCG64(seed + 2))
        ledger.plan.pair[:] = [rng.integers(model.pair_start[s], model.pair_start[s + 1]) for s in range(model.n_states)]
        table = np.cumsum(rng.dirichlet(np.ones(model.n_actions), model.n_states), axis=1)
        table[:, -1] = 1.0
        plan = ledger.plan._replace(cumulative=table, pair_table=known.pair_table.astype(np.int64)) if randomized else ledger.plan
        self.ledger = ledger._replace(plan=plan, words=stream_state(self.rng))

    def run(self, walk, epochs: int, max_time: float = np.inf) -> bool:
        return bool(walk(self.ledger, self.rng, self.own, epochs, max_time))

    def seen(self) -> list[np.ndarray]:
        x = self.ledger
        return [np.array(a) for a in (*x.counts, x.visits, x.clock, x.at, *x.plan, stream_state(self.own), *x.trace)]


def same(one: Setting, two: Setting) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.seen(), two.seen(), strict=True))


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.sampled_from([np.inf, 20.0]))
def test_the_general_walk_equals_its_reference(seed, randomized, paid, max_time):
    model = some_model(seed, running=True, paid=paid)
    one, two = (Setting(model, seed, None, randomized, rows=400) for _ in range(2))
    for epochs in (150, 250):  # the trace goes on where it was
        assert one.run(walk_plan, epochs, max_time) == two.run(walk_plan_reference, epochs, max_time)
        assert same(one, two)
    assert one.rng.random() == two.rng.random()


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([np.inf, 20.0]), st.sampled_from([None, "deterministic", "mixed"]))
def test_the_fast_walk_equals_the_reference(seed, running, max_time, law):
    model = some_model(seed, running)
    laws = {(s, 0): "deterministic" for s in range(0, model.n_states, 2)} if law == "mixed" else law
    one, two = Setting(model, seed, laws), Setting(model, seed, laws)
    for epochs in (400, 3):
        assert one.run(walk_fast, epochs, max_time) == two.run(walk_plan_reference, epochs, max_time)
        assert same(one, two) and np.array_equal(one.ledger.words, stream_state(two.rng))
    assert not one.ledger.world.cells.reshape(-1, 4)[:, 2:].any()


def test_a_plan_ends_on_arriving_at_a_pair_with_nothing_left_not_when_its_last_visit_is_spent():
    model = CTMDP.from_arrays([[[0, 1]], [[1, 0]]], [[1.0], [1.0]], [[0.0], [0.0]])
    for most, ended in ((100, True), (4, False)):  # 0 1 0 1, then back in 0
        here = Setting(model, 0)
        here.ledger.plan.left[:] = (2, 5)
        assert here.run(walk_fast, most) == ended
        assert (here.ledger.at[STATE], here.ledger.at[DONE], here.ledger.plan.epochs[TAKEN]) == (0, 4, 4)


@pytest.mark.parametrize("name", sorted(LAWS))
def test_every_law_draws_the_same_compiled_as_not(name):
    law, first, second = law_of(WRITTEN.get(name, name))
    one, two = (np.random.Generator(np.random.PCG64(3)) for _ in range(2))
    for _ in range(2000):
        assert holding_time(one, law, 0.7, first, second) == holding_time_reference(two, law, 0.7, first, second)
    assert one.random() == two.random()


def test_a_walk_under_other_laws_equals_its_reference():
    model = some_model(4)
    for name in sorted(LAWS):
        if name == "unit":
            continue
        one, two = (Setting(model, 9, WRITTEN.get(name, name), rows=50) for _ in range(2))
        assert one.run(walk_plan, 50) == two.run(walk_plan_reference, 50)
        assert same(one, two)


def test_epochs_are_booked_as_the_reference_books_them_and_none_leave_no_trace():
    one, two = (Setting(some_model(2), 2) for _ in range(2))
    for epochs in (0, 3):
        book(one.ledger.at, one.ledger.plan.epochs, one.ledger.counts.epoch, 1, epochs, 2, 4)
        book_reference(two.ledger, 1, epochs, 2, 4)
        assert same(one, two) and one.ledger.at[DONE] == epochs


def test_settings_are_independent_copies():
    model = some_model(1)
    here = Setting(model, 1)
    before = copy.deepcopy(here.seen())
    Setting(model, 1).run(walk_fast, 50)
    assert all(np.array_equal(a, b) for a, b in zip(before, here.seen()))

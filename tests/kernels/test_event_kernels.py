"""The kernels of events agree with their readable twins."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.kernels import event_counts, event_labels, event_planning, event_steps, frailty
from sojourn.learn.event_planner import EventPlanner
from sojourn.learn.found import Found
from sojourn.model.events import events_of
from sojourn.zoo.catalogue import make

seeds = st.integers(0, 10**6)
MODELS = ["service-rate:capacity=4", "tandem:capacity=2", "admission:capacity=4", "call-centre:agents=1,lines=2,callbacks=1",
          "two-state"]
models = st.sampled_from(MODELS)


def planner_of(name):
    model = make(name)
    table = events_of(model)
    return model, table, EventPlanner(model.knowledge(events=True), table)


@settings(max_examples=40, deadline=None)
@given(models, seeds, st.booleans())
def test_policy_iteration_finds_what_the_reference_finds(name, seed, optimistic):
    model, table, planner = planner_of(name)
    rng = np.random.default_rng(seed)
    low = table.value * rng.uniform(0.3, 1.0, table.n_events)
    high = low * rng.uniform(1.0, 3.0, table.n_events) if optimistic else low
    start = rng.integers(model.pair_start[:-1], model.pair_start[1:])
    reference, bias = int(rng.integers(model.n_states)), rng.normal(size=model.n_states)
    one = event_planning.best_event_policy_reference(planner.rows, low, high, start, bias, reference)
    two = event_planning.best_event_policy(planner.rows, low, high, start, bias, reference, planner.place, planner.width)
    size = np.abs(one[1]).max() + 1
    off = two[1] - one[1]  # the kernel may have moved the reference
    assert abs(one[0] - two[0]) <= 1e-8 * size and np.ptp(off) <= 1e-6 * size
    assert (one[2] == two[2]).all() and one[3] == two[3]


@settings(max_examples=20, deadline=None)
@given(models, seeds)
def test_sweeps_are_those_of_the_reference_and_bracket_the_gain_of_policy_iteration(name, seed):
    model, table, planner = planner_of(name)
    rng = np.random.default_rng(seed)
    low = table.value * rng.uniform(0.5, 1.0, table.n_events)
    high = low * 1.2
    uniform = 1.5 * float(table.rate(high).max())
    args = planner.rows, low, high, np.zeros(model.n_states), uniform, 40, 0.0
    one, two = event_planning.event_sweeps_reference(*args), event_planning.event_sweeps(*args)
    assert np.allclose(one[0], two[0]) and np.allclose(one[1], two[1]) and np.allclose(one[2], two[2])
    best = planner.best(low, high, Found(0.0, np.zeros(model.n_states), np.array(model.pair_start[:-1])))
    assert two[0] - 1e-6 * abs(two[0]) - 1e-9 <= best.gain <= two[1] + 1e-6 * abs(two[1]) + 1e-9


@settings(max_examples=20, deadline=None)
@given(models, seeds, st.sampled_from([0.0, 1.0]))
def test_steps_over_many_states_are_those_of_the_reference(name, seed, slack):
    model, table, planner = planner_of(name)
    rng = np.random.default_rng(seed)
    low = table.value * rng.uniform(0.5, 1.0, table.n_events)
    args = planner.rows, low, low * rng.uniform(1.0, 2.0), rng.normal(), rng.normal(size=model.n_states), slack
    pairs = [rng.integers(model.pair_start[:-1], model.pair_start[1:])] * 2
    one, two = [(pair.copy(), np.zeros(len(table.pair))) for pair in pairs]
    assert np.allclose(event_steps.event_step_reference(*args, *one), event_steps.event_step(*args, *two))
    assert (one[0] == two[0]).all() and np.allclose(one[1], two[1])
    chosen = planner.rows, one[1], one[0]
    for a, b in zip(event_steps.policy_equations_reference(*chosen), event_steps.policy_equations(*chosen)):
        assert np.allclose(a, b)


@settings(max_examples=40, deadline=None)
@given(models, seeds)
def test_rows_labels_and_counts_are_those_of_the_reference(name, seed):
    table = planner_of(name)[1]
    rng = np.random.default_rng(seed)
    jumps = np.flatnonzero(table.jumps)
    rows = jumps[rng.integers(len(jumps), size=50)]
    pairs, after = table.pair[rows], table.next_state[rows]
    labels = np.where(rng.random(50) < 0.5, table.event[rows], rng.integers(-1, table.n_events, size=50))
    where = table.row_start, table.next_state, table.event
    found = event_counts.find_rows(pairs, after, labels, *where)
    assert (found == event_counts.find_rows_reference(pairs, after, labels, *where)).all()
    uniform = rng.random(50)
    drawn = event_labels.draw_labels(pairs, after, uniform, *where, table.intensity(table.value))
    assert (drawn == event_labels.draw_labels_reference(pairs, after, uniform, *where, table.intensity(table.value))).all()
    sums = [(np.zeros(table.n_pairs), np.zeros(len(table.pair), dtype=np.int64)) for _ in range(2)]
    for (time, count), add in zip(sums, (event_counts.add_events, event_counts.add_events_reference)):
        add(pairs, uniform, rows, time, count)
    assert (sums[0][0] == sums[1][0]).all() and (sums[0][1] == sums[1][1]).all()


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(1, 30))
def test_frailty_is_that_of_the_reference(seed, cells):
    rng = np.random.default_rng(seed)
    exposure = rng.exponential(size=cells) * 10.0 ** rng.uniform(-1, 3)
    count = rng.poisson(exposure * rng.uniform(0.5, 2.0, cells)).astype(float)
    count[0] += 1
    args = count, exposure, 0.5, 0.5 * 10.0 ** np.arange(-4, 5)
    assert np.isclose(frailty.log_frailty(*args), frailty.log_frailty_reference(*args), rtol=1e-11, atol=1e-9)

"""Plans over events whose rates lie many powers of ten apart: as good as those of `solve`, whichever state is the reference."""

import numpy as np
import pytest

from sojourn.kernels.event_planning import best_event_policy
from sojourn.learn.event_planner import EventPlanner
from sojourn.learn.found import Found
from sojourn.model.explore import Choice, explore
from sojourn.model.rates import Rate
from sojourn.simulation.simulate import simulate
from sojourn.solving.evaluate import evaluate
from sojourn.solving.solve import solve


def slow_and_fast(scale):
    """Two slow states and two fast ones in turn; "on" earns 1 per unit of time in the second slow one, "skip" 0.3 of that."""
    fast, first, second = Rate("fast", scale), Rate("first", 1 / scale), Rate("second", 1 / scale)
    choices = {"start": {"go": Choice({"wait": fast})},
               "wait": {"go": Choice({"fork": first})},
               "fork": {"skip": Choice({"start": fast}, reward=0.3 * scale), "on": Choice({"earn": fast})},
               "earn": {"go": Choice({"start": second}, running=1.0)}}
    return explore("start", lambda state: choices[state])


def scattered(index):
    """A model of up to eight states, five events, rates over ten powers of ten, every policy irreducible; and ends of the rates."""
    rng = np.random.default_rng([9, index])
    n, theta = int(rng.integers(2, 9)), 10.0 ** rng.uniform(-5, 5, 5)
    rates = [Rate(f"event {k}", value) for k, value in enumerate(theta)]

    def choices(s):
        found = {}
        for a in range(int(rng.integers(1, 4))):
            to = {(s + 1) % n: rates[rng.integers(5)], int(rng.integers(n)): rates[rng.integers(5)]}
            found[a] = Choice(to, silent={rates[k]: float(rng.normal()) / theta[k] for k in np.flatnonzero(rng.random(5) < 0.2)},
                              running=float(rng.normal()))
        return found

    model = explore(0, choices)
    used = model.events.value
    return model, used * 10.0 ** -rng.uniform(0, 3, len(used)), used * 10.0 ** rng.uniform(0, 3, len(used))


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6])
def test_a_plan_is_that_of_the_solver_where_rates_span_up_to_twelve_powers_of_ten(scale):
    """A restart at 1e-10 of the mean rate was faster than the slow states are left: half the gain and the wrong choice at 1e6."""
    model = slow_and_fast(scale)
    best, rates = solve(model), model.events.value
    planner = EventPlanner(model.knowledge(events=True), model.events)
    for reference in range(4):
        start = Found(0.0, np.zeros(4), np.array(model.pair_start[:-1], dtype=np.int64))
        found = planner.best(rates, rates, start, reference)
        assert found.gain == pytest.approx(best.gain, rel=1e-7)
        assert np.array_equal(model.pair_action[found.pair], best.policy)


@pytest.mark.parametrize("speed", [1e8, 1e10])
def test_a_choice_beside_a_very_fast_one_is_judged_by_the_difference_of_the_biases(speed):
    """Improvements below 1e-10 of the biases, times the rate of a jump, counted as nothing: at 1e10 that hid the better choice."""
    fast, slow, last = Rate("fast", speed), Rate("slow", 1.0), Rate("last", 1e-3)
    choices = {0: {"dash": Choice({1: fast}, reward=0.5), "stay": Choice({1: slow}, running=0.2)},
               1: {"go": Choice({2: slow}, running=-1.0)},
               2: {"go": Choice({0: last}, running=-0.45, reward=20.0)}}
    model = explore(0, lambda state: choices[state])
    planner, rates = EventPlanner(model.knowledge(events=True), model.events), model.events.value
    start = Found(0.0, np.zeros(3), np.array([model.pair(0, "dash"), model.pair(1, "go"), model.pair(2, "go")]))
    for reference in range(3):
        found = planner.best(rates, rates, start, reference)
        assert found.pair[0] == model.pair(0, "stay")
        assert found.gain == pytest.approx((0.2 - 1.0 - 450.0 + 20.0) / 1002.0, rel=1e-9)


@pytest.mark.parametrize("learner", ["events-ucrl", "events-psrl"])
def test_learners_do_not_keep_to_the_wrong_choice_because_rates_are_far_apart(learner):
    run = simulate(slow_and_fast(1e6), learner, max_epochs=4000, seed=1, checkpoints=[2000, 4000])
    assert run.pseudo_regret[1] == run.pseudo_regret[0] < 1e8


def test_optimistic_gains_do_not_depend_on_the_reference_and_are_at_least_the_best_gain():
    """On 60 random models: ends of the rates a factor of up to 1,000 off the truth on each side."""
    for index in range(60):
        model, low, high = scattered(index)
        rows = EventPlanner(model.knowledge(events=True), model.events)
        start, zero = np.array(model.pair_start[:-1], dtype=np.int64), np.zeros(model.n_states)
        size = np.abs(model.events.income(model.events.value)).max()
        found = [best_event_policy(rows.rows, low, high, start, zero, s, rows.place, rows.width) for s in range(model.n_states)]
        gains = np.array([gain for gain, _, _, _ in found])
        assert np.ptp(gains) <= 1e-6 * max(np.abs(gains).max(), size)
        assert gains.min() >= solve(model).gain - 1e-9 * size


def test_plans_at_equal_ends_earn_the_best_gain():
    for index in range(60):
        model = scattered(index)[0]
        rows, rates = EventPlanner(model.knowledge(events=True), model.events), model.events.value
        best, size = solve(model).gain, np.abs(model.events.income(model.events.value)).max()
        for reference in range(model.n_states):
            start = Found(0.0, np.zeros(model.n_states), np.array(model.pair_start[:-1], dtype=np.int64))
            found = rows.best(rates, rates, start, reference)
            assert evaluate(model, model.pair_action[found.pair]).gain >= best - 1e-9 * size
            assert found.gain == pytest.approx(best, rel=1e-6, abs=1e-7 * size)

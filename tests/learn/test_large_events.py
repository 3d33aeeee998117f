"""Planning over events on models too large to eliminate: here on small ones, where elimination says what is right."""

import numpy as np
import pytest

from sojourn.kernels.swept_planning import DENSE
from sojourn.learn import event_planner, large_event_planner
from sojourn.learn.catalogue import learner_for
from sojourn.learn.event_planner import EventPlanner
from sojourn.learn.found import Found
from sojourn.learn.large_event_planner import large_plan
from sojourn.simulation.simulate import simulate
from sojourn.simulation.walk import Walk
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

TOLERANCE = 1e-4


def cold(model):
    return Found(0.0, np.zeros(model.n_states), np.array(model.pair_start[:-1], dtype=np.int64))


@pytest.mark.parametrize("name", ["tandem:capacity=12", "criss-cross:capacity=6", "service-rate:capacity=5"])
@pytest.mark.parametrize("width", [1.0, 1.5])
def test_a_large_plan_has_the_gain_that_elimination_finds(name, width):
    """Cold, and warm from the plan at other rates; the last model is too small for multigrid, so sweeps plan it."""
    model = make(name)
    planner, rng = EventPlanner(model.knowledge(events=True), model.events), np.random.default_rng(5)
    start = cold(model)
    for _ in range(3):
        low = model.events.value * rng.uniform(0.7, 1.3, model.events.n_events)
        exact = planner.best(low, width * low, cold(model))
        for begin in (start, cold(model)):
            found = large_plan(planner.rows, low, width * low, begin, TOLERANCE)
            assert abs(found.gain - exact.gain) <= TOLERANCE * abs(exact.gain)
            at_low = planner.best(low, low, found)  # policy iteration from the plan's policy
            if width == 1.0:
                assert at_low.gain - found.gain <= TOLERANCE * abs(exact.gain)
        start = found


def refuse(*_):
    raise AssertionError("not by this way")


@pytest.mark.parametrize("name", ["tandem:capacity=25", "criss-cross:capacity=7"])
def test_a_plan_between_small_and_large_is_made_by_multigrid_and_is_that_of_elimination(name, monkeypatch):
    """Gain and policy, one plan warm from the last; where two actions are alike to 1e-6 of the gain either will do."""
    model = make(name)
    planner, rng = EventPlanner(model.knowledge(events=True), model.events), np.random.default_rng(6)
    start, eliminated = cold(model), event_planner.best_event_policy
    for _ in range(4):
        theta = model.events.value * rng.uniform(0.5, 2, model.events.n_events)
        monkeypatch.setattr(event_planner, "CHEAP_WORK", np.inf)
        monkeypatch.setattr(event_planner, "best_event_policy", eliminated)
        exact = planner.best(theta, theta, cold(model))
        monkeypatch.setattr(event_planner, "CHEAP_WORK", 0.0)
        monkeypatch.setattr(event_planner, "best_event_policy", refuse)
        start = planner.best(theta, theta, start, tolerance=0.01)
        assert start.gain == pytest.approx(exact.gain, rel=event_planner.CLOSE)
        assert (start.pair != exact.pair).mean() < 0.01


@pytest.mark.parametrize("name, width", [("service-rate:capacity=5", 1.0), ("tandem:capacity=12", 1.5)])
def test_where_multigrid_does_not_help_or_rates_are_left_open_a_plan_is_eliminated(name, width, monkeypatch):
    """The first model is too small for multigrid; the second would do, but its pairs may have rates of their own."""
    model = make(name)
    planner, theta = EventPlanner(model.knowledge(events=True), model.events), model.events.value
    exact = planner.best(theta, width * theta, cold(model))
    monkeypatch.setattr(event_planner, "CHEAP_WORK", 0.0)
    monkeypatch.setattr(event_planner, "large_plan", refuse)
    found = planner.best(theta, width * theta, cold(model), tolerance=0.01)
    assert found.gain == pytest.approx(exact.gain, rel=1e-12) and np.array_equal(found.pair, exact.pair)


def test_a_model_of_200_states_is_planned_for_by_elimination_whatever_its_jumps():
    assert DENSE * DENSE**2 < event_planner.CHEAP_WORK < event_planner.MOST_WORK


def test_rates_far_apart_do_not_stop_a_large_plan():
    model = make("criss-cross:capacity=6")
    planner, rng = EventPlanner(model.knowledge(events=True), model.events), np.random.default_rng(2)
    for _ in range(8):
        theta = model.events.value * 10.0 ** rng.uniform(-4, 4, model.events.n_events)
        found = large_plan(planner.rows, theta, theta, cold(model), 0.01)
        assert np.isfinite(found.gain) and np.isfinite(found.bias).all()
        assert (found.pair >= model.pair_start[:-1]).all() and (found.pair < model.pair_start[1:]).all()


def test_a_plan_that_must_be_proved_goes_on_until_its_gain_is_known(monkeypatch):
    """Where multigrid never helps and 20 sweeps are far too few; without that, the middle of a wide bracket is returned."""
    model = make("tandem:capacity=5")
    planner, low = EventPlanner(model.knowledge(events=True), model.events), model.events.value
    monkeypatch.setattr(large_event_planner, "multigrid_plan", lambda rows, low, high, start, tolerance: (start, False))
    monkeypatch.setattr(large_event_planner, "SWEEPS", 20)
    width = {}
    for proved in (False, True):
        found = large_plan(planner.rows, low, 1.5 * low, cold(model), 1e-3, proved)
        least, most = planner.bracket(low, 1.5 * low, found)
        width[proved] = (most - least) / abs(found.gain)
    exact = planner.best(low, 1.5 * low, cold(model)).gain
    assert planner.connected and width[True] <= 1e-3 < width[False] and abs(found.gain - exact) <= 1e-3 * abs(exact)


def test_the_gain_of_an_optimistic_large_plan_is_its_upper_end_and_known_to_the_tolerance(monkeypatch):
    """As the proof needs it at decision t: known to 1/√t of itself, where multigrid never helps and 20 sweeps are far too few."""
    monkeypatch.setattr(event_planner, "MOST_WORK", 0.0)
    monkeypatch.setattr(large_event_planner, "multigrid_plan", lambda rows, low, high, start, tolerance: (start, False))
    monkeypatch.setattr(large_event_planner, "SWEEPS", 20)
    model = make("tandem:capacity=3")
    walk = Walk(model, learner_for(model, "events-ucrl", seed=1), seed=1)
    walk.advance(300)
    learner = walk.learner
    learner.found = cold(model)
    gain, ends = learner.plan().info["optimistic_gain"], learner.open_rates()
    least, most = learner.planner.bracket(*ends, learner.found)
    assert np.isfinite(ends).all() and learner.planner.large
    assert gain == most > solve(model).gain and most - least <= abs(least + most) / 2 / np.sqrt(learner.counts.epoch)


@pytest.mark.parametrize("name", ["events-psrl", "events-ucrl", "events-ce"])
@pytest.mark.parametrize("bound", ["CHEAP_WORK", "MOST_WORK"])
def test_learners_of_large_models_go_on_where_they_stopped(name, bound, monkeypatch):
    monkeypatch.setattr(event_planner, bound, 0.0)
    model = make("tandem:capacity=9")
    whole, cut, again = (Walk(model, learner_for(model, name, seed=4), seed=4) for _ in range(3))
    assert whole.learner.planner.large == (bound == "MOST_WORK")
    whole.advance(1500)
    cut.advance(300)
    again.restore(cut.state())
    again.advance(1500)
    assert (again.visits == whole.visits).all() and again.time == whole.time


def test_sampling_on_a_large_model_plans_seldom_and_loses_little(monkeypatch):
    """Taken to be large, the model is planned for less often, and the regret is of the same size; random actions lose far more."""
    model = make("tandem:capacity=9")
    small = simulate(model, "events-psrl", max_epochs=5000, seed=1)
    monkeypatch.setattr(event_planner, "MOST_WORK", 0.0)
    large = simulate(model, "events-psrl", max_epochs=5000, seed=1)
    idle = simulate(model, "random", max_epochs=5000, seed=1)
    assert large.episodes.total < 0.8 * small.episodes.total
    assert 20 * large.pseudo_regret[-1] < idle.pseudo_regret[-1]

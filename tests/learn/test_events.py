"""Learners of events: their belief, their decisions, and what they are not told."""

from dataclasses import replace

import numpy as np
import pytest

from sojourn.errors import ModelError, ReportError
from sojourn.learn.catalogue import learner_for
from sojourn.learn.event_belief import SHAPE, drawn, intervals, log_mixture
from sojourn.learn.event_counts import EventCounts
from sojourn.learn.learner import History
from sojourn.model.explore import Choice, explore
from sojourn.model.rates import Rate
from sojourn.simulation.simulate import simulate
from sojourn.simulation.walk import Walk
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

LEARNERS = ["events-psrl", "events-ucrl", "events-ce"]


# ---- belief ----------------------------------------------------------------------------------------------------------------


def test_intervals_hold_at_all_times_over_two_thousand_paths():
    """At delta = 0.1, looked at after every event up to 400 and in between: at most 0.12 of the paths may ever leave their interval
    (were the probability 0.1, more than 0.12 would be seen with probability below 0.002).  The unit is off by factors up to 30."""
    rng, theta, failed = np.random.default_rng(1), 2.0, 0
    for _ in range(2000):
        times = np.cumsum(rng.exponential(1 / theta, size=400))
        unit = theta * np.exp(rng.normal(scale=1.5))
        n = np.concatenate([np.arange(400), np.arange(1, 401)])  # just before each event, and just after it
        low, high = intervals(n, np.concatenate([times, times]), unit, np.log(1 / 0.1))
        failed += bool(((theta < low) | (theta > high)).any())
    assert 0.01 <= failed / 2000 <= 0.12


def test_an_interval_is_where_the_mixture_is_less_than_the_bound_times_the_likelihood():
    n, x, unit, level = np.array([0.0, 1.0, 40.0, 5000.0]), np.array([3.0, 0.2, 55.0, 2500.0]), 0.7, np.log(40)
    low, high = intervals(n, x, unit, level)
    for end in (low[1:], high):
        where = slice(1, None) if end is not high else slice(None)
        ratio = log_mixture(n[where], x[where], unit) - (n[where] * np.log(end) - end * x[where])
        assert np.allclose(ratio, level, rtol=1e-9)
    assert low[0] == 0.0


@pytest.mark.parametrize("n", [2e3, 2e7, 5.15763725e15, 4e17])
def test_an_interval_keeps_its_digits_however_many_events_were_seen(n):
    """Differences of numbers near n log n left nothing of the level: nan, or half of the interval, from 1e15 events on."""
    x, unit, level = np.array([n / 1.556e8]), 1.051e8, np.log(26_600)
    (low,), (high,) = intervals(np.array([n]), x, unit, level)
    nearest = np.log(9) + np.log(n / 2 / (1.556 / 1.051) * np.exp(1.556 / 1.051)) / 2  # b = 1/2 over the unit
    width = np.sqrt(2 * (level + nearest) / n)
    assert 0.8 * width < 1 - low / 1.556e8 < width and 0.8 * width < high / 1.556e8 - 1 < 1.1 * width


def test_posterior_draws_have_the_moments_of_the_gamma_law():
    table = make("service-rate:capacity=2").events.told()
    rng, seen, exposure = np.random.default_rng(0), np.arange(1.0, table.n_events + 1), np.full(table.n_events, 4.0)
    draws = np.array([drawn(rng, table, seen, exposure, 0.5) for _ in range(20_000)])
    mean = (SHAPE + seen) / (SHAPE / 0.5 + exposure)
    error = np.sqrt(SHAPE + seen) / (SHAPE / 0.5 + exposure) / np.sqrt(20_000)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * error).all()  # false alarm below 1e-5


# ---- counting --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["service-rate", "customer-selection", "call-centre"])
def test_counts_over_exposures_come_to_the_rates(name):
    """Every event within 5 standard deviations, silent ones and labels included."""
    model = make(name)
    run = simulate(model, "events-psrl", max_epochs=50_000, seed=3)
    events, value = run.learner.events, model.events.value
    seen, exposure = events.seen, events.exposure
    assert (np.abs(seen - value * exposure) <= 5 * np.sqrt(value * exposure) + 5).all()
    assert abs(events.time.sum() - run.times[-1]) < 50  # but for the first and the last sojourn


def test_what_no_row_explains_is_refused_and_nothing_is_counted():
    model = make("customer-selection")
    known = model.knowledge(events=True)
    counts = EventCounts(known, known.events)
    pair = model.pair(1, "admit {1,2}")
    row = {"state": [1], "action": [model.pair_action[pair]], "holding_time": [0.5], "next_state": [0], "reward": [1.0]}
    silent = np.zeros((1, len(known.events.silent)), dtype=np.int64)

    def told(**change):
        return History(**{name: np.array(value) for name, value in {**row, **change}.items()})

    for history, words in ((told(silent=silent), "by any of class 1, class 2"), (told(event=[0]), "without going anywhere"),
                           (told(next_state=[3], event=[0], silent=silent), "no event of it"),
                           (told(event=[0], silent=silent + 1), "no such event")):
        with pytest.raises(ReportError, match=words):
            counts.observe(history)
    assert counts.unit == 0.0 and not counts.count.any()
    counts.observe(told(event=[0], silent=silent))
    assert counts.unit > 0 and not counts.count.any()  # the first sojourn sets the unit
    counts.observe(told(event=[1], silent=silent))
    assert counts.count.sum() == 1 and counts.seen[1] == 1


def test_more_silent_events_than_whole_numbers_can_count_are_refused_in_words():
    """Sums beyond 2^63 turned negative, or numpy refused to draw them."""
    tick, fast = Rate("tick", 1e-9), Rate("fast", 1e9)
    model = explore(0, lambda s: {"go": Choice({1 - s: tick}, silent={fast: 1e-9})})
    with pytest.raises(ModelError, match=r"'fast' would be seen some .*e\+1. times in one sojourn of .* in 0; from 2\^53 on"):
        simulate(model, "events-ucrl", max_epochs=10, seed=1)
    counts = EventCounts(model.knowledge(events=True), model.events)
    counts.count[:] = 2**62 - 10
    row = {"state": [0], "action": [0], "holding_time": [1.0], "next_state": [1], "reward": [0.0], "silent": [[10]]}
    history = History(**{name: np.array(value) for name, value in row.items()})
    with pytest.raises(ReportError, match=r"'fast' would have been seen 2\^62 times and more"):
        counts.observe(history)
    assert (counts.count == 2**62 - 10).all() and not counts.time.any()


def test_events_that_only_labels_tell_apart_are_said_to_be_one_rate_without_them():
    gold, silver, back = Rate("gold", 1.0), Rate("silver", 2.0), Rate("back", 1.0)
    model = explore(0, lambda n: {"go": Choice({1: gold + silver} if n == 0 else {0: back})})
    counts = EventCounts(model.knowledge(events=True), model.events)
    row = {"state": [0], "action": [0], "holding_time": [0.5], "next_state": [1], "reward": [0.0]}
    with pytest.raises(ReportError, match=r"by any of gold, silver.*Without labels only a sum of gold and silver can be learned"):
        counts.observe(History(**{name: np.array(value) for name, value in row.items()}))


def test_a_report_that_needs_labels_names_the_pairs():
    model = make("customer-selection")
    known = model.knowledge(events=True)
    pairs = [model.pair(s, "admit {1,2}") for s in (1, 2)]
    silent = np.zeros((2, len(known.events.silent)), dtype=np.int64)
    history = History(state=np.array([1, 2]), action=model.pair_action[pairs], holding_time=np.array([0.5, 0.5]),
                      next_state=np.array([0, 1]), reward=np.zeros(2), silent=silent)
    with pytest.raises(ReportError, match=r"say which, with event=... \(so in 2 pairs: .* with action .*; .* with action .*\)"):
        EventCounts(known, known.events).observe(history)


# ---- deciding --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("model_name", ["service-rate", "customer-selection"])
def test_a_walk_is_the_same_however_it_is_cut_and_goes_on_where_it_stopped(name, model_name):
    model = make(model_name)
    whole = Walk(model, learner_for(model, name, seed=4), seed=4)
    whole.advance(3000)
    cut = Walk(model, learner_for(model, name, seed=4), seed=4)
    for stop in (1, 17, 500):
        cut.advance(stop)
    again = Walk(model, learner_for(model, name, seed=4), seed=99)
    again.restore(cut.state())
    for walk in (cut, again):
        walk.advance(3000)
        assert (walk.visits == whole.visits).all() and walk.time == whole.time
        assert (walk.learner.events.count == whole.learner.events.count).all()


def test_declared_events_change_no_decision_of_a_tabular_learner():
    model = make("tandem")
    bare = model.replace(events=None)
    runs = [simulate(m, "default", max_epochs=3000, seed=2, knowledge=m.knowledge(supports=True)) for m in (model, bare)]
    assert model.events is not None and bare.events is None
    assert (runs[0].visits == runs[1].visits).all() and (runs[0].times == runs[1].times).all()


@pytest.mark.parametrize("name", ["tandem", "sis-epidemic", "service-rate"])
def test_the_optimistic_gain_stays_above_the_optimum(name):
    """With probability 0.9 for all times and runs together; here it holds in each of the few that are looked at."""
    model = make(name)
    best = solve(model).gain
    run = simulate(model, "events-ucrl", max_epochs=20_000, seed=1)
    promised = np.asarray(run.episodes.info["optimistic_gain"])
    promised = promised[~np.isnan(promised)]  # a plan that only goes where an event was never possible promises nothing
    assert len(promised) > run.episodes.total - 30
    assert (promised >= best - 1e-6 * abs(best)).all() and promised[-1] - best < 0.6 * abs(best)


def test_certainty_equivalence_names_the_events_that_it_may_never_see():
    """An event is safe where some state shows it under all its actions; a rate that is told is safe anyway."""
    assert learner_for(make("routing"), "events-ce").unsafe == ()
    assert learner_for(make("tandem"), "events-ce").unsafe == ("serve 1 slow", "serve 1 fast")
    told = make("tandem").events
    known = np.where(np.array(told.names) == "serve 1 slow", told.value, 0.0)
    told = replace(told, low=known, high=np.where(known > 0, known, np.inf))
    assert learner_for(make("tandem").with_events(told), "events-ce").unsafe == ("serve 1 fast",)


@pytest.mark.parametrize("name, least", [("customer-selection", 20), ("tandem", 30)])
def test_sampling_the_rates_costs_a_small_part_of_what_the_default_pays(name, least):
    model = make(name)
    told = model.knowledge(supports=True)
    default = np.mean([simulate(model, "default", max_epochs=20_000, seed=s, knowledge=told).pseudo_regret[-1] for s in range(2)])
    events = np.mean([simulate(model, "events-psrl", max_epochs=20_000, seed=s).pseudo_regret[-1] for s in range(3)])
    assert least * events < default


def test_an_unknown_event_of_the_world_is_named():
    model, known = make("service-rate"), make("tandem")
    with pytest.raises(ModelError):
        Walk(model, learner_for(known, "events-ce"), seed=0)

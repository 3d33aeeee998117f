"""events-ucrl: intervals that nothing but what was told may cut, each event exposed once, and files of before that still open."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.control.controller import Controller
from sojourn.learn.catalogue import learner_for
from sojourn.learn.event_belief import intervals
from sojourn.learn.event_exposure import Exposure
from sojourn.model.explore import Choice, explore
from sojourn.model.rates import Rate
from sojourn.simulation.walk import Walk
from sojourn.zoo.catalogue import make

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("events_linear", ROOT / "benchmarks" / "events_linear.py")
campaign = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(campaign)

BEFORE = ROOT / "tests" / "data" / "events"


# ---- never linear -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, seeds", [("untold", [57]), ("told", [0, 1]), ("for-nothing", [57])])
def test_no_run_keeps_to_the_wrong_action(name, seeds):
    """With the seeds on which the learner that cut its intervals was wrong in all of the last half."""
    model, right, wrong = campaign.rare_event(*campaign.MODELS[name])
    assert max(campaign.wrong_share(model, right, wrong, 10_000, seed) for seed in seeds) < campaign.WRONG


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_an_interval_is_cut_by_what_is_told_and_by_nothing_else(unit):
    """Whatever the first sojourn suggests, and in every unit of time; where nothing was exposed the upper end is infinite."""
    tick, rare, dear = Rate("tick", unit), Rate("rare", 1e-3 * unit), Rate("dear", 2 * unit, bounds=(unit, 8 * unit))
    model = explore(0, lambda s: {"go": Choice({1 - s: tick}, silent={dear: -1.0}),
                                  "try": Choice({1 - s: tick}, silent={rare: 0.0})})
    learner = learner_for(model, "events-ucrl")
    events, (known, untold) = learner.events, map(learner.table.number, ("dear", "rare"))
    for first in (1e-12, 1.0, 1e12):
        events.unit, events.count[:] = first * unit, 0
        events.time[:] = np.array([400.0, 0.0, 130.0, 0.0]) / unit
        low, high = learner.open_rates()
        assert np.isinf(high[untold]) and unit <= low[known] <= high[known] <= 8 * unit
        events.time[:] = np.array([400.0, 530.0, 130.0, 530_000.0]) / unit
        events.count[learner.table.event == untold] = [0, 530]
        low, high = learner.open_rates()
        plain = intervals(events.seen, events.exposure, first * unit, np.log(3 / 0.1))
        assert low[untold] == pytest.approx(plain[0][untold]) and high[untold] == pytest.approx(plain[1][untold])
        assert low[untold] < 1e-3 * unit < high[untold]


def test_the_level_of_the_intervals_grows_with_the_decisions():
    """At decision t all K intervals together fail with chance 0.1/t; at a fixed level a run may be linear with chance 0.1."""
    walk = Walk(make("tandem"), learner_for(make("tandem"), "events-ucrl", seed=1), seed=1)
    for stop in (200, 2000):
        walk.advance(stop)
        learner = walk.learner
        assert learner.counts.epoch > 0.8 * stop
        plain = intervals(learner.events.seen, learner.events.exposure, learner.events.unit,
                          np.log(learner.table.n_events * learner.counts.epoch / 0.1))
        low, high = learner.open_rates()
        assert high == pytest.approx(plain[1]) and (low == pytest.approx(np.maximum(plain[0], low)))


def test_a_lower_end_is_positive_and_a_millionth_of_an_event_in_all_of_the_time():
    model = make("tandem")
    learner = learner_for(model, "events-ucrl")
    learner.events.unit, learner.events.time[:] = 1.0, 2.0
    low, high = learner.open_rates()
    assert low == pytest.approx(1e-6 / (2.0 * learner.table.n_pairs * learner.exposure.largest)) and (high > low).all()


# ---- the way to an event that was never possible ----------------------------------------------------------------------


def line(n):
    """States 0..n-1; "up" and "down" lead one step; in the last state, "press" shows the event `button`."""
    step, button = Rate("step", 1.0), Rate("button", 0.01)

    def choices(s):
        steps = {min(s + 1, n - 1): step} if s < n - 1 else {s - 1: step}
        found = {"up": Choice(steps), "down": Choice({max(s - 1, 0) if s else 1: step}, running=1.0)}
        return found | ({"press": Choice({s - 1: step}, silent={button: -1.0})} if s == n - 1 else {})

    return explore(0, choices)


def test_the_way_is_that_of_a_breadth_first_search():
    """Against distances worked out state by state, on models drawn at random."""
    for name in ("tandem", "routing", "sis-epidemic", "customer-selection"):
        model = make(name)
        told = model.knowledge(events=True)
        found, rng = Exposure(told, told.events), np.random.default_rng(1)
        pair, event, _ = told.events.exposure_rows
        for _ in range(4):
            untried = rng.random(told.events.n_events) < 0.3
            way = found.way(untried, np.zeros(len(told.events.pair), dtype=np.int64), rng.exponential(size=told.events.n_events))
            shows = np.isin(np.arange(model.n_pairs), pair[untried[event]])
            assert (way.shows == shows).all()
            distance = np.where(np.add.reduceat(shows, model.pair_start[:-1]) > 0, 0.0, np.inf)
            after = [model.next_state[model.row_start[p]:model.row_start[p + 1]] for p in range(model.n_pairs)]
            for _ in range(model.n_states):
                best = np.array([min(distance[after[p]].min() + 1 for p in range(*model.pair_start[s:s + 2]))
                                 for s in range(model.n_states)])
                if (np.minimum(distance, best) == distance).all():
                    break
                distance = np.minimum(distance, best)
            assert (way.leads == np.isfinite(distance)).all()
            assert (told.pair_state[way.pair] == np.arange(model.n_states)).all()
            for s in np.flatnonzero(np.isfinite(distance)):
                assert shows[way.pair[s]] if distance[s] == 0 else distance[after[way.pair[s]]].min() == distance[s] - 1


def test_an_event_far_away_is_exposed_soon_and_once():
    """Going down pays and going up does not; the button costs, and is pressed at first all the same."""
    model = line(12)
    walk = Walk(model, learner_for(model, "events-ucrl", seed=0), seed=0)
    walk.advance(60)
    press = model.pair(11, "press")
    assert walk.learner.events.time[press] > 0 and 1 <= walk.visits[press] <= 3


def test_an_event_that_is_faster_than_anything_hoped_for_is_tried_all_the_same():
    """A silent event of rate 1e6 pays 1e-6: at what an untried event is taken for where it cannot be reached it would not pay."""
    tick, fast = Rate("tick", 1.0), Rate("fast", 1e6)
    model = explore(0, lambda s: {"sure": Choice({1 - s: tick}, running=0.8), "rich": Choice({1 - s: tick}, silent={fast: 1e-6})})
    for seed in range(3):
        walk = Walk(model, learner_for(model, "events-ucrl", seed=seed), seed=seed)
        walk.advance(500)
        before = walk.visits.copy()
        walk.advance(1000)
        assert sum((walk.visits - before)[model.pair(s, "rich")] for s in (0, 1)) > 450


def test_of_several_ways_that_are_as_short_the_one_is_taken_that_is_likely():
    """Both choices of state 1 may lead to the button of state 0; one of them once in a million jumps, and comes first."""
    tick, hardly, button = Rate("tick", 1.0), Rate("hardly", 1e-6), Rate("button", 0.01)
    choices = {0: {"press": Choice({1: tick}, silent={button: 0.0}), "pass": Choice({1: tick}, running=1.0)},
               1: {"seldom": Choice({2: tick, 0: hardly}), "often": Choice({2: tick, 0: tick})},
               2: {"back": Choice({1: tick})}}
    model = explore(2, lambda state: choices[state])
    for seed in range(5):
        walk = Walk(model, learner_for(model, "events-ucrl", seed=seed), seed=seed, start=2)
        walk.advance(400)
        assert walk.visits[model.pair(0, "press")] > 0


def test_an_event_that_cannot_be_reached_any_more_does_not_stop_the_learner():
    """State 2 is left for ever; its event stays untried, and the rest is played well."""
    a, b, gone = Rate("a", 1.0), Rate("b", 3.0), Rate("gone", 1.0)

    def choices(s):
        if s == 2:
            return {"leave": Choice({0: a}), "other": Choice({0: gone})}
        return {"slow": Choice({1 - s: a}, reward=1.0), "fast": Choice({1 - s: b}, reward=1.0)}

    model = explore(2, choices)
    for seed in range(3):
        walk = Walk(model, learner_for(model, "events-ucrl", seed=seed), seed=seed, start=2)
        walk.advance(2000)
        before = walk.visits.copy()
        walk.advance(4000)
        late = walk.visits - before
        assert sum(late[model.pair(s, "fast")] for s in (0, 1)) > 0.9 * late.sum()


def test_where_no_jump_is_told_the_way_relies_on_those_that_were_seen():
    """No events, no supports: a jump that is not possible is not waited for."""
    model = make("river-swim")
    walk = Walk(model, learner_for(model, "events-ucrl", knowledge=model.knowledge(supports=False), seed=1), seed=1)
    walk.advance(3000)
    assert (np.add.reduceat(walk.visits, model.pair_start[:-1]) > 0).all()
    exposed = walk.visits[model.pair_start[:-1]] + walk.visits[model.pair_start[1:] - 1]
    assert exposed.min() >= 2


# ---- how long a plan lasts ---------------------------------------------------------------------------------------------


def test_a_plan_adds_no_more_exposure_than_its_share_whatever_is_believed():
    """Even at three times the lower ends of the rates, the visits to a pair add `growth` X to each of its events, or are one."""
    model = make("tandem")
    walk = Walk(model, learner_for(model, "events-ucrl", seed=2), seed=2)
    pair, event, total = walk.learner.table.exposure_rows
    for stop in (30, 100, 1000, 5000):
        walk.advance(stop)
        learner = walk.learner
        low, high = learner.open_rates()
        visits = learner.quota(low, np.where(np.isinf(high), 1.0, high))
        added = visits[pair] * total / learner.table.rate(3 * low)[pair]
        assert ((visits[pair] == 1) | (added <= learner.growth * learner.events.exposure[event] * (1 + 1e-9))).all()


# ---- what was saved before ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["default", "ratio"])
def test_sessions_and_controllers_of_the_learner_that_had_a_ratio_still_open(name, tmp_path):
    """Files of 60 reports, with ratio=50 and without; they go on with intervals that are not cut."""
    session = sojourn.Session.load(BEFORE / f"ucrl-{name}.session")
    assert (session.epoch, session.action, int(session.counts.visits.sum())) == (61, "speed 0.8", 60)
    assert session.learner.settings == {"delta": 0.1, "growth": 0.1, "guard": False}
    shutil.copy(BEFORE / f"ucrl-{name}.control", tmp_path / "c")
    with Controller.open(tmp_path / "c") as controller:
        status = controller.status()
        assert (status["next_seq"], status["epochs"], status["followed"], status["action"]) == (61, 60, 60, "speed 0.8")
        assert status["parameters"] == ({"ratio": 50.0} if name == "ratio" else {}) and status["episode"] == 35
        assert status["reward"] == pytest.approx(-63.73731191324016)
        saved = controller._fold.session.learner
        for old, new in zip(saved.open_rates(), session.learner.open_rates()):
            assert (old == new).all()
        controller.report(61, 0.5, "1", event=None, silent={})
    session.save(tmp_path / "s")
    assert sojourn.Session.load(tmp_path / "s").action == session.action


def test_what_a_study_says_of_the_ratio_is_read_and_does_nothing():
    model = make("service-rate:capacity=3")
    runs = [sojourn.simulate(model, "events-ucrl", max_epochs=500, seed=1, parameters=given) for given in ({}, {"ratio": 50.0})]
    assert (runs[0].visits == runs[1].visits).all()

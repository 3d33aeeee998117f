"""Estimates over events: what was never possible may have any rate, and the bounds on the gain hold for all of them."""

import numpy as np
import pytest

import sojourn
from sojourn.learn.event_counts import EventCounts
from sojourn.learn.event_estimate import event_estimated
from sojourn.model.explore import Choice, explore
from sojourn.model.rates import Rate
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import make


def untried(rate, pay=None, lump=0.0):
    """State 0 goes on at a known rate, or by an event of which nothing is told (with `pay`: it is only seen); never tried."""
    tick, other = Rate("tick", 1.0, known=True), Rate("other", rate)
    second = Choice({1: other}, reward=lump) if pay is None else Choice({1: tick}, silent={other: pay})
    model = explore(0, lambda s: {"back": Choice({0: tick}, reward=1.0)} if s else {"slow": Choice({1: tick}), "other": second})
    told = model.knowledge(events=True)
    counts = EventCounts(told, told.events)
    shown = [model.pair(0, "slow"), model.pair(1, "back")]
    counts.unit, counts.time[shown] = 1.0, 50.0
    counts.count[np.isin(counts.table.pair, shown)] = 50
    return model, event_estimated(counts, np.zeros(model.n_pairs, dtype=np.int64))


@pytest.mark.parametrize("rate", [1e-9, 1.0, 1e9])
def test_a_gain_that_only_an_untried_event_of_any_rate_can_earn_is_not_ruled_out(rate):
    """One unit per cycle: at a rate of 1e9 that is 1 per unit of time to nine digits, and no rate makes it more."""
    model, found = untried(rate)
    assert found.rate_of("other")[::2] == (0.0, np.inf)
    assert sojourn.solve(model).gain <= found.gain_bounds[1] <= 1 + 1e-6
    least = sojourn.evaluate(model, found.policy).gain
    assert found.gain_bounds[0] <= least


def test_what_pays_at_any_rate_has_no_largest_gain():
    """Seen without leading anywhere, it pays as often as it happens; a lump sum per visit does not, as the way back takes time."""
    assert untried(1.0, pay=2.0)[1].gain_bounds[1] == np.inf
    model, found = untried(1e8, lump=2.0)
    assert sojourn.solve(model).gain <= found.gain_bounds[1] <= 3 + 1e-5
    assert untried(1.0, pay=-2.0)[1].gain_bounds[1] == pytest.approx(0.5)  # at a rate of next to nothing it costs nothing


@pytest.mark.parametrize("name", ["tandem", "service-rate", "routing", "hospital-beds"])
def test_no_rates_within_the_bounds_earn_more_than_the_upper_end(name):
    """Rates drawn in the bounds, up to 1e8 where there is no upper one; after 2 decisions and after 30."""
    model, rng = make(name), np.random.default_rng(3)
    for epochs in (2, 30):
        run = simulate(model, "events-ce", max_epochs=epochs, seed=1)
        found = event_estimated(run.learner.events, run.learner.counts.visits, 0.9)
        low, high = found.rate_bounds.T
        planner, start = run.learner.planner, run.learner.found
        for _ in range(10):
            top = np.where(np.isinf(high), 10.0 ** rng.uniform(-2, 8, len(high)), high)
            theta = np.exp(rng.uniform(np.log(np.maximum(low, 1e-6 * top)), np.log(top)))
            best = planner.best(theta, theta, start)
            assert best.gain <= found.gain_bounds[1] + 1e-6 * abs(best.gain)
            fixed = planner.bracket(theta, theta, best)
            assert fixed[0] <= found.gain_bounds[1] + 1e-6 * abs(fixed[0])

"""What has been learned: intervals that hold, gains that enclose, and what is left to try."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import gammaln

import sojourn
from sojourn.errors import ParameterError
from sojourn.learn.counts import Counts
from sojourn.learn.estimate import estimated
from sojourn.learn.event_estimate import event_estimated
from sojourn.learn.learner import History
from sojourn.model.ctmdp import CTMDP
from sojourn.model.knowledge import Knowledge
from sojourn.simulation.session import Session
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import make


def after(model, epochs, seed, confidence=0.95, **known):
    """Return what is known after `epochs` random decisions."""
    run = simulate(model, "random", max_epochs=epochs, seed=seed)
    return estimated(run.learner.counts, model.knowledge(**known), confidence)


def misses(model, found):
    """Return how many of the statements of an estimate are wrong about the model."""
    low, high = found.rate_bounds.T
    wrong = int(((model.rate < low * (1 - 1e-12)) | (model.rate > high * (1 + 1e-12))).sum())
    pair = np.repeat(np.arange(model.n_pairs), np.diff(found.row_start))
    truth = np.asarray(model.matrix[pair, found.next_state]).ravel()
    wrong += int(((truth < found.probability_bounds[:, 0]) | (truth > found.probability_bounds[:, 1])).sum())
    best, least = sojourn.solve(model).gain, sojourn.evaluate(model, found.policy).gain
    return wrong + (best > found.gain_bounds[1] + 1e-9) + (least < found.gain_bounds[0] - 1e-9)


@pytest.mark.parametrize("name", ["three-state", "admission:capacity=5"])
def test_all_intervals_and_gains_hold_together_at_the_stated_confidence(name):
    """Each of 60 estimates is wrong anywhere with probability at most 0.1; more than 15 wrong ones have probability below 1e-3."""
    model = make(name)
    wrong = [misses(model, after(model, 300, seed, confidence=0.9)) > 0 for seed in range(60)]
    assert sum(wrong) <= 15


def test_a_model_other_than_the_one_seen_is_told_apart():
    """The power of the test above: rates thrice as large, or two rows exchanged, are outside after 300 decisions."""
    model = make("three-state")
    found = after(model, 300, 1)
    assert misses(model.replace(rate=np.clip(model.rate * 3, *model.bounds), rate_bounds=model.bounds), found) > 0
    sure = after(model, 30_000, 1)
    rows = np.split(model.probability, model.row_start[1:-1])
    assert misses(model.replace(probability=np.concatenate([row[::-1] for row in rows])), sure) > 0


def test_with_data_the_intervals_close_in_on_the_truth():
    model = make("three-state")
    best = sojourn.solve(model)
    widths = []
    for epochs in (100, 10_000, 300_000):
        found = after(model, epochs, 1)
        assert misses(model, found) == 0
        widths.append(found.gain_bounds[1] - found.gain_bounds[0])
    assert widths[0] > 5 * widths[1] > 10 * widths[2] and widths[2] < 0.1 * best.gain
    assert found.policy_labels == best.policy_labels and found.gain == pytest.approx(best.gain, rel=0.01) and found.remaining == []
    low, rate, high = found.rate_of("A", "quick")
    assert low < rate < high and rate == pytest.approx(model.rate[model.pair("A", "quick")], rel=0.02)
    assert sum(p for _, p, _ in found.row_of("A", "quick").values()) == pytest.approx(1)


def test_where_only_rates_are_open_the_gains_are_those_of_the_ends_of_their_intervals():
    """A cycle with known successors: 3 per visit to state 0, over 1/rate + 1/rate; done by hand from the intervals."""
    model = CTMDP.from_arrays([[[0, 1]], [[1, 0]]], [[2.0], [1.0]], [[3.0], [0.0]], rate_bounds=(0.25, 8.0))
    found = after(model, 400, 3, supports=True)
    (low0, high0), (low1, high1) = found.rate_bounds
    assert found.gain_bounds == pytest.approx((3 / (1 / low0 + 1 / low1), 3 / (1 / high0 + 1 / high1)), rel=1e-7)
    rate0, rate1 = found.rate
    assert found.gain == pytest.approx(3 / (1 / rate0 + 1 / rate1), rel=1e-9)


def test_the_gain_of_models_drawn_from_the_set_lies_within_the_bounds():
    """Another way to the bounds: models inside all intervals of rates and rows, evaluated under the best policy now."""
    model, rng = make("three-state"), np.random.default_rng(5)
    found = after(model, 3000, 2)
    seen = model.replace(rate=np.clip(found.rate, *model.bounds), rate_bounds=model.bounds)
    for _ in range(40):
        share = rng.random(model.n_pairs)
        rates = found.rate_bounds[:, 0] * (1 - share) + found.rate_bounds[:, 1] * share
        gain = sojourn.evaluate(seen.replace(rate=rates), found.policy).gain
        assert found.gain_bounds[0] - 1e-9 <= gain <= found.gain_bounds[1] + 1e-9


def test_nothing_seen_leaves_everything_open():
    knowledge = make("three-state").knowledge()
    found = estimated(Counts(knowledge), knowledge)
    assert np.isnan(found.rate).all() and (found.rate_bounds == (knowledge.rate_min, knowledge.rate_max)).all()
    assert len(found.remaining) == 6 and found.remaining[0] == ("A", "quick", 0) and found.row_of("A", "quick") == {}
    step = np.outer((knowledge.rate_min, knowledge.rate_max), knowledge.reward) + knowledge.running
    assert found.gain_bounds[1] <= step.max() + 1e-9 and found.gain_bounds[0] >= step.min() - 1e-9


def test_rates_that_contradict_the_bounds_are_counted():
    knowledge = Knowledge.from_arrays(np.zeros((1, 1)), (1.0, 2.0))
    counts = Counts(knowledge)
    one = np.zeros(500, dtype=np.int64)
    counts.observe(History(one, one, np.full(500, 20.0), one, np.zeros(500)), knowledge)
    assert estimated(counts, knowledge).wrong_bounds == 1 and "outside the bounds" in repr(estimated(counts, knowledge))


def test_a_session_tells_what_it_has_learned_whatever_its_learner_keeps():
    knowledge, rng = make("three-state").knowledge(), np.random.default_rng(3)
    for name in ("ct-ucrl", "random", "default"):  # ct-ucrl leaves out long holding times in its own counts
        session, rows = Session(name, "A", knowledge=knowledge), []
        for held, arrived in zip(rng.exponential(size=150), rng.integers(3, size=150)):
            rows.append((session.state_index, session.action_index, held, arrived, 0.0))
            session.report(float(held), int(arrived))
        counts = Counts(knowledge)
        counts.observe(History(*(np.array(column) for column in zip(*rows))), knowledge)
        one, two = session.estimate(), estimated(counts, knowledge)
        assert np.array_equal(one.rate, two.rate, equal_nan=True) and one.gain_bounds == two.gain_bounds
    frame = session.estimate().frame()
    assert list(frame.columns[:4]) == ["state", "action", "visits", "rate"] and frame.best_now.sum() == 3
    assert "Estimate" in session.estimate()._repr_html_()


def test_what_makes_no_sense_is_refused():
    knowledge = make("three-state").knowledge()
    for confidence in (0, 1, 1.5, -1, "95 %", None, True, float("nan")):
        with pytest.raises(ParameterError, match="confidence is"):
            estimated(Counts(knowledge), knowledge, confidence)
    with pytest.raises(ParameterError, match="leave out long holding times"):
        estimated(Counts(knowledge, delta=0.1), knowledge)


def told_everything(knowledge):
    """The same knowledge with every state as a possible successor: the dense way to what is estimated without supports."""
    pairs, states = knowledge.n_pairs, knowledge.n_states
    return replace(knowledge, support_start=np.arange(pairs + 1) * states, support_state=np.tile(np.arange(states), pairs))


@pytest.mark.parametrize("name, epochs", [("three-state", 5), ("three-state", 2000), ("admission:capacity=5", 40),
                                          ("river-swim:length=6", 3000), ("random-ties", 300)])
def test_without_supports_one_place_for_all_that_was_not_seen_gives_what_a_place_for_every_state_gives(name, epochs):
    model = make(name)
    counts = simulate(model, "random", max_epochs=epochs, seed=4).learner.counts
    sparse, dense = (estimated(counts, known) for known in (model.knowledge(), told_everything(model.knowledge())))
    size = np.ptp(np.outer(model.bounds, model.reward) + model.running)
    assert sparse.gain == pytest.approx(dense.gain, rel=1e-8, abs=1e-8 * size)
    assert sparse.gain_bounds == pytest.approx(dense.gain_bounds, rel=1e-7, abs=1e-7 * size)
    assert np.allclose(sparse.probability_bounds, dense.probability_bounds, atol=1e-9)
    partly = np.diff(sparse.row_start) < model.n_states
    assert np.allclose(sparse.unseen[partly], dense.unseen[partly])
    assert np.array_equal(sparse.rate_bounds, dense.rate_bounds)


def test_what_was_not_seen_may_have_what_the_radius_leaves():
    """One pair, seen n times in one successor: the others may have 1 - exp(-radius), by hand."""
    knowledge = Knowledge.from_arrays(np.zeros((3, 1)), (1.0, 1.0))
    counts = Counts(knowledge)
    for _ in range(20):
        counts.add(0, 1.0, 0)
    found, level = estimated(counts, knowledge, 0.9), 0.1 / (2 * 3)
    radius = (-np.log(level) + gammaln(21) - gammaln(1 / 3 + 20) + gammaln(1 / 3)) / 20
    assert found.unseen_of(0, 0) == pytest.approx(1 - np.exp(-radius)) and found.unseen_of(1, 0) == 1
    low, share, high = found.row_of(0, 0)[0]
    assert (share, high) == (1, 1) and low == pytest.approx(np.exp(-radius))


def test_many_states_without_supports_take_little_memory():
    model = make("service-rate:capacity=2000")
    counts = simulate(model, "random", max_epochs=20_000, seed=1).learner.counts
    tracemalloc.start()
    found = estimated(counts, model.knowledge())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * model.n_pairs * model.n_states / 5 and np.isfinite(found.gain) and found.gain_bounds[0] <= found.gain


def by_events(model, epochs, seed, confidence=0.95):
    run = simulate(model, "events-psrl", max_epochs=epochs, seed=seed)
    return event_estimated(run.learner.events, run.learner.counts.visits, confidence)


def test_rates_of_events_and_gains_hold_together_at_the_stated_confidence():
    """Each of 40 estimates is wrong anywhere with probability at most 0.1; more than 12 wrong ones have probability below 1e-3."""
    model = make("admission:servers=3,capacity=6")
    best, wrong = sojourn.solve(model).gain, 0
    for seed in range(40):
        found = by_events(model, 150, seed, 0.9)
        least = sojourn.evaluate(model, found.policy).gain
        held = all(low <= value <= high for (low, high), value in zip(found.rate_bounds, model.events.value))
        wrong += not (held and found.gain_bounds[0] - 1e-6 <= least and best <= found.gain_bounds[1] + 1e-6)
    assert wrong <= 12


def test_with_data_the_rates_of_events_close_in_on_the_truth_and_on_nothing_else():
    model = make("admission:servers=3,capacity=6")
    found, best = by_events(model, 30_000, 1), sojourn.solve(model)
    assert found.policy_labels == best.policy_labels and found.gain == pytest.approx(best.gain, rel=0.02)
    assert found.gain_bounds[1] - found.gain_bounds[0] < 0.4 * best.gain and found.remaining == []
    for name, value in zip(model.events.names, model.events.value):
        low, rate, high = found.rate_of(name)
        assert low < value < high and rate == pytest.approx(value, rel=0.1) and not low < 2 * value < high
    assert "<td>serve</td>" in found._repr_html_()


def test_events_that_nobody_counts_are_not_ignored():
    model = make("admission:servers=3,capacity=6")
    session = Session("default", model.states[0], knowledge=model.knowledge(events=True))
    with pytest.raises(ParameterError, match="use a learner of events"):
        session.estimate()

"""Holding times against the rate bounds that were told: the level over all time, and how soon a contradiction is noticed."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from sojourn.control.bounds_test import FACTORS, STUCK, BoundsTest, told_bounds
from sojourn.model.events import events_of
from sojourn.model.knowledge import Knowledge
from sojourn.zoo.catalogue import make

PAIRS = 4


def knowledge(low: float, high: float) -> Knowledge:
    return Knowledge.from_choices({s: ["go", "wait"] for s in ("a", "b")}, rate_bounds=(low, high))


def reports_until(test: BoundsTest, times, pairs=None) -> int | None:
    """Return the number of the report with the first alarm, of either kind."""
    visits, total = np.zeros(PAIRS, dtype=int), np.zeros(PAIRS)
    for n, tau in enumerate(times):
        k = n % PAIRS if pairs is None else pairs[n]
        visits[k] += 1
        total[k] += tau
        if test.tell(k, tau) or test.of_pair(k, int(visits[k]), float(total[k])):
            return n + 1
    return None


@pytest.mark.parametrize("rate", [0.5, 1.0, 2.0])
def test_false_alarms_over_all_time_are_as_rare_as_stated(rate):
    """At the ends of the bounds, where they are likeliest, and between; binomial(120, 0.2) exceeds 44 with probability 7.1e-6."""
    rng = np.random.default_rng(1)
    false = [reports_until(BoundsTest(knowledge(0.5, 2.0), 20, 0.2), rng.exponential(1 / rate, 300)) for _ in range(120)]
    assert sum(first is not None for first in false) <= 44


@pytest.mark.parametrize("low, high", [(1e-9, 2e-9), (0.5, 2.0), (3e8, 6e8)])
@pytest.mark.parametrize("factor, most", [(1e6, 1), (100, 2), (10, 4), (1e-9, 1), (1e-6, 2), (0.01, 8), (0.1, 20)])
def test_times_in_another_unit_are_noticed_within_the_reports_that_the_page_states(low, high, factor, most):
    """Half of the runs, at the bound where the contradiction is smallest; whatever the unit of time."""
    rng, rate = np.random.default_rng(2), low if factor > 1 else high
    seen = [reports_until(BoundsTest(knowledge(low, high), 100, 0.01), rng.exponential(factor / rate, 400)) for _ in range(21)]
    assert np.median(seen) <= most


@pytest.mark.parametrize("factor", [1e6, 1e-9])
def test_a_clock_that_goes_wrong_after_thousands_of_reports_is_noticed_at_once(factor):
    rng = np.random.default_rng(3)
    right, wrong = rng.exponential(1.0, 3000), factor * rng.exponential(1.0, 10)
    assert 3000 < reports_until(BoundsTest(knowledge(0.5, 2.0), 100, 0.01), [*right, *wrong]) <= 3003


def test_one_pair_whose_bounds_are_wrong_is_noticed_among_others_that_are_right():
    rng = np.random.default_rng(4)
    pairs = rng.choice(PAIRS, 4000, p=[0.02, 0.48, 0.25, 0.25])
    times = rng.exponential(np.where(pairs == 0, 8.0, 1.0))
    test = BoundsTest(knowledge(0.5, 2.0), 100, 0.01)
    assert reports_until(test, times, pairs) < 2000 and test.found.tolist() == [True, False, False, False]


def test_unfinished_sojourns_count_as_time_without_a_jump_and_the_next_jump_only_against_times_too_long():
    """Cut at 0.1: hardly a jump is seen, the times of those are short, and nothing contradicts; binomial(400, 0.05) > 45: 1e-6."""
    rng, false = np.random.default_rng(6), 0
    for _ in range(400):
        times = rng.exponential(1 / 0.5, 60)
        visits, total = int((times < 0.1).sum()), float(np.minimum(times, 0.1).sum())
        false += BoundsTest(knowledge(0.5, 2.0), 100, 0.1).of_pair(0, visits, total, unfinished=True) is not None
    assert false <= 45
    test = BoundsTest(knowledge(0.5, 2.0), 100, 0.01)
    assert test.of_pair(0, 0, 10.0, unfinished=True) is None and test.of_pair(0, 0, 100.0, unfinished=True).long
    assert test.of_pair(1, 0, 1e-9, unfinished=True) is None  # no jump: nothing too short


def test_a_contradiction_that_goes_on_raises_few_alarms_and_one_that_comes_again_another():
    test = BoundsTest(knowledge(0.5, 2.0), 20, 0.01)
    wrong = [n for n in range(2000) if test.tell(0, 1e6)]
    assert 5 < len(wrong) < 20 and wrong[0] == 0 and wrong[1] == 21
    assert not any(test.tell(0, 1.0) for _ in range(1000))
    assert any(test.tell(0, 1e6) for _ in range(2))


def test_the_numbers_it_multiplies_have_mean_at_most_one_under_every_rate_within_the_bounds():
    """Exactly, by integration: E f^-1 exp((1 - 1/f) low x) = f^-1 rate / (rate - (1 - 1/f) low), and so for the other end."""
    low, high, factors = 0.5, 2.0, FACTORS[:5]
    for rate in (0.5, 0.7, 1.9, 2.0):
        longer = rate / (rate - (1 - 1 / factors) * low) / factors
        shorter = factors * rate / (rate + (factors - 1) * high)
        assert (longer <= 1 + 1e-12).all() and (shorter <= 1 + 1e-12).all()
    test, x = BoundsTest(knowledge(low, high), 100, 0.01), 0.37
    expected = [-np.log(FACTORS) + (1 - 1 / FACTORS) * low * x, np.log(FACTORS) - (FACTORS - 1) * high * x]
    assert test._of(0, x) == pytest.approx(np.concatenate(expected), rel=1e-12)


def test_equal_times_in_a_row_are_noticed_once_in_a_while():
    test = BoundsTest(knowledge(0.5, 2.0), 100, 0.01)
    assert [n for n in range(1, 100) if test.stuck(1.5)] == [STUCK, 2 * STUCK, 4 * STUCK, 8 * STUCK]
    assert not any(test.stuck(float(n % 2)) for n in range(100))


def test_bounds_of_events_are_bounds_of_their_pairs():
    known = make("machine-repair").knowledge(events=True)
    low, high = told_bounds(known)
    assert (low == known.rate_min).all() and (high == known.rate_max).all()  # nothing told
    model = make("machine-repair")
    table = events_of(model)
    told = replace(known, events=replace(table.told(), low=0.5 * table.value, high=2.0 * table.value))
    low, high = told_bounds(told)
    assert low == pytest.approx(0.5 * model.rate) and high == pytest.approx(2 * model.rate)
    one_sided = replace(known, events=replace(table.told(), low=0.0 * table.value, high=np.full(table.n_events, inf)))
    assert told_bounds(one_sided)[1].max() == known.rate_max


def test_a_test_goes_on_from_its_state():
    rng = np.random.default_rng(4)
    one, two = BoundsTest(knowledge(0.5, 2.0), 10, 0.1), BoundsTest(knowledge(0.5, 2.0), 10, 0.1)
    for i in range(200):
        row = i % PAIRS, float(rng.exponential()) * (1 if i % 50 else 1e5)
        assert one.tell(*row) == two.tell(*row) and one.stuck(row[1]) == two.stuck(row[1])
        state, two = two.state(), BoundsTest(knowledge(0.5, 2.0), 10, 0.1)
        two.restore(state)
    assert str(one.state()) == str(two.state()) and one.alarms


def test_nothing_is_tested_where_no_false_alarm_is_allowed():
    test = BoundsTest(knowledge(0.5, 2.0), 10, 0.0)
    assert test.tell(0, 1e9) is None and test.of_pair(0, 10, 1e9) is None

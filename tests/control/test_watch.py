"""Drift: the exact tests, their level over all time, and their power."""

import numpy as np
import pytest
from scipy import stats

from sojourn.control.watch import Watch, count_p_value, time_p_value


def test_p_values_of_counts_are_those_of_the_hypergeometric_law():
    for hits, draws, marked, total in [(3, 10, 20, 110), (0, 100, 5, 1100), (40, 100, 200, 1100), (9, 10, 9, 50)]:
        law = stats.hypergeom(total, marked, draws)
        right = min(1.0, 2 * min(law.cdf(hits), law.sf(hits - 1)))
        assert count_p_value(hits, draws, marked, total) == pytest.approx(right, rel=1e-8)


def test_p_values_of_times_are_uniform_for_any_rate():
    rng = np.random.default_rng(1)
    for rate in (0.01, 1.0, 300.0):
        times = rng.exponential(1 / rate, size=(2000, 60))
        p = [time_p_value(20, row[:20].sum(), 40, row[20:].sum()) for row in times]
        assert stats.kstest(p, "uniform").pvalue > 1e-4  # false alarm 3e-4 in all


def test_false_alarms_over_all_time_are_as_rare_as_stated():
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(60):
        watch = Watch(2, window=20, false_alarms=0.2)
        alarms += any(watch.tell(i % 2, rng.exponential(), int(rng.integers(3))) for i in range(2000))
    assert alarms <= 24  # binomial(60, 0.2) exceeds 24 with probability 1.1e-4


@pytest.mark.parametrize("change", ["rate", "row"])
def test_a_change_is_found_within_a_few_windows(change):
    rng = np.random.default_rng(3)
    watch = Watch(50, window=100, false_alarms=0.01)
    for _ in range(5000):
        assert not watch.tell(7, rng.exponential(), int(rng.random() < 0.3))
    rate, share = (2.5, 0.3) if change == "rate" else (1.0, 0.75)
    found = next((i, d) for i in range(1000) for d in watch.tell(7, rng.exponential() / rate, int(rng.random() < share)))
    assert found[0] < 300 and found[1].what == change and found[1].pair == 7


def test_a_watch_goes_on_from_its_state():
    rng = np.random.default_rng(4)
    one, two = Watch(3, 10, 0.1), Watch(3, 10, 0.1)
    for i in range(100):
        row = (i % 3, float(rng.exponential()), int(rng.integers(4)))
        assert one.tell(*row) == two.tell(*row)
        state, two = two.state(), Watch(3, 10, 0.1)
        two.restore(state)
    assert all(np.array_equal(one.state()[name], two.state()[name]) for name in one.state())

"""Bands, comparisons and corrections against independent computations."""

import numpy as np
import pytest
from scipy import stats

from sojourn.errors import ParameterError
from sojourn.study.statistics import compare, holm, lower_share, mean_band

RNG = np.random.default_rng(7)


def test_the_t_band_is_scipys():
    values = RNG.normal(size=(9, 4))
    low, high = mean_band(values)
    expected = stats.t.interval(0.95, 8, loc=values.mean(axis=0), scale=stats.sem(values, axis=0))
    assert np.allclose(low, expected[0], rtol=1e-12) and np.allclose(high, expected[1], rtol=1e-12)


def test_the_bootstrap_band_is_the_same_for_the_same_data_and_leans_to_the_long_tail():
    values = RNG.exponential(size=(40, 1))
    first, second = mean_band(values, method="bootstrap"), mean_band(values, method="bootstrap")
    assert first[0] == second[0] and first[1] == second[1]
    assert first[1] - values.mean() > values.mean() - first[0]


def test_one_run_has_no_band_and_wrong_settings_are_refused():
    assert np.isnan(mean_band(np.ones((1, 3)))).all()
    with pytest.raises(ParameterError, match=r"level is 1\.5"):
        mean_band(np.ones((3, 1)), level=1.5)
    with pytest.raises(ParameterError, match="method is 'normal'"):
        mean_band(np.ones((3, 1)), method="normal")


def test_welch_and_paired_tests_are_scipys():
    a, b = RNG.normal(1, 1, 12), RNG.normal(0, 3, 15)
    found = compare("m", "a", "b", a, b, paired=False)
    expected = stats.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval()
    assert found.p == pytest.approx(expected.pvalue, rel=1e-10) and found.test == "Welch t"
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-10)
    pairs = compare("m", "a", "b", a, b[:12], paired=True)
    expected = stats.ttest_rel(a, b[:12])
    assert pairs.p == pytest.approx(expected.pvalue, rel=1e-10) and pairs.test == "paired t"


def test_the_share_of_lower_runs_is_the_mann_whitney_statistic():
    a, b = RNG.integers(0, 9, 30).astype(float), RNG.integers(0, 9, 20).astype(float)
    assert lower_share(a, b) == pytest.approx(stats.mannwhitneyu(b, a).statistic / 600)


def test_equal_runs_show_no_difference_and_constant_different_ones_do():
    same = compare("m", "a", "b", np.ones(5), np.ones(5), paired=False)
    assert same.p == 1.0 and same.effect == 0.0 and same.verdict == "no difference shown"
    other = compare("m", "a", "b", np.zeros(5), np.ones(5), paired=False)
    assert other.p == 0.0 and other.verdict == "a has less regret"
    assert compare("m", "a", "b", np.zeros(1), np.ones(5), paired=False).test == "too few runs"


def test_holm_is_at_least_as_strict_as_each_and_never_stricter_than_bonferroni():
    p = RNG.uniform(size=20)
    corrected = np.array(holm(p))
    assert (corrected >= p).all() and (corrected <= np.minimum(1, 20 * p) + 1e-15).all()
    assert (np.argsort(corrected, kind="stable") == np.argsort(corrected, kind="stable")).all()
    assert holm([0.01, float("nan"), 0.02])[0] == 0.02  # what could not be tested does not count


def test_runs_that_differ_in_their_last_bits_only_have_no_made_up_effect():
    noise = 1e-13 * np.arange(6)
    apart = compare("m", "a", "b", 1926 * (1 + noise), 60.0 * (1 - noise), paired=False)
    assert apart.effect == float("inf") and apart.p == 0.0 and (apart.low, apart.high) == (apart.difference, apart.difference)
    same = compare("m", "a", "b", 60.0 * (1 + noise), 60.0 * (1 - noise), paired=True)
    assert same.effect == 0.0 and same.p == 1.0 and same.verdict == "no difference shown"

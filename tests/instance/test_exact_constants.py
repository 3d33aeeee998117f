"""g, g_step, D and C(M) against exact arithmetic: no interval is false, and what calls itself exact is right to 1e-9."""

import importlib.util
import sys
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.instance.difficulty import difficulty
from sojourn.instance.divergence_bounds import least_divergence_bounds
from sojourn.instance.gaps import optimum
from sojourn.instance.proof import proved_gaps
from sojourn.instance.rows import known_rows
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.solve import solve


@pytest.fixture(scope="module")
def judges():
    """The script benchmarks/exact_constants.py, which does the same on 1,000 models and more."""
    path = Path(__file__).parents[2] / "benchmarks" / "exact_constants.py"
    spec = importlib.util.spec_from_file_location("exact_constants", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["exact_constants"] = module
    spec.loader.exec_module(module)
    return module


def holds(bounds, truth):
    return Fraction(bounds[0]) <= truth <= Fraction(bounds[1])


def near(value, truth, rel=1e-9):
    return abs(Fraction(value) - truth) <= Fraction(rel) * truth


def test_no_interval_is_false_on_models_with_drift(judges):
    counts = judges.judge(56, seed=3)
    assert not [note for c in counts.values() for note in c.notes]
    assert sum(c.exact for c in counts.values()) >= 0.95 * sum(c.values for c in counts.values())


@pytest.mark.parametrize("capacity", [12, 15, 16])
def test_the_gain_gap_of_a_queue_with_rare_states_is_right(judges, capacity):
    """It was off by 2e-4, by 67 % and by a factor of 7, and called itself exact."""
    model = sojourn.make("admission", capacity=capacity)
    found = sojourn.gain_gap(model)
    g, g_step = judges.true_gaps(judges.Exact.of(model), [0] * model.n_states)
    assert found.exact
    assert near(found.value, g) and holds(found.bounds, g)
    assert near(found.per_decision, g_step) and holds(found.per_decision_bounds, g_step)


def test_the_diameter_of_a_walk_against_its_drift_is_right(judges):
    """It was 9.4e16."""
    n = 150
    transition = np.zeros((n, 1, n))
    for s in range(n):
        transition[s, 0, min(s + 1, n - 1)] += 0.375
        transition[s, 0, max(s - 1, 0)] += 0.625
    model = CTMDP.from_arrays(transition, np.ones((n, 1)))
    found = sojourn.diameter(model)
    step, total = 1 / Fraction(3, 8), Fraction(0)  # from s to s + 1, and added up
    for _ in range(n - 1):
        total += step
        step = (1 + Fraction(5, 8) * step) / Fraction(3, 8)
    assert found.exact and found.pair == (0, n - 1)
    assert near(found.value, total) and holds(found.bounds, total)
    assert total > 10**33


def test_gaps_are_within_their_proved_errors_whatever_the_drift(judges):
    for i in range(30):
        exact = judges.walk(np.random.default_rng([7, i]), 4 + i % 17, 2)
        model = exact.model()
        proof = proved_gaps(model, judges.solution(model))
        _, gaps = judges.optimum(exact, [0] * exact.n)
        for k, truth in enumerate(g for row in gaps for g in row):
            assert abs(Fraction(proof.gap[k]) - truth) <= Fraction(proof.error[k])
        assert (proof.error <= 1e-9 * np.maximum(np.abs(proof.gap), 1e-6)).all()


def test_a_wrong_solution_is_found_out_and_improved(judges):
    """The gaps do not trust the policy that they are given."""
    exact = judges.walk(np.random.default_rng(11), 9, 3)
    model = exact.model()
    good = solve(model)
    bad = replace(good, policy=(good.policy + 1) % 3, gain=good.gain + 1.0, bias=good.bias * 2)
    np.testing.assert_allclose(proved_gaps(model, bad).gap, proved_gaps(model, good).gap, rtol=1e-12, atol=1e-25)


def least_divergence_exactly(row, b, rate, drift):
    """Return K in 60 digits, the rate free: max over ν of Σ p log(1 - νλ b) - ν drift, by bisection of its slope."""
    with localcontext() as context:
        context.prec = 60
        p, b = [_decimal(x) for x in row], [_decimal(x) for x in b]
        rate, drift = _decimal(rate), _decimal(drift)
        top = max(b)
        low, high = Decimal(0), 1 / (rate * top)
        for _ in range(190):
            middle = (low + high) / 2
            slope = sum(-x * rate * y / (1 - middle * rate * y) for x, y in zip(p, b)) - drift
            low, high = (middle, high) if slope > 0 else (low, middle)
        return sum(x * (1 - low * rate * y).ln() for x, y in zip(p, b)) - low * drift


def _decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


def test_least_divergences_and_the_lower_bound_lie_in_their_proved_intervals(judges):
    """Rate bounds so wide that they do not matter; h and the gaps in fractions, K in 60 digits."""
    checked = 0
    for i in range(24):
        exact = judges.walk(np.random.default_rng([3, i]), 3 + i % 8, 2)
        model = exact.model()
        gain, gaps = judges.optimum(exact, [0] * exact.n)
        _, bias = judges.evaluated(exact, [min(range(len(g)), key=g.__getitem__) for g in gaps])
        found = difficulty(model, (1e-9, 1e9), solution=judges.solution(model))
        low, high = least_divergence_bounds(found.optimum, found.rate_bounds, known_rows(found.model))
        total, pair = Decimal(0), 0
        for s, options in enumerate(exact.options):
            for a, (row, speed, paid) in enumerate(options):
                stay = 1 - sum(row.values())
                full = dict(row) | ({s: stay} if stay > 0 else {})
                b = [paid + bias[j] - bias[s] for j in full]
                if gaps[s][a] > 0 and max(b) > 0:  # the drift -ρ only matters through bounds that are out of reach
                    k = least_divergence_exactly(list(full.values()), b, speed, -gain)
                    assert Decimal(float(low[pair])) <= k <= Decimal(float(high[pair]))
                    assert high[pair] <= low[pair] * (1 + 1e-9)
                    total += _decimal(gaps[s][a]) / k
                    checked += 1
                elif gaps[s][a] > 0:
                    total = Decimal("NaN")  # critical, if at all, only at the ends of the rate bounds
                pair += 1
        if not total.is_nan():
            lo, hi = found.lower_bound_constant_bounds
            assert Decimal(lo) <= total <= Decimal(hi) and lo <= found.lower_bound_constant <= hi
    assert checked > 60


def test_the_interval_of_the_lower_bound_holds_at_the_ends_of_the_rate_bounds(judges):
    """Narrow rate bounds, so that the alternatives meet them: against the ordinary computation, and never the wrong way round."""
    met = 0
    for i in range(40):
        exact = judges.jumps(np.random.default_rng([4, i]), 5, 3, False)
        model = exact.model()
        found = difficulty(model, model.bounds)
        lo, hi = found.lower_bound_constant_bounds
        assert lo <= found.lower_bound_constant <= hi <= lo * (1 + 1e-7) or lo == hi == 0
        k, wanted = found.divergences, found.divergences.critical
        met += int((np.isin(k.rate, model.bounds) & wanted & (k.rate != model.rate)).sum())
        wider = difficulty(model, (model.bounds[0] / 2, model.bounds[1] * 2)).lower_bound_constant_bounds
        assert wider[1] >= lo
    assert met > 5


def test_ties_within_the_tolerance_are_counted_and_doubted():
    """A gap of 1e-13 counts as a tie, but it is there: the value leaves it out, the interval does not."""
    reward = np.array([[1.0, 1.0 - 1e-13, 0.5], [0.0, -0.25, -0.5]])
    swap = np.array([[[0, 1.0]] * 3, [[1.0, 0]] * 3])
    model = CTMDP.from_arrays(swap, np.ones((2, 3)), reward)
    found = sojourn.gain_gap(model)
    assert found.value == pytest.approx(0.125) and not found.exact
    assert 0 < found.bounds[0] < 1e-12 and found.bounds[1] >= 0.125
    assert optimum(model).doubtful.sum() == 1
    text = " ".join(sojourn.difficulty(model, (1, 1)).warnings)
    assert "tolerance of ties" in text
    strict = sojourn.difficulty(model, (1, 1), tie_tolerance=0.0).gain_gap
    assert strict.exact and holds(strict.bounds, (1 - Fraction(1.0 - 1e-13)) / 2)


def test_exact_ties_are_ties_and_exact():
    reward = np.array([[1.0, 1.0, 0.5], [0.0, 0.0, -0.5]])
    swap = np.array([[[0, 1.0]] * 3, [[1.0, 0]] * 3])
    found = sojourn.gain_gap(CTMDP.from_arrays(swap, np.ones((2, 3)), reward))
    assert found.exact and found.bounds[0] <= 0.25 <= found.bounds[1]


def test_no_nan_leaves_where_the_numbers_are_beyond_floats():
    n = 420
    transition = np.zeros((n, 2, n))
    for s in range(n):
        for a, up in enumerate((0.0625, 0.125)):
            transition[s, a, min(s + 1, n - 1)] += up
            transition[s, a, max(s - 1, 0)] += 1 - up
    model = CTMDP.from_arrays(transition, np.ones((n, 2)), np.column_stack([np.ones(n), np.arange(n) % 2]))
    far = sojourn.diameter(model)
    assert np.isfinite(far.value) and 0 < far.bounds[0] <= far.value and far.bounds[1] == np.inf and not far.exact
    found = sojourn.gain_gap(model)
    assert not np.isnan([found.value, *found.bounds, found.per_decision, *found.per_decision_bounds]).any()
    assert found.bounds[0] <= found.value <= found.bounds[1]
    both = difficulty(model, (1, 1))
    assert both.upper_bound_constant == np.inf and not np.isnan(both.upper_bound(1e6, offset=0))

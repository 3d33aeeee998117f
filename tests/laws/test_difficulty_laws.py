"""Laws of the difficulty constants on random models."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.instance.difficulty import difficulty
from sojourn.model.ctmdp import CTMDP


@st.composite
def models(draw):
    """Random models, every policy irreducible: each row has positive mass on the next state of a ring."""
    n, actions = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    transition = np.zeros((n, actions, n))
    for s, a in itertools.product(range(n), range(actions)):
        some = rng.choice(n, int(rng.integers(1, n + 1)), replace=False)
        if (s + 1) % n not in some:
            some[0] = (s + 1) % n
        transition[s, a, some] = rng.dirichlet(np.ones(len(some)))
    running = rng.normal(size=(n, actions)) if draw(st.booleans()) else None
    return CTMDP.from_arrays(
        transition,
        rng.uniform(0.5, 4, (n, actions)),
        rng.random((n, actions)),
        running,
        rate_bounds=(0.3, 6.0),
        normalize_rows=True,
    )


@settings(max_examples=40)
@given(models(), st.sampled_from([1e-6, 0.1, 3.0, 60.0, 1e7]))
def test_the_unit_of_time_changes_g_and_d_and_nothing_else(model, k):
    lo, hi = model.rate_bounds
    faster = model.replace(rate=model.rate * k, running=model.running * k, rate_bounds=(lo * k, hi * k))
    a, b = difficulty(model), difficulty(faster)
    np.testing.assert_allclose(b.gaps, a.gaps, rtol=1e-8, atol=1e-11)
    np.testing.assert_array_equal(b.critical, a.critical)
    np.testing.assert_allclose(b.least_divergence, a.least_divergence, rtol=1e-7)
    assert b.lower_bound_constant == pytest.approx(a.lower_bound_constant, rel=1e-7)
    assert b.gain_gap_per_decision == pytest.approx(a.gain_gap_per_decision, rel=1e-8)
    assert b.gain_gap == pytest.approx(a.gain_gap * k, rel=1e-8)
    assert b.diameter == pytest.approx(a.diameter / k, rel=1e-9)
    assert b.upper_bound_constant_consistent == pytest.approx(a.upper_bound_constant_consistent, rel=1e-8)


@settings(max_examples=25)
@given(models(), st.integers(0, 10**6))
def test_relabelling_states_and_actions_permutes_everything(model, seed):
    rng = np.random.default_rng(seed)
    s, a = rng.permutation(model.n_states), rng.permutation(model.n_actions)
    dense = model.dense()
    other = CTMDP.from_arrays(
        dense["transition"][np.ix_(s, a, s)],
        dense["rate"][np.ix_(s, a)],
        dense["reward"][np.ix_(s, a)],
        dense["running"][np.ix_(s, a)],
        rate_bounds=model.rate_bounds,
        normalize_rows=True,
    )
    one, two = difficulty(model), difficulty(other)
    np.testing.assert_allclose(two.gaps, one.gaps[np.ix_(s, a)], rtol=1e-7, atol=1e-10)
    np.testing.assert_array_equal(two.critical, one.critical[np.ix_(s, a)])
    np.testing.assert_allclose(two.least_divergence, one.least_divergence[np.ix_(s, a)], rtol=1e-6)
    for name in ("lower_bound_constant", "gain_gap", "gain_gap_per_decision", "diameter"):
        assert getattr(two, name) == pytest.approx(getattr(one, name), rel=1e-7)
    assert one.diameter == pytest.approx(one.diameters.bounds[0], rel=1e-9)


@settings(max_examples=25)
@given(models(), st.sampled_from([6.0, 11.5]))
def test_the_diameter_is_that_of_the_uniformized_model_over_the_rate(model, rate):
    uniform = model.uniformized(rate)
    assert difficulty(uniform).diameter == pytest.approx(rate * difficulty(model).diameter, rel=1e-9)


@settings(max_examples=25)
@given(models())
def test_the_constants_keep_their_order(model):
    """K is positive, g_step >= g/rate_max, wider rate bounds make K smaller and C(M) larger."""
    found = difficulty(model)
    if not found.optimum.optimal.all():
        assert found.gain_gap_per_decision >= found.gain_gap / found.rate_bounds[1] * (1 - 1e-9)
    wider = difficulty(model, (0.1, 20.0))
    assert (wider.least_divergence <= found.least_divergence * (1 + 1e-9)).all()
    assert wider.lower_bound_constant >= found.lower_bound_constant * (1 - 1e-9)
    assert (found.least_divergence[~found.optimal_actions] > 0).all()
    assert found.exploration_time(100) == pytest.approx(
        np.nansum(found.visits_needed(100) / found.model.table(found.model.rate))
    )

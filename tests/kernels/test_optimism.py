"""Twins: the compiled planning equals the readable reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.kernels import optimism as kernels
from sojourn.kernels.fast_optimism import policy_rows


def problem(seed, n_states, n_actions, supports_known=False, ties=False, density=None):
    """Return the arrays of a random extended model: rows of every length from empty to full, radii from 0 to vacuous."""
    rng = np.random.default_rng(seed)
    choices = rng.integers(1, n_actions + 1, n_states)
    pairs = int(choices.sum())
    length = rng.integers(1 if supports_known else 0, n_states + 1, pairs)
    if density == "full":
        length[:] = n_states
    rows = [np.sort(rng.choice(n_states, n, replace=False)) for n in length]
    weights = [rng.integers(0 if supports_known else 1, 9, n) for n in length]
    probability = np.concatenate([w / max(1, w.sum()) for w in weights]) if pairs else np.zeros(0)
    reach = rng.choice([0.0, 0.01, 0.1, 0.3, 0.9, 3.0], pairs)
    slow = rng.uniform(0.1, 0.6, pairs)
    reward = rng.integers(0, 3, pairs) / 2 if ties else rng.uniform(-1, 1, pairs)
    return (
        np.concatenate([[0], np.cumsum(choices)]), np.concatenate([[0], np.cumsum(length)]), np.concatenate(rows).astype(np.int64),
        probability, reach, slow, np.minimum(1, slow + rng.uniform(0, 0.5, pairs)), reward,
        rng.choice([0.0, 0.3], pairs), supports_known,
    )


def full(arrays, u):
    return not arrays[-1] and bool((np.diff(arrays[1]) == len(u)).any())


def copied(arrays, u):
    """Return the arrays as the kernels take them; rows may be reordered."""
    return kernels.Extended(*(x.copy() if isinstance(x, np.ndarray) else x for x in arrays), full(arrays, u))


def step(u, arrays, slack=None, value=None):
    n = len(u)
    u_next, pair, rising = np.empty(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
    work = np.empty(n), np.arange(n)
    low, high = kernels.bellman_step(u, u_next, pair, rising, slack, value, *work, copied(arrays, u))
    return u_next, pair, rising, low, high


@given(seed=st.integers(0, 10**6), n_states=st.integers(1, 9), n_actions=st.integers(1, 4), known=st.booleans(),
       ties=st.booleans())
def test_the_bellman_step_equals_its_reference(seed, n_states, n_actions, known, ties):
    arrays = problem(seed, n_states, n_actions, known, ties)
    rng = np.random.default_rng(seed + 1)
    u = rng.integers(0, 3, n_states) / 4 if ties else rng.normal(size=n_states)
    expected, pairs, rising = kernels.bellman_step_reference(u, copied(arrays, u))
    found = step(u, arrays)
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-12)
    assert (found[3], found[4]) == pytest.approx(((expected - u).min(), (expected - u).max()), abs=1e-12)
    if not ties:
        assert found[1].tolist() == pairs.tolist()
        assert found[2].tolist() == rising.tolist()


@given(seed=st.integers(0, 10**6), n_states=st.integers(1, 7), n_actions=st.integers(1, 3), known=st.booleans())
def test_the_iteration_equals_its_reference(seed, n_states, n_actions, known):
    arrays = problem(seed, n_states, n_actions, known)
    u, damping = np.zeros(n_states), 0.9 if known else 1.0
    expected = kernels.extended_value_iteration_reference(u, 1e-3, 60, damping, copied(arrays, u))
    found = kernels.extended_value_iteration(u, 1e-3, 60, damping, copied(arrays, u))
    np.testing.assert_allclose(u, expected[0], rtol=0, atol=1e-12)
    assert found[0].tolist() == expected[1].tolist()
    assert found[1].tolist() == expected[2].tolist()
    assert (found[2], found[5]) == (expected[3], expected[6])
    assert found[3:5] == pytest.approx(expected[4:6], abs=1e-12)


def test_long_rows_are_sorted_right_when_their_order_breaks_completely():
    n = 300
    rng = np.random.default_rng(5)
    length = n - 1
    arrays = (np.arange(n + 1), np.arange(n + 1) * length, np.concatenate([np.sort(rng.permutation(n)[:length]) for _ in range(n)]),
              np.tile(np.arange(1, n) / np.arange(1, n).sum(), n), np.full(n, 0.2), np.full(n, 0.5), np.full(n, 0.9),
              rng.uniform(0, 1, n), np.zeros(n), False)
    for u in (rng.normal(size=n), np.arange(n) * 1.0, -np.arange(n) * 1.0):
        np.testing.assert_allclose(step(u, arrays)[0], kernels.bellman_step_reference(u, copied(arrays, u))[0], rtol=0, atol=1e-11)


@given(seed=st.integers(0, 10**6), n_states=st.integers(2, 8))
def test_the_inner_maximum_equals_a_linear_programme(seed, n_states):
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    p, u, reach = rng.dirichlet(np.ones(n_states)), rng.normal(size=n_states), rng.uniform(0, 1.2)
    eye = np.eye(n_states)
    answer = linprog(  # p~ = p + plus - minus
        np.concatenate([-u, np.zeros(2 * n_states)]),
        A_eq=np.block([[eye, -eye, eye], [np.ones((1, n_states)), np.zeros((1, 2 * n_states))]]), b_eq=np.concatenate([p, [1]]),
        A_ub=np.concatenate([np.zeros(n_states), np.ones(2 * n_states)])[None, :], b_ub=[2 * reach])
    found = kernels.inner_maximum_reference(u, np.arange(n_states), p, reach, False)
    assert found == pytest.approx(-answer.fun, abs=1e-9)


@given(seed=st.integers(0, 10**6), n_states=st.integers(1, 9), known=st.booleans())
def test_an_eliminated_action_is_never_the_best(seed, n_states, known):
    arrays = problem(seed, n_states, 4, known)
    pairs = len(arrays[4])
    rng = np.random.default_rng(seed)
    u, slack, value = rng.normal(size=n_states), np.zeros(pairs), np.zeros(pairs)
    for _ in range(4):
        u_next, pair, _, low, high = step(u, arrays, slack, value)
        whole = step(u, arrays)
        assert u_next.tolist() == whole[0].tolist()
        assert pair.tolist() == whole[1].tolist()
        slack -= (high - low) * (1 + 1e-9) + 1e-12
        u = u_next


@given(seed=st.integers(0, 10**6), n_states=st.integers(2, 9), known=st.booleans())
def test_the_policy_rows_carry_the_optimistic_model_of_the_step(seed, n_states, known):
    u = np.random.default_rng(seed).normal(size=n_states)
    arrays = copied(problem(seed, n_states, 3, known), u)
    u_next, pair, rising = np.empty(n_states), np.zeros(n_states, dtype=np.int64), np.zeros(n_states, dtype=bool)
    order = np.arange(n_states)
    kernels.bellman_step(u, u_next, pair, rising, None, None, np.empty(n_states), order, arrays)
    slow, fast, reward, running = arrays.slow, arrays.fast, arrays.reward, arrays.running
    start, state, weight, slowness = policy_rows(u, pair, rising, order, arrays)
    for s in range(n_states):
        ratio = fast[pair[s]] if rising[s] else slow[pair[s]]
        mean = (weight[start[s] : start[s + 1]] * u[state[start[s] : start[s + 1]]]).sum()
        if slowness[s] < 1e12:
            assert u_next[s] - u[s] == pytest.approx(
                reward[pair[s]] * ratio + running[pair[s]] + (mean - u[s]) / slowness[s], abs=1e-9)

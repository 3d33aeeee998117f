"""The compiled sweeps against their plain twins, to 1e-12."""

import numpy as np

from sojourn.kernels.bellman import bellman_step, bellman_step_reference, policy_sweeps, policy_sweeps_reference
from sojourn.model.ctmdp import CTMDP


def models():
    rng = np.random.default_rng(11)
    for _ in range(30):
        n, a = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        weight = rng.random((n, a, n)) * (rng.random((n, a, n)) < 0.6) + 1e-3 * np.eye(n)[:, None, :]
        admissible = rng.random((n, a)) < 0.7
        admissible[:, 0] = True
        yield rng, CTMDP.from_arrays(weight / weight.sum(-1, keepdims=True), rng.uniform(0.1, 9, (n, a)),
                                     rng.normal(size=(n, a)), rng.normal(size=(n, a)), admissible)


def test_a_bellman_step_equals_its_reference():
    for rng, m in models():
        income, u = m.reward * m.rate + m.running, 10 * rng.normal(size=m.n_states)
        rows = (m.pair_start, m.row_start, m.next_state, m.probability, m.rate, income, 10.0, u)
        fast, slow = ((np.empty(m.n_states), np.empty(m.n_states, dtype=np.int64)) for _ in range(2))
        bounds, expected = bellman_step(*rows, *fast), bellman_step_reference(*rows, *slow)
        np.testing.assert_allclose(bounds, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(fast[0], slow[0], rtol=0, atol=1e-12)
        assert (fast[1] == slow[1]).all()


def test_ties_go_to_the_lowest_pair():
    m = CTMDP.from_arrays(np.full((2, 3, 2), 0.5), np.ones((2, 3)), np.ones((2, 3)))
    out, choice = np.empty(2), np.empty(2, dtype=np.int64)
    bellman_step(m.pair_start, m.row_start, m.next_state, m.probability, m.rate, m.reward * m.rate, 2.0, np.zeros(2), out, choice)
    assert choice.tolist() == [0, 3]


def test_policy_sweeps_equal_their_reference():
    for rng, m in models():
        income, u = m.reward * m.rate + m.running, 10 * rng.normal(size=m.n_states)
        pairs = np.array([rng.integers(m.pair_start[s], m.pair_start[s + 1]) for s in range(m.n_states)])
        rows = (m.row_start, m.next_state, m.probability, m.rate, income, 10.0, pairs, u, 7)
        fast, slow = policy_sweeps(*rows), policy_sweeps_reference(*rows)
        np.testing.assert_allclose(fast[0], slow[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(fast[1:], slow[1:], rtol=0, atol=1e-12)

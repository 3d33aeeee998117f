"""The sweep over many targets and its readable twin agree; the residuals are what they say."""

import numpy as np
import pytest

from sojourn.kernels.first_passage import passage_excess, passage_shortfall, passage_sweep, passage_sweep_reference


@pytest.fixture
def problem():
    rng = np.random.default_rng(12)
    n, width = 7, 5
    choice_start = np.concatenate([[0], np.cumsum(rng.integers(1, 4, n))])
    rows = [np.sort(rng.choice(n, int(rng.integers(1, 5)), replace=False)) for _ in range(choice_start[-1])]
    row_start = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
    probability = np.concatenate([rng.dirichlet(np.ones(len(r))) for r in rows])
    return (row_start, np.concatenate(rows), probability, rng.random(choice_start[-1]) + 0.1, choice_start), rng.random(
        (n, width)
    ) * 9


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_sweep_is_the_best_choice_of_each_state_for_each_target(problem, sign):
    arrays, value = problem
    out = np.empty_like(value)
    passage_sweep(*arrays, sign, value, out)
    np.testing.assert_allclose(out, passage_sweep_reference(*arrays, sign, value), rtol=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_residuals_are_relative_to_the_cost_and_leave_the_target_out(problem, sign):
    (row_start, next_state, probability, cost, choice_start), value = problem
    target = np.array([0, 3, 6, 2, 5])
    over = np.zeros(5)
    under = np.zeros(5)
    for t in range(5):
        for s in range(7):
            if s == target[t]:
                continue
            slack = [
                (
                    cost[k]
                    + probability[row_start[k] : row_start[k + 1]] @ value[next_state[row_start[k] : row_start[k + 1]], t]
                    - value[s, t]
                )
                / cost[k]
                for k in range(choice_start[s], choice_start[s + 1])
            ]
            over[t] = max(over[t], min(slack) if sign > 0 else max(slack))
            under[t] = max(under[t], max(-x for x in slack))
    arrays = (row_start, next_state, probability, cost, choice_start)
    np.testing.assert_allclose(passage_excess(*arrays, sign, value, target, 0.0), over, rtol=1e-12)
    np.testing.assert_allclose(passage_shortfall(*arrays, value, target, 0.0), under, rtol=1e-12)
    assert (passage_excess(*arrays, sign, value, target, 1e-3) > over).all()

"""What `solve` did is what its answer says: the method named is the one whose policy is returned, and no way is gone in vain."""

import time

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sojourn.errors import TooLarge
from sojourn.model.ctmdp import CTMDP
from sojourn.solving import elimination, policy_iteration, value
from sojourn.solving.solve import solve
from sojourn.solving.value_iteration import SMALL_WORK, iterate_values
from sojourn.zoo.catalogue import make


def cube(side, decades, seed=0):
    """A three-dimensional grid, three actions with random ways to the neighbours, rates spread over some powers of ten."""
    rng, n = np.random.default_rng([seed, side]), side**3
    here = np.array(np.unravel_index(np.arange(n), (side,) * 3))
    rows, columns = [], []
    for action in range(3):
        for way in np.vstack([-np.eye(3, dtype=int), np.eye(3, dtype=int)]):
            there = here + way[:, None]
            inside = ((there >= 0) & (there < side)).all(axis=0)
            rows.append(3 * np.flatnonzero(inside) + action)
            columns.append(np.ravel_multi_index(tuple(there[:, inside]), (side,) * 3))
    row, column = np.concatenate(rows), np.concatenate(columns)
    p = csr_matrix((rng.exponential(size=len(row)), (row, column)), shape=(3 * n, n))
    p.data /= np.repeat(np.asarray(p.sum(axis=1)).ravel(), np.diff(p.indptr))
    rate = 10 ** rng.uniform(-decades / 2, decades / 2, 3 * n)
    return CTMDP.from_pairs(np.repeat(np.arange(n), 3), np.tile(np.arange(3), n), p, rate, rng.uniform(-1, 1, 3 * n),
                            rng.uniform(-1, 1, 3 * n), normalize_rows=True)


@pytest.mark.parametrize("seed", [0, 3, 4, 6])  # where sixteen digits do not prove the default tolerance
def test_policy_iteration_that_stops_early_is_proved_by_more_digits_instead_of_another_method(seed):
    model = cube(13, 6.8, seed)
    solve(model)  # compiled code is loaded and warm
    began = time.process_time()
    found = solve(model)
    assert found.method == "policy-iteration" and found.iterations < 20
    assert found.gain_bounds[1] - found.gain_bounds[0] <= 1e-9 * abs(found.gain)
    assert time.process_time() - began < 2.5  # value iteration in vain took five


def ladder(width, length, seed):
    """A long grid with three actions of random ways: wells that are practically never left, and values as large as that."""
    rng, n = np.random.default_rng([seed, width, length]), width * length
    here = np.array(np.divmod(np.arange(n), width))
    rows, columns = [], []
    for action in range(3):
        for way in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            there = here + np.array(way)[:, None]
            inside = ((there >= 0) & (there < [[length], [width]])).all(axis=0)
            rows.append(3 * np.flatnonzero(inside) + action)
            columns.append((there[0] * width + there[1])[inside])
    row, column = np.concatenate(rows), np.concatenate(columns)
    p = csr_matrix((rng.exponential(size=len(row)), (row, column)), shape=(3 * n, n))
    p.data /= np.repeat(np.asarray(p.sum(axis=1)).ravel(), np.diff(p.indptr))
    return CTMDP.from_pairs(np.repeat(np.arange(n), 3), np.tile(np.arange(3), n), p, rng.uniform(0.5, 4, 3 * n),
                            rng.uniform(-1, 1, 3 * n), rng.uniform(-1, 1, 3 * n), normalize_rows=True)


@pytest.mark.parametrize("seed", range(3))
def test_sweeps_between_policies_do_not_lead_astray_where_values_are_large(seed, monkeypatch):
    model = ladder(4, 1000, seed)
    swept = solve(model, method="policy-iteration")
    monkeypatch.setattr(policy_iteration, "SWEEPS", 0)
    plain = solve(model, method="policy-iteration")
    assert swept.iterations <= 1.2 * plain.iterations  # 142 instead of 25 where pairs were taken by rounding
    assert swept.gain_bounds[0] <= plain.gain_bounds[1] and plain.gain_bounds[0] <= swept.gain_bounds[1]


def test_a_reference_is_not_looked_for_longer_than_one_is_found(monkeypatch):
    jumps = []

    def counted(*given):
        for state in states(*given):
            jumps.append(state)
            yield state

    states = value._likely_states
    monkeypatch.setattr(value, "_likely_states", counted)
    model = make("routing", capacity=99, arrival_rate=0.08)  # from every reference some states are too rare for floats
    found = solve(model, method="policy-iteration")
    assert 0 < len(jumps) <= 3 * found.iterations and len(set(jumps)) == 1  # 1,600 jumps each, 40,000 before
    assert found.gain_bounds[1] - found.gain_bounds[0] <= 1e-9 * abs(found.gain)


def test_where_policy_iteration_finishes_what_another_method_began_it_is_named():
    model = cube(5, 6.0)
    pairs, *_ = iterate_values(model, 1e-9 / 4, SMALL_WORK)
    by_values, best = solve(model, method="value-iteration"), solve(model)
    assert (model.pair_action[pairs] != best.policy).any() and (by_values.policy == best.policy).all()
    assert by_values.method == "policy-iteration"  # its policy, though another was asked for
    assert solve(model, method="sweeps").method == "sweeps"  # whose policy nothing improves


def test_a_method_by_name_that_is_too_large_a_task_names_the_way_out(monkeypatch):
    monkeypatch.setattr(elimination.layout, "__defaults__", (1e3, None))
    model = ladder(20, 60, 0)  # not a line; with 1,000 multiplications nothing is eliminated
    for method in ("multigrid", "policy-iteration", "linear-programming"):
        monkeypatch.setattr("sojourn.solving.nested.ROUNDS", 0)  # multigrid leaves it to policy iteration
        with pytest.raises(TooLarge, match=rf"the limits are 1000 and .* Method '{method}' needs that.*Leave `method` out"):
            solve(model, method=method)

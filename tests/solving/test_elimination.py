"""Elimination without a subtraction: what it says about its own errors holds against exact fractions, and is not far off."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sojourn.errors import TooLarge
from sojourn.solving.elimination import DENSE, DenseElimination, OutOfRange, SparseElimination, layout
from sojourn.solving.value import value_of
from sojourn.solving.wide import WideElimination

FORMS = [DenseElimination, SparseElimination, WideElimination]


def exact_until(a, reference, cost):
    """Expected totals until the reference, and of a cycle, in fractions."""
    n = len(a)
    rows = [[Fraction(x) for x in row] for row in a]
    b = [Fraction(x) for x in cost]
    order = [s for s in range(n) if s != reference]
    totals = {}
    for k, s in enumerate(order):
        later = [*order[k + 1:], reference]
        totals[s] = sum(rows[s][j] for j in later)
        for i in later:
            if rows[i][s]:
                f = rows[i][s] / totals[s]
                b[i] += f * b[s]
                for j in later:
                    rows[i][j] += f * rows[s][j] * (i != j)
    x = {reference: Fraction(0)}
    for k in range(len(order) - 1, -1, -1):
        s = order[k]
        x[s] = (b[s] + sum(rows[s][j] * x[j] for j in [*order[k + 1:], reference])) / totals[s]
    return [x[s] for s in range(n)], b[reference]


def chains():
    rng = np.random.default_rng(8)
    for n in (2, 3, 9, 24):
        a = rng.random((n, n)) * (rng.random((n, n)) < 0.4)
        a += np.diag(10.0 ** rng.uniform(-12, 0, n - 1), 1) + np.diag(10.0 ** rng.uniform(-12, 0, n - 1), -1)
        np.fill_diagonal(a, 0.0)
        yield a


@pytest.mark.parametrize("form", FORMS)
def test_the_errors_that_are_promised_are_kept(form):
    for a in chains():
        n = len(a)
        cost = np.random.default_rng(n).random(n)
        found = form(csr_matrix(a), n // 2)
        totals = found.totals(cost[:, None])
        until, cycle = exact_until(a, n // 2, cost)
        promised = found.error + found.forward_error + found.backward_error
        assert promised < 1e-11
        assert abs(Fraction(totals.cycle[0]) * Fraction(2) ** totals.cycle_power - cycle) <= cycle * promised
        for s in range(n):
            assert abs(Fraction(totals.until[s, 0]) - until[s]) <= until[s] * promised
        visits, error = found.visits()
        for s in range(n):
            truth = exact_until(a, n // 2, np.eye(n)[s])[1]
            assert abs(Fraction(visits[s]) - truth * Fraction(visits[n // 2])) <= truth * Fraction(visits[n // 2]) * 2 * error


def test_a_barrier_beyond_floats_is_said_to_be_and_crossed_by_wide_numbers():
    n = 600
    up = np.where(np.arange(n) < n // 2, 0.01, 0.99)
    walk = csr_matrix(np.diag(up[:-1], 1) + np.diag(1 - up[1:], -1))
    with pytest.raises(OutOfRange):
        SparseElimination(walk, 0).totals(np.ones((n, 1)))
    visits, error = WideElimination(walk, 0).visits()
    assert visits[0] == pytest.approx(visits[-1], rel=1e-12) and error < 1e-12


def test_a_chain_too_large_to_eliminate_says_what_it_would_take():
    rng = np.random.default_rng(0)
    n = 3000
    matrix = csr_matrix((np.ones(4 * n), (np.repeat(np.arange(n), 4), rng.integers(0, n, 4 * n))), shape=(n, n))
    with pytest.raises(TooLarge, match=r"3,000 states .* multiplications"):
        layout(matrix, 0, most_work=1e6)


def test_small_and_large_chains_are_evaluated_alike():
    from sojourn.solving.chain import chain_of
    from sojourn.zoo.catalogue import make

    model = make("tandem", capacity=15)  # 256 states
    chain = chain_of(model, model.pair_start[:-1])
    assert model.n_states > DENSE
    value = value_of(chain, np.arange(model.n_states))
    law, _ = DenseElimination(chain.matrix, value.factors.reference).visits()
    np.testing.assert_allclose(value.law, law, rtol=1e-11)
    rest = chain.reward - value.gain * chain.holding + chain.matrix @ value.bias - value.bias
    assert np.abs(rest).max() < 1e-10 * np.abs(value.bias).max()


@pytest.mark.parametrize("form", FORMS)
def test_rough_totals_are_the_totals_but_for_rounding(form):
    for a in chains():
        n = len(a)
        costs = np.random.default_rng(n).random((n, 3))
        found = form(csr_matrix(a), n // 2)
        sharp, rough = found.totals(costs), found.rough_totals(costs)
        np.testing.assert_allclose(rough.cycle, sharp.cycle, rtol=1e-13)
        np.testing.assert_allclose(rough.until, sharp.until, rtol=1e-13)

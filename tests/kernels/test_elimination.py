"""The compiled eliminations against their plain twin, and against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sojourn.kernels import elimination, ordering, wide
from sojourn.kernels.elimination import eliminate_reference
from sojourn.solving.elimination import layout


def line(n, rng):
    up = rng.random(n)
    return np.diag(up[:-1], 1) + np.diag(1 - up[1:], -1)


def grid(side, rng):
    step = line(side, rng)
    jumps = np.kron(step, np.eye(side)) + np.kron(np.eye(side), step)
    return jumps * rng.random(jumps.shape)


def scattered(n, rng):
    a = rng.random((n, n)) * (rng.random((n, n)) < 3 / n) + np.diag(rng.random(n - 1), 1)
    a[-1, 0] = 1.0
    return a


CHAINS = {
    "line": lambda rng: line(40, rng), "grid": lambda rng: grid(9, rng), "scattered": lambda rng: scattered(70, rng),
    "full": lambda rng: rng.random((37, 37)), "two": lambda rng: rng.random((2, 2)),
    "large front": lambda rng: rng.random((elimination.LARGE + 2 * elimination.PANEL + 7,) * 2),
}


@pytest.fixture(params=sorted(CHAINS))
def chain(request):
    """A chain (CSR) with a reference, its layout, and its factors by the twin in the same order."""
    a = CHAINS[request.param](np.random.default_rng(3))
    np.fill_diagonal(a, 0.0)
    matrix = csr_matrix(a)
    plan = layout(matrix, 1)
    return matrix, plan, eliminate_reference(a[np.ix_(plan.order, plan.order)])


def spread(plan, place, numbers):
    """The factors of a compiled elimination as an n x n table: entry [k, i] of state k and later neighbour i."""
    n = len(plan.order)
    table = np.zeros((n, n))
    for s in range(len(plan.begin) - 1):
        first, last = plan.begin[s], plan.begin[s + 1]
        columns = np.concatenate([np.arange(first, last), plan.state[plan.offset[s]:plan.offset[s + 1]]])
        table[first:last, columns] = numbers[place[s]:place[s + 1]].reshape(last - first, len(columns))
    return table


def factors(matrix, plan):
    rows = matrix.indptr, matrix.indices, matrix.data
    return elimination.eliminate(rows, plan.columns, plan.order, plan.begin, plan.offset, plan.state, plan.above)


def test_the_fronts_give_the_factors_of_the_plain_twin(chain):
    matrix, plan, (through, onward, total) = chain
    f, a, s, place, _, sound = factors(matrix, plan)
    assert sound
    np.testing.assert_allclose(spread(plan, place, f), through.T, rtol=1e-13)
    np.testing.assert_allclose(spread(plan, place, a), onward, rtol=1e-13)
    np.testing.assert_allclose(s, total, rtol=1e-13)


def test_the_passes_solve_the_equations(chain):
    matrix, plan, (through, _, _) = chain
    f, a, s, place, _, _ = factors(matrix, plan)
    shape = plan.begin, plan.offset, plan.state
    b = np.random.default_rng(0).random((matrix.shape[0], 2))
    x = b[plan.order]
    elimination.forward(*shape, place, f, x)
    np.testing.assert_allclose(x, np.linalg.solve(np.eye(len(x)) - through, b[plan.order]), rtol=1e-11)
    x[-1] = 0.0
    elimination.backward(*shape, place, a, s, x)
    dense = matrix.toarray()[np.ix_(plan.order, plan.order)]
    rest = b[plan.order] + dense @ x - dense.sum(axis=1)[:, None] * x
    assert np.abs(rest[:-1]).max() < 1e-11
    law = np.empty(len(x))
    elimination.visits(*shape, place, f, law)
    assert np.abs(law @ dense - law * dense.sum(axis=1)).max() < 1e-12 * law.max()


def roundings_reference(plan, through, onward):
    """Count, entry by entry: the most roundings in a positive number after `forward`, and what `backward` adds."""
    n = len(plan.order)
    ahead, back = np.zeros(n), np.zeros(n)
    for k in range(n):
        for i in np.flatnonzero(through[:, k]):
            ahead[i] = max(ahead[i], ahead[k] + 1) + 1
    for k in range(n - 2, -1, -1):
        later = np.flatnonzero(onward[k])
        back[k] = back[later].max(initial=0.0) + len(later) + 2
    return ahead.max(), back.max()


def test_roundings_are_not_counted_too_low(chain):
    _, plan, (through, onward, _) = chain
    counted = elimination.steps(plan.begin, plan.offset, plan.state)
    least = roundings_reference(plan, through, onward)
    assert counted[0] >= least[0] and counted[1] >= least[1]
    assert counted[0] <= 2 * least[0] + 40 and counted[1] <= 3 * least[1] + 60  # nor so high that nothing is proved


def test_numbers_of_any_size_give_the_same_factors_with_more_digits(chain):
    matrix, plan, (through, _, total) = chain
    m, e = np.frexp(matrix.data)
    _, (th, _, te), _, (sh, _, se), _ = wide.eliminate_wide(
        matrix.indptr, matrix.indices, 2 * m, e.astype(np.int64) - 1, plan.order, plan.begin, plan.offset, plan.state)
    np.testing.assert_allclose((sh * 2.0**se)[:-1], total[:-1], rtol=1e-13)
    np.testing.assert_allclose(np.sort((th * 2.0**te)[th > 0]), np.sort(through[through > 0]), rtol=1e-13)


@pytest.mark.parametrize("operation, exact", [
    (wide.add_wide, lambda x, y: x + y), (wide.multiply_wide, lambda x, y: x * y), (wide.divide_wide, lambda x, y: x / y)])
def test_wide_operations_keep_thirty_digits(operation, exact):
    rng = np.random.default_rng(5)
    for _ in range(300):
        numbers = []
        for _ in range(2):
            h, e = 1 + rng.random(), int(rng.integers(-3000, 3000) if rng.random() < 0.5 else rng.integers(-60, 60))
            numbers.append((h, float(rng.normal() * 2.0**-55), e))
        fractions = [(Fraction(h) + Fraction(r)) * Fraction(2) ** e for h, r, e in numbers]
        h, r, e = operation(*numbers[0], *numbers[1])
        assert 1 <= h < 2
        found, truth = (Fraction(h) + Fraction(r)) * Fraction(2) ** int(e), exact(*fractions)
        assert abs(found - truth) <= truth * Fraction(2) ** -98


def test_the_tree_and_the_fronts_hold_every_number_that_comes_into_being(chain):
    matrix, plan, _ = chain
    start, index = ordering.neighbours(matrix.indptr, matrix.indices, *plan.columns[:2])
    start, index = ordering.renumbered(start, index, plan.order)
    parent = ordering.elimination_tree(start, index)
    assert (ordering.postorder(parent) == np.arange(len(parent))).all()
    both = (matrix + matrix.T).toarray()[np.ix_(plan.order, plan.order)]
    _, onward, _ = eliminate_reference(both)  # of the symmetric chain: nothing is missing by chance
    assert (parent[:-1] == (onward > 0)[:-1].argmax(axis=1)).all()
    assert (ordering.later_neighbours(start, index, parent) == (onward > 0).sum(axis=1)).all()

"""The cells have the row's law, and drawing from them is the same in Python and compiled."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sojourn.kernels.alias import cells, jump, jump_reference, row_law_reference


def rows(seed: int, sizes: list[int], sharp: float):
    rng = np.random.default_rng(seed)
    parts = [rng.dirichlet(np.full(m, sharp)) + 1e-300 for m in sizes]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), np.concatenate(parts)


@given(st.integers(0, 10**6), st.lists(st.integers(1, 40), min_size=1, max_size=6), st.sampled_from([0.05, 0.5, 1.0, 50.0]))
def test_the_cells_of_every_row_have_exactly_its_probabilities(seed, sizes, sharp):
    row_start, probability = rows(seed, sizes, sharp)
    cut, own, other = cells(row_start, probability)
    for k in range(len(sizes)):
        start, end = int(row_start[k]), int(row_start[k + 1])
        law = row_law_reference(start, end, cut, own, other)
        assert sum(law.values()) == 1
        for entry, mass in law.items():
            assert abs(mass - Fraction(float(probability[entry]))) < Fraction(2, 10**15)


@given(st.integers(0, 10**6), st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_jump_equals_its_reference(seed, sizes):
    row_start, probability = rows(seed, sizes, 1.0)
    tables = cells(row_start, probability)
    one, two = (np.random.Generator(np.random.PCG64(seed)) for _ in range(2))
    for draw in range(200):
        pair = draw % len(sizes)
        assert jump(one, row_start, *tables, pair) == jump_reference(two, row_start, *tables, pair)
    assert one.random() == two.random()


def test_a_row_with_one_successor_draws_nothing():
    row_start, probability = np.array([0, 1]), np.array([1.0])
    rng = np.random.Generator(np.random.PCG64(0))
    assert jump(rng, row_start, *cells(row_start, probability), 0) == 0
    assert rng.random() == np.random.Generator(np.random.PCG64(0)).random()


def test_equal_rows_of_any_length_stay_equal():
    for m in (2, 3, 7, 1000):
        row_start, probability = np.array([0, m]), np.full(m, 1 / m)
        law = row_law_reference(0, m, *cells(row_start, probability))
        assert max(abs(mass - Fraction(1, m)) for mass in law.values()) < Fraction(1, 10**15)

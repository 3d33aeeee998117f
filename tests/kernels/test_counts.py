"""Twins of counting: exactly equal."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sojourn.kernels import counts as kernels
from sojourn.kernels.ledger import CountArrays

times = st.floats(0, 1e6, allow_nan=False)


@given(holding_time=times, visit=st.integers(1, 10**9), scale=st.floats(0, 1e3))
def test_keeping_a_sample_equals_its_reference(holding_time, visit, scale):
    assert kernels.keeps(holding_time, visit, scale) == kernels.keeps_reference(holding_time, visit, scale)


@given(visit=st.integers(1, 10**9), scale=st.floats(1e-3, 1e3), ulps=st.integers(-3, 3))
def test_a_sample_near_the_threshold_is_judged_like_the_reference(visit, scale, ulps):
    holding_time = np.sqrt(2.0 * visit / scale)
    for _ in range(abs(ulps)):
        holding_time = np.nextafter(holding_time, np.inf if ulps > 0 else 0)
    assert kernels.keeps(holding_time, visit, scale) == kernels.keeps_reference(holding_time, visit, scale)
    assert kernels.keeps(holding_time, visit, scale) == (ulps <= 0)


def test_without_truncation_everything_is_kept():
    assert kernels.keeps(1e300, 1, 0.0) and kernels.keeps_reference(1e300, 1, 0.0)


@given(steps=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=40))
def test_slots_and_sorted_rows_equal_their_references(steps):
    def empty():
        return np.full(4, -1), np.zeros(40, dtype=np.int64), np.zeros(40, dtype=np.int64), np.zeros(40, dtype=np.int64), np.zeros(
            1, dtype=np.int64)

    one, two = empty(), empty()
    for pair, state in steps:
        slot = kernels.find_slot(pair, state, *one)
        assert slot == kernels.find_slot_reference(pair, state, *two)
        one[3][slot] += 1
        two[3][slot] += 1
    for a, b in zip(one, two, strict=True):
        assert a.tolist() == b.tolist()
    found = kernels.sorted_rows(*one[:4], int(one[4][0]))
    for a, b in zip(found, kernels.sorted_rows_reference(*two[:4]), strict=True):
        assert a.tolist() == b.tolist()


def test_a_long_row_met_in_any_order_comes_out_sorted():
    n = 500
    head, pool = np.full(1, -1), [np.zeros(n, dtype=np.int64) for _ in range(3)]
    used = np.zeros(1, dtype=np.int64)
    for state in np.random.default_rng(0).permutation(n):
        slot = kernels.find_slot(0, state, head, *pool, used)
        pool[2][slot] = state + 1
    start, states, count = kernels.sorted_rows(head, *pool, n)
    assert (start.tolist(), states.tolist(), count.tolist()) == ([0, n], list(range(n)), list(range(1, n + 1)))


@given(rows=st.lists(st.tuples(st.integers(0, 3), times, st.integers(0, 5), st.floats(-1, 1)), max_size=40),
       scale=st.sampled_from([0.0, 0.3, 20.0]))
def test_counting_a_chunk_equals_its_reference(rows, scale):
    def empty():
        return CountArrays(np.ones(1, dtype=np.int64), np.array([scale]), np.zeros(4, dtype=np.int64), np.zeros(4), np.zeros(4),
                           np.full(4, -1), *(np.zeros(40, dtype=np.int64) for _ in range(3)), np.zeros(1, dtype=np.int64),
                           np.zeros(0, dtype=np.int64))

    kinds = (np.int64, np.float64, np.int64, np.float64)
    columns = [np.array([row[i] for row in rows], dtype=kind) for i, kind in enumerate(kinds)]
    one, two = empty(), empty()
    kernels.count_rows(one, *columns)
    kernels.count_rows_reference(two, *columns)
    assert one.epoch[0] == 1 + len(rows)
    for a, b in zip(one, two, strict=True):
        assert a.tolist() == b.tolist()

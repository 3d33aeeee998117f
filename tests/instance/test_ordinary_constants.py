"""g and D of ordinary queues and walks, where floating-point linear systems used to give wrong numbers marked exact."""

from fractions import Fraction

import numpy as np
import pytest

import sojourn
from exact import ExactModel
from exact_optimum import diameter as exact_diameter
from exact_optimum import gain_losses
from shapes import walk_arrays
from sojourn.instance.diameter import diameter
from sojourn.instance.gain_gap import gain_gap
from sojourn.model.ctmdp import CTMDP


def is_right(found, truth):
    """The bounds hold the truth, and what is called exact is right to 1e-9."""
    lo, hi = found.bounds
    assert lo <= truth <= hi, f"[{lo!r}, {hi!r}] misses {float(truth)!r}"
    return not found.exact or abs(Fraction(float(found)) - truth) <= truth / 10**9


@pytest.mark.parametrize("capacity", [5, 10, 12, 15, 16, 20, 30])
def test_the_gain_gap_of_an_admission_queue_is_exact_where_it_says_so(capacity):
    model = sojourn.make("admission", capacity=capacity)
    assert gain_gap(model).exact
    assert is_right(gain_gap(model), gain_losses(ExactModel(model), near=Fraction(0))[0])


@pytest.mark.parametrize("up", [0.25, 0.375, 0.6])
@pytest.mark.parametrize("n", [20, 60, 150])
def test_the_diameter_of_a_walk_with_drift_is_exact_where_it_says_so(n, up):
    model = CTMDP.from_arrays(**walk_arrays(np.full((n, 1), up), np.ones((n, 1)), np.zeros((n, 1))))
    rise, fall, to = Fraction(up), 1 - Fraction(up), [Fraction(0), Fraction(0)]
    for way, (ahead, back) in enumerate(((rise, fall), (fall, rise))):  # time from one end to the other, step by step
        step = 1 / ahead
        for _ in range(n - 1):
            to[way] += step
            step = (1 + back * step) / ahead
    assert is_right(diameter(model), max(to))
    if n <= 20:
        assert exact_diameter(ExactModel(model)) == max(to)

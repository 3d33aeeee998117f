"""K where rates and chances lie far apart: right to the digits that its proved interval claims."""

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from sojourn.instance.cautions import digits_of_k
from sojourn.instance.difficulty import difficulty
from sojourn.model.ctmdp import CTMDP


@pytest.fixture(scope="module")
def judges():
    """The script benchmarks/exact_divergences.py, which does the same on thousands of models."""
    path = Path(__file__).parents[2] / "benchmarks" / "exact_divergences.py"
    spec = importlib.util.spec_from_file_location("exact_divergences", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["exact_divergences"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("family", ["rates", "loops", "both"])
def test_no_interval_is_false_and_what_claims_nine_digits_has_them(judges, family):
    off, held, width = (np.array(column) for column in zip(*judges.campaign(family, 0, 25)))
    assert len(off) > 50 and held.all()
    assert (off[width <= 1e-9] <= 1e-12).all() and (width <= 1e-9).mean() > 0.8


@pytest.mark.parametrize(("family", "index"), [("rates", 54), ("loops", 39), ("both", 5), ("both", 46), ("both", 55)])
def test_models_whose_k_were_off_by_1e_9_to_1e_7_or_dropped_out_are_right(judges, family, index):
    """The K of ("both", 5) that dropped out is critical by 1e-4 of its own terms, beside a jump that loses 1e8 times as much."""
    assert max(off for off, _, _ in judges.judged(*judges.drawn(family, 1, index))) < 1e-13


def test_a_rate_that_must_fall_by_fifteen_factors_of_ten_costs_their_logarithm():
    """One state: what costs 1 a time at the rate 2^20 is as good as 2^-30 a time unit at that rate: e(2^-50 - 1) nats away."""
    model = CTMDP.from_arrays(np.ones((1, 2, 1)), [[2.0**-30, 2.0**20]], [[-1.0, -1.0]], rate_bounds=(2.0**-31, 2.0**21))
    found = difficulty(model)
    assert found.divergences.k[1] == pytest.approx(50 * math.log(2) - 1 + 2.0**-50, rel=1e-14)
    assert found.divergences.rate[1] == pytest.approx(2.0**-30, rel=1e-12)
    low, high = found.least_divergence_bounds
    assert low[0, 1] <= 50 * math.log(2) - 1 + 2.0**-50 <= high[0, 1] <= low[0, 1] * (1 + 1e-10)


def test_where_digits_of_k_cannot_be_held_a_warning_names_the_least_sure(judges):
    """Found in the campaign: rates and chances over so much that 32 digits of bias are not enough."""
    wide = narrow = 0
    for index in range(60):
        model, bounds = judges.drawn("both", 1, index)
        found = difficulty(model, bounds, tie_tolerance=0.0)
        kl, said = found.divergences, [words for words in digits_of_k(found) if "proved to less than nine digits" in words]
        unsure = kl.critical & ~(kl.high <= kl.low * (1 + 1e-9))
        assert bool(said) == bool(unsure.any())
        if said:
            i = int(np.flatnonzero(unsure)[np.argmax(kl.high[unsure] / np.maximum(kl.low[unsure], 1e-300))])
            assert f"K({model.pair_state[i]}, {model.pair_action[i]}) = {kl.k[i]:.6g} lies in [{kl.low[i]:.6g}" in said[0]
        wide, narrow = wide + bool(said), narrow + (not said)
    assert wide >= 3 and narrow >= 30


def test_an_excess_within_the_tolerance_of_ties_is_not_critical_and_is_said():
    """The arm that falls short could be better by 2^-40 of its reward at the fastest rate: critical only without a tolerance."""
    fast = 2.0 * (1 + 2.0**-40)
    model = CTMDP.from_arrays(np.ones((1, 2, 1)), [[2.0, 1.0]], [[1.0, 1.0]], rate_bounds=(0.5, fast))
    assert difficulty(model, tie_tolerance=0.0).critical[0, 1]
    found = difficulty(model)
    assert not found.critical[0, 1] and found.divergences.high[1] < 0.4
    (said,) = [words for words in found.warnings if "counts as nothing (not critical)" in words]
    assert said.startswith("1 choice has so little to gain")
    assert found.lower_bound_constant_bounds[1] > 2

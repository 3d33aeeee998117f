"""What is proved by judging only the choices that a policy does not make is true, also of wrong policies and blurred biases."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from exact import ExactModel
from exact_optimum import best_gains
from shapes import SHAPES, case
from sojourn.errors import AssumptionError
from sojourn.solving.dominance import highest_gain
from sojourn.solving.evaluate import evaluate
from sojourn.solving.refine import refined
from sojourn.solving.solve import solve
from zoo_cases import ZooCase

OTHERS = ("multichain", "absorbing", "long walk", "middle walk", "large wells", "many actions", "denormals")
SMALL = tuple(name for name in SHAPES if name not in OTHERS)


def judged(model, pairs, blur, rng):
    """(proved upper bound, exact optimum) of a model, from the value of some policy with its bias blurred."""
    found = refined(model, pairs)
    off = found.bias[0] + blur * rng.normal(size=model.n_states) * np.abs(found.bias[0]).max()
    found = replace(found, bias=(off, np.zeros(model.n_states)))
    own = found.value.bounds
    high = highest_gain(model, found, own, *found.surplus(model))
    return high, own, best_gains(ExactModel(model), found.pairs)[0]


@pytest.mark.parametrize("blur", [0.0, 1e-12, 1e-6, 1e-2])
def test_no_bound_is_below_the_optimum_whatever_the_policy(blur):
    rng = np.random.default_rng(7)
    tight = 0
    for index in range(40):
        model = case(11, index, SMALL).model
        for pairs in (model.policy_pairs(solve(model).policy), model.pair_start[:-1] + rng.integers(0, np.diff(model.pair_start))):
            try:
                high, own, (low, top) = judged(model, pairs, blur, rng)
            except AssumptionError:  # a policy with several classes
                continue
            assert high == np.inf or Fraction(high) >= low, (index, high, float(top))
            tight += high - own[1] <= 1e-9 * abs(own[1])
    assert tight >= (30 if blur == 0 else 0)


def test_a_bound_that_took_the_bias_for_exact_would_be_false():
    """The part for the blurred bias is needed: without it some bound of the models above is below the optimum."""
    rng, false = np.random.default_rng(8), 0
    for index in range(40):
        model = case(11, index, SMALL).model
        pairs = model.pair_start[:-1]
        found = refined(model, pairs)
        blurred = replace(found, bias=(found.bias[0] + 0.3 * rng.normal(size=model.n_states) * np.abs(found.bias[0]).max(),
                                       np.zeros(model.n_states)))
        excess, error = blurred.surplus(model)
        others = np.delete(excess + error, found.pairs)
        low, _ = best_gains(ExactModel(model), found.pairs)[0]
        false += Fraction(found.value.bounds[1] + max(0.0, others.max(initial=0.0))) < low
        assert highest_gain(model, blurred, found.value.bounds, excess, error) >= low
    assert false > 0


@pytest.mark.parametrize("size, load", [(300, 0.1), (1000, 0.1), (1000, 0.3)])
def test_a_call_centre_that_hardly_loses_a_call_is_solved_with_rates_over_twelve_decades(size, load):
    model = ZooCase("call-centre", size, load, "spread").model()
    solution = solve(model)
    lo, hi = solution.gain_bounds
    assert hi - lo <= 1e-9 * abs(solution.gain) and solution.gain < 0
    low, high = evaluate(model, solution.policy).gain_bounds
    assert low <= hi and lo <= high

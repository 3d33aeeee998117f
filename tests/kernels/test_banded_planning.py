"""Plans for models with short jumps: elimination within a band against plain dense equations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.cli.common import read_model
from sojourn.kernels import banded_planning, planning
from sojourn.kernels.jit import from_python
from sojourn.kernels.planning import RESTART, Model, best_policy, best_policy_reference
from sojourn.solving.evaluate import evaluate
from sojourn.solving.solve import solve

reach, evaluate_banded = from_python(banded_planning.reach), from_python(banded_planning.evaluate_banded)


def model_of(ctmdp):
    return Model(*(np.array(getattr(ctmdp, name)) for name in Model._fields))._replace(reward=np.array(ctmdp.expected_reward))


def short_jumps(rng, n, below, above):
    """Return a random model with two pairs a state, whose jumps lead at most so far down and up."""
    start, to, p = [0], [], []
    for s in np.repeat(np.arange(n), 2):
        row = np.unique(rng.integers(max(0, s - below), min(n, s + above + 1), 3))
        to.extend(row)
        p.extend(rng.dirichlet(np.ones(len(row))))
        start.append(len(to))
    return Model(2 * np.arange(n + 1), np.array(start), np.array(to), np.array(p), rng.normal(size=2 * n), rng.normal(size=2 * n),
                 rng.uniform(0.5, 3, 2 * n))


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_a_policy_is_worth_what_dense_equations_say(seed):
    rng = np.random.default_rng(seed)
    n, below, above = int(rng.integers(1, 25)), int(rng.integers(0, 5)), int(rng.integers(0, 5))
    model = short_jumps(rng, n, below, above)
    assert np.all(np.array(reach(model)) <= (below, above))
    pair = 2 * np.arange(n) + rng.integers(0, 2, n)
    only = np.isin(np.arange(2 * n), pair)
    gain, bias, _ = best_policy_reference(model, only, pair)
    found = np.full(n, np.nan)
    size = 1 + np.abs(bias).max()  # up to 1e9 where only the restart leads back
    assert evaluate_banded(model, pair, found, *reach(model), RESTART) == pytest.approx(gain, rel=1e-6, abs=1e-6)
    assert found == pytest.approx(bias, rel=1e-5, abs=1e-6 * size)


@pytest.mark.parametrize("name", ["admission:capacity=253", "service-rate:capacity=130", "tandem:capacity=17",
                                  "river-swim:length=400", "admission:capacity=3000,reward=3"])
def test_the_best_policy_of_a_long_queue_is_the_best(name):
    ctmdp = read_model(name)
    model = model_of(ctmdp)
    gain, _, pair = best_policy(model, np.ones(len(model.rate), dtype=np.bool_), np.array(model.pair_start[:-1]))
    best = solve(ctmdp)
    assert gain == pytest.approx(best.gain, rel=1e-5)  # a restart moves it by up to 1e-9 of the span of the bias
    assert evaluate(ctmdp, ctmdp.pair_action[pair]).gain >= best.gain - 1e-6 * abs(best.gain)


def test_without_a_band_other_ways_are_taken():
    rng = np.random.default_rng(3)
    model = short_jumps(rng, 150, 149, 149)
    every, first = np.ones(300, dtype=np.bool_), np.arange(0, 300, 2)
    gain, _, pair = best_policy(model, every, first)
    expected = best_policy_reference(model, every, first)
    assert gain == pytest.approx(expected[0], rel=1e-9) and pair.tolist() == expected[2].tolist()
    below, above = reach(model)
    assert 150 * (below + 1) * (above + 1) > 150**3 // 4 and planning.NARROW < 150

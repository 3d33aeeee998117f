"""How long a plan is worth following: the twin, and the cost of going there and back counted decision by decision."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.cli.common import read_model
from sojourn.kernels import staying
from sojourn.kernels.jit import from_python
from sojourn.kernels.planning import Model, best_policy, best_policy_reference
from sojourn.zoo.catalogue import make

shares, worth_staying = from_python(staying.shares), from_python(staying.worth_staying)


def model_of(ctmdp):
    parts = (np.array(getattr(ctmdp, name)) for name in Model._fields)
    return Model(*parts)


def greedy_of(model):
    start = np.array(model.pair_start[:-1])
    return best_policy_reference(model, np.ones(len(model.rate), dtype=np.bool_), start)


def policy_drawn(model, seed):
    return np.random.default_rng(seed).integers(model.pair_start[:-1], model.pair_start[1:])


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_shares_and_the_stay_are_the_references(seed):
    model = model_of(make("random", seed=seed % 50, states=3 + seed % 6, actions=3))
    gain, bias, greedy = greedy_of(model)
    pair = policy_drawn(model, seed)
    assert shares(model, pair) == pytest.approx(staying.shares_reference(model, pair), rel=1e-9, abs=1e-12)
    expected = staying.worth_staying_reference(model, gain, bias, greedy, pair)
    assert worth_staying(model, gain, bias, greedy, pair) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def loss_there_and_back(model, gain, greedy, pair, decisions, back):
    """Return (loss, time) of playing `pair` for so many decisions from where `greedy` is usually; then `greedy` leads back."""
    def row_of(i):
        row = np.zeros(len(pair))
        entries = slice(model.row_start[i], model.row_start[i + 1])
        np.add.at(row, model.next_state[entries], model.probability[entries])
        return row

    here = np.linalg.matrix_power(0.5 * np.eye(len(pair)) + 0.5 * np.array([row_of(i) for i in greedy]), 2**14)[0]
    lost = time = 0.0
    for policy, many in ((pair, decisions), (greedy, back)):
        rows = np.array([row_of(i) for i in policy])
        price = (gain - model.running[policy]) / model.rate[policy] - model.reward[policy]
        for _ in range(many):
            lost += here @ price
            time += here @ (1 / model.rate[policy]) if policy is pair else 0.0
            here = here @ rows
    return lost, time


@pytest.mark.parametrize("name", ["river-swim:small_reward=0.35", "river-swim:length=5,small_reward=0.4,leak=0.1"])
def test_staying_that_long_and_coming_back_costs_twice_the_way(name):
    model = model_of(read_model(name))
    gain, bias, greedy = greedy_of(model)
    other = np.array(model.pair_start[1:] - 1)  # swim everywhere
    stay = worth_staying(model, gain, bias, greedy, other)
    assert 10 < stay < 1000
    (lost, time), (more, longer) = (loss_there_and_back(model, gain, greedy, other, n, 3000) for n in (2000, 2100))
    loss = (more - lost) / (longer - time)  # per unit of time that the stay goes on
    way = lost - loss * time
    assert stay * (more - lost) / 100 == pytest.approx(way, rel=1e-6)


def test_nobody_stays_where_he_is_and_a_stay_that_costs_nothing_has_no_end():
    model = model_of(make("river-swim", small_reward=0.35))
    gain, bias, greedy = greedy_of(model)
    assert worth_staying(model, gain, bias, greedy, greedy.copy()) == 0
    other = np.array(model.pair_start[1:] - 1)
    assert worth_staying(model, gain - 1.0, bias, greedy, other) == np.inf
    assert best_policy(model, np.ones(len(model.rate), dtype=np.bool_), other)[2].tolist() == greedy.tolist()

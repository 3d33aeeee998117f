"""The answer does not depend on how a model is written: units of time and money, order of states and actions, a constant."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import sojourn
from shapes import case
from sojourn.instance.difficulty import difficulty
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.evaluate import evaluate
from sojourn.solving.solve import solve

EPSILON = float(np.finfo(float).eps)
UNITS = [1e-12, 1e-6, 1e6, 1e12]
ZOO = {"tandem": {"capacity": 39}, "service-rate": {"capacity": 300}, "routing": {"capacity": 39},
       "sis-epidemic": {"population": 200}, "random": {"states": 1600}}
SMALL = [("plain", 0), ("plain", 1), ("running", 0), ("transition rewards", 0), ("periodic", 1), ("wide rates", 0), ("walk", 2)]


@dataclass
class Written:
    """The same model written otherwise: gain = factor x old gain + shift, action of state i = actions[...] of states[i]."""

    model: CTMDP
    factor: float = 1.0
    shift: float = 0.0
    states: np.ndarray | None = None
    actions: np.ndarray | None = None

    def back(self, policy: np.ndarray) -> np.ndarray:
        """A policy of this model as one of the old model."""
        if self.states is None:
            return policy
        old = np.empty_like(policy)
        old[self.states] = self.actions[policy]
        return old

    def there(self, policy: np.ndarray) -> np.ndarray:
        """A policy of the old model as one of this model."""
        return policy if self.states is None else np.argsort(self.actions)[policy[self.states]]


def in_money(model, unit):
    paid = None if model.transition_reward is None else model.transition_reward * unit
    return Written(model.replace(reward=model.reward * unit, running=model.running * unit, transition_reward=paid), unit)


def in_time(model, unit):
    bounds = model.rate_bounds and tuple(x * unit for x in model.rate_bounds)
    return Written(model.replace(rate=model.rate * unit, running=model.running * unit, rate_bounds=bounds), unit)


def with_constant(model, constant):
    return Written(model.replace(running=model.running + constant), 1.0, constant)


def in_order(model, seed):
    rng = np.random.default_rng(seed)
    states, actions = rng.permutation(model.n_states), rng.permutation(model.n_actions)
    shape = (model.n_pairs, model.n_states)
    more = {} if model.transition_reward is None else {"transition_reward": csr_matrix(
        (model.transition_reward, model.next_state, model.row_start), shape)[:, states]}
    return Written(CTMDP.from_pairs(
        np.argsort(states)[model.pair_state], np.argsort(actions)[model.pair_action], model.matrix[:, states], model.rate,
        model.reward, model.running, states=[model.states[s] for s in states], actions=[model.actions[a] for a in actions],
        rate_bounds=model.rate_bounds, **more), states=states, actions=actions)


def agree(one, two, written, relative=2e-9):
    """Two answers name the same gain, and their intervals overlap, up to the rounding of units and constant."""
    rounding = 4 * EPSILON * (abs(written.shift) + abs(written.factor * one.gain))
    below, above = (written.factor * x + written.shift for x in one.gain_bounds)
    lo, hi = two.gain_bounds
    assert lo <= above + rounding and below - rounding <= hi, f"[{lo!r}, {hi!r}] and [{below!r}, {above!r}]"
    assert hi - lo <= 1e-9 * abs(two.gain)
    expected = written.factor * one.gain + written.shift
    assert abs(two.gain - expected) <= relative * abs(expected)


def same_answers(model, written):
    """Solve and evaluate both; the policies are the same or earn the same."""
    one, two = solve(model), solve(written.model)
    agree(one, two, written)
    policy = model.pair_action[model.pair_start[1:] - 1]
    agree(evaluate(model, policy), evaluate(written.model, written.there(policy)), written)
    earned = evaluate(model, written.back(two.policy)).gain
    lost = one.gain - earned
    assert lost <= 2e-9 * abs(one.gain) + 32 * EPSILON * abs(written.shift), f"the policy loses {lost!r} of {one.gain!r}"


def zoo(name):
    return sojourn.make(name, **ZOO[name])


def small(shape, index):
    return case(77, index, (shape,)).model


ALL = [pytest.param(lambda name=name: zoo(name), id=name) for name in ZOO] + [
    pytest.param(lambda shape=shape, index=index: small(shape, index), id=f"{shape} {index}") for shape, index in SMALL]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("make", ALL)
def test_the_unit_of_money_scales_the_gain_and_changes_nothing_else(make, unit):
    model = make()
    same_answers(model, in_money(model, unit))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("make", ALL)
def test_the_unit_of_time_scales_the_gain_and_changes_nothing_else(make, unit):
    model = make()
    same_answers(model, in_time(model, unit))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("make", ALL)
def test_the_order_of_states_and_actions_changes_nothing(make, seed):
    model = make()
    same_answers(model, in_order(model, seed))


@pytest.mark.parametrize("constant", [-1e3, 1e6, 1e12])
@pytest.mark.parametrize("make", ALL)
def test_a_constant_per_unit_of_time_shifts_the_gain_up_to_its_rounding(make, constant):
    model = make()
    same_answers(model, with_constant(model, constant))


def constants(model):
    found = difficulty(model)
    bounds = getattr(found, "lower_bound_constant_bounds", (found.lower_bound_constant, found.lower_bound_constant))
    assert bounds[0] <= found.lower_bound_constant <= bounds[1]
    return np.array([found.gain_gap, found.gain_gap_per_decision, found.diameter, found.lower_bound_constant])


DIFFICULT = [("plain", 0), ("plain", 3), ("running", 0), ("transition rewards", 2), ("periodic", 1), ("walk", 1)]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("shape, index", DIFFICULT)
def test_g_d_and_c_carry_their_units(shape, index, unit):
    model = small(shape, index)
    one = constants(model)
    np.testing.assert_allclose(constants(in_money(model, unit).model), one * [unit, unit, 1, unit], rtol=1e-7)
    np.testing.assert_allclose(constants(in_time(model, unit).model), one * [unit, 1, 1 / unit, 1], rtol=1e-7)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("shape, index", DIFFICULT)
def test_g_d_and_c_do_not_depend_on_the_order(shape, index, seed):
    model = small(shape, index)
    np.testing.assert_allclose(constants(in_order(model, seed).model), constants(model), rtol=1e-7)


@pytest.mark.parametrize("constant", [-100.0, 1e4])
@pytest.mark.parametrize("shape, index", DIFFICULT)
def test_g_d_and_c_do_not_see_a_constant_per_unit_of_time(shape, index, constant):
    model = small(shape, index)
    np.testing.assert_allclose(constants(with_constant(model, constant).model), constants(model), rtol=1e-6)

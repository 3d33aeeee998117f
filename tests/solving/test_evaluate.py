"""One policy's gain, bias, visits and time: closed forms, any form of policy, several classes."""

import numpy as np
import pytest

from exact import ExactModel, policy_gains
from sojourn.errors import AssumptionError, ModelError
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.evaluate import evaluate
from sojourn.solving.solve import solve


def queue(servers=1, room=5, arrival=0.8, service=1.0):
    """M/M/servers/room with one action, paid 1 per unit time and customer served."""
    n = room + 1
    transition, rate, running = np.zeros((n, 1, n)), np.zeros((n, 1)), np.zeros((n, 1))
    for x in range(n):
        up, down = arrival * (x < room), service * min(x, servers)
        rate[x] = up + down
        running[x] = down
        if up:
            transition[x, 0, x + 1] = up / (up + down)
        if down:
            transition[x, 0, x - 1] = down / (up + down)
    return CTMDP.from_arrays(transition, rate, running=running)


def halves(e):
    """{0, 1} paying 1 a visit and {2, 3} paying 3; from the first to the second with probability e, back with 2e."""
    return CTMDP.from_arrays([[[0, 1, 0, 0]], [[1 - e, 0, e, 0]], [[0, 2 * e, 0, 1 - 2 * e]], [[0, 0, 1, 0]]], np.ones((4, 1)),
                             [[1.0], [1.0], [3.0], [3.0]])


def test_time_in_an_mm1k_queue_is_geometric_and_its_gain_is_the_throughput():
    value = evaluate(queue(), [0] * 6)
    weight = 0.8 ** np.arange(6)
    np.testing.assert_allclose(value.occupancy, weight / weight.sum(), rtol=1e-13)
    assert value.gain == pytest.approx(0.8 * (1 - value.occupancy[-1]), rel=1e-13)
    np.testing.assert_allclose(value.stationary, value.occupancy * queue().rate / (value.occupancy @ queue().rate), rtol=1e-12)


def test_the_bias_solves_the_evaluation_equations(golden_model):
    model = golden_model("machine_maintenance")
    pairs = model.policy_pairs([0, 1, 0, 1])
    value = evaluate(model, [0, 1, 0, 1])
    rest = model.reward[pairs] + (model.running[pairs] - value.gain) / model.rate[pairs]
    rest = rest + model.matrix[pairs] @ value.bias - value.bias
    assert np.abs(rest).max() < 1e-14 and value.bias[0] == 0
    np.testing.assert_allclose(value.stationary @ model.matrix[pairs], value.stationary, atol=1e-15)


def test_labels_indices_mappings_and_tables_name_the_same_policy():
    model = CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[3.0, 5], [2, 7]], [[5.0, 8], [-4, -12]], states=["x", "y"],
                              actions=["slow", "fast"])
    forms = [[1, 0], np.array([1, 0]), ["fast", "slow"], {"x": "fast", "y": "slow"}, [[0, 1], [1, 0]], np.array([[0.0, 1], [1, 0]])]
    assert {evaluate(model, form).gain for form in forms} == {evaluate(model, [1, 0]).gain}
    assert evaluate(model, [1, 0]).gain == pytest.approx(40 / 7, rel=1e-15)


def test_a_randomized_policy_weighs_reward_per_visit_over_time_per_visit():
    model = CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[3.0, 5], [2, 7]], [[5.0, 8], [-4, -12]])
    reward = 0.25 * 5 + 0.75 * 8 + 0.5 * -4 + 0.5 * -12
    time = 0.25 / 3 + 0.75 / 5 + 0.5 / 2 + 0.5 / 7
    assert evaluate(model, [[0.25, 0.75], [0.5, 0.5]]).gain == pytest.approx(reward / time, rel=1e-14)


def test_a_policy_with_two_recurrent_classes_is_refused_with_their_gains():
    model = CTMDP.from_arrays(np.eye(2)[:, None, :], [[1.0], [2.0]], [[3.0], [4.0]], states=["left", "right"])
    with pytest.raises(AssumptionError, match=r"2 recurrent classes, \{left\} with gain 3; \{right\} with gain 8"):
        evaluate(model, [0, 0])


def test_transient_states_have_no_share_but_a_bias():
    model = CTMDP.from_arrays([[[0, 1.0]], [[0, 1.0]]], [[1.0], [4.0]], [[7.0], [1.0]])
    value = evaluate(model, [0, 0])
    assert value.gain == pytest.approx(4.0) and value.stationary.tolist() == [0, 1] and value.bias.tolist() == [0, -3]


@pytest.mark.parametrize("policy, words", [
    ([[0.5, 0.4], [1, 0]], "sums to 0.9"), ([[1.5, -0.5], [1, 0]], "is 1.5"), ([[1, 0]], "shape"), ([0], "1 entries"),
    ([0, 7], "there is no action 7"), ({"0": "0"}, "no action for state 1"), ([[float("nan"), 1], [1, 0]], "nan"),
    (None, "policy is None"), (3, "policy is 3"), (len, "policy is .*len"), (iter([0, 1]), "iterator"),
    ([0, [0.5, 0.5]], "list of actions"), ([], "0 entries"),
])
def test_a_wrong_policy_is_refused_with_its_value(policy, words):
    model = CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], np.ones((2, 2)))
    with pytest.raises(ModelError, match=words):
        evaluate(model, policy)


def test_probability_on_an_inadmissible_action_is_refused():
    allowed = np.array([[True, True], [True, False]])
    model = CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], np.ones((2, 2)), admissible=allowed)
    with pytest.raises(ModelError, match=r"policy\[1, 1\] is 0.5"):
        evaluate(model, [[0.5, 0.5], [0.5, 0.5]])


def test_a_chain_that_hardly_leaves_its_halves_keeps_its_digits():
    value = evaluate(halves(1e-12), [0] * 4)  # two halves that exchange once in 1e12 jumps: 2/3 and 1/3 of all visits
    assert value.gain == pytest.approx((2 * 1 + 1 * 3) / 3, abs=1e-11)
    np.testing.assert_allclose(value.stationary, [1 / 3, 1 / 3, 1 / 6, 1 / 6], atol=1e-11)
    assert solve(halves(1e-12)).gain == pytest.approx(5 / 3, abs=1e-11)


@pytest.mark.parametrize("crossing", [1e-14, 1e-30, 1e-200, 1e-300])
def test_a_chain_whose_halves_look_cut_off_is_evaluated_all_the_same(crossing):
    value = evaluate(halves(crossing), [0] * 4)
    assert value.gain_bounds[0] <= 5 / 3 <= value.gain_bounds[1] and value.gain_bounds[1] - value.gain_bounds[0] < 1e-12
    np.testing.assert_allclose(value.stationary, [1 / 3, 1 / 3, 1 / 6, 1 / 6], rtol=value.law_error)
    assert value.law_error < 1e-12 and np.isfinite(value.bias).all()


def test_a_randomized_policy_whose_incomes_nearly_cancel_is_proved_with_more_digits():
    rng = np.random.default_rng(12)
    n = 60
    p = rng.random((n, 2, n))
    model = CTMDP.from_arrays(p / p.sum(-1, keepdims=True), np.ones((n, 2)), rng.integers(-8, 9, (n, 2)) / 8.0)
    table = np.full((n, 2), 0.5)
    gain = evaluate(model, table).gain
    near = model.replace(running=np.full(model.n_pairs, -gain * (1 + 1e-3)))  # what is left is a small part of the incomes
    value = evaluate(near, table)
    lo, hi = value.gain_bounds
    exact = ExactModel(near)
    (truth,) = policy_gains(exact, exact.mixture(np.full(model.n_pairs, 0.5)))
    assert lo <= truth <= hi and hi - lo <= 1e-9 * abs(value.gain)

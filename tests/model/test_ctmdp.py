"""The model itself: frozen, validated once, looked up by index or label."""

import pickle

import numpy as np
import pytest

from sojourn.errors import ModelError
from sojourn.model.ctmdp import CTMDP


@pytest.fixture
def model() -> CTMDP:
    """Three states, two actions, the second not admissible in state 2."""
    p = np.array([[[0, 0.5, 0.5], [0, 1, 0]], [[0.25, 0, 0.75], [1, 0, 0]], [[1, 0, 0], [0, 0, 0]]])
    admissible = np.array([[True, True], [True, True], [True, False]])
    return CTMDP.from_arrays(
        p,
        [[1, 2], [3, 4], [5, 0]],
        [[1, 2], [3, 4], [5, 0]],
        admissible=admissible,
        states=["idle", "busy", "down"],
        actions=["slow", "fast"],
        rate_bounds=(0.5, 6),
        name="small",
    )


def test_pairs_are_numbered_by_state_and_then_by_action(model):
    assert model.pair_start.tolist() == [0, 2, 4, 5]
    assert model.pair_action.tolist() == [0, 1, 0, 1, 0]
    assert model.pair_state.tolist() == [0, 0, 1, 1, 2]
    assert model.rate.tolist() == [1, 2, 3, 4, 5]
    assert model.row_start.tolist() == [0, 2, 3, 5, 6, 7]
    assert model.next_state.tolist() == [1, 2, 1, 0, 2, 0, 0]


def test_a_table_shows_nan_where_a_pair_is_not_admissible(model):
    np.testing.assert_array_equal(model.table(model.rate), [[1, 2], [3, 4], [5, np.nan]])
    np.testing.assert_array_equal(model.table(np.arange(5), fill=-1), [[0, 1], [2, 3], [4, -1]])
    assert model.table(np.arange(5), fill=-1).dtype == np.int64
    np.testing.assert_array_equal(model.admissible, [[True, True], [True, True], [True, False]])
    assert model.table(np.ones((5, 2))).shape == (3, 2, 2)


def test_dense_arrays_build_the_same_model_again(model):
    parts = model.dense()
    again = CTMDP.from_arrays(
        parts["transition"],
        parts["rate"],
        parts["reward"],
        parts["running"],
        parts["admissible"],
        states=model.states,
        actions=model.actions,
        rate_bounds=model.rate_bounds,
        name=model.name,
    )
    assert again.equals(model)


def test_integers_are_indices_and_strings_are_labels(model):
    assert model.pair(1, 1) == model.pair("busy", "fast") == model.pair(np.int32(1), np.str_("fast")) == 3
    for state, action, message in [
        (2, 1, "'fast' is not admissible in state 'down'; choose of: slow"),
        (3, 0, "state 3 does not exist"),
        (-1, 0, "state -1"),
        (True, 0, "True is a bool"),
        (0, 1.0, "1.0 is a float"),
        ("buzy", 0, "did you mean 'busy'"),
        (None, 0, "None"),
    ]:
        with pytest.raises(ModelError, match=message):
            model.pair(state, action)


def test_a_policy_is_a_list_of_indices_or_labels_or_a_mapping(model):
    expected = [1, 2, 4]
    for policy in (
        [1, 0, 0],
        np.array([1, 0, 0]),
        ["fast", "slow", "slow"],
        {"idle": "fast", "busy": "slow", "down": "slow"},
        {2: 0, 0: "fast", "busy": 0},
        (np.int8(1), "slow", 0),
    ):
        assert model.policy_pairs(policy).tolist() == expected


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([1, 0], "2 entries"),
        ([0, 0, 1], "'fast' is not admissible"),
        (np.array([0, 0, 1]), "'fast' is not admissible"),
        (np.array([0, 0, 9]), "action 9"),
        (np.array([0, 0, -1]), "action -1"),
        ([0.0, 0, 0], "0.0 is a float"),
        (np.zeros(3), "0.0 is a float"),
        ([True, 0, 0], "True"),
        ("abc", "'abc'"),
        (5, "5"),
        ({"idle": "fast"}, "'busy' .2 missing"),
        ({"idle": "fast", "busy": "slow", "down": "slow", "dwn": "slow"}, "did you mean 'down'"),
        (np.zeros((3, 2), int), "list of actions"),
        ({0: 1, "idle": 1, 1: 0, 2: 0}, "'idle' twice"),
        ({0: 1, 1: 0, 7: 0}, "state 7 does not exist"),
        (None, "policy is None"),
        (np.array(1), "policy is array"),
        (iter([1, 0, 0]), "list of actions"),
        ([0, [0, 1], 0], "list of actions"),
    ],
)
def test_a_wrong_policy_is_refused_with_its_entry(model, policy, message):
    with pytest.raises(ModelError, match=message):
        model.policy_pairs(policy)


def test_a_model_cannot_be_changed_nor_does_it_freeze_the_caller_s_arrays(model):
    with pytest.raises(AttributeError):
        model.rate = np.ones(5)
    for array in (model.rate, model.pair_state, model.expected_reward, model.mean_holding_time, model.admissible, model.next_state):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    mine = np.arange(1.0, 6.0)
    changed = model.replace(rate=mine)
    mine[0] = 99
    assert changed.rate[0] == 1
    view = np.arange(1.0, 6.0)
    window = view[:]
    window.flags.writeable = False
    held = model.replace(rate=window)
    view[0] = 99
    assert held.rate[0] == 1


def test_replace_validates_anew(model):
    with pytest.raises(ModelError, match=r"rate\[idle, slow\] is -1.0"):
        model.replace(rate=[-1, 2, 3, 4, 5])
    with pytest.raises(ModelError, match="rate_bounds"):
        model.replace(rate_bounds=(2, 6))
    assert model.replace(name="other").name == "other"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pair_start": [0, 2, 4, 9]}, "pair_start"),
        ({"pair_start": [0, 4, 2, 5]}, "pair_start"),
        ({"pair_start": [0, 5]}, "pair_start"),
        ({"pair_start": [1, 2, 4, 5]}, "runs 1..5"),
        ({"row_start": [0, 2, 3, 5, 6, 99]}, "row_start"),
        ({"next_state": [1, 2, 1, 0, 2, 0, 7]}, "is 7"),
        ({"next_state": [1, 2, 1, 0, 2, 0, -1]}, "is -1"),
        ({"next_state": [2, 1, 1, 0, 2, 0, 0]}, "'busy' stands twice or out of order"),
        ({"next_state": [1, 1, 1, 0, 2, 0, 0]}, "'busy' stands twice"),
        ({"pair_action": [0, 1, 0, 1, 2]}, "is 2; indices run"),
        ({"pair_action": [1, 0, 0, 1, 0]}, "out of order"),
        ({"pair_action": [0, 0, 0, 1, 0]}, "given twice"),
        ({"pair_action": [0.0, 1.0, 0.0, 1.0, 0.0]}, "0.0; it must be an integer"),
        ({"pair_action": [0, True, 0, 1, 0]}, "True"),
        ({"rate": [1, 2, 3, 4]}, r"\(4,\)"),
        ({"rate": np.ones((5, 1))}, r"\(5, 1\)"),
        ({"probability": [0.5, 0.5, 1, 0.25, 0.75, 1]}, r"\(6,\)"),
        ({"transition_reward": [1.0]}, "transition_reward"),
        ({"transition_reward": [np.nan] * 7}, "nan"),
        ({"pair_start": [0, 2, 2, 5]}, "'busy' has 0 admissible"),
        ({"holding": "weibull"}, "'weibull'"),
        ({"name": 3}, "name is 3"),
        ({"name": "a\x1b[2J"}, "control"),
        ({"states": ("a", "b")}, "pair_start"),
        ({"states": "abc"}, "'abc'"),
        ({"reward": ["1", 2, 3, 4, 5]}, r"reward\[0\] is '1'"),
        ({"reward": [np.inf, 2, 3, 4, 5]}, r"reward\[idle, slow\] is inf"),
    ],
)
def test_a_direct_construction_is_checked_like_every_other(model, change, message):
    with pytest.raises(ModelError, match=message):
        model.replace(**change)


def test_rows_off_by_rounding_are_made_exact_and_others_refused(model):
    p = np.array([0.5, 0.5, 1, 0.25, 0.75, 1, 1])
    near = model.replace(probability=p * (1 + 5e-10))
    np.testing.assert_allclose(np.add.reduceat(near.probability, near.row_start[:-1]), 1, rtol=0, atol=1e-15)
    with pytest.raises(ModelError, match=r"transition\[idle, slow\] sums to 1.00000001.*normalize_rows"):
        model.replace(probability=p * np.array([1 + 1e-8, 1 + 1e-8, 1, 1, 1, 1, 1]))


def test_transition_rewards_fold_into_the_expected_reward(model):
    paid = model.replace(transition_reward=[2.0, 4.0, 0, 0, 8.0, 0, 0])
    assert paid.expected_reward.tolist() == [1 + 1 + 2, 2, 3 + 6, 4, 5]
    assert paid.reward.tolist() == [1, 2, 3, 4, 5]
    assert paid.knowledge().reward.tolist() == paid.expected_reward.tolist()


def test_equality_is_number_for_number_and_label_for_label(model):
    assert model.equals(model.replace())
    assert not model.equals(model.replace(name="x"))
    assert not model.equals(model.replace(rate_bounds=None))
    assert not model.equals(model.replace(reward=np.nextafter(model.reward, 9)))
    assert not model.equals(model.replace(transition_reward=np.zeros(7)))
    assert not model.equals("model")


def test_a_model_survives_pickling(model):
    assert pickle.loads(pickle.dumps(model)).equals(model)


def test_the_representation_states_sizes_and_rates(model):
    assert repr(model) == "<CTMDP 'small': 3 states, 2 actions, 5 pairs, 7 transitions, rate bounds [0.5, 6]>"
    assert repr(model.replace(rate_bounds=None, name="")).endswith("7 transitions, rates [1, 5]>")
    hostile = model.replace(states=("<script>", "b", "c"))
    assert "<script>" not in hostile._repr_html_() and "&lt;script&gt;" in hostile._repr_html_()


def test_one_choice_more_is_one_choice():
    for actions, words in ((13, "and 1 more choice<"), (15, "and 3 more choices<")):
        assert words in CTMDP.from_arrays(np.ones((1, actions, 1)), np.ones((1, actions)))._repr_html_()

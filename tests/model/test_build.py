"""Ways in: every argument of every constructor, good and bad; every error shows the offending value."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sojourn.errors import ModelError
from sojourn.model.ctmdp import CTMDP

P = [[[0.0, 1.0], [0.5, 0.5]], [[1.0, 0.0], [0.25, 0.75]]]
ARRAYS: dict[str, Any] = {"transition": P, "rate": [[1, 2], [3, 4]], "reward": [[1, 2], [3, 4]], "running": [[0, 1], [2, 3]]}
PAIRS: dict[str, Any] = {
    "state": [0, 0, 1, 1],
    "action": [0, 1, 0, 1],
    "transition": [P[0][0], P[0][1], P[1][0], P[1][1]],
    "rate": [1, 2, 3, 4],
    "reward": [1, 2, 3, 4],
    "running": [0, 1, 2, 3],
}
GENERATORS: dict[str, Any] = {
    "generators": {"go": [[-1, 1], [2, -2]], "run": [[-3, 3], [4, -4]]},
    "reward": [[1, 2], [3, 4]],
    "running": [[0, 1], [2, 3]],
}
MDP: dict[str, Any] = {"transition": P, "reward": [[1, 2], [3, 4]]}
WAYS = {"from_arrays": ARRAYS, "from_pairs": PAIRS, "from_generators": GENERATORS, "from_mdp": MDP}
NUMBERS = [(way, key) for way, arguments in WAYS.items() for key in arguments if key not in ("state", "action")]


def build(way: str, **changes: Any) -> CTMDP:
    return getattr(CTMDP, way)(**{**WAYS[way], **changes})


def with_entry(value: Any, entry: Any) -> Any:
    """Return nested lists with the first number replaced."""
    if isinstance(value, dict):
        key = next(iter(value))
        return {**value, key: with_entry(value[key], entry)}
    if isinstance(value, list):
        return [with_entry(value[0], entry), *value[1:]]
    return entry


def test_all_four_ways_give_the_model_they_describe():
    arrays = build("from_arrays")
    assert arrays.equals(build("from_pairs"))
    assert build("from_mdp").holding == "unit" and build("from_mdp").rate.tolist() == [1, 1, 1, 1]
    generated = build("from_generators")
    assert generated.rate.tolist() == [1, 3, 2, 4] and generated.reward.tolist() == [1, 2, 3, 4]
    assert generated.running.tolist() == [0, 1, 2, 3] and generated.actions == ("go", "run")
    assert generated.dense()["transition"].tolist() == [[[0, 1], [0, 1]], [[1, 0], [1, 0]]]


def test_pairs_may_come_in_any_order():
    order = [3, 0, 2, 1]
    shuffled = {key: [value[i] for i in order] for key, value in PAIRS.items()}
    assert CTMDP.from_pairs(**shuffled).equals(build("from_pairs"))


def test_sparse_transitions_give_the_same_model_and_drop_explicit_zeros():
    for form in (sparse.csr_matrix, sparse.coo_array, sparse.csc_array, sparse.lil_matrix):
        assert build("from_pairs", transition=form(np.array(PAIRS["transition"]))).equals(build("from_pairs"))
    zero = sparse.csr_matrix(([0.0, 1.0], ([0, 0], [0, 1])), shape=(1, 2))
    model = CTMDP.from_pairs([0, 1], [0, 0], sparse.vstack([zero, sparse.csr_matrix([[1.0, 0]])]), [1, 1])
    assert len(model.next_state) == 2


def test_cost_is_a_negative_reward_on_every_way_in():
    for way in ("from_arrays", "from_pairs", "from_generators", "from_mdp"):
        negative = (-np.array(WAYS[way]["reward"])).tolist()
        assert build(way, reward=None, cost=negative).equals(build(way)), way
        if "running" in WAYS[way]:
            assert build(way, running=None, running_cost=(-np.array(WAYS[way]["running"])).tolist()).equals(build(way)), way
    for key, cost in (("reward", "cost"), ("running", "running_cost")):
        with pytest.raises(ModelError, match=f"{key} is .*{cost} is .*give one"):
            build("from_arrays", **{cost: ARRAYS[key]})
    assert CTMDP.from_mdp([[[1.0]]], cost=[[2.0]]).reward.tolist() == [-2]
    assert not np.signbit(build("from_arrays", reward=None, cost=np.zeros((2, 2))).reward).any()


def test_transition_rewards_agree_on_every_way_in():
    paid = np.array([[[0.0, 10.0], [20.0, 30.0]], [[40.0, 0.0], [50.0, 60.0]]])
    dense = build("from_arrays", transition_reward=paid)
    flat = build("from_pairs", transition_reward=paid.reshape(4, 2))
    thin = build("from_pairs", transition_reward=sparse.coo_array(paid.reshape(4, 2)))
    assert dense.equals(flat) and dense.equals(thin)
    assert dense.transition_reward.tolist() == [10, 20, 30, 40, 50, 60]
    generated = build("from_generators", transition_reward={"go": paid[:, 0], "run": sparse.csr_matrix(paid[:, 1])})
    assert generated.transition_reward.tolist() == [10, 30, 40, 50]
    nowhere = np.where(np.array(P) > 0, 1.0, np.nan)
    assert build("from_arrays", transition_reward=nowhere).transition_reward.tolist() == [1] * 6


def test_entries_of_pairs_that_are_not_admissible_are_ignored():
    mask = np.array([[True, False], [True, True]])
    p = np.array(P)
    p[0, 1] = np.nan
    model = CTMDP.from_arrays(p, [[1, np.nan], [3, 4]], [[1, np.inf], [3, 4]], admissible=mask)
    assert model.n_pairs == 3 and model.admissible.tolist() == mask.tolist()


def test_fractions_numpy_scalars_and_frames_are_numbers():
    third = Fraction(1, 3)
    model = build(
        "from_arrays",
        transition=[[[third, 1 - third], [0, 1]], P[1]],
        rate=pd.DataFrame([[1, 2], [3, 4]]),
        reward=[[np.float32(1), np.int8(2)], [3, Fraction(9, 2)]],
    )
    assert model.probability[0] == 1 / 3 and model.reward.tolist() == [1, 2, 3, 4.5]


def test_a_zero_row_of_a_generator_means_not_admissible():
    model = CTMDP.from_generators([[[-1, 1], [1, -1]], sparse.csr_matrix([[-2.0, 2.0], [0, 0]])])
    assert model.admissible.tolist() == [[True, True], [True, False]]


def test_generators_are_judged_in_their_own_scale():
    tiny = [[[-1e-12, 1e-12], [1e-12, -1e-12]]]
    assert CTMDP.from_generators(tiny).rate.tolist() == [1e-12, 1e-12]
    with pytest.raises(ModelError, match=r"row 0 sums to 1e-12.*Set the entry \[0, 0\] to -2e-12"):
        CTMDP.from_generators([[[-1e-12, 2e-12], [1e-12, -1e-12]]])


def test_rounded_rows_pass_through_normalize_rows():
    p = [[[0.333, 0.333], [0.5, 0.5]], P[1]]
    with pytest.raises(ModelError, match=r"transition\[0, 0\] sums to 0.666; .*normalize_rows=True"):
        build("from_arrays", transition=p)
    assert build("from_arrays", transition=p, normalize_rows=True).probability[:2].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "bad",
    [True, np.bool_(False), "1.0", b"1", None, 1j, np.complex64(1), {}, np.timedelta64(1), 10**400],
    ids=lambda bad: repr(bad)[:20],
)
@pytest.mark.parametrize(("way", "key"), NUMBERS)
def test_what_is_not_a_real_number_is_refused_with_its_place_and_value(way, key, bad):
    with pytest.raises(ModelError) as caught:
        build(way, **{key: with_entry(WAYS[way][key], bad)})
    text = str(caught.value)
    shown = "400 digits" if isinstance(bad, int) and bad > 1 else repr(bad.item() if isinstance(bad, np.generic) else bad)
    assert key in text and shown in text


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf], ids=repr)
@pytest.mark.parametrize(("way", "key"), NUMBERS)
def test_what_is_not_finite_is_refused_with_its_value(way, key, bad):
    with pytest.raises(ModelError) as caught:
        build(way, **{key: with_entry(WAYS[way][key], bad)})
    assert repr(bad) in str(caught.value) and key.removesuffix("s") in str(caught.value)


@pytest.mark.parametrize(("way", "key"), NUMBERS)
@pytest.mark.parametrize(
    "bad", [[[1, 2], [3]], [], [[]], 3, "text", np.zeros((2, 2, 2, 2)), np.zeros(0), len, [[[[[[1]]]]]]], ids=str
)
def test_a_ragged_empty_or_misshapen_argument_is_refused(way, key, bad):
    with pytest.raises(ModelError) as caught:
        build(way, **{key: bad})
    assert key in str(caught.value)


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ([[0, 2], [3, 4]], r"rate\[0, 0\] is 0.0.*positive"),
        ([[1, -2], [3, 4]], r"rate\[0, 1\] is -2.0"),
        ([[1e-320, 2], [3, 4]], "rate"),
        (np.ma.masked_array([[1.0, 2], [3, 4]], mask=[[1, 0], [0, 0]]), "1 masked"),
    ],
)
def test_a_rate_is_positive(rate, message):
    with pytest.raises(ModelError, match=message):
        build("from_arrays", rate=rate)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([-0.5, 1.5], "to 0 is -0.5; a probability"),
        ([0.0, 1.5], "is 1.5"),
        ([0.0, 0.0], r"transition\[0, 0\] has 0 next states"),
        ([0.5, 0.4], "sums to 0.9;"),
        ([0.5, 0.5 + 1e-8], "sums to 1.00000001"),
    ],
)
def test_a_row_is_a_probability_law(row, message):
    with pytest.raises(ModelError, match=message):
        build("from_arrays", transition=[[row, P[0][1]], P[1]])


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((4, 1), r"\(4.0, 1.0\).*Swap"),
        ((True, 4), "True"),
        ((1, "4"), "'4'"),
        ((1, 2, 4), r"\(1, 2, 4\)"),
        (5, "is 5"),
        ("ab", "'ab'"),
        ((0, 4), "is 0.0"),
        ((np.nan, 4), "nan"),
        ((1, np.inf), "inf"),
        ((1, 3), r"rate\[1, \w+\] is 4.0.*\[1.0, 3.0\]"),
        ((), r"\(\)"),
        ({1: 1, 4: 4}, "{1: 1"),
        ([[1], [4]], r"rate_bounds"),
        ((-1, 4), "-1"),
    ],
)
def test_rate_bounds_are_a_pair_around_all_rates(bounds, message):
    for way in ("from_arrays", "from_pairs", "from_generators"):
        with pytest.raises(ModelError, match=message):
            build(way, rate_bounds=bounds)


def test_rates_that_miss_a_bound_by_rounding_show_all_their_digits():
    with pytest.raises(ModelError, match=r"0.30000000000000004; rates must lie within rate_bounds \[0.1, 0.3\]"):
        CTMDP.from_arrays([[[1.0]]], [[0.1 + 0.2]], rate_bounds=(0.1, 0.3))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"], "1 state labels for 2"),
        (["a", "a"], "'a' stands twice"),
        (["a", ""], "label 1 is ''"),
        ([1, 1], "state 1 stands twice"),
        ([[1], [2]], "tuple instead of a list"),
        (["a", float("nan")], "nan"),
        ({"a": 1, "b": 2}, "give a list"),
        ("ab", "'ab'"),
        (["a", "b\n"], r"b\\n"),
        (["a", "\ud800"], r"ud800"),
        (7, "7"),
        ([], "0 state labels"),
        (["a", None], "None"),
        (["a", "b", "c"], "3 state labels"),
    ],
)
def test_states_have_different_printable_names(labels, message):
    for way in WAYS:
        with pytest.raises(ModelError, match=message):
            build(way, states=labels)


def test_action_labels_must_fit_the_tables():
    for way in ("from_arrays", "from_generators", "from_mdp"):
        with pytest.raises(ModelError, match="3 action labels for 2"):
            build(way, actions=["a", "b", "c"])
    with pytest.raises(ModelError, match=r"action\[1\] is 1; action indices run from 0 to 0"):
        build("from_pairs", actions=["only"])
    assert build("from_pairs", actions=["a", "b", "never"]).n_actions == 3
    assert build("from_arrays", states=np.array(["x", "y"]), actions=("nbsp\u00a0ok", "é")).states == ("x", "y")


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([[1, 0], [1, 1]], r"admissible\[0, 0\] is 1; .*int64"),
        ([[True], [True]], r"\(2, 1\)"),
        ([[True, True], [True]], r"admissible\[1\] has length 1"),
        ([[False, False], [True, True]], "state 0 has 0 admissible"),
        (np.zeros((2, 2), bool), "state"),
        ("yes", "yes"),
        ([[True, None], [True, True]], "object"),
    ],
)
def test_admissible_is_a_boolean_table(mask, message):
    for way in ("from_arrays", "from_mdp"):
        with pytest.raises(ModelError, match=message):
            build(way, admissible=mask)


@pytest.mark.parametrize("key", ["state", "action"])
@pytest.mark.parametrize(
    ("index", "shown"),
    [
        ([0, 0, 1, -1], "-1"),
        ([0, 0, 1, 1.0], "1.0"),
        ([0, 0, 1, True], "True"),
        ([0, 0, 1, "b"], "'b'"),
        ([0, 0, 1, 2**70], str(2**70)),
        ([], r"\[\]"),
        ([[0, 0], [1, 1]], r"\[0, 0\]"),
        (np.array([[0, 1]]), r"\(1, 2\)"),
        (3, "3"),
        ("0011", "'0011'"),
        (np.array([0.0, 0, 1, 1]), "0.0"),
        ([0, 0, 1], "3"),
        (np.array([0, 0, 1, 2**63], dtype=np.uint64), "-"),
    ],
)
def test_indices_of_pairs_are_integers_in_range(key, index, shown):
    with pytest.raises(ModelError, match=shown):
        build("from_pairs", **{key: index})


def test_a_pair_may_appear_once_and_every_state_needs_one():
    with pytest.raises(ModelError, match=r"\(0, 0\) is given twice"):
        build("from_pairs", action=[0, 0, 0, 1])
    with pytest.raises(ModelError, match="state 1 has 0 admissible"):
        build("from_pairs", state=[0, 0, 0, 0], action=[0, 1, 2, 3])


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (sparse.csr_matrix(np.eye(4, 2) > 0), "bool"),
        (sparse.csr_matrix(np.eye(4, 2) * 1j), "complex"),
        (sparse.csr_matrix(([np.nan] * 4, ([0, 1, 2, 3], [0, 1, 0, 1])), shape=(4, 2)), "nan"),
        (sparse.csr_matrix(([np.inf] * 4, ([0, 1, 2, 3], [0, 1, 0, 1])), shape=(4, 2)), "inf"),
        (sparse.csr_matrix((5, 2)), "5 rows"),
        (sparse.coo_array([0.5, 0.5]), r"\(2,\)"),
    ],
)
def test_a_bad_sparse_matrix_is_refused(matrix, message):
    for change in ({"transition": matrix}, {"transition_reward": matrix}):
        if "transition_reward" in change and message in ("inf", "nan"):
            change["transition"] = [[1, 0], [0, 1], [1, 0], [0, 1]]
        with pytest.raises(ModelError, match=message):
            build("from_pairs", **change)
    with pytest.raises(ModelError, match=r"shape \(4, 3\)"):
        build("from_pairs", transition_reward=np.zeros((4, 3)))


def test_a_sparse_object_matrix_is_refused():
    odd = sparse.csr_matrix(np.eye(4, 2))
    odd.data = np.array(["x"] * len(odd.data), dtype=object)
    with pytest.raises(ModelError, match="object"):
        build("from_pairs", transition=odd)


@pytest.mark.parametrize(
    ("generators", "message"),
    [
        ({}, r"\[\]"),
        ([], r"\[\]"),
        (np.eye(2), r"\(2, 2\)"),
        (3, "is 3"),
        (sparse.eye(2), "csr|dia|sparse"),
        ([[[-1, 1], [1, -2]]], "row 1 sums to -1"),
        ([[[1, -1], [1, -1]]], r"\[0, 1\] is -1.0"),
        ([[[-1, 1, 0], [1, -1, 0]]], r"\(2, 3\)"),
        ([np.zeros((2, 2))], "1 generators are 0"),
        ([[[-1, 1], [1, -1]], np.zeros((3, 3))], r"generators\[1\] has shape \(3, 3\)"),
        ([np.zeros((2, 2)), "x"], "'x'"),
        ([[[-1, 1], [0, 0]]], "state 1 has 0 admissible"),
    ],
)
def test_a_bad_generator_is_refused(generators, message):
    with pytest.raises(ModelError, match=message):
        CTMDP.from_generators(generators)


@given(st.data())
def test_any_json_like_thing_is_a_model_or_a_model_error(data):
    junk = st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=8,
    )
    way = data.draw(st.sampled_from(list(WAYS)))
    key = data.draw(st.sampled_from([*WAYS[way], "states", "rate_bounds", "name", "transition_reward", "cost"]))
    try:
        model = build(way, **{key: data.draw(junk)})
    except ModelError as error:
        assert len(str(error)) < 600
    else:
        assert isinstance(model, CTMDP)


def test_a_model_shares_no_array_with_its_builder_however_the_pairs_stand():
    """Sorted pairs with a clean sparse matrix are taken without a detour; the caller may change all of it afterwards."""
    given = sparse.csr_matrix(np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]))
    state, action, rate = np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1.0, 2.0, 3.0])
    model = CTMDP.from_pairs(state, action, given, rate, reward=rate)
    twin = CTMDP.from_pairs(state.copy(), action.copy(), given.copy(), rate.copy(), reward=rate.copy())
    given.data[:], state[:], action[:], rate[:] = 7.0, 0, 5, -1.0
    given.indices[:] = 0
    assert model.equals(twin)
    assert given.data[0] == 7.0 and given.data.flags.writeable and rate.flags.writeable and state.flags.writeable


def test_another_name_only_costs_nothing_and_is_checked():
    model = CTMDP.from_arrays([[[0, 1]], [[1, 0]]], rate=[[2], [3]])
    again = model.replace(name="swap")
    assert again.name == "swap" and model.name == "" and again.probability is model.probability
    with pytest.raises(ModelError, match="name is"):
        model.replace(name="a\x00b")

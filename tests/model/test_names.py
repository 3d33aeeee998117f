"""Names: the user's own values are kept, and a value is never taken for another."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.errors import ModelError, ReportError
from sojourn.model.choosing import chosen_actions
from sojourn.model.names import Names, decoded, encoded, names_of


def test_a_value_equal_to_a_name_is_that_one_wherever_it_stands():
    for values in ([3, 1, 2, 0], [(1, 0), (0, 0), ("a", 1)], ["3", "0", "x", "1"], [2, "idle", (1, 2)]):
        names = Names("state", values)
        assert [names.position(value) for value in values] == [0, 1, 2, 3][: len(values)]
        assert [names.position(label) for label in names.labels] == list(range(len(values)))
        assert [names[i] for i in range(len(values))] == values == list(names) and names == values and names == tuple(values)


def test_numpy_values_are_the_same_as_pythons():
    assert Names("state", [3, 1, 0]).position(np.int64(3)) == 0 and Names("state", [(1, 2), (3, 4)]).position((np.int32(3), 4)) == 1
    assert Names("state", np.array(["a", "b"])).position(np.str_("b")) == 1 and type(Names("state", np.array([5, 4]))[0]) is int
    assert names_of("state", None, 5).position(np.int8(3)) == 3 and names_of("state", None, 5).position(3.0) == 3


def test_without_names_a_million_states_cost_nothing():
    names = names_of("state", None, 10**9)
    assert names.position(10**9 - 1) == names.position(str(10**9 - 1)) == 10**9 - 1
    assert names.label(7) == "7" and names[:3] == (0, 1, 2) and isinstance(Names("state", [0, 1, 2]).values, range)
    for wrong in (10**9, -1, 0.5, "x", "01", True, None, [1], (1,), float("nan"), float("inf"), "²"):
        with pytest.raises(ModelError, match="there is no state"):
            names.position(wrong)


def test_where_all_names_are_texts_a_whole_number_is_a_position_unless_it_could_be_a_name():
    names = Names("state", ["idle", "busy", "2", "1"])
    assert names.position(0) == 0 and names.position(2) == 2 and names.position("1") == 3
    with pytest.raises(ModelError, match=r"could be position 1 or state '1', which stands at position 3\. Say '1' or 'busy'"):
        names.position(1)
    assert names.position(3) == 3
    for wrong, words in ((4, "positions run from 0 to 3"), (-1, "does not exist"), (True, "is a bool"), (1.0, "is a float"),
                         ("idel", "did you mean 'idle'"), (None, "NoneType"), ([1], "is a list")):
        with pytest.raises(ModelError, match=words):
            names.position(wrong)


def test_where_some_names_are_no_texts_a_whole_number_is_never_a_position():
    for values in ([5, 7], [(0, 1), (1, 0)], ["idle", 3]):
        names = Names("state", values)
        for position in (0, 1):
            with pytest.raises(ModelError, match=f"there is no state {position}; the states are"):
                names.position(position)


def test_true_is_not_1_but_a_name_of_its_own():
    with pytest.raises(ModelError, match="no state True"):
        Names("state", [1, 5]).position(True)
    switch = Names("state", [True, False])
    assert switch.position(True) == 0 and switch.position(False) == 1 and switch.label(1) == "False"


def test_labels_show_and_are_understood():
    names = Names("state", [3, 1], labels=["three waiting", "one waiting"])
    assert names.position(1) == names.position("one waiting") == 1 and names.label(0) == "three waiting" and names[0] == 3
    with pytest.raises(ModelError, match="no state 0"):
        names.position(0)
    assert names != Names("state", [3, 1]) and names.some([1]) == Names("state", [1], labels=["one waiting"])


def test_objects_of_any_hashable_kind_are_kept():
    @dataclass(frozen=True)
    class Queue:
        length: int

        def __str__(self) -> str:
            return f"{self.length} in line"

    names = Names("state", [Queue(1), Queue(0)])
    assert names.position(Queue(0)) == names.position("0 in line") == 1 and encoded(names) == ["1 in line", "0 in line"]


@pytest.mark.parametrize(("values", "words"), [
    ([1, 1], "state 1 stands twice"), ([1, True], "stands twice"), ([1, "1"], "1 and '1' both read so"),
    ([(1, 2), "(1, 2)"], "twice"), ([[1]], "tuple instead of a list"), ([None], "None"), ([float("nan")], "nan"),
    ("ab", "give a list"), ({"a": 1}, "give a list"),
    ([], "0 states"), (["a", ""], "label 1 is ''"), (["a\n"], "control"), (7, "give a list"),
])
def test_names_that_could_not_be_told_apart_are_refused(values, words):
    with pytest.raises(ModelError, match=words):
        Names("state", values)


def test_an_error_of_the_callers_kind_says_what_the_value_was_for():
    with pytest.raises(ReportError, match=r"next_state is 9: there is no state 9; the states are 5, 7. Nothing was counted."):
        Names("state", [5, 7]).position(9, "next_state", ReportError, "Nothing was counted.")


leaves = st.integers(-3, 9) | st.text("ab1(", min_size=1, max_size=3)
plain = st.recursive(leaves, lambda x: st.lists(x, max_size=3).map(tuple), max_leaves=4)


@given(st.lists(plain, min_size=1, max_size=6, unique_by=str))
def test_what_a_file_holds_comes_back(values):
    names = Names("state", values)
    again = Names("state", [decoded(x) for x in json.loads(json.dumps(encoded(names)))])
    assert again == names and [type(x) for x in again] == [type(x) for x in names]
    for i, value in enumerate(values):
        assert names.position(value) == i


def test_policies_are_read_in_the_users_words_and_arrays_hold_positions():
    states, actions = Names("state", [(0, 1), (1, 0)]), Names("action", [2, 1, 0])
    assert chosen_actions([0, 2], states, actions).tolist() == [2, 0]
    assert chosen_actions(np.array([0, 2]), states, actions).tolist() == [0, 2]
    assert chosen_actions({(1, 0): 1, (0, 1): 2}, states, actions).tolist() == [0, 1]
    assert chosen_actions([(0, 1), (1, 0)], states, Names("action", [(1, 0), (0, 1)])).tolist() == [1, 0]
    for wrong, words in (([0], "1 entries"), ({(1, 0): 1}, r"no action for state \(0, 1\)"),
                         (np.array([0, 3]), "positions, from 0 to 2"),
                         ([0, 3], "no action 3"), ({0: 1}, "no state 0"), ({(1, 0): 1, "(1, 0)": 1}, "twice")):
        with pytest.raises(ModelError, match=words):
            chosen_actions(wrong, states, actions)

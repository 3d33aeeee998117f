"""What a learner may know: pairs, rewards, rate bounds; the supports only if told."""

from dataclasses import fields

import numpy as np
import pytest

from sojourn.errors import ModelError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.explore import Choice
from sojourn.model.knowledge import Knowledge


def test_knowledge_has_the_pairs_and_rewards_but_neither_rates_nor_transitions(golden_model):
    model = golden_model("miller_n3_m3")
    known = model.knowledge()
    assert known.n_pairs == model.n_pairs and known.max_choices == 7 and (known.rate_min, known.rate_max) == (1, 7.5)
    np.testing.assert_array_equal(known.reward, model.expected_reward)
    assert not known.supports_known and known.support_state is None
    assert not {"rate", "probability", "next_state", "matrix"} & set(vars(known))
    told = model.knowledge(supports=True)
    assert told.supports_known and told.support_state.tolist() == model.next_state.tolist()
    assert "supports unknown" in repr(known) and "supports known" in repr(told)


def test_tables_mark_what_is_not_admissible(golden_model):
    known = golden_model("miller_n3_m3").knowledge()
    assert known.pair_table[0].tolist() == [0, -1, -1, -1, -1, -1, -1] and known.pair_table.dtype == np.int64
    assert np.isnan(known.table(known.reward)[0, 1])
    assert known.table(np.ones((22, 2))).shape == (4, 7, 2)
    assert known.table(np.ones(22, dtype=bool), fill=False).dtype == bool
    with pytest.raises(ModelError, match=r"\(3,\) values for 22 pairs"):
        known.table(np.ones(3))


def test_rate_bounds_may_be_widened_but_not_below_the_truth(golden_model):
    model = golden_model("three_state")
    assert model.knowledge(rate_bounds=(0.5, 10)).rate_max == 10
    for bounds, shown in [
        ((2, 7), r"\(2.0, 7.0\).*\[1.0, 7.0\]"),
        ((7, 1), "Swap"),
        ((True, 7), "True"),
        ((1, 2, 3), r"\(1, 2, 3\)"),
    ]:
        with pytest.raises(ModelError, match=shown):
            model.knowledge(rate_bounds=bounds)


def test_without_rate_bounds_the_model_s_own_span_is_known():
    model = CTMDP.from_arrays([[[0, 1]], [[1, 0]]], [[2], [5]])
    assert (model.knowledge().rate_min, model.knowledge().rate_max) == (2, 5)


def test_knowledge_from_tables_equals_that_of_the_model(golden_model):
    model = golden_model("miller_n3_m3")
    tables = Knowledge.from_arrays(model.table(model.reward), (1, 7.5), model.table(model.running), model.admissible)
    known = model.knowledge()
    for field in ("pair_start", "pair_action", "reward", "running"):
        np.testing.assert_array_equal(getattr(tables, field), getattr(known, field))
    assert tables.states == known.states and tables.actions == known.actions


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"reward": [1, 2]}, r"\(2,\)"),
        ({"reward": [[True, 1]]}, "True"),
        ({"reward": [[np.nan, 1]]}, "nan"),
        ({"running": [[1]]}, r"\(1, 1\)"),
        ({"running": [[1, np.inf]]}, "inf"),
        ({"rate_bounds": (0, 1)}, "0"),
        ({"rate_bounds": None}, "None"),
        ({"admissible": [[1, 0]]}, "is 1"),
        ({"admissible": [[False, False]]}, "state 0 has 0"),
        ({"states": []}, "0 state labels"),
        ({"states": ["a", "b"]}, "2 state labels"),
        ({"actions": ["a", "a"]}, "'a' stands twice"),
        ({"actions": "ab"}, "'ab'"),
    ],
)
def test_bad_knowledge_is_refused_with_its_value(change, shown):
    with pytest.raises(ModelError, match=shown):
        Knowledge.from_arrays(**{"reward": [[1, 2]], "rate_bounds": (1, 2), **change})


def pay(choice, supports):
    said = {"reward": choice.reward, "cost": choice.cost, "running_cost": choice.running_cost}
    return said | ({"next": list(choice.rates)} if supports else {})


def test_what_one_knows_of_a_queue_is_what_its_model_would_tell():
    def choices(n):
        arrive = {n + 1: 0.8} if n < 4 else {}
        if n == 0:
            return {"idle": Choice(arrive, reward=1.0)}
        return {action: Choice({**arrive, n - 1: mu}, running_cost=n + price, cost=0.5)
                for action, mu, price in (("slow", 1.0, 0.5), ("fast", 2.0, 3.0))}

    model = CTMDP.explore(0, choices)
    for supports in (False, True):
        told = model.knowledge(supports=supports)
        known = Knowledge.from_choices({n: {a: pay(c, supports) for a, c in choices(n).items()} for n in range(5)}, model.bounds)
        for part in fields(Knowledge):
            one, two = getattr(known, part.name), getattr(told, part.name)
            assert np.array_equal(one, two) if isinstance(two, np.ndarray) else one == two, part.name
    assert known.pair(3, "fast") == model.pair(3, "fast")


def test_a_number_is_a_lump_sum_and_a_list_says_nothing_of_pay():
    known = Knowledge.from_choices({(0, 1): {"a": 2, "b": -1.5}, (1, 0): ["b", "c"]}, (1, 2))
    assert known.reward.tolist() == [2, -1.5, 0, 0] and known.running.tolist() == [0] * 4 and known.actions == ("a", "b", "c")
    assert known.states == ((0, 1), (1, 0)) and known.pair_start.tolist() == [0, 2, 4]
    with pytest.raises(ModelError, match=r"action 'a' is not admissible in state \(1, 0\); choose of: b, c"):
        known.pair((1, 0), "a")


@pytest.mark.parametrize(("choices", "bounds", "words"), [
    ({}, (1, 2), "choices is {}"), ([1], (1, 2), r"choices is \[1\]"), ({"a": {}}, (1, 2), "at least one action"),
    ({"a": 3}, (1, 2), r"choices\['a'\] is 3"), ({"a": {"x": "much"}}, (1, 2), r"choices\['a'\]\['x'\] is 'much'"),
    ({"a": {"x": {"pay": 1}}}, (1, 2), "no key named 'pay'"), ({"a": {"x": {"cost": None}}}, (1, 2), "'cost'.* is None"),
    ({"a": {"x": {"next": ["b"]}}}, (1, 2), "no state named 'b'"), ({"a": {"x": {"next": "a"}}}, (1, 2), "list of the states"),
    ({"a": {"x": {"next": ["a"]}, "y": 1.0}}, (1, 2), "'y' in 'a' does not say where"), ({"a": ["x"]}, (2, 1), "Swap"),
    ({"a": ["x"], 1: ["x"], "1": ["x"]}, (1, 2), "stands twice"), ({"a": [1, "1"]}, (1, 2), "stands twice"),
])
def test_what_cannot_be_known_is_refused_with_its_place(choices, bounds, words):
    with pytest.raises(ModelError, match=words):
        Knowledge.from_choices(choices, bounds)

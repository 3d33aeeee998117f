"""What a learner may know: pairs, rewards, rate bounds; the supports only if told."""

import numpy as np
import pytest

from sojourn.errors import ModelError
from sojourn.model.ctmdp import CTMDP
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

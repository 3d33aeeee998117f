"""The event table: what it says of a model, what is told of it, and what is refused."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

from sojourn.errors import FileError, ModelError
from sojourn.model.event_file import COLUMNS
from sojourn.model.events import NOWHERE, check_events, event_table, events_of, plain_events
from sojourn.model.files import load
from sojourn.zoo.catalogue import FILES, make

DECLARED = [name for name in FILES if make(name).events is not None]
FREE = {"two-state", "three-state", "river-swim", "random", "random-ties"}


def test_the_families_with_rates_declare_their_events():
    assert set(FILES) - set(DECLARED) == FREE


@pytest.mark.parametrize("name", DECLARED)
def test_a_table_gives_the_rates_and_the_income_of_its_model(name):
    model = make(name)
    table = model.events
    assert np.allclose(table.rate(table.value), model.rate, rtol=1e-12)
    assert np.allclose(table.income(table.value), model.running + model.expected_reward * model.rate, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [*DECLARED, "three-state"])
def test_what_is_told_does_not_change_with_the_values_of_the_rates(name):
    """Every rate of the family is changed: coefficients, payments, rewards, names and bounds must stay as they were."""
    from sojourn.learn.saving import knowledge_hash
    from sojourn.zoo.catalogue import family

    before = make(name)
    known = knowledge_hash(before.knowledge(events=True))
    assert before.knowledge(events=True).events.value is None
    if name == "three-state":
        other = before.replace(rate=before.rate * 1.3, rate_bounds=None)
        assert knowledge_hash(other.knowledge(events=True)) == known
    for parameter in family(name).parameters:
        if parameter.unit != "1/time" or not parameter.default or parameter.name == "speeds":
            continue  # the speeds of service-rate are in the names of its actions
        value = tuple(1.25 * x for x in parameter.default) if isinstance(parameter.default, tuple) else 1.25 * parameter.default
        assert knowledge_hash(make(name, **{parameter.name: value}).knowledge(events=True)) == known, parameter.name


def test_a_model_without_events_has_one_per_pair_and_successor():
    model = make("three-state")
    table = events_of(model)
    assert model.events is None and table.n_events == len(model.next_state) == len(table.pair)
    check_events(model, table)
    assert model.with_events(table).knowledge(events=True).events.equals(model.knowledge(events=True).events)


def test_rows_in_any_order_are_sorted_and_those_of_one_jump_added():
    table = event_table(["a", "b"], [1, 0, 0, 0], [0, 1, NOWHERE, 1], [0, 1, 0, 1], [1.0, 2.0, 3.0, 1.0], [5.0, 1.0, 0.0, 4.0],
                        reward=[0.0, 0.0], running=[0.0, 0.0])
    assert table.pair.tolist() == [0, 0, 1] and table.event.tolist() == [0, 1, 0]
    assert table.coefficient.tolist() == [3.0, 3.0, 1.0] and table.payment.tolist() == [0.0, 2.0, 5.0]
    assert table.silent.tolist() == [0] and table.row_start.tolist() == [0, 2, 3]


def test_events_that_only_labels_can_tell_apart_are_named():
    table = event_table(["a", "b", "c"], [0, 0, 0, 1, 1], [1, 1, 1, 0, 0], [0, 1, 2, 0, 1], [1.0, 2.0, 1.0, 2.0, 4.0],
                        reward=[0.0, 0.0], running=[0.0, 0.0])
    assert table.alike == [("a", "b")]  # c is absent from pair 1
    assert make("tandem").events.alike == []


@pytest.mark.parametrize("change, words", [
    ({"coefficient": -1.0}, "must be positive"), ({"event": 7}, "must be from 0 to"), ({"pair": 99}, "must be from 0 to"),
])
def test_a_row_that_cannot_be_is_refused(change, words):
    table = make("service-rate:capacity=2").events
    (name, value), = change.items()
    column = getattr(table, name).copy()
    column[-1] = value
    with pytest.raises(ModelError, match=words):
        replace(table, **{name: column})


def test_a_table_that_contradicts_the_model_is_refused():
    model = make("service-rate:capacity=2")
    table = model.events
    for wrong, words in ((replace(table, value=table.value * 2), "must agree"),
                         (replace(table, running=table.running + 1), "payments"), (replace(table, value=None), "no values"),
                         (plain_events(make("two-state")), "pairs")):
        with pytest.raises(ModelError, match=words):
            model.with_events(wrong)
    assert model.replace(rate=model.rate * 2).events is None  # they do not fit any more


def test_events_that_are_no_table_are_refused_in_words():
    with pytest.raises(ModelError, match="event_table"):
        make("admission").with_events({"arrive": 1.0})


@pytest.mark.parametrize("change, words", [
    ({"pair": [[0], 1]}, r"pair\[0\] is \[0\]; it must be an integer"), ({"coefficient": [1.0, 2.0, 3.0]}, "there are 2 rows"),
    ({"payment": [[1.0], 2.0]}, "rectangular"), ({"low": [0.0] * 3}, "there are 2 events"), ({"names": "ab"}, "list of texts"),
    ({"reward": 0.0}, "flat list"), ({"running": [[0.0], [0.0]]}, "flat list"), ({"value": 1.0}, "flat list"),
    ({"pair": np.array([0, 2**63], dtype=np.uint64)}, "below 2"),
    ({"pair": [0, 0], "next_state": [1, 1], "event": [0, 0], "coefficient": [3.0, -1.0]}, r"coefficient\[1\] is -1.0"),
])
def test_columns_that_do_not_fit_are_refused_in_words(change, words):
    good = {"names": ["a", "b"], "pair": [0, 1], "next_state": [1, 0], "event": [0, 1], "coefficient": 1.0, "reward": [0.0, 0.0],
            "running": [0.0, 0.0]}
    assert event_table(**good).n_events == 2
    with pytest.raises(ModelError, match=words):
        event_table(**(good | change))


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("entry", [[[0]], [[0], 0], {}, None, "0", True, 1e400, 10**400])
def test_a_file_whose_event_column_is_damaged_is_refused_in_words(tmp_path, column, entry):
    path = tmp_path / "model.json"
    make("service-rate:capacity=2").save(path)
    whole = json.loads(path.read_text())
    kept = whole["events"][column]
    whole["events"][column] = [entry, *kept[1:]]
    path.write_text(json.dumps(whole))
    if column == "high" and entry in (None, 1e400):
        assert load(path).events.high[0] == np.inf  # open
        return
    with pytest.raises(FileError, match=column):
        load(path)


@pytest.mark.parametrize("name", ["\ud800", "two\nlines", "\x00", ""])
def test_an_event_whose_name_no_file_could_hold_is_refused(name):
    table = make("admission").events
    with pytest.raises(ModelError, match="without control characters"):
        replace(table, names=(name, *table.names[1:]))


@pytest.mark.parametrize("column, value", [("reward", 1e308), ("running", 1e308), ("payment", 1e308), ("coefficient", 1e308)])
def test_what_overflows_does_not_agree(column, value):
    model = make("service-rate:capacity=2")
    table = replace(model.events, **{column: np.full_like(getattr(model.events, column), value)})
    with warnings.catch_warnings(), pytest.raises(ModelError, match=r"agree|declared as a payment"):
        warnings.simplefilter("error")
        check_events(model, table)

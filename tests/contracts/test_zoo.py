"""Contracts that every family of the zoo keeps: a family added to the catalogue is tested here without another line."""

import json
import warnings

import numpy as np
import pytest

import sojourn
from sojourn.errors import ParameterError, SojournError
from sojourn.model.checks import check
from sojourn.testing import ModelContract
from sojourn.zoo.catalogue import FILES, families, family, make
from sojourn.zoo.family import ASSUMPTION_WORDS

every_family = pytest.mark.parametrize("name", families())
METHODS = ("policy-iteration", "value-iteration", "linear-programming")


@pytest.fixture(scope="module")
def model_of():
    """Return the default model of a family, built once."""
    built = {}
    return lambda name: built[name] if name in built else built.setdefault(name, make(name))


def test_the_zoo_has_at_least_sixteen_families_and_one_file_each():
    assert len(families()) >= 16
    assert len(set(FILES.values())) == len(FILES)
    assert "random" in families() and "random-ties" in families()


@every_family
def test_a_family_tells_what_it_is(name):
    found = family(name)
    assert found.name == name and name == name.lower() and "_" not in name
    for text in (found.summary, found.theory, found.source, found.answer):
        assert len(text) > 15
    assert len(found.summary) < 125 and "\n" not in found.summary
    assert set(found.assumptions) == set(ASSUMPTION_WORDS)
    assert found.gym_id.startswith("sojourn.gym:sojourn/") and found.gym_id.endswith("-v0")
    words = found.explain()
    for parameter in found.parameters:
        assert f"{parameter.name} = " in words and parameter.allowed in words
    assert found.source.split()[0] in words and "Assumptions" in words
    json.dumps(found.as_dict(), allow_nan=False)


@every_family
def test_defaults_are_allowed_by_their_own_ranges(name):
    for parameter in family(name).parameters:
        if parameter.default is not None:
            assert parameter.check(parameter.default) == parameter.default


class TestEveryFamily(ModelContract):
    @pytest.fixture(autouse=True, params=families())
    def _chosen(self, request):
        self.name = request.param

    def make_model(self):
        return make(self.name)


@every_family
def test_a_model_is_called_after_its_family(name, model_of):
    assert model_of(name).name == name


@every_family
def test_assumptions_are_as_documented(name, model_of):
    verdicts = check(model_of(name))
    assert {key: getattr(verdicts, key).holds for key in ASSUMPTION_WORDS} == dict(family(name).assumptions)


@every_family
def test_nothing_happens_without_a_change_of_state(name, model_of):
    """Null events would only slow the clock down; river-swim and the random families stay where they are on purpose."""
    model = model_of(name)
    start = np.repeat(model.pair_state, np.diff(model.row_start))
    assert name in ("river-swim", "random", "random-ties") or (start != model.next_state).all()


@pytest.mark.parametrize("name, parameters, irreducible", [
    ("admission", {"urgent_rate": 0}, False), ("routing", {"dedicated_rate": 0.1}, True), ("tandem", {"slow_rate": 0}, False),
    ("server-switching", {"leak": 0}, False), ("maintenance", {"wear_in_service": 0}, False),
    ("spare-parts", {"return_rate": 0}, False),
    ("call-centre", {"retry_rate": 0}, False), ("call-centre", {"leave_number": 0}, False),
    ("call-centre", {"patience_rate": 0}, False), ("call-centre", {"accept": 1}, True),
    ("hospital-beds", {"pressing": 0}, False), ("river-swim", {"leak": 0}, False),
])
def test_the_notes_on_variants_are_true(name, parameters, irreducible):
    verdicts = check(make(name, **parameters))
    assert verdicts.irreducible.holds is irreducible
    assert verdicts.communicating.holds is True
    assert (verdicts.unichain.holds is False) == (name == "server-switching")
    assert family(name).note


@every_family
def test_every_method_finds_the_same_gain(name, model_of):
    solutions = [sojourn.solve(model_of(name), method=method) for method in METHODS]
    for solution in solutions:
        low, high = solution.gain_bounds
        assert low <= solutions[0].gain + 1e-12 * max(1, abs(solutions[0].gain)) and high >= solutions[0].gain - 1e-12 * max(
            1, abs(solutions[0].gain))
        assert solution.gain == pytest.approx(solutions[0].gain, rel=1e-9, abs=1e-9)


@every_family
def test_a_model_saves_and_loads_identically(name, model_of, tmp_path):
    model = model_of(name)
    for ending in ("json", "npz"):
        path = tmp_path / f"model.{ending}"
        model.save(path)
        assert sojourn.load(path).equals(model)


@every_family
def test_the_optimal_policy_is_better_than_random(name, model_of):
    model = model_of(name)
    uniform = model.admissible / model.admissible.sum(axis=1, keepdims=True)
    assert sojourn.solve(model).gain > sojourn.evaluate(model, uniform).gain


@every_family
def test_the_default_learner_loses_less_than_the_random_policy_in_ten_thousand_decisions(name, model_of):
    model = model_of(name)
    uniform = model.admissible / model.admissible.sum(axis=1, keepdims=True)
    solution = sojourn.solve(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rewards far from order 1 are some families' nature
        learner = sojourn.learner("default", model.knowledge(), seed=1)
    learned = sojourn.simulate(model, learner, max_epochs=10_000, seed=1, checkpoints=[10_000], solution=solution)
    random = sojourn.simulate(model, uniform, max_epochs=10_000, seed=1, checkpoints=[10_000], solution=solution)
    assert learned.pseudo_regret[-1] < random.pseudo_regret[-1]


@every_family
def test_the_same_parameters_give_the_same_model(name, model_of):
    assert make(name).equals(model_of(name))


# ---- bad parameters -------------------------------------------------------------------------------------------------

BAD_NUMBERS = {"negative": -1.0, "nan": float("nan"), "infinite": float("inf"), "boolean": True, "word": "fast", "nothing": None,
               "list": [[]], "huge": 1e300}


@every_family
@pytest.mark.parametrize("kind", BAD_NUMBERS)
def test_bad_numbers_are_refused_with_the_value_and_the_range(name, kind):
    for parameter in family(name).parameters:
        if parameter.kind not in ("real", "count") or (kind == "negative" and parameter.low < 0):
            continue
        value = BAD_NUMBERS[kind]
        with pytest.raises(ParameterError) as caught:
            make(name, **{parameter.name: value})
        message = str(caught.value)
        assert message.startswith(f"{parameter.name} is ") and repr(value)[:20] in message and parameter.allowed in message


@every_family
def test_bad_lists_are_refused_entry_by_entry(name):
    for parameter in family(name).parameters:
        if parameter.kind == "reals":
            length = len(parameter.default or (1, 1, 1))
            for bad in (float("nan"), True, "x", -1e12):
                with pytest.raises(ParameterError, match=rf"{parameter.name}\[{length - 1}\] is "):
                    make(name, **{parameter.name: [1.0] * (length - 1) + [bad]})
            for bad in ("1,2", 3.0, [], {"a": 1}):
                with pytest.raises(ParameterError, match=f"{parameter.name} is "):
                    make(name, **{parameter.name: bad})


@every_family
def test_unknown_parameters_are_named_with_a_guess(name):
    names = [p.name for p in family(name).parameters]
    with pytest.raises(ParameterError, match="no parameter of"):
        make(name, nonsense=1)
    if names:
        with pytest.raises(ParameterError, match=f"did you mean '{names[0]}'"):
            make(name, **{names[0] + "x": 1})


@pytest.mark.parametrize("name, parameters, words", [
    ("customer-selection", {"classes": 1_000_000}, "classes is 1000000; it must be an integer from 1 to 12"),
    ("customer-selection", {"servers": 0}, "servers is 0; it must be an integer from 1 to"),
    ("customer-selection", {"servers": 2.5}, "servers is 2.5; it must be an integer"),
    ("customer-selection", {"classes": 2, "arrival_rates": [1.0]}, "arrival_rates has 1 entries and classes is 2"),
    ("customer-selection", {"pay": "cash"}, "pay is 'cash' (a str); it must be one of lump, running, transition"),
    ("admission", {"servers": 5, "capacity": 3}, "capacity is 3 and servers is 5"),
    ("routing", {"service_rates": [1.0]}, "they must agree"),
    ("routing", {"capacity": 1400, "service_rates": [1, 1, 1], "costs": [1, 1, 1]}, "at most 2,000,000"),
    ("priority", {"costs": [1.0]}, "they must agree"),
    ("market-making", {"offsets": [0.5, 1.0, 0.5]}, "offsets[2] is 0.5, as offsets[0] is"),
    ("service-rate", {"speeds": [1.0, 1.0], "speed_costs": [0, 1]}, "speeds[1] is 1, as speeds[0] is"),
    ("customer-selection", {"servers": 100_000, "classes": 12}, "gives 409,604,096 pairs (state, action)"),
    ("random", {"states": 1_000_000, "branching": 1000}, "transitions; the zoo builds at most 40,000,000"),
    ("random", {"states": 3, "branching": 4}, "branching is 4 and states is 3"),
    ("random", {"rate_min": 5, "rate_max": 1}, "rate_min is 5 and rate_max is 1"),
    ("random-ties", {"tied": 5, "actions": 4}, "tied is 5 and actions is 4"),
    ("tandem", {"fast_rate": 0.01}, "fast_rate is 0.01 and slow_rate is 0.1"),
    ("criss-cross", {"costs": [1.0, 2.0]}, "costs has 2 entries; it must have 3"),
    ("server-switching", {"costs": [1.0]}, "costs has 1 entries; it must have 2"),
    ("call-centre", {"agents": 9, "lines": 3}, "lines is 3 and agents is 9"),
    ("priority", dict.fromkeys(("arrival_rates", "service_rates", "costs"), [1.0] * 1_000_000),
     "costs has 1000000 entries; it must have from 1 to 20, one per class"),
    ("routing", dict.fromkeys(("service_rates", "costs"), [1.0] * 1_000_000),
     "service_rates has 1000000 entries; it must have from 2 to 6, one per queue"),
    ("routing", {"service_rates": [1.0], "costs": [1.0]}, "service_rates has 1 entry; it must have from 2 to 6"),
    ("service-rate", {"speeds": range(1, 1_000_001), "speed_costs": range(1_000_000)}, "13,000,000 pairs (state, action)"),
    ("market-making", {"decay": 100, "offsets": [100.0]}, "decay x offset must be at most 200"),
    ("customer-selection", {"servers": 10**5000}, "servers is an integer of 16610 bits; it must be an integer from 1 to 100000"),
    ("random", {"seed": -1}, "seed is -1; it must be an integer from 0 to 9223372036854775807"),
    ("two-state", {"servers": 3}, "no parameter of two-state is named 'servers': the family takes none"),
])
def test_parameters_that_do_not_fit_together_are_refused(name, parameters, words):
    with pytest.raises(ParameterError) as caught:
        make(name, **parameters)
    assert words in str(caught.value)


def test_the_names_of_models_with_lists_are_exact_and_read_back():
    from sojourn.cli.common import read_model

    model = make("priority", costs=[1.0, 1 / 3])
    assert model.name == "priority:costs=[1,0.3333333333333333]"
    assert read_model(model.name).equals(model)


def test_unknown_families_are_named_with_a_guess():
    with pytest.raises(SojournError, match="no zoo model named 'admision'; did you mean 'admission'"):
        make("admision")
    with pytest.raises(SojournError, match="no zoo model named '7'"):
        make(7)


# ---- sizes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, parameters, states", [
    ("random", {"states": 2, "branching": 2}, 2), ("customer-selection", {"servers": 1}, 2), ("admission", {"capacity": 1}, 2),
    ("maintenance", {"levels": 1}, 2), ("market-making", {"max_inventory": 1}, 3), ("river-swim", {"length": 2}, 2),
    ("routing", {"capacity": 1}, 4), ("sis-epidemic", {"population": 1}, 2), ("sir-epidemic", {"population": 1}, 3),
    ("hospital-beds", {"beds": 1}, 3), ("spare-parts", {"max_stock": 1}, 2), ("machine-repair", {"machines": 1, "crews": 1}, 2),
])
def test_the_smallest_models_solve(name, parameters, states):
    model = make(name, **parameters)
    assert model.n_states == states
    assert np.isfinite(sojourn.solve(model).gain)


@pytest.mark.slow
@pytest.mark.parametrize("name, parameters, states", [
    ("random", {"states": 1_000_000, "actions": 2, "branching": 2}, 1_000_000), ("routing", {"capacity": 299}, 90_000),
])
def test_large_models_are_built(name, parameters, states):
    model = make(name, **parameters)
    assert model.n_states == states
    assert np.isfinite(model.rate).all()

"""The Difficulty object: bounds, tables, words, warnings, the card and the command."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import sojourn
from sojourn.cli.difficulty import command
from sojourn.errors import AssumptionError, ModelError, ParameterError
from sojourn.instance.difficulty import difficulty
from sojourn.instance.divergence import divergence
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate
from sojourn.study.bounds import bounds_of
from sojourn.zoo.catalogue import make

KEYS = {
    "gain",
    "gain_bounds",
    "lower_bound_constant",
    "gain_gap",
    "gain_gap_per_decision",
    "second_best_policy",
    "diameter",
    "diameter_bounds",
    "diameter_pair",
    "upper_bound_constant",
    "upper_bound_constant_consistent",
    "pairs",
    "warnings",
}


@pytest.fixture
def three(golden_model):
    return difficulty(golden_model("three_state"))


def test_the_bounds_are_the_printed_formulas(three):
    c, g, offset = three.upper_bound_constant, three.gain_gap, three.upper_bound_offset
    assert three.upper_bound(1) == pytest.approx(offset)
    assert three.upper_bound(100) == pytest.approx(4 * c * math.log(100) / g + offset)
    assert three.upper_bound(100, offset=0) == pytest.approx(4 * c * math.log(100) / g)
    assert three.upper_bound_doubling(epochs=2) == pytest.approx(16 * c * math.log(2) / g + 2 * offset)
    assert three.upper_bound_doubling(time=3.0) == pytest.approx(
        16 * c * math.log(23) / g + offset * (2 + math.log2(math.log2(23))) + 7 + 1
    )
    assert three.bad_steps_bound(100, 0.5, 0.1) == pytest.approx(c / 0.25 * math.log(1000))
    assert three.failure_probability(2, 0.5) == pytest.approx(0.5 / (15 * 64))
    assert three.upper_bound(100, consistent=True) == pytest.approx(
        4 * three.upper_bound_constant_consistent * math.log(100) / three.gain_gap_per_decision
        + three.upper_bound_offset_consistent
    )


def test_arguments_out_of_range_are_refused_with_their_value(three):
    for call, message in (
        (lambda: three.lower_bound(), "give either epochs= or time="),
        (lambda: three.lower_bound(epochs=10, time=2), "give either epochs= or time="),
        (lambda: three.lower_bound(epochs=0.5), "epochs is 0.5"),
        (lambda: three.upper_bound(0), "epochs is 0"),
        (lambda: three.upper_bound_doubling(epochs=1), "epochs is 1; the doubling bound needs N >= 2"),
        (lambda: three.upper_bound_doubling(time=-1), "time is -1"),
        (lambda: three.upper_bound_doubling(), "give either"),
        (lambda: three.bad_steps_bound(11, 0.1, 0.1), r"epochs is 11; the bound holds for N >= 2 S A = 12"),
        (lambda: three.bad_steps_bound(100, 0, 0.1), "epsilon is 0"),
        (lambda: three.bad_steps_bound(100, 0.1, 0.5), "delta is 0.5"),
        (lambda: three.failure_probability(0, 0.1), "epoch is 0"),
        (lambda: three.failure_probability(1, 0), "delta is 0"),
        (lambda: divergence([1.0], 1, [0.5, 0.5], 1), "same states"),
        (lambda: divergence([1.0], 0, [1.0], 1), "rates are 0 and 1"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()
    with pytest.raises(ModelError, match=r"rate_bounds is \(2(\.0)?, 7(\.0)?\) but the model's rates span"):
        difficulty(three.model, (2, 7))


def test_visits_needed_are_log_n_over_k_and_their_time_is_divided_by_the_rate(three):
    visits = three.visits_needed(1000)
    assert visits[0, 1] == pytest.approx(math.log(1000) / three.least_divergence[0, 1])
    assert visits[0, 0] == 0 and visits[2, 0] == 0  # optimal, not critical
    assert three.visits_needed(1000, in_time=True)[0, 1] == pytest.approx(visits[0, 1] / 2)
    assert three.exploration_time(1000) == pytest.approx(visits[0, 1] / 2 + visits[1, 1] / 1)
    assert (visits * three.gaps).sum() == pytest.approx(three.lower_bound(epochs=1000))


def test_expensive_parts_are_worked_out_when_first_asked_for(golden_model):
    found = difficulty(golden_model("three_state"))
    assert "diameters" not in vars(found) and "gain_gaps" not in vars(found)
    text = repr(found)
    assert "C(M) 10.7762968" in text and "diameters" not in vars(found)
    assert found.diameter == 0.95 and "D 0.95" in repr(found)


def test_the_table_and_the_html_carry_every_constant_and_escape_labels(golden_model):
    model = golden_model("three_state").replace(states=("<b>", "y & z", "last"))
    found = difficulty(model)
    for word in ("10.7762968", "0.160530062", "0.0709934928", "0.95", "y & z", "! rate_max is 7 > 1"):
        assert word in found.table()
    assert "&lt;b&gt;" in found._repr_html_() and "<b>:" not in found._repr_html_()


def test_all_policies_optimal_costs_nothing():
    model = CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[2.0, 2], [1, 1]], [[1.0, 1], [0, 0]])
    found = difficulty(model)
    assert found.gain_gap == found.gain_gap_per_decision == np.inf and found.second_best_policy is None
    assert found.lower_bound_constant == 0 and found.upper_bound(10) == found.upper_bound_offset
    assert found.as_dict()["gain_gap"] is None and "inf" in found.table()
    assert any("All policies are optimal" in w for w in found.warnings)


def test_c_prime_is_not_available_rather_than_made_up(random_model):
    found = difficulty(random_model(np.random.default_rng(0), 24, 3, 3))
    assert found.n_pi is None and found.upper_bound_offset is None and found.as_dict()["upper_bound_offset"] is None
    with pytest.raises(AssumptionError, match=r"not available.*offset=0"):
        found.upper_bound(100)
    assert found.upper_bound(100, offset=0) > 0


def test_warnings_say_what_is_assumed_and_no_more(golden_model):
    def words(model, **more):
        return " ".join(difficulty(model, **more).warnings)

    three = golden_model("three_state")
    assert words(three.replace(rate=three.rate / 7, rate_bounds=(1 / 7, 1.0))) == ""
    assert "not a guarantee" in words(three) and "No rate bounds" not in words(three)
    assert "No rate bounds were given" in words(three.replace(rate_bounds=None))
    assert "No rate bounds" not in words(three.replace(rate_bounds=None), rate_bounds=(1, 7))
    assert "Lump sums range over [-12, 8]" in words(golden_model("two_state"))
    assert "No pair is critical" in words(golden_model("two_state"))
    assert "running rewards" in words(golden_model("machine_maintenance"))
    assert "assume-transition" in words(golden_model("riverswim_unichain"))
    assert "rates count as known" in words(three.uniformized())


def test_the_printed_upper_bound_falls_below_the_lower_bound_in_a_fast_unit_of_time(golden_model):
    """Count time in units 10^9 times longer: the printed 4C/g shrinks, nothing else changes."""
    three = golden_model("three_state")
    slow = difficulty(three)
    fast = difficulty(three.replace(rate=three.rate * 1e9, rate_bounds=(1e9, 7e9)))
    assert 4 * slow.upper_bound_constant / slow.gain_gap > slow.lower_bound_constant
    assert 4 * fast.upper_bound_constant / fast.gain_gap < fast.lower_bound_constant
    assert 4 * fast.upper_bound_constant_consistent / fast.gain_gap_per_decision > fast.lower_bound_constant
    assert any("falls below the lower bound" in w for w in fast.warnings)
    assert not any("falls below" in w for w in slow.warnings)


def test_public_names_lead_here(golden_model):
    model = golden_model("three_state")
    assert isinstance(sojourn.difficulty(model), sojourn.Difficulty)
    assert float(sojourn.diameter(model)) == 0.95
    assert float(sojourn.gain_gap(model)) == pytest.approx(0.16053006205930112)
    assert sojourn.gaps(model)[0, 1] == pytest.approx(0.1838549428713363)


def run(*words):
    return CliRunner().invoke(command, list(words), catch_exceptions=False)


def test_the_command_prints_strict_json_with_every_pair_once(golden_model, tmp_path):
    path = tmp_path / "model.json"
    golden_model("ties").save(path)
    result = run(str(path), "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0 and set(found) >= KEYS
    assert len(found["pairs"]) == 10 and len({(p["state"], p["action"]) for p in found["pairs"]}) == 10
    for pair in found["pairs"]:
        assert (pair["least_divergence"] is None) == (pair["optimal"] or not pair["critical"])
    assert found["diameter_pair"] == ["2", "0"]
    assert found["lower_bound_constant"] == pytest.approx(26.1084603929320517, rel=1e-9)


def test_the_command_still_answers_on_a_model_that_breaks_the_assumption(golden_model, tmp_path):
    path = tmp_path / "model.json"
    golden_model("riverswim_unichain").save(path)
    found = json.loads(run(str(path), "--json").stdout)
    assert found["lower_bound_constant"] is None and found["diameter"] == pytest.approx(12.29563924899202)
    assert all(p["least_divergence"] is None and p["critical"] is None for p in found["pairs"])
    assert any("never visits state" in w for w in found["warnings"])
    assert "not available" in run(str(path)).output


def test_rate_bounds_of_the_command_replace_those_of_the_model(golden_model, tmp_path):
    path = tmp_path / "model.json"
    golden_model("three_state").save(path)
    found = json.loads(run(str(path), "--rate-bounds", "0.5", "20", "--json").stdout)
    assert found["rate_bounds"] == [0.5, 20.0]
    assert found["lower_bound_constant"] > 10.7762968089485295
    assert "reward of unknown" not in run(str(path), "--bernoulli").output


@pytest.mark.parametrize("name", ["three_state", "riverswim_unichain", "two_state"])
def test_the_card_is_drawn_in_three_formats_for_any_model(golden_model, tmp_path, name):
    found = difficulty(golden_model(name))
    kinds = ("png", "svg", "pdf") if name == "three_state" else ("png",)
    for kind in kinds:
        found.plot(tmp_path / f"card.{kind}")
        assert (tmp_path / f"card.{kind}").stat().st_size > 10_000
    with pytest.raises(ParameterError, match=r"'card.gif' ends in 'gif'"):
        found.plot("card.gif")


def test_the_card_of_a_larger_model_is_a_heat_map(random_model, tmp_path):
    difficulty(random_model(np.random.default_rng(1), 40, 3, 3)).plot(tmp_path / "card.png")
    assert (tmp_path / "card.png").stat().st_size > 10_000


def test_parts_are_numbers_that_carry_their_witnesses():
    model = sojourn.make("three-state")
    found, far, gap = sojourn.difficulty(model, (1, 7)), sojourn.diameter(model), sojourn.gain_gap(model)
    assert far == 0.95 == found.diameter and found.diameter.pair == far.pair == ("B", "C")
    assert far.bounds[0] <= far <= far.bounds[1]
    assert 2 * gap == 2 * found.gain_gap == 2 * gap.value and gap.policy.tolist() == [1, 0, 1]
    assert f"{far}" == str(far) == "0.95"
    assert json.dumps([far, gap]) == f"[{far.value!r}, {gap.value!r}]"


def early(model, **more):
    return next(text for text in difficulty(model, **more).warnings if "means nothing yet" in text)


def test_why_the_bound_means_nothing_yet_is_said_as_it_is():
    rare, near = "hardly ever visits the states where the rest", "the rest is for choices so hard to tell from the best"
    assert rare in early(make("admission")) and "hard to tell" not in early(make("admission"))
    arms = CTMDP.from_arrays(np.ones((1, 2, 1)), [[1.9, 1.9]], [[0.61, 0.61 - 2.0**-30]], rate_bounds=(0.5, 10))  # one state
    assert f"{near} (K down to 1.2e-18 nats" in early(arms) and "hardly ever" not in early(arms)
    both = early(make("tandem"))
    assert "where part of the rest would be tried, and part is for choices so hard to tell" in both


def test_warnings_do_not_contradict_each_other_when_nothing_can_be_learned():
    stuck = CTMDP.from_arrays([[[0, 1.0]], [[0, 1.0]]], [[2.0], [3.0]], [[1.0], [0.0]])
    text = " ".join(sojourn.difficulty(stuck, (2, 3)).warnings)
    assert "g is infinite" in text and "not available" not in text and "C(M) = 0" not in text


def test_a_diameter_beyond_floats_says_that_its_upper_end_is_open():
    up = np.full((400, 1), 0.1)
    walk = np.zeros((400, 1, 400))
    for s in range(400):
        walk[s, 0, min(s + 1, 399)] += up[s, 0]
        walk[s, 0, max(s - 1, 0)] += 1 - up[s, 0]
    found = sojourn.difficulty(CTMDP.from_arrays(walk, np.ones((400, 1))), (1, 1))
    assert 1e240 < found.diameter < np.inf and found.diameter_bounds[1] == np.inf and not found.diameter.exact
    assert any("beyond" in w for w in found.warnings)


@pytest.mark.parametrize("what", [sojourn.difficulty, sojourn.gain_gap, sojourn.gaps, sojourn.diameter])
def test_something_else_than_a_model_is_refused(what):
    with pytest.raises(ModelError, match=r"the model is None \(a NoneType\); it must be a CTMDP"):
        what(None)


@pytest.mark.parametrize("what", [sojourn.difficulty, sojourn.gain_gap, sojourn.gaps])
def test_something_else_than_a_model_is_refused_beside_a_solution_too(what, golden_model):
    with pytest.raises(ModelError, match=r"the model is None \(a NoneType\); it must be a CTMDP"):
        what(None, solution=sojourn.solve(golden_model("three_state")))


def test_learners_are_set_against_the_bound_for_what_they_are_told_of_jumps_that_pay():
    jumps, lumps = (make("customer-selection", pay=pay) for pay in ("transition", "lump"))
    found, same = difficulty(jumps), difficulty(lumps)
    assert (jumps.knowledge().reward == pytest.approx(lumps.knowledge().reward)) and same.as_told is same
    for name in ("lower_bound_constant", "lower_bound_constant_unknown"):
        told = getattr(same, name)
        assert getattr(found.as_told, name) == pytest.approx(told, rel=1e-9) and abs(getattr(found, name) - told) > 0.1 * told
        assert any(f"{told:.6g}" in sentence and "Jumps pay" in sentence for sentence in found.warnings)
    assert not any("Jumps pay" in sentence for sentence in same.warnings)
    for kind in ("supports", "no supports"):
        one, other = (bounds_of(model, kinds=["supports", "no supports"]).floor(kind) for model in (jumps, lumps))
        assert one.constant == pytest.approx(other.constant, rel=1e-9) and one.meaningful == other.meaningful
    run = simulate(jumps, "default", max_epochs=50, knowledge=jumps.knowledge(supports=True))
    drawn = {line.get_label(): line.get_ydata()[0] for line in run.plot().axes[1].lines if "(M)" in str(line.get_label())}
    assert list(drawn.values()) == pytest.approx([same.lower_bound_constant])

"""Every constant of the exact reference files, to 1e-9 relative (K to 1e-8)."""

import math

import numpy as np
import pytest

from sojourn.errors import AssumptionError
from sojourn.instance.difficulty import difficulty
from sojourn.instance.upper_bound import offset_from, settling_epochs, settling_epochs_needed
from sojourn.solving.evaluate import evaluate

NAMES = ["two_state", "three_state", "ties", "boundary_cases", "machine_maintenance", "miller_n3_m3"]


@pytest.fixture(params=NAMES)
def known(request, golden, golden_model):
    """(the constants of a file, the difficulty of its model)"""
    return golden(request.param)["constants"], difficulty(golden_model(request.param))


def close(found, expected, rel=1e-9):
    return found == pytest.approx(expected, rel=rel, abs=0)


def test_gain_bias_and_gaps(known):
    expected, found = known
    assert close(found.gain, expected["rho"])
    assert found.gain_bounds[0] <= expected["rho"] <= found.gain_bounds[1]
    np.testing.assert_allclose(found.bias, expected["h"], rtol=1e-9, atol=1e-12)
    for s, row in enumerate(expected["phi"]):
        for a, gap in enumerate(row):
            assert found.gaps[s, a] == pytest.approx(gap, rel=1e-9, abs=0)
            assert found.optimal_actions[s, a] == (a in expected["O"][s])


def test_least_divergence_and_its_rate(known):
    expected, found = known
    assert [list(p) for p in np.argwhere(found.critical)] == expected["critical"]
    for s, row in enumerate(expected["K"]):
        for a, text in enumerate(row):
            assert close(found.least_divergence[s, a], float(text), 1e-8)
            rate = expected["lambda_bar"][s][a]
            if rate is not None:
                assert close(found.alternative(s, a).rate[found.model.pair(s, a)], float(rate), 1e-8)


def test_lower_bound_constant(known):
    expected, found = known
    assert found.lower_bound_constant == pytest.approx(float(expected["C_M"]), rel=1e-9, abs=0)
    assert found.lower_bound(epochs=1000) == pytest.approx(float(expected["C_M"]) * math.log(1000), rel=1e-9, abs=0)


def test_gain_gaps_and_a_policy_that_attains_the_gap(known):
    expected, found = known
    assert close(found.gain_gap, expected["g"])
    assert close(found.gain_gap_per_decision, expected["g_step"])
    loss = found.gain - evaluate(found.model, found.second_best_policy).gain
    assert loss == pytest.approx(expected["g"], rel=1e-6)
    if expected["n_optimal_policies"] == 1:
        assert found.second_best_policy.tolist() == expected["second_best_policy"]


def test_diameter_and_the_pair_that_attains_it(known):
    expected, found = known
    assert close(found.diameter, expected["D"])
    assert list(found.diameter_pair) == expected["D_pair"]
    assert found.diameter_bounds[0] <= expected["D"] <= found.diameter_bounds[1]
    assert found.diameter_bounds[1] - found.diameter_bounds[0] <= 1e-12 * expected["D"]


def test_upper_bound_constants(known):
    expected, found = known
    assert close(found.upper_bound_constant, expected["upper_C"])
    assert close(found.upper_bound_constant_consistent, expected["upper_C_consistent"])


def test_settling_epochs_and_the_bounds_built_on_them(known):
    expected, found = known
    if "n_pi_literal" not in expected:  # only the largest file gives none
        assert len(found.n_pi) == expected["n_policies"] == 343
        return
    for kind in ("literal", "needed"):
        n = (
            found.n_pi
            if kind == "literal"
            else settling_epochs_needed(found.model, found.gain_gap_per_decision, found.gain)
        )
        assert {"".join(map(str, policy)): value for policy, value in n.items()} == expected[f"n_pi_{kind}"]
        first, offset = offset_from(n, found.model, found.rate_bounds, found.max_choices)
        assert close(first, expected[f"C1_{kind}"])
        assert close(offset, expected[f"Cprime_{kind}"])
        assert close(found.upper_bound(1e6, offset=offset), expected[f"theorem_bound_N1e6_{kind}"])
        assert close(found.upper_bound_doubling(epochs=1e6, offset=offset), expected[f"corollary_bound_N1e6_{kind}"])
        assert close(found.upper_bound_doubling(time=1e6, offset=offset), expected[f"corollary_bound_T1e6_{kind}"])
    assert close(found.upper_bound_offset, expected["Cprime_literal"])
    assert close(found.upper_bound_offset_consistent, expected["Cprime_needed"])
    assert close(found.upper_bound(1e6), expected["theorem_bound_N1e6_literal"])


def test_settling_epochs_are_the_last_failure_plus_one(golden_model):
    """n_π by its definition, state by state and step by step, on the three-state model."""
    model = golden_model("three_state")
    found = difficulty(model)
    for policy, n_pi in settling_epochs(model, found.gain_gap).items():
        pairs = model.policy_pairs(policy)
        matrix, reward, holding = model.matrix[pairs].toarray(), model.expected_reward[pairs], 1 / model.rate[pairs]
        gain, earned, time = evaluate(model, policy).gain, np.zeros(3), np.zeros(3)
        last = 0
        for n in range(1, 200):
            earned, time = reward + matrix @ earned, holding + matrix @ time
            if (np.abs(earned / time - gain) > found.gain_gap / 2).any():
                last = n
        assert n_pi == last + 1


def test_a_model_that_is_not_irreducible_keeps_what_remains_valid(golden, golden_model):
    expected = golden("riverswim_unichain")
    found = difficulty(golden_model("riverswim_unichain"))
    assert close(found.gain, expected["rho"])
    assert close(found.diameter, expected["D"])
    assert list(found.diameter_pair) == expected["D_pair"]
    assert close(found.gain_gap, expected["g"])
    assert found.second_best_policy.tolist() == expected["second_best_policy"]
    for refused in (
        lambda: found.lower_bound_constant,
        lambda: found.least_divergence,
        lambda: found.critical,
        lambda: found.lower_bound(epochs=10),
        lambda: found.visits_needed(10),
        lambda: found.alternative(0, 0),
    ):
        with pytest.raises(AssumptionError, match=r"irreducible.*never visits state"):
            refused()
    assert found.n_pi is None and found.upper_bound_offset is None
    witness = found.irreducible
    stay = set(witness.states)
    pairs = found.model.policy_pairs(witness.policy)
    for s in stay:  # the witness is one: under its policy the set is closed and misses the state
        row = slice(found.model.row_start[pairs[s]], found.model.row_start[pairs[s] + 1])
        assert set(found.model.next_state[row].tolist()) <= stay
    assert witness.unreached not in stay
    assert any("remain valid" in sentence for sentence in found.warnings)

"""Uniformization: one rate for all pairs, the rest of the time staying."""

import re

import numpy as np
import pytest

from sojourn.errors import ModelError
from sojourn.model.ctmdp import CTMDP


@pytest.mark.parametrize("rate", [None, 7.0, 7.5, 100])
def test_jumps_happen_at_the_rates_of_the_model_and_rewards_per_step_are_rewards_per_time_over_the_rate(golden_model, rate):
    model = golden_model("machine_maintenance") if rate is None else golden_model("three_state")
    uniform = model.bounds[1] if rate is None else rate
    mdp = model.uniformized(rate)
    before, after = model.dense(), mdp.dense()
    off = ~np.eye(model.n_states, dtype=bool)[:, None, :] & np.ones_like(before["transition"], dtype=bool)
    intensity = before["transition"] * before["rate"][:, :, None]
    np.testing.assert_allclose(after["transition"][off] * uniform, intensity[off], rtol=1e-14)
    np.testing.assert_allclose(after["transition"].sum(axis=2), 1, atol=1e-15)
    np.testing.assert_allclose(after["reward"] * uniform, before["reward"] * before["rate"] + before["running"], atol=1e-14)
    assert mdp.holding == "unit" and set(mdp.rate) == {1.0} and not mdp.running.any()


def test_a_self_jump_adds_to_the_time_of_staying():
    model = CTMDP.from_arrays([[[0.5, 0.5]], [[1, 0]]], [[2], [4]])
    assert model.uniformized(8).dense()["transition"][:, 0].tolist() == [[0.875, 0.125], [0.5, 0.5]]


def test_transition_rewards_are_folded():
    model = CTMDP.from_arrays([[[0.5, 0.5]], [[1, 0]]], [[2], [4]], transition_reward=[[[3, 1]], [[0, 0]]])
    assert model.uniformized().reward.tolist() == [2 * 2 / 4, 0]


@pytest.mark.parametrize("rate", [6.999, 0, -1, np.nan, np.inf, True, "9", [9, 9]])
def test_a_rate_below_the_largest_or_no_number_is_refused_with_its_value(golden_model, rate):
    with pytest.raises(ModelError, match=re.escape(str(rate))):
        golden_model("three_state").uniformized(rate)

"""Policies of plans: action indices of any integer type or tables of probabilities; what does not fit is refused in words."""

from types import SimpleNamespace

import numpy as np
import pytest

from sojourn.errors import ParameterError
from sojourn.learn.learner import Plan
from sojourn.learn.policies import policy_pairs
from sojourn.model.knowledge import Knowledge
from sojourn.simulation.episode import Episode

KNOWN = Knowledge.from_choices({"idle": {"wait": 0.0}, "busy": {"wait": 0.0, "slow": 1.0, "fast": 2.0}, "down": {"slow": -1.0}},
                               rate_bounds=(0.1, 10))
WAIT, SLOW, FAST = (KNOWN.actions.position(name) for name in ("wait", "slow", "fast"))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_integers_of_every_type_are_action_indices(kind):
    pair, cumulative = policy_pairs(np.array([WAIT, FAST, SLOW], dtype=kind), KNOWN)
    assert pair.dtype == np.int64 and cumulative is None
    assert pair.tolist() == [KNOWN.pair("idle", "wait"), KNOWN.pair("busy", "fast"), KNOWN.pair("down", "slow")]


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("wrong", [KNOWN.n_actions, -1, FAST])
@pytest.mark.parametrize(("state", "there"), [("idle", [WAIT]), ("busy", [WAIT, SLOW, FAST]), ("down", [SLOW])])
def test_an_action_that_is_not_there_is_refused_with_the_actions_that_are(kind, state, wrong, there):
    """Index 3 of 3 is no action, nor is it the first one of the next state."""
    policy, s = np.array([WAIT, WAIT, SLOW]), KNOWN.states.position(state)
    policy[s] = KNOWN.n_actions + 1 if wrong in there else wrong
    policy = policy.astype(kind)
    with pytest.raises(ParameterError) as refused:
        policy_pairs(policy, KNOWN)
    choices = ", ".join(f"{a} ({KNOWN.actions[a]})" for a in there)
    assert str(refused.value).endswith(f"chooses action {policy[s]} in state '{state}', which is not admissible there; choose of: "
                                       f"{choices}.")


@pytest.mark.parametrize("policy", [np.array([WAIT]), np.zeros(4, dtype=np.int64), np.array([0.0, 0.0, 1.0]),
                                    np.array([False, False, True])])
def test_a_policy_of_another_length_or_type_is_refused(policy):
    with pytest.raises(ParameterError, match=rf"shape \({len(policy)},\) and type {policy.dtype}; it must hold 3 action indices"):
        policy_pairs(policy, KNOWN)


@pytest.mark.parametrize(("count", "end"), [(20, "18 (18), 19 (19)."), (21, "18 (18), 19 (19), ... (21 in all).")])
def test_of_very_many_actions_the_first_twenty_are_named_and_it_is_said_how_many_there_are(count, end):
    known = Knowledge.from_choices({"s": {a: 0.0 for a in range(count)}, "t": {count: 0.0}}, rate_bounds=(1, 2))
    with pytest.raises(ParameterError) as refused:
        policy_pairs(np.array([count, count]), known)
    assert str(refused.value).endswith(f"17 (17), {end}")


@pytest.mark.parametrize(("policy", "words"), [
    ([[0, 1], [1]], "must hold an action index for each state, or be a table of probabilities"),
    (np.full((3, 2), 0.5), r"has shape \(3, 2\); it must be \(3,\) or \(3, 3\)"),
    (np.full((3, 3), 1 / 3), r"policy\[idle, slow\] is 0.333333; a probability"),
    (np.array([[1, 0, 0], [0.5, 0.4, 0], [0, 1, 0]]), r"policy\[busy\] sums to 0.9")])
def test_a_table_that_is_no_law_over_the_actions_that_are_there_is_refused(policy, words):
    with pytest.raises(ParameterError, match=words):
        policy_pairs(policy, KNOWN)


def test_a_draw_beyond_a_sum_below_one_takes_the_last_action_that_is_possible():
    """Probabilities may be off by 1e-9, and ten times 0.1 is less than 1: the rest is never another action's."""
    table = np.zeros((3, 3))
    table[0, WAIT], table[2, SLOW] = 1 - 5e-10, 1 - 5e-10
    table[1, WAIT], table[1, SLOW] = 0.5, 0.5 - 5e-10
    episode = Episode(Plan(table), KNOWN, 1, 1)
    assert episode.under_way.pair.tolist() == KNOWN.pair_start[:-1].tolist()
    for state, drawn, name in (("idle", 0.0, "wait"), ("idle", 1 - 2.0**-53, "wait"), ("busy", 0.0, "wait"), ("busy", 0.5, "slow"),
                               ("busy", 1 - 2.0**-53, "slow"), ("down", 0.0, "slow"), ("down", 1 - 2.0**-53, "slow")):
        s = KNOWN.states.position(state)
        assert episode.pair_in(s, SimpleNamespace(random=lambda drawn=drawn: drawn)) == KNOWN.pair(state, name)

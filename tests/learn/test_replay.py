"""Exact replays: fed the same observations, the learner makes the same decisions for the same reasons."""

from fractions import Fraction

import numpy as np
import pytest

from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.doubling import DoublingCTUCRL
from sojourn.simulation.episode import next_episode
from sojourn.simulation.session import Session

REPLAYS = ["replay_ct_ucrl_two_state", "replay_ct_ucrl_three_state", "replay_doubling_three_state"]


def walk(learner, knowledge, replay):
    """Yield per epoch (decision, or None; new episode, or None) while feeding the golden draws."""
    p = [[[Fraction(x) for x in row] for row in rows] for rows in replay["model"]["p"]]
    rates = [[float(Fraction(x)) for x in row] for row in replay["model"]["rates"]]
    state, episode = replay["initial_state"], None
    for exponential, uniform in replay["draws"]:
        started = None
        if episode is None or episode.epochs_left <= 0 or episode.left[episode.under_way.pair[state]] <= 0:
            episode = started = next_episode(learner, knowledge, episode, learner.counts.epoch)
        pair = episode.under_way.pair[state]
        action = int(knowledge.pair_action[pair])
        tau = exponential / rates[state][action]
        total, after = Fraction(0), None
        for j, q in enumerate(p[state][action]):
            total += q
            if after is None and uniform < total:
                after = j
        yield state, action, tau, started
        learner.counts.add(pair, tau, after)
        episode.spend(pair)
        state = after


def make(name, replay, knowledge):
    return DoublingCTUCRL(knowledge) if "doubling" in name else CTUCRL(knowledge, delta=replay["delta"])


@pytest.mark.parametrize("name", REPLAYS)
def test_a_replay_makes_every_golden_decision_for_the_golden_reasons(golden, golden_model, name):
    replay, model = golden(name), golden_model(name)
    knowledge = model.knowledge()
    learner = make(name, replay, knowledge)
    episodes = iter(replay["episodes"])
    for (state, action, tau, started), expected in zip(walk(learner, knowledge, replay), replay["trajectory"], strict=True):
        assert [state, action] == expected[:2]
        assert tau == pytest.approx(expected[2], abs=1e-12)
        if started is None:
            continue
        episode, taken = next(episodes), learner.snapshot()
        assert learner.counts.epoch == episode["t_k"]
        assert started.plan.policy.tolist() == episode["policy"]
        assert taken["visits"].tolist() == episode["N_k"]
        np.testing.assert_allclose(taken["truncated_mean"], episode["mean_hat"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(taken["transition_radius"], episode["radius_p"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(taken["holding_radius"], episode["radius_mean"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(taken["rate_interval"], np.array(episode["rate_interval"])[..., :2], rtol=0, atol=1e-12)
        info = started.plan.info
        assert info["sweeps"] == episode["evi_iters"]
        assert info["empty_intervals"] == episode["empty_intersections"]
        assert [info["optimistic_gain_low"], info["optimistic_gain"]] == pytest.approx(
            [episode["rho_lo"], episode["rho_hi"]], abs=1e-10)
    assert next(episodes, None) is None


@pytest.mark.parametrize("name", REPLAYS)
def test_a_session_replays_the_golden_run(golden, golden_model, name):
    replay, model = golden(name), golden_model(name)
    session = Session(make(name, replay, model.knowledge()), replay["initial_state"])
    episodes = replay["episodes"]
    starts = [episode.get("phase_start", 0) + episode["t_k"] for episode in episodes]
    for epoch, (state, action, _, after) in enumerate(replay["trajectory"], start=1):
        assert (session.state_index, session.action_index) == (state, action)
        now = session.episode
        assert now.start_epoch == max(start for start in starts if start <= epoch)
        assert now.index == starts.index(now.start_epoch) + 1
        expected = episodes[now.index - 1]
        assert now.policy.tolist() == expected["policy"]
        np.testing.assert_allclose(now.rate_interval, np.array(expected["rate_interval"])[..., :2], rtol=0, atol=1e-12)
        session.report(replay["draws"][epoch - 1][0] / float(Fraction(replay["model"]["rates"][state][action])), after)

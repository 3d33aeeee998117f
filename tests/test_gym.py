"""Gymnasium both ways: environments of every family, and learners in other people's environments."""

import inspect

import numpy as np
import pytest

import sojourn
from sojourn.errors import ModelError, ParameterError
from sojourn.learn.catalogue import LEARNERS, learner_class
from sojourn.zoo.catalogue import families, family, make

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from sojourn.gym import CTMDPEnv, drive, knowledge_of  # noqa: E402

every_family = pytest.mark.parametrize("name", families())


@every_family
def test_every_family_passes_gymnasiums_checker(name):
    env = gymnasium.make(family(name).gym_id)
    assert env.unwrapped.model.equals(make(name))
    check_env(env.unwrapped)  # warnings are errors in this suite
    env.close()


def test_the_ids_take_parameters():
    env = gymnasium.make("sojourn.gym:sojourn/CustomerSelection-v0", servers=5)
    assert env.observation_space.n == 6 and env.unwrapped.model.name == "customer-selection:servers=5"
    with pytest.raises(ParameterError, match="servers is 0"):
        gymnasium.make("sojourn.gym:sojourn/CustomerSelection-v0", servers=0)


def test_any_model_and_any_file_is_an_environment(tmp_path):
    model = make("three-state")
    model.save(tmp_path / "m.json")
    for given in (model, tmp_path / "m.json"):
        env = gymnasium.make("sojourn.gym:sojourn/CTMDP-v0", model=given, start="B")
        assert env.reset(seed=3)[0] == 1
        check_env(env.unwrapped)


def test_a_step_tells_time_rewards_and_what_may_be_done_next():
    env = CTMDPEnv(make("server-switching"))
    state, info = env.reset(seed=2)
    clock = 0.0
    for _ in range(200):
        action = env.action_space.sample(info["action_mask"])
        k = env.model.pair(state, int(action))
        state, reward, terminated, truncated, info = env.step(action)
        clock += info["holding_time"]
        assert not terminated and not truncated and not info["replaced"]
        assert info["time"] == pytest.approx(clock) and info["holding_time"] > 0
        assert info["reward_running"] == pytest.approx(env.model.running[k] * info["holding_time"])
        assert reward == pytest.approx(info["reward_lump"] + info["reward_running"])
        assert info["action_mask"].tolist() == env.model.admissible[state].astype(int).tolist()


def test_an_inadmissible_action_is_replaced_and_flagged_or_raised_when_strict():
    env = gymnasium.make("sojourn.gym:sojourn/CustomerSelection-v0")
    env.reset(seed=0)
    *_, info = env.step(5)  # nobody can be admitted in state 0
    assert info["replaced"] and info["action"] == 0
    env = gymnasium.make("sojourn.gym:sojourn/CustomerSelection-v0", strict=True)
    env.reset(seed=0)
    with pytest.raises(ModelError, match="not admissible in state '0 free'"):
        env.step(5)
    with pytest.raises(ParameterError, match=r"action 99 is not in Discrete\(8\)"):
        CTMDPEnv(make("customer-selection")).step(99)


def test_environments_vectorise():
    envs = gymnasium.make_vec("sojourn.gym:sojourn/Routing-v0", num_envs=4, vectorization_mode="sync", capacity=3)
    _, info = envs.reset(seed=5)
    for _ in range(20):
        actions = np.array([np.flatnonzero(mask)[0] for mask in info["action_mask"]])
        states, _, _, _, info = envs.step(actions)
    assert states.shape == (4,) and info["holding_time"].shape == (4,) and info["action_mask"].shape == (4, 3)
    assert len(set(info["time"].tolist())) == 4
    envs.close()


def test_the_environment_earns_the_gain_of_the_policy_it_is_given():
    # the standard error of 20,000 decisions is 0.0137 (40 runs); 0.06 is 4.4 of them: false alarm 1e-5, seed fixed
    model = make("three-state")
    solution = sojourn.solve(model)
    env = CTMDPEnv(model)
    state, _ = env.reset(seed=11)
    total = time = 0.0
    for _ in range(20_000):
        state, reward, _, _, info = env.step(int(solution.policy[state]))
        total, time = total + reward, time + info["holding_time"]
    assert total / time == pytest.approx(solution.gain, abs=0.06)


def test_unit_holding_times_last_one_unit():
    model = sojourn.CTMDP.from_mdp([[[0, 1]], [[1, 0]]], [[1.0], [0.0]])
    env = CTMDPEnv(model, render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "t=0: 0"
    *_, info = env.step(0)
    assert info["holding_time"] == 1.0 and env.render() == "t=1: 0 --0--> 1 after 1"


class Lever(gymnasium.Env):
    """Two states, two actions; action 1 pays in state 1, action 0 leads there; ends now and then."""

    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 0
        return 0, {}

    def step(self, action):
        reward = float(self.state == 1 and action == 1)
        self.state = int(action == 0 or (self.state == 1 and self.np_random.random() < 0.9))
        return self.state, reward, bool(self.np_random.random() < 0.01), False, {}


def test_a_learner_drives_somebody_elses_environment_in_discrete_time():
    env = Lever()
    knowledge = knowledge_of(env, reward=[[0, 0], [0, 1]])
    driven = drive(env, "ct-ucrl", max_epochs=3000, knowledge=knowledge, seed=4, delta=0.1, radius_scale=0.1)
    assert (driven.holding_time == 1).all() and driven.time == 3000 and driven.episodes > 10
    assert driven.reward[-1000:].mean() > 0.7  # always pulling the better lever earns about 0.89
    assert driven.session.learner.counts.visits.sum() == 3000


def test_a_learner_drives_one_of_our_environments_with_its_holding_times():
    env = gymnasium.make("sojourn.gym:sojourn/ThreeState-v0")
    driven = drive(env, "ct-ucrl", max_epochs=1500, seed=1, delta=0.1)
    assert driven.time == pytest.approx(env.unwrapped.time)
    assert driven.gain > 1.5  # the optimal gain is 1.945, the random policy's 1.34
    model = env.unwrapped.model
    assert (model.table(driven.session.learner.counts.visits, fill=0).sum(axis=1) == np.bincount(driven.state, minlength=3)).all()


def test_an_environment_that_is_cut_short_does_not_teach_jumps_that_never_happened():
    env = gymnasium.make("sojourn.gym:sojourn/ThreeState-v0", max_episode_steps=5)  # no state of which jumps to itself
    driven = drive(env, "ct-ucrl", max_epochs=200, seed=1, delta=0.1)
    assert driven.episodes == 40 and (driven.state[5::5] == 0).all()
    assert (driven.state != driven.next_state).all()


@pytest.mark.parametrize("name", list(LEARNERS))
def test_every_learner_drives_an_environment(name):
    env = gymnasium.make("sojourn.gym:sojourn/ThreeState-v0")
    allowed = inspect.signature(learner_class(name)).parameters
    given = {key: value for key, value in (("delta", 0.1), ("model", env.unwrapped.model)) if key in allowed}
    driven = drive(env, name, max_epochs=60, seed=1, **given)
    assert len(driven.state) == 60 and driven.time == pytest.approx(env.unwrapped.time)


def test_toy_texts_tell_their_mean_rewards():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=True)
    knowledge = knowledge_of(lake)
    assert knowledge.n_states == 16 and knowledge.n_actions == 4
    assert knowledge.reward.reshape(16, 4)[14].tolist() == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3])


def test_what_cannot_be_driven_is_refused():
    env = gymnasium.make("CartPole-v1")
    with pytest.raises(ParameterError, match="observation_space is Box"):
        drive(env, "ct-ucrl", max_epochs=10, delta=0.1)
    with pytest.raises(ParameterError, match="max_epochs is 0"):
        drive(Lever(), "ct-ucrl", max_epochs=0, delta=0.1)

"""CT-UCRL as a learner: its parameters, its episodes, its memory."""

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.errors import ParameterError, ReportError, RewardScaleWarning
from sojourn.learn.catalogue import learner as by_name
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.learner import History
from sojourn.model.ctmdp import CTMDP
from sojourn.model.knowledge import Knowledge
from sojourn.zoo.catalogue import make


def random_model(seed, n_states=4, n_actions=3, running=False):
    """A model with state-dependent action sets."""
    rng = np.random.default_rng(seed)
    shape = (n_states, n_actions)
    admissible = rng.random(shape) < 0.7
    admissible[np.arange(n_states), rng.integers(0, n_actions, n_states)] = True
    return CTMDP.from_arrays(rng.dirichlet(np.ones(n_states), size=shape), rng.uniform(1, 3, shape), rng.uniform(0, 1, shape),
                             rng.uniform(0, 1, shape) if running else None, admissible, rate_bounds=(1.0, 3.0))


KINDS = {
    "printed": ("ct-ucrl", {"delta": 0.05, "radius_scale": 0.05}),
    "gain": ("ct-ucrl", {"horizon": 500, "radius_scale": 0.05, "stop": "gain"}),
    "fast": ("ct-ucrl", {"delta": 0.05, "radius_scale": 0.05, "planning": "fast"}),
    "unknown rewards": ("ct-ucrl", {"delta": 0.05, "radius_scale": 0.05, "unknown_rewards": True}),
    "rescaled": ("ct-ucrl", {"delta": 0.05, "radius_scale": 0.05, "reward_range": (0, 2)}),
    "doubling": ("ct-ucrl-doubling", {"radius_scale": 0.05}),
    "doubling fast": ("ct-ucrl-doubling", {"radius_scale": 0.05, "planning": "fast"}),
    "unknown rates": ("ct-ucrl-unknown-rates", {"delta": 0.05, "radius_scale": 0.05, "exploration": 60}),
}


def new(kind, model, supports=False):
    name, parameters = KINDS[kind]
    return by_name(name, model.knowledge(supports=supports), seed=7, **parameters)


@pytest.mark.parametrize("parameters, words", [
    ({"delta": 0.1, "horizon": 10}, "give one of them"), ({"reward_range": "wide"}, "reward_range is 'wide'"),
    ({"delta": 0}, "delta is 0; it must be in (0, 1]"), ({"delta": 1.5}, "delta is 1.5"), ({"delta": -0.1}, "delta is -0.1"),
    ({"delta": float("nan")}, "delta is nan"), ({"delta": "a"}, "delta is 'a'"), ({"delta": True}, "delta is True"),
    ({"horizon": 0.5}, "horizon is 0.5; it must be a finite number, at least 1 (epochs)"),
    ({"horizon": float("inf")}, "horizon is inf"),
    ({"delta": 0.1, "radius_scale": 0}, "radius_scale is 0; it must be a finite number above 0"),
    ({"delta": 0.1, "radius_scale": -1}, "radius_scale is -1"), ({"delta": 0.1, "radius_scale": float("inf")}, "is inf"),
    ({"delta": 0.1, "stop": "soon"}, "stop is 'soon'; it must be one of 'printed', 'gain'"),
    ({"delta": 0.1, "planning": "slow"}, "planning is 'slow'"),
    ({"delta": 0.1, "reward_range": (1, 0)}, "reward_range is (1, 0)"), ({"delta": 0.1, "reward_range": (0, 0)}, "reward_range"),
    ({"delta": 0.1, "reward_range": 3}, "reward_range is 3; it must be a pair"),
    ({"delta": 0.1, "reward_range": (0, float("inf"))}, "reward_range is (0, inf)"),
])
def test_a_bad_parameter_is_named_with_its_value_and_its_rule(parameters, words):
    import re

    with pytest.raises(ParameterError, match=re.escape(words)):
        CTUCRL(random_model(0).knowledge(), **parameters)


def test_an_unknown_parameter_names_the_known_ones():
    with pytest.raises(ParameterError, match="did you mean 'radius_scale'"):
        by_name("ct-ucrl", random_model(0).knowledge(), delta=0.1, radius_scal=1)


def test_crossed_rate_bounds_are_refused():
    with pytest.raises(ValueError, match="3"):
        Knowledge.from_arrays(np.zeros((2, 2)), (3.0, 1.0))


def test_a_horizon_of_n_epochs_means_delta_of_one_over_n():
    knowledge = random_model(0).knowledge()
    assert CTUCRL(knowledge, horizon=1000).delta == 1 / 1000
    assert CTUCRL(knowledge, horizon=1e6).delta == 1e-6
    assert CTUCRL(knowledge, delta=1).counts.scale == 0.0


@pytest.mark.parametrize("kind", ["printed", "fast", "doubling"])
@given(seed=st.integers(0, 10**6), epochs=st.integers(30, 400))
@settings(max_examples=10)
def test_episodes_end_on_arriving_at_a_doubled_pair_and_their_number_obeys_its_bound(walker, kind, seed, epochs):
    model = random_model(seed)
    learner = new(kind, model)
    walk = walker(model, learner, seed).walk(epochs)
    starts = [e.start_epoch for e in walk.episodes] + [epochs + 1]
    assert [e.index for e in walk.episodes] == list(range(1, len(walk.episodes) + 1))
    for episode, start, end in zip(walk.episodes, starts, starts[1:], strict=False):
        taken = walk.decisions[start - 1 : end - 1]
        assert taken and all(episode.plan.policy[s] == a for s, a in taken)
        if end <= epochs and kind != "doubling":
            state = walk.decisions[end - 1][0]
            pair = learner.knowledge.pair_table[state, episode.plan.policy[state]]
            assert taken.count((state, int(episode.plan.policy[state]))) == episode.plan.quota[pair]
    pairs = learner.knowledge.n_pairs
    if kind != "doubling" and epochs >= pairs:
        assert len(walk.episodes) <= pairs * log2(8 * epochs / pairs)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6), stops=st.lists(st.integers(1, 120), min_size=1, max_size=3), supports=st.booleans())
@settings(max_examples=6)
def test_stopping_and_restoring_in_the_middle_of_an_episode_changes_nothing(walker, kind, seed, stops, supports):
    model = random_model(seed)
    straight = walker(model, new(kind, model, supports), seed).walk(sum(stops) + 100)
    broken = walker(model, new(kind, model, supports), seed)
    for stop in stops:
        broken.walk(stop)
        saved, taken = broken.learner.state(), broken.learner.snapshot()
        broken.learner = new(kind, model, supports)
        broken.learner.restore(saved)
        assert same(broken.learner.snapshot(), taken)
    broken.walk(100)
    assert broken.decisions == straight.decisions
    assert same(broken.learner.state(), straight.learner.state())
    assert same(broken.learner.snapshot(), straight.learner.snapshot())


def same(one, two):
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    return np.array_equal(one, two, equal_nan=np.asarray(one).dtype.kind == "f")


@pytest.mark.parametrize("kind", KINDS)
def test_the_state_is_plain_data_and_a_copy(walker, kind):
    model = random_model(3)
    walk = walker(model, new(kind, model), 3).walk(100)
    saved, again = walk.learner.state(), walk.learner.state()
    check_plain(saved)
    walk.walk(50)
    assert same(saved, again)
    for value in walk.learner.snapshot().values():
        value[:] = 0
    walk.walk(1)


def check_plain(value):
    if isinstance(value, dict):
        for key, part in value.items():
            assert isinstance(key, str)
            check_plain(part)
    else:
        assert isinstance(value, (np.ndarray, int, float, str, bool)), type(value)
        assert not isinstance(value, np.ndarray) or value.dtype.kind in "iufb"


def test_a_snapshot_has_a_table_of_each_estimate(walker):
    model = random_model(1)
    learner = walker(model, new("printed", model), 1).walk(50).learner
    taken = learner.snapshot()
    assert {name: table.shape for name, table in taken.items()} == {
        "visits": (4, 3), "truncated_mean": (4, 3), "transition_radius": (4, 3), "holding_radius": (4, 3),
        "rate_interval": (4, 3, 2)}
    missing = learner.knowledge.pair_table < 0
    assert np.isnan(taken["truncated_mean"][missing]).all() and taken["visits"][missing].sum() == 0
    assert taken["visits"].dtype.kind == "i"


@given(seed=st.integers(0, 10**6), factor=st.sampled_from([1e-4, 1e-2, 50.0]))
@settings(max_examples=15)
def test_with_a_reward_range_the_unit_of_reward_does_not_matter(walker, seed, factor):
    model = random_model(seed, running=True)
    scaled = model.replace(reward=model.reward * factor, running=model.running * factor)
    one = walker(model, CTUCRL(model.knowledge(), delta=0.1, radius_scale=0.05, reward_range=(0, 1)), seed).walk(150)
    two = walker(scaled, CTUCRL(scaled.knowledge(), delta=0.1, radius_scale=0.05, reward_range=(0, factor)), seed).walk(150)
    assert one.decisions == two.decisions
    for a, b in zip(one.episodes, two.episodes, strict=True):
        assert b.plan.info["optimistic_gain"] == pytest.approx(a.plan.info["optimistic_gain"] * factor, rel=1e-9)


def test_the_reward_range_scales_and_never_shifts():
    knowledge = random_model(0).knowledge()
    assert [CTUCRL(knowledge, delta=0.1, reward_range=r).reward_scale for r in ((0, 4), (-1, 1), (2, 5), (-5, -2))] == [4, 2, 5, 5]


def test_stopping_on_the_gain_certifies_the_gain(walker):
    model = random_model(5)
    for kind, width in (("gain", 1.0), ("printed", 3.0)):
        for episode in walker(model, new(kind, model), 5).walk(200).episodes:
            info = episode.plan.info
            assert info["optimistic_gain"] - info["optimistic_gain_low"] < width / np.sqrt(episode.start_epoch)


@pytest.mark.parametrize("stop, tolerance", [("printed", 0.5), ("gain", 0.5 / 3)])
def test_the_tolerance_counts_the_coming_decision(walker, stop, tolerance):
    model = random_model(5)
    learner = CTUCRL(model.knowledge(), delta=0.1, stop=stop)
    assert walker(model, learner).walk(3).learner.tolerance() == tolerance


@pytest.mark.parametrize("factor, warns", [
    (0.05, True), (0.09, True), (0.1, False), (0.2, False), (9.0, False), (10.0, False), (10.5, True), (11.0, True),
])
def test_rewards_far_from_one_are_warned_of(factor, warns):
    knowledge = Knowledge.from_arrays(np.array([[1.0, 0.0], [0.5, 0.0]]) * factor, (1.0, 2.0))
    if warns:
        with pytest.warns(RewardScaleWarning, match=f"the largest reward is {factor:g}.*reward_range"):
            CTUCRL(knowledge, delta=0.1)
    else:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            CTUCRL(knowledge, delta=0.1)


def test_tiny_rewards_without_a_range_plan_myopically_and_with_one_do_not(walker):
    model = make("three-state")
    tiny = model.replace(reward=model.reward * 1e-4)
    with pytest.warns(RewardScaleWarning):
        myopic = CTUCRL(tiny.knowledge(), delta=0.1)
    rescaled = CTUCRL(tiny.knowledge(), delta=0.1, reward_range=(0, 1e-4))
    assert myopic.plan().info["sweeps"] == 1
    walker(tiny, rescaled, 0).walk(2000)
    walker(tiny, myopic, 0).walk(2000)
    assert myopic.plan().info["sweeps"] == 1 < rescaled.plan().info["sweeps"]


def history(**columns):
    base = {"state": [0, 1], "action": [0, 1], "holding_time": [0.5, 1.0], "next_state": [1, 0], "reward": [0.1, 0.2]}
    return History(**{name: np.array(value) for name, value in {**base, **columns}.items()})


def test_a_chunk_counts_like_its_rows_one_by_one():
    model = random_model(2, n_states=3)
    rng = np.random.default_rng(0)
    pair = rng.integers(0, len(model.rate), 500)
    rows = History(model.pair_state[pair], model.pair_action[pair], rng.exponential(size=500), rng.integers(0, 3, 500),
                   rng.random(500))
    one, two = (CTUCRL(model.knowledge(), delta=1e-6) for _ in range(2))
    one.observe(rows)
    for n in range(500):
        two.counts.add(int(pair[n]), rows.holding_time[n], int(rows.next_state[n]), rows.reward[n])
    for name, value in one.counts.state().items():
        if not name.startswith("slot"):
            assert np.array_equal(value, two.counts.state()[name]), name
    assert all(np.array_equal(a, b) for a, b in zip(one.counts.rows(), two.counts.rows(), strict=True))
    assert one.counts.epoch == 501


@pytest.mark.parametrize("columns, words", [
    ({"state": [0, 7]}, "row 1 has state 7; it must be an index below 2"),
    ({"next_state": [-1, 0]}, "row 0 has next_state -1"), ({"action": [0, 2]}, "row 1 has action 2"),
    ({"action": [1, 1]}, "row 0 has action 1; it must be admissible"),
    ({"holding_time": [0.0, 1.0]}, "row 0 has holding_time 0.0; it must be finite and above 0"),
    ({"holding_time": [1.0, np.nan]}, "row 1 has holding_time nan"), ({"holding_time": [1.0, -2.0]}, "holding_time -2.0"),
    ({"reward": [np.inf, 0.0]}, "row 0 has reward inf; it must be finite"),
])
def test_a_chunk_that_cannot_be_true_is_refused_and_nothing_is_counted(columns, words):
    knowledge = Knowledge.from_arrays(np.full((2, 2), 0.5), (1, 2), admissible=np.array([[True, False], [True, True]]))
    learner = CTUCRL(knowledge, delta=0.1)
    before = learner.state()
    with pytest.raises(ReportError, match=words):
        learner.observe(history(**columns))
    assert same(before, learner.state())


def test_a_successor_outside_its_known_support_is_reported():
    knowledge = CTMDP.from_arrays([[[0, 1.0]], [[1.0, 0]]], [[2.0], [2.0]], [[1.0], [0.0]]).knowledge(supports=True)
    learner = CTUCRL(knowledge, delta=0.1)
    learner.counts.add(0, 0.5, 0)
    with pytest.raises(ParameterError, match="outside its known support"):
        learner.plan()


def test_delta_is_one_hundredth_unless_told_and_the_settings_say_so():
    knowledge = random_model(0).knowledge()
    assert CTUCRL(knowledge).delta == 0.01
    assert CTUCRL(knowledge).settings == {"delta": 0.01, "radius_scale": 1.0, "stop": "printed", "planning": "printed",
                                          "unknown_rewards": False, "estimator": "truncated"}
    told = by_name("ct-ucrl-unknown-rates", knowledge, horizon=40, margin=3.0).settings
    assert (told["delta"], told["horizon"], told["margin"], told["exploration"]) == (1 / 40, 40, 3.0, 50 * knowledge.n_pairs)


def test_an_automatic_reward_range_is_that_of_what_a_decision_pays():
    model = random_model(3, running=True)
    low, high = model.bounds
    paid = [model.reward + model.running / rate for rate in (low, high)]
    assert CTUCRL(model.knowledge(), reward_range="auto").reward_scale == max(np.max(paid), 0) - min(np.min(paid), 0)
    nothing = model.replace(reward=0 * model.reward, running=0 * model.running)
    assert CTUCRL(nothing.knowledge(), reward_range="auto").reward_scale == 1.0


def test_without_rate_bounds_no_range_is_found_for_rewards_that_run():
    with pytest.raises(ParameterError, match="depends on the rates"):
        by_name("ct-ucrl-unknown-rates", random_model(3, running=True).knowledge(), reward_range="auto")
    assert by_name("ct-ucrl-unknown-rates", random_model(3).knowledge(), reward_range="auto").inner.reward_scale <= 1.0

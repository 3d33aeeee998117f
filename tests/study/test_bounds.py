"""The proved upper bounds of a study: only beside learners that they hold for, whatever the order of the learners."""

from itertools import permutations

import pytest

from sojourn.instance.difficulty import difficulty
from sojourn.study.bounds import bounds_of
from sojourn.zoo.catalogue import make

N = 1000
PRINTED = [("ct-ucrl", {"horizon": N}), ("ct-ucrl", {"delta": 1 / N})]
OTHERS = [("ct-ucrl", {"horizon": N, "radius_scale": 0.1}), ("ct-ucrl", {"delta": 0.01, "reward_range": [0, 2]}),
          ("ct-ucrl", {"horizon": N, "estimator": "mean"}), ("ct-ucrl", {"horizon": N, "unknown_rewards": True}),
          ("ct-kl-ucrl", {"delta": 0.01, "growth": 0.1}), ("ct-kl-ucrl", {}), ("smdp-ucrl", {"horizon": N, "radius_scale": 1}),
          ("ct-ucrl-doubling", {"radius_scale": 0.05}), ("own:Learner", {"radius_scale": [1, 2]})]


@pytest.fixture(scope="module")
def model():
    return make("three-state")


@pytest.mark.parametrize("printed", PRINTED)
def test_a_printed_learner_has_its_bound_beside_any_other_in_any_order(model, printed):
    for other in OTHERS:
        for learners in permutations([printed, other]):
            assert [words for words in bounds_of(model, learners, N).upper if words.startswith("CT-UCRL bound as printed")]


@pytest.mark.parametrize("law", ["pareto:shape=2.2", {("A", "quick"): "deterministic"}])
def test_holding_times_of_another_law_have_gaps_but_no_bounds(model, law):
    own, other = (bounds_of(model, PRINTED, N, holding_times=times) for times in ("exponential", law))
    assert own.upper and own.constant > 0 and not own.reason
    assert other.upper == other.floors == {} and "the bounds are for exponential ones" in other.reason
    assert (other.gaps == own.gaps).all() and other.gain == own.gain


def test_no_other_learner_has_one(model):
    assert bounds_of(model, OTHERS, N).upper == bounds_of(model, PRINTED, None).upper == {}
    found = bounds_of(model, [*OTHERS, ("ct-ucrl-doubling", {})], N).upper
    assert all(words.startswith("doubling bound") for words in found) and len(found) == 1


def test_what_is_proved_of_optimism_stands_beside_the_learners_that_it_binds_with_their_own_parameters(model):
    learners = [("ct-kl-ucrl", {"growth": 0.1}), ("ct-kl-ucrl", {"growth": 0.5}), ("ct-joint-ucrl", {"horizon": N}),
                ("ct-ucrl", {"delta": 0.01}), ("ct-ucrl", {"horizon": 2 * N})]
    upper = bounds_of(model, learners, N).upper
    found = difficulty(model)
    expected = {
        "ct-kl-ucrl (Theorem 1)": found.optimism_bound("kl", N),
        "ct-kl-ucrl with growth = 0.5 (Theorem 1)": found.optimism_bound("kl", N, growth=0.5),
        "ct-joint-ucrl (Theorem 1)": found.optimism_bound("joint", N, growth=1.0, delta=1 / N),
        "ct-ucrl at delta = 0.01 (Theorem 2)": found.optimism_bound("printed", N, delta=0.01),
        "ct-ucrl at delta = 0.0005 (Theorem 2)": found.optimism_bound("printed", N, delta=0.0005),
    }
    assert {words: bound(float(N)) for words, bound in upper.items()} == {words: bound.total for words, bound in expected.items()}
    assert all(bound(1.0) == bound(float(model.n_pairs)) for bound in upper.values())

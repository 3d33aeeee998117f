"""Which choices count as tied with the best: the tolerance, the size it is relative to, rounding, and no tolerance at all."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from exact import ExactModel, policy_values
from exact_optimum import optimal_pairs
from shapes import case
from sojourn.instance import gaps as module
from sojourn.instance.difficulty import difficulty
from sojourn.instance.gaps import TIE, gaps, optimum
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make


def values_of(model):
    """The optimal gain, the bias and the gaps, exactly."""
    exact = ExactModel(model)
    scaled, bias = policy_values(exact.choice(optimal_pairs(exact)))
    h = [x * Fraction(1 << exact.jump_bits, 1 << exact.reward_bits) for x in bias]
    gain, found = scaled[0] * exact.unit, []
    for k, s in enumerate(exact.pair_state):
        row = range(int(model.row_start[k]), int(model.row_start[k + 1]))
        moves = sum(Fraction(float(model.probability[i])) * (h[int(model.next_state[i])] - h[s]) for i in row)
        paid = Fraction(float(model.expected_reward[k]))
        found.append(-(paid + (Fraction(float(model.running[k])) - gain) / exact.pair_rate[k] + moves))
    return gain, h, found


def signed_model():
    """Costs and rewards, a negative gain, running rewards of either sign: dyadic numbers."""
    rows = [[0.5, 0.5, 0], [0, 0.25, 0.75], [0.125, 0.5, 0.375], [0.5, 0.25, 0.25], [1, 0, 0], [0, 0.75, 0.25]]
    return CTMDP.from_pairs([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], rows, [2.0, 0.5, 4, 1, 8, 0.25], [-5.0, -2, 1.5, -0.75, -8, 3],
                            [-7.0, -3, -10.5, -4, -2, -4.5])


def test_the_size_of_a_gap_is_the_sum_of_the_moduli_of_its_terms():
    """|r| + |c - ρ|/λ + Σ p |h(j) - h(s)|, where the terms have both signs and the gain is negative."""
    model = signed_model()
    gain, h, _ = values_of(model)
    assert gain < 0
    for k, s in enumerate(model.pair_state):
        row = range(model.row_start[k], model.row_start[k + 1])
        lump, flow, rate = (Fraction(float(x[k])) for x in (model.reward, model.running, model.rate))
        moves = sum(Fraction(float(model.probability[i])) * abs(h[model.next_state[i]] - h[s]) for i in row)
        size = abs(lump) + abs(flow - gain) / rate + moves
        assert optimum(model).size[k] == pytest.approx(float(size), rel=1e-12)


@pytest.mark.parametrize("money", [1.0, 1e-9, 1e9])
@pytest.mark.parametrize("time", [1.0, 1e-9, 1e9])
def test_a_gap_is_a_tie_up_to_the_tolerance_times_its_size_and_not_beyond(money, time):
    model = signed_model()
    model = model.replace(reward=model.reward * money, running=model.running * money / time, rate=model.rate / time)
    best = optimum(model)
    assert not best.optimal.all()
    for k in np.flatnonzero(~best.optimal):
        edge = best.gap[k] / best.size[k]
        assert optimum(model, tie_tolerance=edge * (1 + 1e-9)).optimal[k]
        assert not optimum(model, tie_tolerance=edge * (1 - 1e-9)).optimal[k]
        assert optimum(model, tie_tolerance=edge * (1 + 1e-9)).gap[k] == 0


def test_the_default_tolerance_is_1e_11_of_the_terms():
    """The gap is 2^-37 (7.3e-12), or 2^-35 (2.9e-11), and its size nearly 2: 3.6e-12 and 1.5e-11 of it."""
    for gap, tied in ((2.0**-37, True), (2.0**-35, False)):
        best = optimum(CTMDP.from_arrays(np.ones((1, 2, 1)), np.ones((1, 2)), [[1.0, 1.0 - gap]]))
        assert best.optimal[1] == tied == (gap <= TIE * best.size[1])


def twins():
    """The two actions of state 0 lead to states 1 and 2, which are the same in all but name: an exact tie."""
    third = 1 / 3
    rows = [[0, 1, 0, 0], [0, 0, 1, 0], [third, 0, 0, 1 - third], [third, 0, 0, 1 - third], [0.3, 0.35, 0.35, 0], [0.3, 0, 0, 0.7]]
    reward = [0.1, 0.1, 1.7, 1.7, 0.2, 0.1]
    return CTMDP.from_pairs([0, 0, 1, 2, 3, 3], [0, 1, 0, 0, 0, 1], rows, [3.0, 3, 0.7, 0.7, 1.1, 1.3], reward)


def test_what_is_rounding_only_is_a_tie_whatever_the_tolerance(monkeypatch):
    """A bias that stands at 10^9 has six digits left behind the point: the tie is off by more than the tolerance of ties."""
    for name in ("PROVED_AT_ONCE", "REFINED_STATES"):
        monkeypatch.setattr(module, name, 0)
    model = twins()
    solution = solve(model)
    high = replace(solution, bias=solution.bias + 1e9 * np.pi)
    off = [float(x) for x in -module.advantages(model, high.gain, high.bias)]
    assert max(map(abs, off[:4])) > 100 * TIE * 2
    for tolerance in (TIE, 0.0):
        assert optimum(model, high, tolerance).optimal.tolist() == [True, True, True, True, True, False]


@pytest.mark.parametrize(("short", "level", "rounding"), [(2.0**-33, 1e6, 700), (2.0**-35, 1e3, 0.7)])
def test_what_may_be_rounding_is_looked_at_with_more_digits_before_it_counts_as_a_tie(monkeypatch, short, level, rounding):
    """Gaps of 1.2e-10 and 2.9e-11, above the tolerance of 2e-11. Beside a large bias they could be rounding; they are not."""
    monkeypatch.setattr(module, "PROVED_AT_ONCE", 0)
    model = CTMDP.from_arrays(np.ones((1, 2, 1)), np.ones((1, 2)), [[1.0, 1.0 - short]])
    high = replace(solve(model), bias=np.array([level]))
    noise = module.noise(model, high.gain, high.bias)[1]
    assert noise / (TIE * 2) == pytest.approx(rounding, rel=0.05) and TIE * 2 < short < TIE * 2 + noise
    best = optimum(model, high)
    assert best.optimal.tolist() == [True, False] and best.gap.tolist() == [0.0, pytest.approx(short, rel=1e-12)]


def test_where_nothing_is_paid_every_choice_is_optimal():
    model = signed_model()
    nothing = np.zeros(model.n_pairs)
    best = optimum(model.replace(reward=nothing, running=nothing))
    assert best.optimal.all() and (best.gap == 0).all()


def test_above_two_hundred_states_more_digits_are_worked_out_when_they_are_needed():
    small, large = (optimum(make("random", states=states, seed=1)) for states in (200, 201))
    assert "proof" in vars(small) and "proof" not in vars(large)
    assert (np.abs(large.proof.gap - large.gap)[~large.optimal] <= 1e-9 * large.size[~large.optimal]).all()
    assert "proof" in vars(large)


def test_without_a_tolerance_exact_ties_are_ties():
    best = optimum(twins(), tie_tolerance=0.0)
    assert best.optimal.tolist() == [True, True, True, True, True, False] and (best.gap[:5] == 0).all()


def test_without_a_tolerance_gaps_are_the_differences_that_are_proved_also_those_of_the_policy_given():
    """Actions 0 and 1 of state 0 are the same and fall short of action 2 by 1e-11: one gap for both, whichever is played."""
    model = CTMDP.from_arrays(np.full((2, 3, 2), 0.5), np.ones((2, 3)), [[1.0, 1.0, 1 + 1e-11], [0.0, 0.0, -1.0]])
    short = (1 + 1e-11) - 1
    assert solve(model).policy.tolist() == [2, 0]
    for first in range(3):
        given = replace(solve(model), policy=np.array([first, 1]))
        table = gaps(model, given, tie_tolerance=0.0)
        assert table[0].tolist() == pytest.approx([short, short, 0.0], rel=1e-14) and table[1].tolist() == [0.0, 0.0, 1.0]
        assert table[0, 0] == table[0, 1]
        found = difficulty(model, (0.5, 2), solution=given, tie_tolerance=0.0)
        assert found.policy[0] == 2 and found.optimal_actions.tolist() == [[False, False, True], [True, True, False]]
        assert found.gain_gap.exact and found.gain_gap == pytest.approx(short / 2, rel=1e-12)
    assert gaps(model)[0].tolist() == [0.0, 0.0, 0.0]


def test_without_a_tolerance_a_policy_that_falls_short_within_rounding_is_looked_at_with_more_digits(monkeypatch):
    """On a model of more states than are proved at once, too: action 0 falls short by 2^-50, which floats take for rounding."""
    monkeypatch.setattr(module, "PROVED_AT_ONCE", 0)
    model = CTMDP.from_arrays(np.full((2, 2, 2), 0.5), np.ones((2, 2)), [[1.0, 1 + 2.0**-50], [0.0, -1.0]])
    given = replace(solve(model), policy=np.array([0, 0]))
    best = optimum(model, given, tie_tolerance=0.0)
    assert best.gap.tolist() == [2.0**-50, 0.0, 0.0, 1.0] and best.policy.tolist() == [1, 0]


def test_without_a_tolerance_every_gap_is_right_on_models_with_near_ties():
    """Copies of choices whose rewards are off by 1e-9 to 1e-16 of themselves, in units of money and time from 1e-9 to 1e9."""
    checked = small = 0
    for index in range(24):
        model = case(77, index, ("near-ties",)).model
        money, time = 10.0 ** (9 * (index % 3 - 1)), 10.0 ** (9 * (index // 3 % 3 - 1))
        model = model.replace(reward=model.reward * money, rate=model.rate / time)
        best = optimum(model, tie_tolerance=0.0)
        _, _, truth = values_of(model)
        for k, gap in enumerate(truth):
            assert abs(Fraction(float(best.gap[k])) - gap) <= Fraction(float(best.proof.error[k])) + abs(gap) * Fraction(1, 2**50)
            assert bool(best.optimal[k]) == (gap == 0)
            small += 0 < gap < Fraction(1, 10**11) * Fraction(float(best.size[k]))
            checked += 1
    assert checked > 200 and small > 30

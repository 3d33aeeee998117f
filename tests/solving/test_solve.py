"""Gain, bias and policy by every method: exact answers, an independent programme, hard structures, hard numbers."""

import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from exact import ExactModel, policy_gains
from shapes import case
from sojourn.errors import AssumptionError, ModelError, ParameterError, ToleranceError
from sojourn.model.checks import check
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.evaluate import evaluate
from sojourn.solving.linear_program import best_frequencies
from sojourn.solving.optimality import advantages
from sojourn.solving.solve import METHODS, solve
from sojourn.solving.value_iteration import iterate_values
from sojourn.zoo.catalogue import make

GOLDEN = ["two_state", "three_state", "boundary_cases", "ties", "miller_n3_m3", "machine_maintenance"]


def random_model(rng, connected=True):
    """A random sparse model; `connected` puts a cycle through all states into the first action of each."""
    n, a = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    support = rng.random((n, a, n)) < rng.choice([0.2, 0.5, 0.9])
    if connected:
        support[np.arange(n), 0, (np.arange(n) + 1) % n] = True
    support[~support.any(-1), 0] = True
    weight = rng.random((n, a, n)) * support
    return CTMDP.from_arrays(weight / weight.sum(-1, keepdims=True), rng.uniform(0.2, 5, (n, a)), rng.normal(size=(n, a)),
                             rng.normal(size=(n, a)))


def gain_by_dual_programme(model):
    """min ρ with ρ/λ + h(s) - Σ p h >= r + c/λ: written from the optimality equation, apart from the package's own programme."""
    rows = np.zeros((model.n_pairs, model.n_states + 1))
    rows[:, 0] = -1 / model.rate
    rows[:, 1:] = model.matrix.toarray()
    rows[np.arange(model.n_pairs), 1 + model.pair_state] -= 1
    bound = -(model.expected_reward + model.running / model.rate)
    answer = linprog(np.eye(model.n_states + 1)[0], A_ub=rows, b_ub=bound, bounds=(None, None), method="highs")
    assert answer.status == 0
    return answer.fun


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_gain_bias_and_policy_by_every_method(golden, golden_model, name, method):
    exact = golden(name)["constants"]
    solution = solve(golden_model(name), method=method)
    assert solution.method == method and solution.iterations >= 1 and solution.seconds > 0
    assert abs(solution.gain - float(Fraction(exact["rho_exact"]))) < 1e-12
    np.testing.assert_allclose(solution.bias, [float(Fraction(h)) for h in exact["h_exact"]], atol=1e-12)
    assert solution.bias[0] == 0.0
    assert all(a in actions for a, actions in zip(solution.policy, exact["O"], strict=True))
    if name != "ties":  # whose ties are none as stored: fractions such as 113073/2019200 are rounded
        assert solution.policy.tolist() == [actions[0] for actions in exact["O"]]  # ties go to the lowest index
    assert Fraction(solution.gain_bounds[0]) <= Fraction(exact["rho_exact"]) <= Fraction(solution.gain_bounds[1])


@pytest.mark.parametrize("method", METHODS)
def test_a_unichain_model_with_avoidable_states_is_solved(golden, golden_model, method):
    exact = golden("riverswim_unichain")
    solution = solve(golden_model("riverswim_unichain"), method=method)
    assert abs(solution.gain - exact["rho"]) < 1e-12 and solution.policy.tolist() == [1] * 6


@pytest.mark.slow
def test_a_thousand_random_models_against_an_independent_linear_programme():
    rng = np.random.default_rng(42)
    for _ in range(1000):
        model = random_model(rng)
        solution = solve(model)
        assert solution.gain == pytest.approx(gain_by_dual_programme(model), abs=1e-7)
        best = np.maximum.reduceat(advantages(model, solution.gain, solution.bias), model.pair_start[:-1])
        assert np.abs(best).max() < 1e-11  # the optimality equation itself


def test_all_methods_agree_and_each_finds_the_gain_by_itself():
    rng = np.random.default_rng(8)
    for _ in range(100):
        model = random_model(rng)
        answers = [solve(model, method=m) for m in METHODS]
        for other in answers[1:]:
            assert other.gain == pytest.approx(answers[0].gain, abs=1e-11)
            np.testing.assert_allclose(other.bias, answers[0].bias, atol=1e-9)
            assert (other.policy == answers[0].policy).all()
        assert best_frequencies(model)[1] == pytest.approx(answers[0].gain, abs=1e-6)  # before any polishing
        assert iterate_values(model, 1e-8, 1e7)[1] == pytest.approx(answers[0].gain, abs=1e-7)


@pytest.mark.slow
def test_models_that_may_split_are_solved_or_refused_but_never_wrong():
    rng = np.random.default_rng(9)
    refused = solved = 0
    for _ in range(300):
        model = random_model(rng, connected=False)
        try:
            solution = solve(model)
        except AssumptionError as error:
            refused += 1
            assert "per unit time" in str(error)
            continue
        solved += 1
        best = np.maximum.reduceat(advantages(model, solution.gain, solution.bias), model.pair_start[:-1])
        assert np.abs(best).max() < 1e-10
        assert solution.gain_bounds[0] <= gain_by_dual_programme(model) + 1e-8
    assert refused > 5 and solved > 100


def split(gain_a, gain_b, way=None):
    """Two absorbing parts, {a} and {b}, and a start that chooses; `way` adds an action in a that leads to b."""
    state, action = [0, 0, 1, 2], [0, 1, 2, 2]
    rows, income = [[0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]], [0.0, 0.0, gain_a, gain_b]
    if way is not None:
        state, action, rows, income = [*state, 1], [*action, 3], [*rows, [0, 0, 1]], [*income, way]
    return CTMDP.from_pairs(state, action, rows, np.ones(len(state)), running=income, states=["start", "a", "b"],
                            actions=["to a", "to b", "stay", "leave"][: 4 if way is not None else 3])


@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_a_gain_that_depends_on_the_state_is_refused_with_both_gains(method):
    with pytest.raises(AssumptionError, match=re.escape("depends on the state: 2 per unit time in {b}, but from 'a'")):
        solve(split(1.0, 2.0), method=method)


@pytest.mark.parametrize("method", METHODS)
def test_several_end_components_with_one_optimal_gain_are_solved(method):
    solution = solve(split(1.0, 2.0, way=-5.0), method=method)
    assert solution.gain == pytest.approx(2.0, abs=1e-12)
    assert solution.policy_labels == {"start": "to b", "a": "leave", "b": "stay"}
    assert solution.bias[1] - solution.bias[2] == pytest.approx(-7.0, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_better_part_that_cannot_be_left_is_refused_and_a_worse_one_is_entered_only_if_bound_to(method):
    with pytest.raises(AssumptionError, match="from 'b' no policy"):
        solve(split(3.0, 2.0, way=-5.0), method=method)


@pytest.mark.parametrize("index", [1576, 1591])
def test_parts_that_earn_the_same_up_to_rounding_are_led_to_the_one_that_can_be_reached(index):
    assert solve(case(17, index).model).gain == pytest.approx(3.0, rel=1e-12)  # refused, as if one earned more than another


def test_two_equal_parts_that_cannot_reach_each_other_are_refused_for_their_bias():
    with pytest.raises(AssumptionError, match="bias between them is not determined"):
        solve(split(2.0, 2.0))


@pytest.mark.parametrize("method", METHODS)
def test_a_periodic_model_is_solved(method):
    n = 6  # a deterministic cycle: the embedded chain has period 6
    transition = np.roll(np.eye(n), 1, axis=1)[:, None, :]
    model = CTMDP.from_arrays(transition, np.full((n, 1), 3.0), np.arange(n, dtype=float)[:, None])
    assert solve(model, method=method).gain == pytest.approx(7.5, abs=1e-12)
    unit = CTMDP.from_mdp(transition, np.arange(n, dtype=float)[:, None])
    assert solve(unit, method=method).gain == pytest.approx(2.5, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_gain_of_a_cycle_is_reward_per_cycle_over_time_per_cycle(method):
    model = CTMDP.from_arrays([[[0, 1]], [[1, 0]]], [[4.0], [0.5]], [[-3.0], [1.0]], [[2.0], [-1.0]])
    assert solve(model, method=method).gain == pytest.approx((-3 + 1 + 2 / 4 - 1 / 0.5) / (1 / 4 + 1 / 0.5), abs=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_a_policy_with_two_classes_on_the_way_does_not_mislead(method):
    # the best immediate rewards keep 0 and 2 where they are; the optimum is a tour
    model = CTMDP.from_pairs([0, 0, 1, 2, 2], [0, 1, 1, 0, 1], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [1, 0, 0]],
                             np.ones(5), running=[1.0, 0.9, 5.0, 1.0, 0.9])
    solution = solve(model, method=method)
    assert solution.gain == pytest.approx(6.8 / 3, abs=1e-12) and solution.policy.tolist() == [1, 1, 1]


@pytest.mark.parametrize("method", METHODS)
def test_transient_states_get_their_bias_and_best_action(method):
    # state 0 is left for ever: action 1 pays 5 on the way, action 0 nothing
    model = CTMDP.from_pairs([0, 0, 1, 2], [0, 1, 0, 0], [[0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0]], [1.0, 2.0, 1.0, 1.0],
                             [0.0, 5.0, 1.0, 3.0])
    solution = solve(model, method=method)
    assert solution.gain == pytest.approx(2.0) and solution.policy[0] == 1
    np.testing.assert_allclose(solution.bias - solution.bias[2], [4, -1, 0], atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_rates_over_twelve_orders_and_rewards_of_a_million(method):
    rng = np.random.default_rng(1)
    for _ in range(3):
        n = 5
        transition = rng.random((n, 2, n)) + 1e-3
        model = CTMDP.from_arrays(transition / transition.sum(-1, keepdims=True), 10.0 ** rng.uniform(-6, 6, (n, 2)),
                                  1e6 * rng.normal(size=(n, 2)), rng.normal(size=(n, 2)))
        solution = solve(model, method=method)
        lo, hi = solution.gain_bounds
        assert lo <= solution.gain <= hi and hi - lo <= 1e-9 * max(1, abs(solution.gain))
        assert evaluate(model, solution.policy).gain == pytest.approx(solution.gain, rel=1e-11)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [1e-12, 1e12, 1e50])
def test_the_unit_of_time_does_not_matter(golden_model, method, unit):
    model = golden_model("three_state").replace(rate_bounds=None)
    solution = solve(model.replace(rate=model.rate * unit), method=method)
    assert solution.gain == pytest.approx(1305 / 671 * unit, rel=1e-12) and solution.policy.tolist() == [0, 0, 1]


@pytest.mark.parametrize("name, size", [
    ("random", {"states": 300}), ("tandem", {"capacity": 30}), ("service-rate", {"capacity": 300})])
def test_a_gain_of_exactly_0_is_proved_to_what_floats_can_and_said_so(name, size):
    model = make(name, **size)
    height = np.random.default_rng(1).integers(-8, 9, model.n_states).astype(float)
    climb = model.matrix @ height - height[model.pair_state]  # what is gained going up is lost going down
    solution = solve(model.replace(reward=climb, running=np.zeros(model.n_pairs), transition_reward=None, events=None))
    low, high = solution.gain_bounds
    assert low <= 0 <= high and high - low < 1e-12 and "so near 0" in solution.note


@pytest.mark.parametrize("method", METHODS)
def test_a_cycle_that_pays_back_what_it_takes_earns_0(method):
    model = CTMDP.from_arrays([[[0, 1.0], [0, 1]], [[1.0, 0], [1, 0]]], [[2.0, 3], [1, 5]], [[3.0, 1], [-3, -4]])
    solution = solve(model, method=method)
    assert solution.gain == 0 and solution.policy.tolist() == [0, 0] and solution.gain_bounds[1] - solution.gain_bounds[0] < 1e-13


@pytest.mark.parametrize("thing", ["two-state", None, {"gain": 1}])
def test_what_is_not_a_model_is_refused_with_the_ways_to_one(thing):
    for question in (solve, check, lambda model: evaluate(model, [0, 0])):
        with pytest.raises(ModelError, match=r"the model is .*must be a CTMDP.*sojourn.make"):
            question(thing)


@pytest.mark.parametrize("rate, reward", [(1e200, 1.0), (1e-200, 1.0), (1.0, 1e200)])
def test_numbers_beyond_what_floats_can_multiply_are_refused_with_their_values(rate, reward):
    with pytest.raises(ModelError, match=f"rate {rate:g}, reward {reward:g}.*other units".replace("+", "[+]")):
        solve(CTMDP.from_arrays([[[1.0]]], [[rate]], [[reward]]))


@pytest.mark.parametrize("method", METHODS)
def test_underflow_is_counted_in_the_proof(method):
    least = 5e-324  # half of it, which is paid on average for one of two successors, is rounded to 0
    half = CTMDP.from_arrays([[[0.5, 0.5]], [[0.5, 0.5]]], [[1e100], [1e100]], transition_reward=[[[least] * 2], [[least] * 2]])
    odd = CTMDP.from_arrays([[[0, 1.0]], [[1.0, 0]]], [[1e100], [1e100]], [[3 * least], [0.0]])
    for model, paid in ((half, 1), (odd, Fraction(3, 2))):
        truth = paid * Fraction(least) * Fraction(1e100)
        for answer in (solve(model, method=method), evaluate(model, [0, 0])):
            lo, hi = answer.gain_bounds
            assert Fraction(lo) <= truth <= Fraction(hi) and lo <= answer.gain <= hi


def test_value_iteration_leaves_a_slow_cycle_to_the_equations_of_its_policy():
    model = CTMDP.from_arrays(np.roll(np.eye(3), 1, axis=1)[:, None], [[1.0], [1e4], [1e8]], [[1.0], [0.0], [2.0]])
    solution = solve(model, method="value-iteration")
    assert solution.gain == pytest.approx(3 / (1 + 1e-4 + 1e-8), rel=1e-12)
    assert solution.iterations < 1_000_000  # sweeps alone need some 1e9: 20 s before


@pytest.mark.parametrize("method", METHODS)
def test_rewards_on_the_transition_count_by_their_mean(method):
    paid = CTMDP.from_arrays([[[0.5, 0.5]], [[1, 0]]], [[1.0], [2.0]], transition_reward=[[[0.0, 6.0]], [[1.0, 0.0]]])
    mean = CTMDP.from_arrays([[[0.5, 0.5]], [[1, 0]]], [[1.0], [2.0]], [[3.0], [1.0]])
    assert solve(paid, method=method).gain == solve(mean, method=method).gain == pytest.approx((3 + 0.5) / (1 + 0.25))


def test_a_gain_that_only_just_depends_on_the_state_is_not_passed_over():
    with pytest.raises((AssumptionError, ToleranceError)):
        solve(split(2.0 + 1e-7, 2.0, way=-5.0))


def test_one_state_is_a_model():
    model = CTMDP.from_arrays([[[1.0], [1.0]]], [[2.0, 3.0]], [[1.0, -1.0]], [[0.0, 4.0]])
    for method in METHODS:
        solution = solve(model, method=method)
        assert solution.gain == pytest.approx(2.0) and solution.policy.tolist() == [0] and solution.bias.tolist() == [0.0]


def test_a_tolerance_out_of_reach_raises_with_the_answer(golden_model):
    with pytest.raises(ToleranceError, match="above the tolerance 1e-300") as caught:
        solve(golden_model("three_state"), tolerance=1e-300)
    assert caught.value.best.gain == pytest.approx(1305 / 671)


@pytest.mark.parametrize("tolerance", [0, -1e-9, float("nan"), "fine", True])
def test_a_senseless_tolerance_is_refused(golden_model, tolerance):
    with pytest.raises(ValueError, match="tolerance"):
        solve(golden_model("two_state"), tolerance=tolerance)


def test_an_unknown_method_is_answered_with_the_known_ones(golden_model):
    with pytest.raises(ParameterError, match=r"did you mean 'policy-iteration'.*linear-programming"):
        solve(golden_model("two_state"), method="policy_iteration")


def test_a_solution_speaks(golden_model):
    solution = solve(golden_model("two_state"))
    assert "gain 5.71428571429" in repr(solution) and "0 -> 1" in repr(solution)
    assert "<table>" in solution._repr_html_()


def tandem(n):
    """Two queues of up to n - 1 customers in series with a choice of service speed: n^2 states, sparse."""
    rows, to, rate, state, action, running = [], [], [], [], [], []
    for s in range(n * n):
        x, y = divmod(s, n)
        for a, speed in enumerate((1.0, 1.5)):
            moves = {}
            if x < n - 1:
                moves[s + n] = 0.7
            if x and y < n - 1:
                moves[s - n + 1] = speed
            if y:
                moves[s - 1] = 1.2
            rows += [len(state)] * len(moves)
            to += list(moves)
            rate += list(moves.values())
            state.append(s)
            action.append(a)
            running.append(-float(x + y) - 0.5 * a * (x > 0))
    from scipy.sparse import coo_matrix

    matrix = coo_matrix((rate, (rows, to)), shape=(len(state), n * n)).tocsr()
    total = np.asarray(matrix.sum(axis=1)).ravel()
    return CTMDP.from_pairs(state, action, matrix.multiply(1 / total[:, None]).tocsr(), total, running=running, normalize_rows=True)


@pytest.mark.parametrize("method", ["auto", "sweeps", "multigrid"])
def test_elimination_and_sweeps_agree_beyond_the_dense_sizes(method):
    model = tandem(50)  # 2500 states
    by_sweeps, by_elimination = solve(model, method=method), solve(model, method="policy-iteration")
    assert by_sweeps.method in (("sweeps", "multigrid") if method == "auto" else (method,))
    assert by_sweeps.gain == pytest.approx(by_elimination.gain, abs=1e-8) and (by_sweeps.policy == by_elimination.policy).all()
    np.testing.assert_allclose(by_sweeps.bias, by_elimination.bias, atol=1e-6 * np.abs(by_elimination.bias).max())


def test_a_line_against_the_current_is_proved_by_policy_iteration():
    solution = solve(make("river-swim", length=300))
    assert solution.method == "policy-iteration"
    assert solution.gain_bounds[1] - solution.gain_bounds[0] <= 1e-9 * solution.gain


def test_an_epidemic_that_is_practically_never_left_is_solved_at_ten_thousand():
    solution = solve(make("sis-epidemic", population=9999))  # two regimes with a barrier of more than 1e308 jumps between them
    assert solution.gain_bounds[1] - solution.gain_bounds[0] <= 1e-9 * abs(solution.gain)
    assert solution.gain == pytest.approx(-5173.3496662360, rel=1e-12)


def line(up, reward):
    """States in a line, all rates 1; every action of a state goes up with the probability of that state."""
    n, actions = reward.shape
    p = np.zeros((n, actions, n))
    for s, chance in enumerate(up):
        p[s, :, min(s + 1, n - 1)] += chance
        p[s, :, max(s - 1, 0)] += 1 - chance
    return CTMDP.from_arrays(p, np.ones((n, actions)), reward)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("less", [1e-14, 1e-12, 1e-11, 1e-10])
def test_the_policy_taken_among_near_ties_earns_what_the_interval_says(less, method):
    rng = np.random.default_rng(9)
    best = rng.integers(8, 33, 12) / 8
    model = line(rng.integers(1, 64, 12) / 64, np.column_stack([best * (1 - less), best, best / 2]))
    solution, exact = solve(model, method=method), ExactModel(model)
    low, high = (Fraction(x) for x in solution.gain_bounds)
    assert 0 < high - low <= 1e-9 * high
    for actions in (solution.policy, np.ones(12, dtype=int)):
        (gain,) = policy_gains(exact, exact.choice(model.policy_pairs(actions)))
        assert low <= gain <= high


def test_where_the_proof_is_too_wide_the_policy_at_hand_still_earns_the_lower_end():
    rng = np.random.default_rng(3)
    model = line(np.tile(np.repeat([0.125, 0.875], 60), 2), rng.integers(1, 4097, (240, 3)) / 1024)  # wells 1e-50 apart
    with pytest.raises(ToleranceError) as caught:
        solve(model)
    best = caught.value.best
    own = evaluate(model, best.policy)
    assert own.gain_bounds[1] - own.gain_bounds[0] <= 1e-9 * own.gain
    assert best.gain_bounds[0] <= own.gain_bounds[1] and own.gain == pytest.approx(best.gain, rel=1e-9)


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9])
def test_two_queues_under_heavy_load_need_few_policies(tolerance):
    model = make("routing", capacity=70, arrival_rate=1.584)  # without sweeps in between 65
    found = solve(model, tolerance=tolerance)
    assert found.gain_bounds[1] - found.gain_bounds[0] <= tolerance * abs(found.gain)
    by_name = solve(model, method="policy-iteration", tolerance=tolerance)
    assert by_name.iterations <= 12
    assert found.gain_bounds[0] <= by_name.gain_bounds[1] and by_name.gain_bounds[0] <= found.gain_bounds[1]

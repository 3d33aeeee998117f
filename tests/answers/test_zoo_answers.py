"""What is known about each family of the zoo: closed forms, published numbers with their source, structure of the policy.

Gains are compared to 1e-9 relative where a closed form exists; the closed forms are computed here, from the parameters alone.
"""

import math
from itertools import pairwise

import numpy as np
import pytest

import sojourn
from sojourn.zoo.catalogue import make
from sojourn.zoo.market_making import continuous_gain
from sojourn.zoo.random_ties import planted


def gain(name, **parameters):
    return sojourn.solve(make(name, **parameters)).gain


def policy(name, **parameters):
    """Return {state label: action label} of an optimal policy."""
    model = make(name, **parameters)
    return {s: model.actions[a] for s, a in zip(model.states, sojourn.solve(model).policy)}


def erlang_b(servers, load):
    """Return the blocking probability of M/M/n/n by Erlang's recursion."""
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    return blocked


def birth_death(births, deaths):
    """Return the stationary law of a birth-death chain: births[n] from n to n+1, deaths[n] from n+1 to n."""
    weights = np.concatenate([[1.0], np.cumprod(np.asarray(births, float) / np.asarray(deaths, float))])
    return weights / weights.sum()


def nondecreasing(values):
    return all(a <= b for a, b in pairwise(values))


# ---- customer selection ---------------------------------------------------------------------------------------------


def test_customer_selection_is_the_golden_miller_model_by_its_parameters(golden):
    parts = golden("miller_n3_m3")
    model = make("customer-selection", servers=3, classes=3, arrival_rates=[1, 1.5, 2], rewards=[1, 0.6, 0.25], service_rate=1)
    from fractions import Fraction

    wanted = [[float(Fraction(x)) for row in parts["model"][key] for x in row] for key in ("rates", "r")]
    np.testing.assert_allclose(model.rate, wanted[0], rtol=1e-15)
    np.testing.assert_allclose(model.reward, wanted[1], rtol=1e-15)
    rows = [[float(Fraction(x)) for x in row] for state in parts["model"]["p"] for row in state]
    np.testing.assert_allclose(model.matrix.toarray(), rows, rtol=1e-15)
    assert model.rate_bounds == (1.0, 7.5)
    solution = sojourn.solve(model)
    assert solution.gain == pytest.approx(parts["constants"]["rho"], rel=1e-12)
    np.testing.assert_allclose(solution.bias, parts["constants"]["h"], atol=1e-12)


@pytest.mark.parametrize("servers, load", [(1, 0.5), (5, 3.0), (40, 38.0)])
def test_customer_selection_with_one_class_earns_what_erlang_b_lets_in(servers, load):
    earned = gain("customer-selection", servers=servers, classes=1, arrival_rates=[load], rewards=[2.0])
    assert earned == pytest.approx(2 * load * (1 - erlang_b(servers, load)), rel=1e-10)


def test_fifteen_lines_carry_8_108_erlangs_at_one_percent_blocking():
    # published: Erlang B Calculator manual of Westbay Engineers, "How much traffic?": 15 lines, 0.01 -> 8.108
    blocked = {load: 1 - gain("customer-selection", servers=15, classes=1, arrival_rates=[load], rewards=[1.0]) / load
               for load in (8.1075, 8.1085)}
    assert blocked[8.1075] < 0.01 < blocked[8.1085]


@pytest.mark.parametrize("servers", [3, 6, 12])
def test_customer_selection_admits_more_classes_when_more_servers_are_free_and_the_best_class_always(servers):
    chosen = policy("customer-selection", servers=servers, classes=4)
    sets = [set(chosen[f"{i} free"].removeprefix("admit {").removesuffix("}").split(",")) for i in range(1, servers + 1)]
    assert all(a <= b for a, b in pairwise(sets))  # Miller 1969, section 4
    assert all("1" in s for s in sets)
    assert len(sets[0]) < len(sets[-1])


def test_customer_selection_has_the_same_gain_and_gaps_however_the_reward_is_paid():
    from sojourn.instance.gaps import gaps

    tables = []
    for pay in ("lump", "running", "transition"):
        model = make("customer-selection", servers=4, pay=pay)
        solution = sojourn.solve(model)
        tables.append((solution.gain, gaps(model, solution)))
    for other in tables[1:]:
        assert other[0] == pytest.approx(tables[0][0], rel=1e-12)
        np.testing.assert_allclose(other[1], tables[0][1], atol=1e-12)


# ---- admission ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arrival, reward", [(0.5, 4.0), (0.9, 8.0), (1.5, 6.0), (3.0, 11.0)])
def test_admission_follows_naors_threshold(arrival, reward):
    """Naor 1969: admit while n < n0, n0 the largest n with (n (1 - q) - q (1 - q^n)) / (1 - q)^2 <= R mu / C, q = load."""
    level = [n for n in range(1, 60) if (n * (1 - arrival) - arrival * (1 - arrival**n)) / (1 - arrival) ** 2 <= reward]
    chosen = policy("admission", capacity=30, arrival_rate=arrival, urgent_rate=0, reward=reward, waiting_cost=1)
    admitted = [n for n in range(30) if chosen[str(n)] == "admit"]
    assert admitted == list(range(max(level)))


def test_admission_without_waiting_is_erlang_b():
    earned = gain("admission", servers=8, capacity=8, arrival_rate=6, urgent_rate=0, reward=1, waiting_cost=0)
    assert earned == pytest.approx(6 * (1 - erlang_b(8, 6)), rel=1e-10)


def test_admission_by_default_is_a_threshold():
    chosen = policy("admission")
    assert nondecreasing([chosen[str(n)] == "reject" for n in range(13)])


# ---- queues in one dimension ----------------------------------------------------------------------------------------


def test_service_rate_with_one_speed_is_the_mm1k_queue():
    law = birth_death([0.8] * 9, [1.1] * 9)
    cost = 0.3 * (law @ np.arange(10)) + 0.7 * (1 - law[0]) + 4 * 0.8 * law[9]
    found = gain("service-rate", capacity=9, arrival_rate=0.8, speeds=[1.1], speed_costs=[0.7], waiting_cost=0.3, loss_cost=4)
    assert found == pytest.approx(-cost, rel=1e-10)


@pytest.mark.parametrize("arrival", [0.5, 0.8, 1.2])
def test_service_rate_does_not_decrease_with_the_queue(arrival):
    chosen = policy("service-rate", arrival_rate=arrival, capacity=20)
    speeds = [float(chosen[str(n)].split()[1]) for n in range(1, 18)]  # the last states feel the edge of the buffer
    assert nondecreasing(speeds) and len(set(speeds)) > 1


def test_machine_repair_with_one_crew_is_the_finite_source_queue():
    machines, failure, repair = 7, 0.2, 0.9
    law = birth_death([failure * (machines - f) for f in range(machines)], [repair] * machines)
    found = gain("machine-repair", machines=7, crews=1, failure_rate=0.2, repair_rate=0.9, downtime_cost=2, crew_cost=0.5)
    assert found == pytest.approx(-2 * (law @ np.arange(machines + 1)) - 0.5, rel=1e-10)


@pytest.mark.parametrize("crew_cost", [0.5, 1.5, 2.5])
def test_machine_repair_calls_more_crews_when_more_machines_are_down(crew_cost):
    chosen = policy("machine-repair", crew_cost=crew_cost, crews=4)
    assert nondecreasing([int(chosen[f"{f} down"].split()[0]) for f in range(11)])


@pytest.mark.parametrize("returns", [0.0, 0.1, 0.3])
def test_spare_parts_have_a_base_stock_and_a_rationing_level(returns):
    chosen = policy("spare-parts", return_rate=returns, max_stock=15)
    orders = [chosen[f"{n} in stock"].startswith("order") for n in range(16)]
    serves = [chosen[f"{n} in stock"].endswith("serve all") for n in range(16)]
    assert nondecreasing([not x for x in orders]) and 0 < sum(orders) < 16
    assert nondecreasing(serves) and 0 < sum(serves) < 15


def test_spare_parts_with_one_kind_of_customer_cost_what_the_mm1_base_stock_formula_says():
    # lost sales, base stock S: the stock is an M/M/1/S queue; the best S by direct search
    demand, supply, loss, holding = 0.7, 1.0, 8.0, 0.3
    costs = []
    for level in range(1, 16):
        law = birth_death([supply] * level, [demand] * level)
        costs.append(holding * (law @ np.arange(level + 1)) + loss * demand * law[0])
    found = gain("spare-parts", max_stock=15, critical_rate=demand - 1e-9, ordinary_rate=1e-9, supply_rate=supply, return_rate=0,
                 critical_loss=loss, ordinary_loss=loss, holding_cost=holding)
    assert found == pytest.approx(-min(costs), rel=1e-6)


def test_maintenance_follows_a_control_limit_whose_gain_is_reward_per_cycle_over_time_per_cycle():
    chosen = policy("maintenance")
    assert nondecreasing([chosen[f"worn {i}"] == "maintain" for i in range(1, 6)])
    # no breakdowns and no wear during maintenance: run through `limit` levels, maintain, start again
    best = max((sum(1 - 0.1 * i for i in range(limit)) / 0.5 - 0.7) / (limit / 0.5 + 1 / 2.0) for limit in range(1, 6))
    found = gain("maintenance", failure_rate=0, wear_in_service=0, revenue_drop=0.1, maintenance_cost=0.7, repair_cost=1e4)
    assert found == pytest.approx(best, rel=1e-10)


# ---- queues in two dimensions ---------------------------------------------------------------------------------------


def grid_of(chosen, size):
    return [[chosen[f"({i}, {j})"] for j in range(size)] for i in range(size)]


def test_routing_to_equal_queues_joins_the_shortest():
    chosen = grid_of(policy("routing", capacity=8, service_rates=[1, 1], arrival_rate=1.3, loss_cost=50), 9)
    for i in range(9):
        for j in range(9):
            if i != j:
                assert chosen[i][j] == ("to queue 1" if i < j else "to queue 2")  # Winston 1977


def test_routing_to_three_equal_queues_joins_a_shortest():
    model = make("routing", capacity=4, service_rates=[1, 1, 1], costs=[1, 1, 1], arrival_rate=2)
    for state, action in zip(model.states, sojourn.solve(model).policy):
        lengths = [int(x) for x in state.strip("()").split(", ")]
        if min(lengths) < 4:
            assert lengths[int(model.actions[action].split()[-1]) - 1] == min(lengths)


def test_routing_to_different_queues_has_a_monotone_switching_curve():
    chosen = grid_of(policy("routing", capacity=10, loss_cost=50.0), 11)
    inner = [[row[j] == "to queue 2" for j in range(9)] for row in chosen[:9]]
    assert all(nondecreasing(row[::-1]) for row in inner)  # more in queue 2: no more likely to be chosen
    assert all(nondecreasing(column) for column in zip(*inner))  # more in queue 1: no less likely
    assert any(map(any, inner)) and not all(map(all, inner))


@pytest.mark.parametrize("service, costs", [((1.0, 1.6), (2.0, 1.0)), ((1.0, 3.0), (1.0, 1.0)), ((2.0, 1.0), (1.0, 1.5))])
def test_priority_is_c_mu_away_from_the_edge(service, costs):
    first = costs[0] * service[0] > costs[1] * service[1]
    chosen = grid_of(policy("priority", capacity=14, service_rates=service, costs=costs), 15)
    for i in range(1, 8):
        for j in range(1, 8):
            assert chosen[i][j] == ("serve 1" if first else "serve 2")


def test_priority_tends_to_the_preemptive_formula_as_the_buffer_grows():
    # equal service rates: n1 alone is M/M/1 with load 0.3, n1 + n2 is M/M/1 with load 0.6
    limit = -(3 * 0.3 / 0.7 + 1 * (0.6 / 0.4 - 0.3 / 0.7))
    errors = [abs(gain("priority", capacity=c, arrival_rates=[0.3, 0.3], service_rates=[1, 1], costs=[3, 1], loss_cost=5) - limit)
              for c in (8, 16, 32)]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert errors[2] < 1e-5


def test_tandem_has_a_monotone_switching_curve():
    chosen = grid_of(policy("tandem"), 8)
    pushes = [[chosen[i][j] == "push" for j in range(7)] for i in range(1, 8)]
    assert all(nondecreasing(row[::-1]) for row in pushes)  # the more at station 2, the less one pushes
    assert all(nondecreasing(column) for column in zip(*pushes))  # the more at station 1, the more one pushes
    assert len({sum(row) for row in pushes}) > 2


def test_tandem_with_one_speed_tends_to_jacksons_product_form():
    load1, load2 = 0.3 / 1.0, 0.3 / 0.8
    limit = -(load1 / (1 - load1) + 2 * load2 / (1 - load2))
    found = gain("tandem", capacity=24, arrival_rate=0.3, slow_rate=1.0, fast_rate=1.0, second_rate=0.8, second_cost=2.0)
    assert found == pytest.approx(limit, rel=1e-6)


def test_criss_cross_feeds_the_second_station_only_while_it_is_short_of_work():
    model = make("criss-cross", capacity=5)
    solution = sojourn.solve(model)
    for i in range(1, 4):
        for j in range(1, 4):
            row = [model.actions[solution.policy[model.state(f"({i}, {j}, {k})")]] == "serve 2" for k in range(5)]
            assert nondecreasing([not x for x in row])
            assert row[0] and not row[-1]


def test_server_switching_is_exhaustive_when_the_queues_are_equal():
    chosen = policy("server-switching", capacity=8)
    for i in range(1, 6):
        for j in range(6):
            assert chosen[f"({i}, {j}) at 1"] == "stay"  # Hofri and Ross 1987
            assert chosen[f"({j}, {i}) at 2"] == "stay"
    assert chosen["(0, 5) at 1"] == "change over"
    assert chosen["(0, 0) at 1"] == "stay"


def test_server_switching_tends_to_priority_as_set_ups_vanish():
    shared = dict(capacity=5, arrival_rates=[0.3, 0.3], service_rates=[1.0, 1.6], costs=[2.0, 1.0], loss_cost=10)
    limit = gain("priority", **shared)
    errors = [limit - gain("server-switching", setup_rate=rate, setup_cost=0, leak=0, **shared) for rate in (10.0, 100.0, 1000.0)]
    assert errors[0] > errors[1] > errors[2] > 0
    assert errors[2] < 0.005


# ---- epidemics, trading, telephones, beds ---------------------------------------------------------------------------


def test_sis_without_contagion_is_a_population_of_two_state_chains():
    catch, recover, extra = 0.3, 0.5, 0.7
    for treatment_cost in (0.2, 2.0):
        single = max(-(1 + cost) * catch / (catch + speed) for cost, speed in ((0, recover), (treatment_cost, recover + extra)))
        found = gain("sis-epidemic", population=9, infection_rate=0, import_rate=catch, treatment_cost=treatment_cost)
        assert found == pytest.approx(9 * single, rel=1e-9)


def test_sis_controls_are_given_up_when_almost_everybody_is_infected():
    chosen = policy("sis-epidemic")
    treats = ["treat" in chosen[f"{i} infected"] for i in range(1, 16)]
    apart = ["distance" in chosen[f"{i} infected"] for i in range(1, 16)]
    assert nondecreasing(treats[::-1]) and nondecreasing(apart[::-1])  # the form of Lefevre 1981
    assert treats[0] and apart[0] and not treats[-1]


def test_sir_without_contagion_is_a_population_of_three_state_chains():
    def alone(vaccinated):
        catch, recover, wane, dose = 0.3, 1.0, 0.2, 0.5 * vaccinated
        susceptible = 1 / (1 + catch / recover + (catch + dose) / wane)
        return -2.0 * susceptible * catch / recover - 0.4 * dose * susceptible

    found = gain("sir-epidemic", population=6, infection_rate=0, import_rate=0.3, vaccination_cost=0.4, isolation_cost=1.0)
    assert found == pytest.approx(6 * max(alone(0), alone(1)), rel=1e-9)


def test_market_making_tends_from_below_to_the_eigenvalue():
    exact = continuous_gain(4, 2.0, 1.5, 0.03)
    short = [exact - gain("market-making", max_inventory=4, order_rate=2.0, decay=1.5, risk_cost=0.03, offsets=np.linspace(0, 2, n))
             for n in (5, 9, 17, 33)]
    assert all(x > 0 for x in short)
    assert short[3] < short[2] / 2.5 < short[1] / 5  # quotes on a grid lose about its width squared
    assert short[3] < 1e-3 * exact


@pytest.mark.parametrize("limit", [50, 100, 400])
def test_market_making_spends_its_time_near_zero_however_wide_the_limits(limit):
    # the state numbered 0 is visited once in 10^hundreds of years: its hitting times must not be what is computed from
    model = make("market-making", max_inventory=limit)
    solution = sojourn.solve(model)
    value = sojourn.evaluate(model, solution.policy)
    assert value.occupancy[limit] == pytest.approx(0.31644141633752737, rel=1e-9)
    chosen = model.policy_pairs(solution.policy)
    per_time = model.running[chosen] + model.expected_reward[chosen] * model.rate[chosen]
    assert value.occupancy @ per_time == pytest.approx(solution.gain, rel=1e-9)


def test_market_making_is_symmetric_and_leans_against_its_inventory():
    chosen = policy("market-making")
    quotes = {q: [float(x.split()[1]) for x in chosen[f"inventory {q}"].split(" / ")] for q in range(-4, 5)}
    assert all(quotes[q] == quotes[-q][::-1] for q in quotes)
    assert nondecreasing([quotes[q][0] for q in range(-4, 5)])


def test_call_centre_without_call_backs_is_erlang_a():
    agents, lines, arrival, service, patience = 3, 9, 2.5, 1.0, 0.7
    deaths = [service * min(n, agents) + patience * max(n - agents, 0) for n in range(1, lines + 1)]
    law = birth_death([arrival] * lines, deaths)
    waiting = law @ np.maximum(np.arange(lines + 1) - agents, 0)
    cost = (1.0 + 4.0 * patience) * waiting + 4.0 * arrival * law[-1]
    found = gain("call-centre", agents=3, lines=9, arrival_rate=2.5, patience_rate=0.7, accept=0, leave_number=0)
    assert found == pytest.approx(-cost, rel=1e-9)


def test_call_centre_offers_a_call_back_only_while_few_are_promised():
    chosen = policy("call-centre")
    for calls in range(4, 7):
        assert nondecreasing([chosen[f"({calls}, {m})"] == "queue" for m in range(4)])


def test_hospital_beds_without_a_choice_block_as_erlang_b_whatever_the_stays():
    for stays in ((2.0, 3.0), (0.5, 4.25)):
        load = 1.0 * stays[0] + 1.5 * stays[1]
        blocked = erlang_b(6, load)
        found = gain("hospital-beds", beds=6, pressing=1, emergency_stay=stays[0], planned_stay=stays[1])
        assert found == pytest.approx(1.5 * (1 - blocked) - 6.0 * 1.0 * blocked, rel=1e-9)


def test_hospital_beds_postpones_the_planned_when_few_beds_are_left():
    chosen = policy("hospital-beds")
    for planned in range(6):
        row = [chosen[f"({e}, {planned})"] == "postpone planned" for e in range(7 - planned)]
        assert nondecreasing(row)


# ---- made-up models -------------------------------------------------------------------------------------------------


def test_two_state_gains_reward_per_cycle_over_time_per_cycle():
    assert gain("two-state") == pytest.approx((8 - 4) / (1 / 5 + 1 / 2), rel=1e-14)


@pytest.mark.parametrize("name", ["two-state", "three-state"])
def test_the_small_examples_are_the_golden_ones(name, golden_model):
    model, wanted = make(name), golden_model(name.replace("-", "_"))
    for field in ("pair_start", "pair_action", "row_start", "next_state", "probability", "rate", "reward", "running"):
        np.testing.assert_array_equal(getattr(model, field), getattr(wanted, field))
    assert model.bounds == wanted.bounds


def test_river_swim_without_a_leak_is_the_golden_one(golden, golden_model):
    model, wanted = make("river-swim", leak=0), golden_model("riverswim_unichain")
    np.testing.assert_allclose(model.matrix.toarray(), wanted.matrix.toarray(), atol=1e-15)
    np.testing.assert_allclose(model.rate, wanted.rate, rtol=1e-15)
    np.testing.assert_array_equal(model.reward, wanted.reward)
    assert model.bounds == wanted.bounds
    assert gain("river-swim", leak=0) == pytest.approx(golden("riverswim_unichain")["rho"], rel=1e-11)


def test_river_swim_with_a_leak_is_carried_up_now_and_then():
    model = make("river-swim", leak=0.2)
    k = model.pair("3", "left")
    assert model.rate[k] == 2.0
    np.testing.assert_allclose(model.matrix[k].toarray()[0], [0, 0, 0.8, 0, 0.2, 0], atol=1e-15)


def test_river_swim_is_swum_to_the_right():
    assert set(policy("river-swim", length=12).values()) == {"right"}


@pytest.mark.parametrize("seed", range(5))
def test_random_is_irreducible_by_construction_and_the_same_for_the_same_seed(seed):
    from sojourn.model.checks import irreducible

    model = make("random", states=15, actions=3, branching=2, seed=seed)
    assert irreducible(model)
    assert model.equals(make("random", states=15, actions=3, branching=2, seed=seed))
    assert not model.equals(make("random", states=15, actions=3, branching=2, seed=seed + 1))
    assert (np.diff(model.row_start) == 2).all()


@pytest.mark.parametrize("seed", range(5))
def test_random_ties_has_its_planted_gain_bias_and_ties(seed):
    model = make("random-ties", states=12, actions=5, branching=4, tied=3, seed=seed)
    value, bias = planted(12, seed)
    short = model.reward - value / model.rate + model.matrix @ bias - np.repeat(bias, 5)
    assert ((short == 0).reshape(12, 5).sum(axis=1) == 3).all()  # exact in floating point
    assert short[short != 0].max() <= -0.25
    solution = sojourn.solve(model)
    assert solution.gain == pytest.approx(0.75, abs=1e-12)
    np.testing.assert_allclose(solution.bias, bias, atol=1e-11)


def test_continuous_market_making_gain_of_one_unit_is_root_two_over_e():
    assert continuous_gain(1, 1.0, 1.0, 0.0) == pytest.approx(math.sqrt(2) / math.e, rel=1e-14)

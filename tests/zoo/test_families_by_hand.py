"""Each family written down a second time, state by state in plain Python from its description, with uneven parameters.

Compared are the admissible actions, every transition intensity, and what a pair earns per unit of time (lump sum x rate, paid with
jumps and running together).
"""

import math
from collections import defaultdict

import pytest

from sojourn.zoo.catalogue import make


def customer_selection(servers, arrival_rates, rewards, service_rate, **_):
    for free in range(servers + 1):
        sets = [[k for k in range(len(rewards)) if mask >> k & 1] for mask in range(1, 2 ** len(rewards))] if free else [[]]
        for chosen in sets:
            action = "admit {" + ",".join(str(k + 1) for k in chosen) + "}" if chosen else "admit none"
            jumps = [(f"{free + 1} free", (servers - free) * service_rate)]
            jumps += [(f"{free - 1} free", arrival_rates[k]) for k in chosen]
            yield f"{free} free", action, jumps, sum(arrival_rates[k] * rewards[k] for k in chosen)


def admission(servers, capacity, arrival_rate, urgent_rate, service_rate, reward, waiting_cost):
    for n in range(capacity + 1):
        for action in ("admit", "reject") if n < capacity else ("reject",):
            enter = (urgent_rate + arrival_rate * (action == "admit")) * (n < capacity)
            jumps = [(str(n + 1), enter), (str(n - 1), min(n, servers) * service_rate)]
            yield str(n), action, jumps, reward * enter - waiting_cost * n


def service_rate(capacity, arrival_rate, speeds, speed_costs, waiting_cost, loss_cost):
    for n in range(capacity + 1):
        for speed, cost in zip(speeds, speed_costs) if n else [(0, 0)]:
            enter, lost = (arrival_rate, 0) if n < capacity else (0, arrival_rate)
            yield (str(n), f"speed {speed:g}" if n else "idle", [(str(n + 1), enter), (str(n - 1), speed)],
                   -waiting_cost * n - cost - loss_cost * lost)


def routing(capacity, arrival_rate, dedicated_rate, service_rates, costs, loss_cost):
    for x in range(capacity + 1):
        for y in range(capacity + 1):
            n = (x, y)
            roomy = [q for q in (0, 1) if n[q] < capacity]
            for to in roomy or [None]:
                jumps, cost = [], costs[0] * x + costs[1] * y + (loss_cost * arrival_rate if to is None else 0)
                for q, up, down in ((0, f"({x + 1}, {y})", f"({x - 1}, {y})"), (1, f"({x}, {y + 1})", f"({x}, {y - 1})")):
                    if q in roomy:
                        jumps.append((up, dedicated_rate + arrival_rate * (q == to)))
                    else:
                        cost += loss_cost * dedicated_rate
                    jumps.append((down, service_rates[q] * (n[q] > 0)))
                yield f"({x}, {y})", "turn away" if to is None else f"to queue {to + 1}", jumps, -cost


def priority(capacity, arrival_rates, service_rates, costs, loss_cost):
    for x in range(capacity + 1):
        for y in range(capacity + 1):
            cost = costs[0] * x + costs[1] * y
            cost += loss_cost * (arrival_rates[0] * (x == capacity) + arrival_rates[1] * (y == capacity))
            jumps = [(f"({x + 1}, {y})", arrival_rates[0] * (x < capacity)), (f"({x}, {y + 1})", arrival_rates[1] * (y < capacity))]
            if x:
                yield f"({x}, {y})", "serve 1", [*jumps, (f"({x - 1}, {y})", service_rates[0])], -cost
            if y:
                yield f"({x}, {y})", "serve 2", [*jumps, (f"({x}, {y - 1})", service_rates[1])], -cost
            if not x and not y:
                yield "(0, 0)", "idle", jumps, 0


def tandem(capacity, arrival_rate, slow_rate, fast_rate, second_rate, first_cost, second_cost, loss_cost):
    for x in range(capacity + 1):
        for y in range(capacity + 1):
            cost = first_cost * x + second_cost * y + loss_cost * arrival_rate * (x == capacity)
            can = x > 0 and y < capacity
            for action, speed in (("hold back", slow_rate), ("push", fast_rate)):
                if action == "hold back" or can:
                    yield (f"({x}, {y})", action, [(f"({x + 1}, {y})", arrival_rate * (x < capacity)),
                           (f"({x - 1}, {y + 1})", speed * can), (f"({x}, {y - 1})", second_rate * (y > 0))], -cost)


def criss_cross(capacity, arrival_rates, first_rates, second_rate, costs, loss_cost):
    size = range(capacity + 1)
    for a, b, c in ((a, b, c) for a in size for b in size for c in size):
        cost = costs[0] * a + costs[1] * b + costs[2] * c
        cost += loss_cost * (arrival_rates[0] * (a == capacity) + arrival_rates[1] * (b == capacity))
        jumps = [(f"({a + 1}, {b}, {c})", arrival_rates[0] * (a < capacity)),
                 (f"({a}, {b + 1}, {c})", arrival_rates[1] * (b < capacity)),
                 (f"({a}, {b}, {c - 1})", second_rate * (c > 0))]
        work = []
        if a:
            work.append(("serve 1", (f"({a - 1}, {b}, {c})", first_rates[0])))
        if b and c < capacity:
            work.append(("serve 2", (f"({a}, {b - 1}, {c + 1})", first_rates[1])))
        for action, done in work or [("idle", None)]:
            yield f"({a}, {b}, {c})", action, [*jumps, done] if done else jumps, -cost


def server_switching(capacity, arrival_rates, service_rates, costs, setup_rate, setup_cost, loss_cost, leak):
    size = range(capacity + 1)
    for x, y, at in ((x, y, at) for x in size for y in size for at in (1, 2)):
        cost = costs[0] * x + costs[1] * y + loss_cost * (arrival_rates[0] * (x == capacity) + arrival_rates[1] * (y == capacity))
        for action, serving, moving in (("stay", 1, leak), ("change over", leak, 1)):
            here = x if at == 1 else y
            served = f"({x - 1}, {y}) at 1" if at == 1 else f"({x}, {y - 1}) at 2"
            yield (f"({x}, {y}) at {at}", action,
                   [(f"({x + 1}, {y}) at {at}", arrival_rates[0] * (x < capacity)),
                    (f"({x}, {y + 1}) at {at}", arrival_rates[1] * (y < capacity)),
                    (served, serving * service_rates[at - 1] * (here > 0)), (f"({x}, {y}) at {3 - at}", moving * setup_rate)],
                   -cost - setup_cost * moving * setup_rate)


def maintenance(levels, wear_rate, failure_rate, maintenance_rate, repair_rate, revenue, revenue_drop, maintenance_cost,
                repair_cost, wear_in_service):
    name = ["new", *(f"worn {i}" for i in range(1, levels)), "failed"]
    for i in range(levels):
        breaks = failure_rate * i / (levels - 1)
        yield name[i], "run", [(name[i + 1], wear_rate), ("failed", breaks)], revenue - revenue_drop * i
        if i:
            wear = wear_in_service
            yield (name[i], "maintain", [("new", maintenance_rate), (name[i + 1], wear * wear_rate), ("failed", wear * breaks)],
                   -maintenance_cost * maintenance_rate)
    yield "failed", "repair", [("new", repair_rate)], -repair_cost * repair_rate


def machine_repair(machines, crews, failure_rate, repair_rate, downtime_cost, crew_cost):
    for f in range(machines + 1):
        for c in range(1, min(crews, max(f, 1)) + 1):
            yield (f"{f} down", f"{c} crew" + "s" * (c > 1),
                   [(f"{f + 1} down", failure_rate * (machines - f)), (f"{f - 1} down", repair_rate * min(f, c))],
                   -downtime_cost * f - crew_cost * c)


def spare_parts(max_stock, critical_rate, ordinary_rate, supply_rate, return_rate, critical_loss, ordinary_loss, holding_cost):
    for n in range(max_stock + 1):
        for order in (True, False):
            for everyone in (True, False):
                if (order and n == max_stock) or (everyone and n == 0):
                    continue
                inflow = (return_rate + supply_rate * order) * (n < max_stock)
                sold = critical_rate + ordinary_rate * everyone if n else 0
                lost = (0 if n else critical_loss * critical_rate) + (0 if everyone else ordinary_loss * ordinary_rate)
                yield (f"{n} in stock", ("order" if order else "wait") + (", serve all" if everyone else ", keep for critical"),
                       [(f"{n + 1} in stock", inflow), (f"{n - 1} in stock", sold)], -holding_cost * n - lost)


def sis_epidemic(population, infection_rate, import_rate, recovery_rate, treatment_rate, distancing, illness_cost, treatment_cost,
                 distancing_cost):
    for i in range(population + 1):
        for action in ("nothing", "treat", "distance", "treat and distance") if i else ("nothing",):
            treat, apart = "treat" in action, "distance" in action
            met = infection_rate * i / population * (1 - distancing if apart else 1)
            yield (f"{i} infected", action, [(f"{i + 1} infected", (met + import_rate) * (population - i)),
                                             (f"{i - 1} infected", (recovery_rate + treatment_rate * treat) * i)],
                   -illness_cost * i - treatment_cost * i * treat - distancing_cost * population * apart)


def sir_epidemic(population, infection_rate, import_rate, recovery_rate, waning_rate, vaccination_rate, isolation, illness_cost,
                 vaccination_cost, isolation_cost):
    for s in range(population + 1):
        for i in range(population - s + 1):
            for action in ["nothing", *["vaccinate"] * (s > 0), *["isolate"] * (i > 0)]:
                met = infection_rate * i / population * (1 - isolation if action == "isolate" else 1)
                doses = vaccination_rate * s * (action == "vaccinate")
                yield (f"({s}, {i})", action,
                       [(f"({s - 1}, {i + 1})", (met + import_rate) * s), (f"({s}, {i - 1})", recovery_rate * i),
                        (f"({s + 1}, {i})", waning_rate * (population - s - i)), (f"({s - 1}, {i})", doses)],
                       -illness_cost * i - isolation_cost * i * (action == "isolate") - vaccination_cost * doses)


def market_making(max_inventory, order_rate, decay, offsets, risk_cost):
    for q in range(-max_inventory, max_inventory + 1):
        for bid in offsets if q < max_inventory else [None]:
            for ask in offsets if q > -max_inventory else [None]:
                buy = order_rate * math.exp(-decay * bid) if bid is not None else 0
                sell = order_rate * math.exp(-decay * ask) if ask is not None else 0
                if bid is None or ask is None:
                    action = f"bid {bid:g} only" if ask is None else f"ask {ask:g} only"
                else:
                    action = f"bid {bid:g} / ask {ask:g}"
                yield (f"inventory {q}", action, [(f"inventory {q + 1}", buy), (f"inventory {q - 1}", sell)],
                       buy * (bid or 0) + sell * (ask or 0) - risk_cost * q**2)


def call_centre(agents, lines, callbacks, arrival_rate, service_rate, patience_rate, accept, leave_number, retry_rate, dial_rate,
                abandon_cost, waiting_cost, callback_cost):
    for n in range(lines + 1):
        for m in range(callbacks + 1):
            waiting = max(0, n - agents)
            if n >= agents and m < callbacks:
                actions = ("queue", "offer call-back")
            else:
                actions = ("keep agents free", "dial back") if n < agents and m > 0 else ("answer",)
            for action in actions:
                takes = arrival_rate * accept * (action == "offer call-back")
                stays = arrival_rate - takes
                leaves = patience_rate * waiting * leave_number * (m < callbacks)
                lost = patience_rate * waiting - leaves + stays * (n == lines)
                back = (retry_rate * m + dial_rate * (action == "dial back")) * (n < lines) * (m > 0)
                yield (f"({n}, {m})", action,
                       [(f"({n + 1}, {m})", stays * (n < lines)), (f"({n}, {m + 1})", takes),
                        (f"({n - 1}, {m})", service_rate * min(n, agents) + patience_rate * waiting - leaves),
                        (f"({n - 1}, {m + 1})", leaves), (f"({n + 1}, {m - 1})", back)],
                       -abandon_cost * lost - waiting_cost * waiting - callback_cost * m)


def hospital_beds(beds, emergency_rate, planned_rate, emergency_stay, planned_stay, pressing, planned_reward, diversion_cost):
    for e in range(beds + 1):
        for p in range(beds - e + 1):
            room = e + p < beds
            for action in ("admit planned", "postpone planned") if room else ("full",):
                enter = planned_rate * (1 if action == "admit planned" else pressing) * room
                yield (f"({e}, {p})", action,
                       [(f"({e + 1}, {p})", emergency_rate * room), (f"({e}, {p + 1})", enter),
                        (f"({e - 1}, {p})", e / emergency_stay), (f"({e}, {p - 1})", p / planned_stay)],
                       planned_reward * enter - (0 if room else diversion_cost * emergency_rate))


CASES = [
    (customer_selection, dict(servers=4, classes=2, arrival_rates=[0.7, 1.9], rewards=[3.0, 1.1], service_rate=0.8, pay=pay))
    for pay in ("lump", "running", "transition")
] + [
    (admission, dict(servers=2, capacity=5, arrival_rate=0.9, urgent_rate=0.3, service_rate=0.7, reward=4.0, waiting_cost=0.6)),
    (service_rate, dict(capacity=4, arrival_rate=0.9, speeds=[0.5, 2.5], speed_costs=[0.2, 1.7], waiting_cost=0.3, loss_cost=7.0)),
    (routing, dict(capacity=3, arrival_rate=0.9, dedicated_rate=0.2, service_rates=[1.1, 0.4], costs=[1.3, 0.6], loss_cost=9.0)),
    (priority, dict(capacity=3, arrival_rates=[0.3, 0.8], service_rates=[1.1, 2.3], costs=[1.7, 0.9], loss_cost=6.0)),
    (tandem, dict(capacity=3, arrival_rate=0.7, slow_rate=0.2, fast_rate=1.4, second_rate=0.9, first_cost=0.8, second_cost=2.1,
                  loss_cost=11.0)),
    (criss_cross, dict(capacity=2, arrival_rates=[0.3, 0.6], first_rates=[1.2, 1.9], second_rate=0.8, costs=[1.5, 0.7, 2.2],
                       loss_cost=8.0)),
    (server_switching, dict(capacity=2, arrival_rates=[0.3, 0.5], service_rates=[1.2, 1.7], costs=[1.1, 0.4], setup_rate=0.9,
                            setup_cost=1.3, loss_cost=7.0, leak=0.1)),
    (maintenance, dict(levels=4, wear_rate=0.6, failure_rate=0.5, maintenance_rate=2.2, repair_rate=0.4, revenue=1.2,
                       revenue_drop=0.1, maintenance_cost=0.6, repair_cost=2.3, wear_in_service=0.2)),
    (machine_repair, dict(machines=5, crews=3, failure_rate=0.2, repair_rate=0.7, downtime_cost=1.1, crew_cost=1.3)),
    (spare_parts, dict(max_stock=4, critical_rate=0.5, ordinary_rate=0.9, supply_rate=1.2, return_rate=0.15, critical_loss=9.0,
                       ordinary_loss=2.5, holding_cost=0.3)),
    (sis_epidemic, dict(population=5, infection_rate=2.5, import_rate=0.05, recovery_rate=0.4, treatment_rate=0.6, distancing=0.7,
                        illness_cost=1.1, treatment_cost=1.4, distancing_cost=0.35)),
    (sir_epidemic, dict(population=4, infection_rate=2.5, import_rate=0.05, recovery_rate=0.9, waning_rate=0.3,
                        vaccination_rate=0.6, isolation=0.65, illness_cost=1.9, vaccination_cost=0.8, isolation_cost=0.45)),
    (market_making, dict(max_inventory=2, order_rate=2.0, decay=1.3, offsets=[0.2, 0.9, 1.4], risk_cost=0.07)),
    (call_centre, dict(agents=2, lines=4, callbacks=2, arrival_rate=2.6, service_rate=0.9, patience_rate=0.6, accept=0.55,
                       leave_number=0.25, retry_rate=0.07, dial_rate=3.5, abandon_cost=3.0, waiting_cost=1.2, callback_cost=0.4)),
    (hospital_beds, dict(beds=3, emergency_rate=0.8, planned_rate=1.6, emergency_stay=2.5, planned_stay=1.5, pressing=0.2,
                         planned_reward=1.4, diversion_cost=5.0)),
]


@pytest.mark.parametrize("by_hand, parameters", CASES, ids=[f"{f.__name__}-{i}" for i, (f, _) in enumerate(CASES)])
def test_a_family_is_what_its_description_says(by_hand, parameters):
    model = make(by_hand.__name__.replace("_", "-"), **parameters)
    told = {k: v for k, v in parameters.items() if k not in ("classes", "pay")}
    expected = {}
    for state, action, jumps, earned in by_hand(**told):
        intensity = defaultdict(float)
        for to, rate in jumps:
            if rate:
                intensity[to] += rate
        expected[state, action] = (dict(intensity), earned)
    found = {}
    for k in range(model.n_pairs):
        row = slice(model.row_start[k], model.row_start[k + 1])
        intensity = {model.states[j]: model.rate[k] * p for j, p in zip(model.next_state[row], model.probability[row])}
        per_time = model.running[k] + model.rate[k] * model.expected_reward[k]
        found[model.states[model.pair_state[k]], model.actions[model.pair_action[k]]] = (intensity, per_time)
    assert found.keys() == expected.keys()
    for pair, (intensity, earned) in expected.items():
        assert found[pair][0] == pytest.approx(intensity, rel=1e-12), pair
        assert found[pair][1] == pytest.approx(earned, rel=1e-12, abs=1e-12), pair

"""Routing to parallel queues: which line an arriving customer is sent to (Winston 1977, Hajek 1984)."""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, grid, named, tuple_labels
from sojourn.zoo.family import Family, Parameter, amount, count, entries, limit_states, rate, same_length


def build(capacity: int, arrival_rate: float, dedicated_rate: float, service_rates: tuple[float, ...], costs: tuple[float, ...],
          loss_cost: float) -> CTMDP:
    """Return the model; the state is the number of customers at each queue."""
    same_length(service_rates=service_rates, costs=costs)
    entries(2, 6, "queue", service_rates=service_rates)
    queues = len(service_rates)
    limit_states((capacity + 1) ** queues, capacity=capacity, queues=queues)
    states, n = grid(*[capacity + 1] * queues)
    step = (capacity + 1) ** np.arange(queues - 1, -1, -1)
    waiting = np.sum([c * x for c, x in zip(costs, n)], axis=0)
    lost = dedicated_rate * np.sum([x == capacity for x in n], axis=0)
    model = Assembly(len(states))
    arrive, own = named("arrive", arrival_rate), [named(f"dedicated {q + 1}", dedicated_rate) for q in range(queues)]
    serve = [named(f"serve {q + 1}", value) for q, value in enumerate(service_rates)]

    def add(action: str, where: np.ndarray, to: int | None) -> None:
        at = states[where]
        jumps = []
        for q in range(queues):
            inflow = (own[q] + (arrive if q == to else 0.0)) * (n[q][where] < capacity)
            jumps.append((np.where(n[q][where] < capacity, at + step[q], at), inflow))
            jumps.append((np.where(n[q][where] > 0, at - step[q], at), serve[q] * (n[q][where] > 0)))
        turned = (lost[where] + (arrival_rate if to is None else 0.0)) * loss_cost
        silent = [(own[q] * (n[q][where] == capacity), -loss_cost) for q in range(queues)]
        silent += [(arrive, -loss_cost)] if to is None else []
        model.add(action, at, jumps, running=-waiting[where] - turned, silent=silent, apart=-waiting[where])

    for q in range(queues):
        add(f"to queue {q + 1}", n[q] < capacity, q)
    add("turn away", np.all([x == capacity for x in n], axis=0), None)
    return model.build(tuple_labels(*n))


FAMILY = Family(
    name="routing",
    summary="parallel queues: which line to send each arriving customer to",
    theory="The state (n1, n2, ...) holds the number of customers at each queue, in service included. Arrivals are "
    "sent to the queue that the action names (one that has room); each queue has besides a small stream of "
    "its own. Customers cost `costs` per unit of time by queue; an arrival that finds its queue full is lost "
    "at loss_cost.",
    source="W. Winston (1977), Optimality of the shortest line discipline, J. Applied Probability 14(1), 181-189; "
    "B. Hajek (1984), Optimal control of two interacting service stations, IEEE Trans. Automatic Control "
    "29(6), 491-499",
    parameters=(
        count("capacity", 5, "customers", "room at each queue, the one in service included", 1, 1413),
        rate("arrival_rate", 0.8, "arrivals to be routed"),
        rate("dedicated_rate", 0.0, "arrivals that each queue has of its own", zero=True),
        Parameter("service_rates", (1.0, 0.6), "1/time", "service rate of each queue (2 to 6 queues)", "reals", 0, 1e6, True),
        Parameter("costs", (1.0, 1.0), "reward/(time x customer)", "cost of a customer at each queue", "reals", 0, 1e6),
        amount("loss_cost", 40.0, "reward", "cost of a lost customer"),
    ),
    build=build,
    axes=("customers at queue 1", "customers at queue 2"),
    answer="Equal queues: join the shortest (Winston 1977). Two different queues: a monotone switching curve (Hajek "
    "1984).",
    note="Irreducible under every policy even without dedicated streams: a full queue sends arrivals on to the "
    "others, and from full queues services lead everywhere.",
)

"""Admission control of an M/M/c/K queue: which arrivals to turn away (Naor 1969)."""

from __future__ import annotations

import numpy as np

from sojourn.errors import ParameterError
from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, named
from sojourn.zoo.family import Family, amount, choice, count, limit_states, rate


def build(servers: int, capacity: int, arrival_rate: float, urgent_rate: float, service_rate: float, reward: float,
          waiting_cost: float, pay: str) -> CTMDP:
    """Return the model; state n means n customers in the system."""
    if capacity < servers:
        raise ParameterError(f"capacity is {capacity} and servers is {servers}; capacity must be an integer from {servers} "
                             "(it counts the customers in service too).")
    limit_states(capacity + 1, capacity=capacity)
    model = Assembly(capacity + 1)
    arrive, urgent, serve = named("arrive", arrival_rate), named("urgent", urgent_rate), named("serve", service_rate)
    n = np.arange(capacity)
    leave = (np.maximum(n - 1, 0), np.minimum(n, servers) * serve)
    model.add("admit", n, [leave, (n + 1, arrive + urgent, reward)], running=-waiting_cost * n)
    n = n if urgent_rate else n[1:]
    leave = (np.maximum(n - 1, 0), np.minimum(n, servers) * serve)
    model.add("reject", n, [leave, (n + 1, urgent, reward)], running=-waiting_cost * n, silent=[(arrive, 0.0)])
    model.add("reject", [capacity], [(capacity - 1, servers * serve)], running=-waiting_cost * capacity,
              silent=[(arrive + urgent, 0.0)])
    return model.build([str(i) for i in range(capacity + 1)], pay=pay)


FAMILY = Family(
    name="admission",
    summary="M/M/c/K queue: admit or reject arrivals, a reward for each against a cost of waiting",
    theory="State n is the number of customers in the system. Admitting pays `reward`; every customer in the system "
    "costs `waiting_cost` per unit of time. `reject` turns ordinary arrivals away; urgent ones (rate "
    "urgent_rate) are always let in. The best policy admits below a threshold that is smaller than what "
    "customers would choose for themselves.",
    source="P. Naor (1969), The regulation of queue size by levying tolls, Econometrica 37(1), 15-24",
    parameters=(
        count("servers", 1, "servers", "number of servers c", 1, 100_000),
        count("capacity", 12, "customers", "room K for customers, those in service included", 1, 1_999_999),
        rate("arrival_rate", 0.9, "arrivals that may be rejected"),
        rate("urgent_rate", 0.05, "arrivals that are always admitted while there is room; 0 gives Naor's model", zero=True),
        rate("service_rate", 1.0, "rate at which one busy server finishes"),
        amount("reward", 5.0, "reward", "paid per admitted customer"),
        amount("waiting_cost", 1.0, "reward/(time x customer)", "cost of a customer in the system"),
        choice("pay", "transition", ("lump", "running", "transition"), "how the admission reward enters the model"),
    ),
    build=build,
    axes=("customers in the system",),
    answer="Threshold policy. With one server and urgent_rate=0 Naor's inequality gives the threshold; with "
    "waiting_cost=0 and capacity=servers the gain is arrival rate x reward x (1 - Erlang B).",
    note="With urgent_rate=0 a policy that rejects at n never reaches n+2: communicating and unichain, not "
    "irreducible. An empty system then always admits (rejecting there would stop the process for ever).",
)

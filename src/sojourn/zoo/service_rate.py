"""Service-rate control of an M/M/1 queue: how fast to work, given how many wait (Crabill 1972)."""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, named
from sojourn.zoo.family import Family, Parameter, all_different, amount, count, limit_states, rate, same_length


def build(capacity: int, arrival_rate: float, speeds: tuple[float, ...], speed_costs: tuple[float, ...], waiting_cost: float,
          loss_cost: float) -> CTMDP:
    """Return the model; state n means n customers in the system."""
    same_length(speeds=speeds, speed_costs=speed_costs)
    limit_states(capacity + 1, (capacity + 1) * len(speeds), capacity=capacity, speeds=len(speeds))
    all_different("speeds", speeds)
    model = Assembly(capacity + 1)
    arrive = named("arrive", arrival_rate)
    model.add("idle", [0], [(1, arrive)])
    n = np.arange(1, capacity + 1)
    full = n == capacity
    for speed, cost in zip(speeds, speed_costs):
        spent = waiting_cost * n + cost + loss_cost * arrival_rate * full
        serve = named(f"serve at speed {speed:g}", speed)
        model.add(f"speed {speed:g}", n, [(n - 1, serve), (np.minimum(n + 1, capacity), arrive * ~full)], running=-spent,
                  silent=[(arrive * full, -loss_cost)], apart=-(waiting_cost * n + cost))
    return model.build([str(i) for i in range(capacity + 1)])


FAMILY = Family(
    name="service-rate",
    summary="M/M/1 queue with adjustable speed: work faster, at a price, when more customers wait",
    theory="State n is the number of customers in the system. While it is busy the server works at one of the given "
    "speeds, each with its cost per unit of time; every customer in the system costs waiting_cost per unit "
    "of time. Arrivals that find the system full are lost at loss_cost each, which stands for what the "
    "truncated part of an infinite queue would cost.",
    source="T. B. Crabill (1972), Optimal control of a service facility with variable exponential service times and "
    "constant arrival rate, Management Science 18(9), 560-566; J. M. George and J. M. Harrison (2001), "
    "Dynamic control of a queue with adjustable service rate, Operations Research 49(5), 720-731",
    parameters=(
        count("capacity", 12, "customers", "room for customers, the one in service included", 1, 1_999_999),
        rate("arrival_rate", 0.8, "arrivals"),
        Parameter("speeds", (0.8, 1.2, 1.8), "1/time", "service rates to choose from", "reals", 0, 1e6, True),
        Parameter("speed_costs", (0.0, 1.0, 3.0), "reward/time", "cost of each speed while it is used", "reals", 0, 1e6),
        amount("waiting_cost", 0.2, "reward/(time x customer)", "cost of a customer in the system"),
        amount("loss_cost", 10.0, "reward", "cost of a lost customer"),
    ),
    build=build,
    axes=("customers in the system",),
    answer="The optimal speed does not decrease with the number of customers (Crabill 1972). With one speed the "
    "gain follows from the M/M/1/K queue.",
)

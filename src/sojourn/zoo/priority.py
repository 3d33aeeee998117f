"""Priority scheduling of a multi-class queue: which class the one server works on (the c-mu rule)."""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, grid, named, tuple_labels
from sojourn.zoo.family import Family, Parameter, amount, count, entries, limit_states, same_length

MAX_CLASSES = 20


def build(capacity: int, arrival_rates: tuple[float, ...], service_rates: tuple[float, ...], costs: tuple[float, ...],
          loss_cost: float) -> CTMDP:
    """Return the model; the state is the number of customers of each class."""
    same_length(arrival_rates=arrival_rates, service_rates=service_rates, costs=costs)
    entries(1, MAX_CLASSES, "class", costs=costs)
    classes = len(costs)
    limit_states((capacity + 1) ** classes, capacity=capacity, classes=classes)
    states, n = grid(*[capacity + 1] * classes)
    step = (capacity + 1) ** np.arange(classes - 1, -1, -1)
    spent = sum(c * x + loss_cost * a * (x == capacity) for c, a, x in zip(costs, arrival_rates, n))
    arrive = [named(f"arrive {k + 1}", value) for k, value in enumerate(arrival_rates)]
    arrivals = [(np.where(x < capacity, states + d, states), a, x) for x, d, a in zip(n, step, arrive)]
    held = np.sum([c * x for c, x in zip(costs, n)], axis=0)
    model = Assembly(len(states))
    model.add("idle", [0], [(to[:1], a * (x[:1] < capacity)) for to, a, x in arrivals])
    for k in range(classes):
        here = n[k] > 0
        done = (states[here] - step[k], named(f"serve {k + 1}", service_rates[k]))
        jumps = [(to[here], a * (x[here] < capacity)) for to, a, x in arrivals]
        model.add(f"serve {k + 1}", states[here], [*jumps, done], running=-spent[here], apart=-held[here],
                  silent=[(a * (x[here] == capacity), -loss_cost) for _, a, x in arrivals])
    return model.build(tuple_labels(*n))


FAMILY = Family(
    name="priority",
    summary="one server, several classes: whom to serve next (the c-mu rule)",
    theory="The state (n1, n2, ...) holds the number of customers of each class. The server works on the class that "
    "the action names, preemptively, and never idles while somebody waits. A customer of class k costs "
    "costs[k] per unit of time; one that finds its buffer full is lost at loss_cost.\n\n"
    "With unlimited buffers the c-mu rule is optimal: serve the class with the largest cost x service rate. A "
    "finite buffer bends the rule near its edge, where losing a customer saves his waiting: loss_cost counteracts "
    "that, and the documentation shows how the edge's effect fades as the buffer grows.",
    source="D. R. Cox and W. L. Smith (1961), Queues, Methuen; C. Buyukkoc, P. Varaiya and J. Walrand (1985), The "
    "c-mu rule revisited, Advances in Applied Probability 17(1), 237-238",
    parameters=(
        count("capacity", 5, "customers", "buffer of each class", 1, 1413),
        Parameter("arrival_rates", (0.4, 0.6), "1/time", "arrivals of each class", "reals", 0, 1e6, True),
        Parameter("service_rates", (1.0, 2.0), "1/time", "service rate of each class", "reals", 0, 1e6, True),
        Parameter("costs", (1.0, 3.0), "reward/(time x customer)", "cost of waiting of each class (1 to 20)", "reals", 0, 1e6),
        amount("loss_cost", 5.0, "reward", "cost of a lost customer"),
    ),
    build=build,
    axes=("customers of class 1", "customers of class 2"),
    answer="c-mu away from the edge. With equal service rates the total number behaves as one M/M/1 queue, and the "
    "gain of c-mu tends to the preemptive-priority formula as the buffer grows.",
)

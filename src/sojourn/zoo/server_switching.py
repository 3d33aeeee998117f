"""Polling: one server, two queues, and a set-up time whenever the server changes over (Hofri and Ross 1987)."""

from __future__ import annotations

import numpy as np

from sojourn.errors import ParameterError
from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, grid, named
from sojourn.zoo.family import Family, Parameter, amount, count, limit_states, rate, share


def build(capacity: int, arrival_rates: tuple[float, ...], service_rates: tuple[float, ...], costs: tuple[float, ...],
          setup_rate: float, setup_cost: float, loss_cost: float, leak: float) -> CTMDP:
    """Return the model; the state is (n1, n2) and where the server stands."""
    for name, values in (("arrival_rates", arrival_rates), ("service_rates", service_rates), ("costs", costs)):
        if len(values) != 2:
            raise ParameterError(f"{name} has {len(values)} entries; it must have 2, one per queue.")
    size = capacity + 1
    limit_states(2 * size**2, capacity=capacity)
    states, (x, y, place) = grid(size, size, 2)
    steps = (2 * size, 2)
    room = [x < capacity, y < capacity]
    arrive = [named(f"arrive {k + 1}", value) for k, value in enumerate(arrival_rates)]
    serve = [named(f"serve {k + 1}", value) for k, value in enumerate(service_rates)]
    change = named("change over", setup_rate)
    jumps = [(states + steps[k] * room[k], arrive[k] * room[k]) for k in (0, 1)]
    present = np.where(place == 0, x, y) > 0
    done = states - np.where(place == 0, steps[0], steps[1]) * present
    speed = serve[0] * ((place == 0) & present) + serve[1] * ((place == 1) & present)
    other = states + 1 - 2 * place
    held = costs[0] * x + costs[1] * y
    lost = [(a * ~r, -loss_cost) for a, r in zip(arrive, room)]
    spent = costs[0] * x + costs[1] * y + loss_cost * sum(a * ~r for a, r in zip(arrival_rates, room))
    model = Assembly(len(states))
    model.add("stay", states, [*jumps, (done, speed), (other, leak * change, -setup_cost)], running=-spent, silent=lost,
              apart=-held)
    model.add("change over", states, [*jumps, (done, leak * speed), (other, change, -setup_cost)], running=-spent, silent=lost,
              apart=-held)
    return model.build([f"({a}, {b}) at {c + 1}" for a, b, c in zip(x.tolist(), y.tolist(), place.tolist())])


FAMILY = Family(
    name="server-switching",
    summary="one server, two queues and a set-up time between them: when to change over",
    theory="The state is (n1, n2) and the queue at which the server stands. `stay` serves there; `change over` sets "
    "up for the other queue, which takes an exponential time of rate setup_rate, may be broken off at any "
    "event, and costs setup_cost when done. With leak e, a server who stays is called to the other queue at "
    "rate e x setup_rate, and one who sets up still serves at e times his speed.",
    source="M. Hofri and K. W. Ross (1987), On the optimal control of two queues with server setup times and its "
    "analysis, SIAM J. Computing 16(2), 399-420; I. Duenyas and M. P. Van Oyen (1996), Heuristic scheduling "
    "of parallel heterogeneous queues with set-ups, Management Science 42(6), 814-829",
    parameters=(
        count("capacity", 4, "customers", "room at each queue", 1, 999),
        Parameter("arrival_rates", (0.3, 0.3), "1/time", "arrivals at each queue", "reals", 0, 1e6, True),
        Parameter("service_rates", (1.2, 1.2), "1/time", "service rate at each queue", "reals", 0, 1e6, True),
        Parameter("costs", (1.0, 1.0), "reward/(time x customer)", "cost of a customer at each queue", "reals", 0, 1e6),
        rate("setup_rate", 1.0, "rate at which a set-up is completed"),
        amount("setup_cost", 1.0, "reward", "cost of a completed set-up"),
        amount("loss_cost", 10.0, "reward", "cost of a lost customer"),
        share("leak", 0.02, "share of each action's effect that the other action has too; 0 gives the pure model", 0.5),
    ),
    build=build,
    axes=("customers at queue 1", "customers at queue 2", "server at queue"),
    answer="With equal queues service is exhaustive: the server leaves a queue only when it is empty (Hofri and "
    "Ross 1987), away from the buffer's edge. As setup_rate grows and setup_cost vanishes the gain tends to "
    "that of `priority`.",
    note="With leak=0 a server who always stays makes two recurrent classes, and one who always sets up serves "
    "nobody: communicating, neither unichain nor irreducible. leak > 0 is the variant that satisfies the "
    "assumption.",
)

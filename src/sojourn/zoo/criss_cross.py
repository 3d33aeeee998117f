"""The criss-cross network: two classes at one station, one of which goes on to a second (Harrison and Wein 1989)."""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, grid, named, tuple_labels
from sojourn.zoo.family import Family, Parameter, amount, count, limit_states, rate


def build(capacity: int, arrival_rates: tuple[float, ...], first_rates: tuple[float, ...], second_rate: float,
          costs: tuple[float, ...], loss_cost: float) -> CTMDP:
    """Return the model; the state is the number of customers of the classes 1, 2 (station 1) and 3 (station 2)."""
    _lengths(arrival_rates=(arrival_rates, 2), first_rates=(first_rates, 2), costs=(costs, 3))
    limit_states((capacity + 1) ** 3, capacity=capacity)
    return network((capacity, capacity, capacity), arrival_rates, first_rates, second_rate, costs, loss_cost)


def network(capacities: tuple[int, int, int], arrival_rates: tuple[float, ...], first_rates: tuple[float, ...],
            second_rate: float, costs: tuple[float, ...], loss_cost: float) -> CTMDP:
    """Return the same with a buffer of its own for each class."""
    sizes = [capacity + 1 for capacity in capacities]
    states, n = grid(*sizes)
    steps = (sizes[1] * sizes[2], sizes[2], 1)
    full = [x == capacity for x, capacity in zip(n, capacities)]
    spent = sum(c * x for c, x in zip(costs, n)) + loss_cost * sum(a * x for a, x in zip(arrival_rates, full))
    model = Assembly(len(states))
    arrive = [named(f"arrive {k + 1}", value) for k, value in enumerate(arrival_rates)]
    serve = [named(f"serve {k + 1}", value) for k, value in enumerate((*first_rates, second_rate))]
    held = np.sum([c * x for c, x in zip(costs, n)], axis=0)

    def add(action: str, here: np.ndarray, jump: tuple[int, int] | None) -> None:
        s = states[here]
        room = [~full[k][here] for k in (0, 1)]
        jumps = [(s + steps[k] * room[k], arrive[k] * room[k]) for k in (0, 1)]
        busy = n[2][here] > 0
        jumps.append((s - busy, serve[2] * busy))
        if jump:
            jumps.append((s + jump[0], serve[jump[1]]))
        lost = [(arrive[k] * ~room[k], -loss_cost) for k in (0, 1)]
        model.add(action, s, jumps, running=-spent[here], silent=lost, apart=-held[here])

    one, two = n[0] > 0, (n[1] > 0) & ~full[2]
    add("idle", ~one & ~two, None)
    add("serve 1", one, (-steps[0], 0))
    add("serve 2", two, (-steps[1] + steps[2], 1))
    return model.build(tuple_labels(*n))


def _lengths(**lists: tuple[tuple[float, ...], int]) -> None:
    from sojourn.errors import ParameterError

    for name, (values, wanted) in lists.items():
        if len(values) != wanted:
            raise ParameterError(f"{name} has {len(values)} entries; it must have {wanted}, one per class.")


FAMILY = Family(
    name="criss-cross",
    summary="criss-cross network: station 1 serves two classes, one of which goes on to station 2",
    theory="The state is (n1, n2, n3). Station 1 serves class 1, which then leaves, or class 2, which then becomes "
    "class 3 and waits for station 2. The question is when to feed station 2. Station 1 never idles while it "
    "can work; class 2 is blocked while the buffer of class 3 is full.",
    source="J. M. Harrison and L. M. Wein (1989), Scheduling networks of queues: heavy traffic analysis of a simple "
    "open network, Queueing Systems 5(4), 265-280",
    parameters=(
        count("capacity", 3, "customers", "buffer of each class", 1, 124),
        Parameter("arrival_rates", (0.5, 0.5), "1/time", "arrivals of class 1 and class 2", "reals", 0, 1e6, True),
        Parameter("first_rates", (1.5, 1.5), "1/time", "service rates of class 1 and 2 at station 1", "reals", 0, 1e6, True),
        rate("second_rate", 0.9, "service rate at station 2"),
        Parameter("costs", (1.0, 1.0, 1.0), "reward/(time x customer)", "cost of waiting of classes 1, 2, 3", "reals", 0, 1e6),
        amount("loss_cost", 20.0, "reward", "cost of a lost customer"),
    ),
    build=build,
    axes=("class 1", "class 2", "class 3"),
    answer="Serve class 1 unless station 2 is about to starve (Harrison and Wein 1989, in heavy traffic): at equal "
    "costs and rates the action `serve 2` is taken only while class 3 is short.",
    note="A uniformly random policy loses only about 5 % of the gain, less than luck makes in one run of 10^4 decisions: compare "
    "pseudo-regrets.",
)

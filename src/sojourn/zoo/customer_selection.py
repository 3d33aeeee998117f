"""Customer selection: which classes of customers to admit while servers are free (Miller 1969).

There are n servers and m classes of customers who arrive in Poisson streams; class k pays `rewards[k]` when admitted.
The state is the number of *free* servers.  With i >= 1 free servers the action is the non-empty set of classes to admit
until the next event; with none free there is nothing to choose.  Service times are exponential with one rate for all.
"""

from __future__ import annotations

import numpy as np

from sojourn.errors import ParameterError
from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, named
from sojourn.zoo.family import Family, Parameter, choice, count, limit_states, rate

MAX_CLASSES = 12


def build(servers: int, classes: int, arrival_rates: tuple[float, ...] | None, rewards: tuple[float, ...] | None,
          service_rate: float, pay: str) -> CTMDP:
    """Return the model; state i means i free servers."""
    arrivals = np.array(arrival_rates if arrival_rates is not None else default_arrivals(classes))
    prices = np.array(rewards if rewards is not None else default_rewards(classes))
    for name, values in (("arrival_rates", arrivals), ("rewards", prices)):
        if len(values) != classes:
            raise ParameterError(f"{name} has {len(values)} entries and classes is {classes}; give one entry per class.")
    limit_states(servers + 1, (servers + 1) * 2.0**classes, servers=servers, classes=classes)
    model = Assembly(servers + 1)
    arrive = [named(f"class {k + 1}", value) for k, value in enumerate(arrivals.tolist())]
    serve = named("serve", service_rate)
    model.add("admit none", [0], [(1, servers * serve)], silent=[(form, 0.0) for form in arrive])
    free = np.arange(1, servers + 1)
    leaving = (free + 1, (servers - free) * serve)
    for mask in range(1, 2**classes):
        chosen = [k for k in range(classes) if mask >> k & 1]
        admitted = arrivals[chosen].sum()
        earned = (arrivals[chosen] * prices[chosen]).sum() / admitted
        label = "admit {" + ",".join(str(k + 1) for k in chosen) + "}"
        parts = [(arrive[k], prices[k]) for k in chosen]
        model.add(label, free, [(free - 1, admitted, earned, parts), (np.minimum(leaving[0], servers), leaving[1])],
                  silent=[(arrive[k], 0.0) for k in range(classes) if k not in chosen])
    slowest = min(arrivals.min(), servers * service_rate)
    return model.build([f"{i} free" for i in range(servers + 1)], pay=pay,
                       rate_bounds=(slowest, servers * service_rate + arrivals.sum()))


def default_arrivals(classes: int) -> list[float]:
    """Return 1, 3/2, 2, ... customers per unit of time: cheap classes are the frequent ones."""
    return [1 + k / 2 for k in range(classes)]


def default_rewards(classes: int) -> list[float]:
    """Return 1, 3/5, 1/4, 1/8, 1/16, ... per admitted customer."""
    return [1.0, 0.6, *(0.5**k for k in range(2, classes + 1))][:classes]


FAMILY = Family(
    name="customer-selection",
    summary="M/M/n queue without waiting room: which of m customer classes to admit while servers are free",
    theory="State i means that i of the n servers are free. The action in i >= 1 is the non-empty set of classes "
    "admitted until the next event; with no server free there is only `admit none`. Class k arrives at rate "
    "arrival_rates[k] and pays rewards[k] on admission; each busy server finishes at rate service_rate.\n\n"
    "What an action earns involves the arrival rates. pay=lump pays the mean, sum of arrival rate x reward over the "
    "admitted classes divided by the rate of the pair, when the action is chosen; pay=running pays it continuously; "
    "pay=transition pays, with the jump, the mean reward of the admitted class. Gain, gaps, g and D are the same in "
    "the three forms; the divergences K and C(M) are not.",
    source="B. L. Miller (1969), A queueing reward system with several customer classes, Management Science 16(3), "
    "234-245; the example of Gao and Zhou's paper after assume-transition",
    parameters=(
        count("servers", 3, "servers", "number of servers", 1, 100_000),
        count("classes", 3, "classes", "number of customer classes (2^classes - 1 actions)", 1, MAX_CLASSES),
        Parameter("arrival_rates", None, "1/time", "arrival rate of each class (none: 1, 3/2, 2, ...)", "reals", 0, 1e6, True),
        Parameter("rewards", None, "reward", "reward per admission of each class (none: 1, 3/5, 1/4, ...)", "reals",
                  -1e6, 1e6),
        rate("service_rate", 1.0, "rate at which one busy server finishes"),
        choice("pay", "lump", ("lump", "running", "transition"), "how the admission reward enters the model"),
    ),
    build=build,
    axes=("free servers",),
    answer="The best class is always admitted, and the set of admitted classes grows with the number of free "
    "servers (Miller 1969). With one class the gain is arrival rate x reward x (1 - Erlang B).",
    note="Only non-empty sets may be chosen, which is what makes every policy irreducible.",
)

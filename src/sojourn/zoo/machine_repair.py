"""The repairman's problem: how many crews to keep on duty for a park of machines (Crabill 1974)."""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, named
from sojourn.zoo.family import Family, amount, count, limit_states, rate


def build(machines: int, crews: int, failure_rate: float, repair_rate: float, downtime_cost: float, crew_cost: float) -> CTMDP:
    """Return the model; state f means f machines are down."""
    limit_states(machines + 1, (machines + 1) * crews, machines=machines, crews=crews)
    model = Assembly(machines + 1)
    down = np.arange(machines + 1)
    fail, repair = named("fail", failure_rate), named("repair", repair_rate)
    for on_duty in range(1, crews + 1):
        f = down[np.maximum(down, 1) >= on_duty]
        jumps = [
            (np.minimum(f + 1, machines), fail * (machines - f)),
            (np.maximum(f - 1, 0), repair * np.minimum(f, on_duty)),
        ]
        label = "1 crew" if on_duty == 1 else f"{on_duty} crews"
        model.add(label, f, jumps, running=-downtime_cost * f - crew_cost * on_duty)
    return model.build([f"{f} down" for f in range(machines + 1)])


FAMILY = Family(
    name="machine-repair",
    summary="machines that fail and crews that repair them: how many crews to keep on duty",
    theory="State f is the number of machines that are down. Each working machine fails at failure_rate; each crew "
    "on duty repairs one machine at repair_rate. A machine that is down costs downtime_cost per unit of "
    "time, a crew on duty crew_cost. At least one crew is on duty, and never more crews than machines to "
    "repair.",
    source="T. B. Crabill (1974), Optimal control of a maintenance system with variable service rates, Operations "
    "Research 22(4), 736-745",
    parameters=(
        count("machines", 10, "machines", "number of machines", 1, 1_000_000),
        count("crews", 3, "crews", "largest number of crews", 1, 100),
        rate("failure_rate", 0.15, "failure rate of one working machine"),
        rate("repair_rate", 0.8, "repair rate of one crew"),
        amount("downtime_cost", 1.0, "reward/(time x machine)", "cost of a machine that is down"),
        amount("crew_cost", 1.5, "reward/(time x crew)", "cost of a crew on duty"),
    ),
    build=build,
    axes=("machines down",),
    answer="The number of crews does not decrease with the number of machines down (Crabill 1974). With one crew "
    "the gain follows from the finite-source M/M/1 queue.",
)

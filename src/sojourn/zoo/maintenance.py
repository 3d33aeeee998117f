"""Preventive maintenance of a machine that wears out (control-limit rules, Derman 1963)."""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, named
from sojourn.zoo.family import Family, amount, count, limit_states, rate, share


def build(levels: int, wear_rate: float, failure_rate: float, maintenance_rate: float, repair_rate: float, revenue: float,
          revenue_drop: float, maintenance_cost: float, repair_cost: float, wear_in_service: float) -> CTMDP:
    """Return the model; state 0 is as new, state levels means failed."""
    limit_states(levels + 1, levels=levels)
    model = Assembly(levels + 1)
    worn = np.arange(levels)
    wear, fail = named("wear", wear_rate), named("fail", failure_rate)
    maintain, repair = named("maintain", maintenance_rate), named("repair", repair_rate)
    shock = fail * worn / max(1, levels - 1)
    model.add("run", worn, [(worn + 1, wear), (levels, shock)], running=revenue - revenue_drop * worn)
    worn = worn[1:]
    shock = fail * worn / max(1, levels - 1)
    jumps = [(0, maintain, -maintenance_cost), (worn + 1, wear_in_service * wear), (levels, wear_in_service * shock)]
    model.add("maintain", worn, jumps)
    model.add("repair", [levels], [(0, repair, -repair_cost)])
    return model.build(["new", *(f"worn {i}" for i in range(1, levels)), "failed"])


FAMILY = Family(
    name="maintenance",
    summary="a machine that wears out: when to stop it for preventive maintenance before it fails",
    theory="The machine is new, worn 1, worn 2, ..., or failed. Running earns revenue, less with wear; wear "
    "proceeds one level at wear_rate, and a worn machine also breaks down at once, at a rate growing "
    "linearly to failure_rate at the last level. Maintenance takes a mean time of 1/maintenance_rate and "
    "makes the machine new; a failed machine must be repaired, which is slower and dearer. A machine being "
    "maintained still wears at the fraction wear_in_service.",
    source="C. Derman (1963), On optimal replacement rules when changes of state are Markovian, in R. Bellman "
    "(ed.), Mathematical Optimization Techniques, University of California Press, 201-210",
    parameters=(
        count("levels", 6, "levels", "number of working conditions, new included", 1, 1_000_000),
        rate("wear_rate", 0.5, "rate of wear by one level"),
        rate("failure_rate", 0.4, "breakdown rate at the last level", zero=True),
        rate("maintenance_rate", 2.0, "rate at which maintenance is completed"),
        rate("repair_rate", 0.3, "rate at which a repair is completed"),
        amount("revenue", 1.0, "reward/time", "earned by a new machine that runs"),
        amount("revenue_drop", 0.05, "reward/time", "lost per level of wear"),
        amount("maintenance_cost", 0.5, "reward", "cost of maintenance"),
        amount("repair_cost", 2.0, "reward", "cost of a repair"),
        share("wear_in_service", 0.1, "fraction at which wear goes on during maintenance"),
    ),
    build=build,
    axes=("condition",),
    answer="A control limit: run below some level of wear, maintain from it on (Derman 1963); the gain of each "
    "limit is reward per cycle over time per cycle.",
    note="With wear_in_service=0 a policy that maintains at level 1 never reaches level 2: unichain and "
    "communicating, not irreducible.",
)

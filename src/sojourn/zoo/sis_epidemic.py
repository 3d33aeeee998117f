"""Control of an SIS epidemic: treat the sick, keep people apart, or wait (Lefevre 1981)."""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, named
from sojourn.zoo.family import Family, amount, count, limit_states, rate, share


def build(population: int, infection_rate: float, import_rate: float, recovery_rate: float, treatment_rate: float,
          distancing: float, illness_cost: float, treatment_cost: float, distancing_cost: float) -> CTMDP:
    """Return the model; state i means i infected."""
    limit_states(population + 1, population=population)
    model = Assembly(population + 1)
    infected = np.arange(population + 1)
    infect, arrive = named("infect", infection_rate), named("import", import_rate)
    recover, cure = named("recover", recovery_rate), named("treat", treatment_rate)
    for action, treat, apart in (("nothing", 0, 0), ("treat", 1, 0), ("distance", 0, 1), ("treat and distance", 1, 1)):
        i = infected if action == "nothing" else infected[1:]
        contact = infect * (1 - distancing * apart) * i / population
        jumps = [
            (np.minimum(i + 1, population), (contact + arrive) * (population - i)),
            (np.maximum(i - 1, 0), (recover + cure * treat) * i),
        ]
        model.add(action, i, jumps, running=-(illness_cost + treatment_cost * treat) * i - distancing_cost * population * apart)
    return model.build([f"{i} infected" for i in range(population + 1)])


FAMILY = Family(
    name="sis-epidemic",
    summary="an infection without immunity (SIS): treat, keep people apart, both, or wait",
    theory="State i is the number of infected among `population`. Each meets others at random: the number rises at "
    "rate (infection_rate x i / population + import_rate) x (population - i) and falls at recovery_rate x i. "
    "Treatment adds treatment_rate to the recovery of each infected; distancing removes the share "
    "`distancing` of contacts. Costs are per unit of time: per infected, per treated, per head kept apart.",
    source="C. Lefevre (1981), Optimal control of a birth and death epidemic process, Operations Research 29(5), "
    "971-982",
    parameters=(
        count("population", 15, "people", "size of the population", 1, 500_000),
        rate("infection_rate", 3.0, "contacts per person that would infect", zero=True),
        rate("import_rate", 0.01, "infection from outside, per susceptible person"),
        rate("recovery_rate", 0.5, "recovery of one infected"),
        rate("treatment_rate", 0.7, "additional recovery under treatment", zero=True),
        share("distancing", 0.6, "share of contacts removed by distancing"),
        amount("illness_cost", 1.0, "reward/(time x person)", "cost of an infected person"),
        amount("treatment_cost", 1.5, "reward/(time x person)", "cost of treating an infected person"),
        amount("distancing_cost", 0.3, "reward/(time x person)", "cost of distancing, for everybody"),
    ),
    build=build,
    axes=("infected",),
    answer="With infection_rate=0 everybody is on his own: gain = population x the better of treating or not in a "
    "two-state chain. Otherwise both controls fall off as the infected grow many (Lefevre 1981 gives "
    "conditions).",
)

"""Control of an SIR-type epidemic with waning immunity: vaccinate, isolate, or wait."""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, named
from sojourn.zoo.family import Family, amount, count, limit_states, rate, share


def build(population: int, infection_rate: float, import_rate: float, recovery_rate: float, waning_rate: float,
          vaccination_rate: float, isolation: float, illness_cost: float, vaccination_cost: float, isolation_cost: float) -> CTMDP:
    """Return the model; the state is (susceptible, infected), the others are immune."""
    n_states = (population + 1) * (population + 2) // 2
    limit_states(n_states, population=population)
    susceptible = np.repeat(np.arange(population, -1, -1), np.arange(1, population + 2))
    states = np.arange(n_states)
    infected = states - (population - susceptible) * (population - susceptible + 1) // 2

    def number(s: np.ndarray, i: np.ndarray) -> np.ndarray:
        left = population - s
        return np.where((s >= 0) & (i >= 0) & (s + i <= population), left * (left + 1) // 2 + i, 0)

    model = Assembly(n_states)
    infect, arrive, recover = named("infect", infection_rate), named("import", import_rate), named("recover", recovery_rate)
    wane, vaccine = named("wane", waning_rate), named("vaccinate", vaccination_rate)
    for action, vaccinate, isolate in (("nothing", 0, 0), ("vaccinate", 1, 0), ("isolate", 0, 1)):
        here = np.ones(n_states, bool) if action == "nothing" else (susceptible if vaccinate else infected) > 0
        s, i = susceptible[here], infected[here]
        contact = infect * (1 - isolation * isolate) * i / population
        jumps = [
            (number(s - 1, i + 1), (contact + arrive) * s),
            (number(s, i - 1), recover * i),
            (number(s + 1, i), wane * (population - s - i)),
            (number(s - 1, i), vaccine * vaccinate * s, -vaccination_cost),
        ]
        model.add(action, states[here], jumps, running=-(illness_cost + isolation_cost * isolate) * i)
    return model.build([f"({s}, {i})" for s, i in zip(susceptible.tolist(), infected.tolist())])


FAMILY = Family(
    name="sir-epidemic",
    summary="an infection with immunity that wanes (SIRS): vaccinate the susceptible, isolate the infected, or wait",
    theory="The state is (susceptible, infected); the rest of the population is immune. Susceptibles are infected "
    "at rate infection_rate x infected / population + import_rate each, infected recover at recovery_rate "
    "and the immune become susceptible again at waning_rate. `vaccinate` makes each susceptible immune at "
    "vaccination_rate, at vaccination_cost a dose; `isolate` removes the share `isolation` of contacts.",
    source="W. O. Kermack and A. G. McKendrick (1927), A contribution to the mathematical theory of epidemics, "
    "Proc. Royal Society A 115, 700-721, for the dynamics, here as a Markov chain; D. Greenhalgh (1988), "
    "Some results on optimal control applied to epidemics, Mathematical Biosciences 88(2), 125-158, for "
    "control by immunization and isolation",
    parameters=(
        count("population", 8, "people", "size of the population", 1, 1900),
        rate("infection_rate", 3.0, "contacts per person that would infect", zero=True),
        rate("import_rate", 0.02, "infection from outside, per susceptible person"),
        rate("recovery_rate", 1.0, "recovery of one infected"),
        rate("waning_rate", 0.2, "loss of immunity of one immune person"),
        rate("vaccination_rate", 0.5, "vaccination of one susceptible person", zero=True),
        share("isolation", 0.7, "share of contacts removed by isolation"),
        amount("illness_cost", 2.0, "reward/(time x person)", "cost of an infected person"),
        amount("vaccination_cost", 1.0, "reward", "cost of a dose"),
        amount("isolation_cost", 0.5, "reward/(time x person)", "cost of isolating an infected person"),
    ),
    build=build,
    axes=("susceptible", "infected"),
    answer="With infection_rate=0 everybody is on his own: gain = population x the better of vaccinating or not in "
    "a three-state chain.",
)

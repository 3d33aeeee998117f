"""Hospital beds: which planned patients to admit while emergencies must find a bed (a stochastic knapsack)."""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, named
from sojourn.zoo.family import Family, amount, count, limit_states, rate, share


def build(beds: int, emergency_rate: float, planned_rate: float, emergency_stay: float, planned_stay: float, pressing: float,
          planned_reward: float, diversion_cost: float) -> CTMDP:
    """Return the model; the state is (emergency patients, planned patients) in bed."""
    n_states = (beds + 1) * (beds + 2) // 2
    limit_states(n_states, beds=beds)
    total = np.repeat(np.arange(beds + 1), np.arange(1, beds + 2))
    states = np.arange(n_states)
    planned = states - total * (total + 1) // 2
    emergency = total - planned
    model = Assembly(n_states)

    urgent, book = named("emergency", emergency_rate), named("planned", planned_rate)
    heal, leave = named("emergency leaves", 1 / emergency_stay), named("planned leaves", 1 / planned_stay)

    def add(action: str, here: np.ndarray, share: float) -> None:
        t, e, p, s = total[here], emergency[here], planned[here], states[here]
        room = t < beds
        jumps = [
            (s + (t + 1) * room, urgent * room),
            (s + (t + 2) * room, book * share * room, planned_reward),
            (np.where(e > 0, s - t, s), e / emergency_stay, 0.0, [(heal * e, 0.0)]),
            (np.where(p > 0, s - t - 1, s), p / planned_stay, 0.0, [(leave * p, 0.0)]),
        ]
        model.add(action, s, jumps, running=-diversion_cost * emergency_rate * ~room,
                  silent=[(urgent * ~room, -diversion_cost)], apart=0.0)

    add("admit planned", total < beds, 1.0)
    add("postpone planned", total < beds, pressing)
    add("full", total == beds, 0.0)
    return model.build([f"({e}, {p})" for e, p in zip(emergency.tolist(), planned.tolist())])


FAMILY = Family(
    name="hospital-beds",
    summary="a ward with emergencies and planned patients: when to postpone the planned ones",
    theory="The state is (emergency patients, planned patients) in bed. Emergencies are admitted while a bed is "
    "free and diverted, at diversion_cost, when none is. Planned patients are admitted or postponed; a share "
    "`pressing` of them cannot be postponed. Each admission of a planned patient earns planned_reward. The "
    "kinds stay for different times, so the state has two dimensions: a stochastic knapsack.",
    source="J. E. Helm, S. AhmadBeygi and M. P. Van Oyen (2011), Design and analysis of hospital admission control "
    "for operational effectiveness, Production and Operations Management 20(3), 359-374; K. W. Ross and D. "
    "H. K. Tsang (1989), The stochastic knapsack problem, IEEE Trans. Communications 37(7), 740-747",
    parameters=(
        count("beds", 7, "beds", "number of beds", 1, 1900),
        rate("emergency_rate", 1.0, "arriving emergencies"),
        rate("planned_rate", 1.5, "planned patients who come up"),
        amount("emergency_stay", 2.0, "time", "mean stay of an emergency", 1e-6),
        amount("planned_stay", 3.0, "time", "mean stay of a planned patient", 1e-6),
        share("pressing", 0.1, "share of planned patients who cannot be postponed; 0 gives the pure model"),
        amount("planned_reward", 1.0, "reward", "earned by admitting a planned patient"),
        amount("diversion_cost", 6.0, "reward", "cost of diverting an emergency"),
    ),
    build=build,
    axes=("emergency patients", "planned patients"),
    answer="With pressing=1 nothing is decided and the share of blocked arrivals is Erlang B of the total load, "
    "whatever the stays (product form). Otherwise planned patients are postponed from some occupancy on.",
    note="With pressing=0 a policy that always postpones never sees a planned patient: communicating and unichain, "
    "not irreducible.",
)

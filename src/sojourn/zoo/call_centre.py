"""A call centre with impatient callers and a call-back option (Legros, Jouini and Koole 2016)."""

from __future__ import annotations

import numpy as np

from sojourn.errors import ParameterError
from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly, grid, named
from sojourn.zoo.family import Family, amount, count, limit_states, rate, share


def build(agents: int, lines: int, callbacks: int, arrival_rate: float, service_rate: float, patience_rate: float, accept: float,
          leave_number: float, retry_rate: float, dial_rate: float, abandon_cost: float, waiting_cost: float,
          callback_cost: float) -> CTMDP:
    """Return the model; the state is (calls in the system, call-backs promised)."""
    if lines < agents:
        raise ParameterError(f"lines is {lines} and agents is {agents}; lines must be an integer from {agents} "
                             "(calls in service included).")
    limit_states((lines + 1) * (callbacks + 1), lines=lines, callbacks=callbacks)
    states, (calls, promised) = grid(lines + 1, callbacks + 1)
    width = callbacks + 1
    model = Assembly(len(states))
    waiting = np.maximum(calls - agents, 0)
    spent = waiting_cost * waiting + callback_cost * promised + abandon_cost * arrival_rate * (calls == lines)

    arrive, serve, quit_, retry, redial = (named(name, value) for name, value in (
        ("arrive", arrival_rate), ("serve", service_rate), ("hang up", patience_rate), ("retry", retry_rate), ("dial", dial_rate)))

    def add(action: str, here: np.ndarray, offer: bool = False, dial: bool = False) -> None:
        n, m, s = calls[here], promised[here], states[here]
        line, slot = n < lines, m < callbacks
        taken = accept if offer else 0.0
        quits = quit_ * waiting[here]
        jumps = [
            (s + width * line, arrive * (1 - taken) * line),
            (s + slot, arrive * taken * slot),
            (s - width * (n > 0), serve * np.minimum(n, agents)),
            (s - width * (n > 0), quits * np.where(slot, 1 - leave_number, 1.0), -abandon_cost),
            (np.where(slot & (n > 0), s - width + slot, s), quits * leave_number * slot),
            (np.where(line & (m > 0), s + width - 1, s), (retry * m + redial * dial) * line * (m > 0)),
        ]
        model.add(action, s, jumps, running=-spent[here] + abandon_cost * arrival_rate * taken * (n == lines),
                  silent=[(arrive * (1 - taken) * (n == lines), -abandon_cost)],
                  apart=-(waiting_cost * waiting + callback_cost * promised)[here])

    busy, free = (calls >= agents) & (promised < callbacks), (calls < agents) & (promised > 0)
    add("answer", ~busy & ~free)
    add("queue", busy)
    add("offer call-back", busy, offer=True)
    add("keep agents free", free)
    add("dial back", free, dial=True)
    return model.build([f"({n}, {m})" for n, m in zip(calls.tolist(), promised.tolist())])


FAMILY = Family(
    name="call-centre",
    summary="call centre with impatient callers: when to offer a call-back, and when to dial back",
    theory="The state is (calls in the system, call-backs promised). Callers who wait hang up at patience_rate "
    "each; a share leave_number of them leaves a number instead of being lost. While all agents are busy the "
    "centre may offer arriving callers a call-back, which the share `accept` takes. While an agent is free "
    "and a call-back is due it may dial back, at dial_rate, or keep the agent for callers to come. Those "
    "promised a call-back also try again by themselves at retry_rate.",
    source="B. Legros, O. Jouini and G. Koole (2016), Optimal scheduling in call centers with a callback option, "
    "Performance Evaluation 95, 1-40; O. Garnett, A. Mandelbaum and M. Reiman (2002), Designing a call "
    "center with impatient customers, Manufacturing & Service Operations Management 4(3), 208-227, for the "
    "queue with abandonment (Erlang A)",
    parameters=(
        count("agents", 3, "agents", "number of agents", 1, 10_000),
        count("lines", 7, "calls", "telephone lines, those in service included", 1, 100_000),
        count("callbacks", 4, "calls", "most call-backs that may be promised", 1, 100_000),
        rate("arrival_rate", 3.0, "arriving calls"),
        rate("service_rate", 1.0, "service rate of one agent"),
        rate("patience_rate", 0.5, "rate at which a waiting caller hangs up", zero=True),
        share("accept", 0.6, "share of callers who take an offered call-back"),
        share("leave_number", 0.2, "share of those hanging up who ask to be called back"),
        rate("retry_rate", 0.05, "rate at which one who waits for a call-back calls again", zero=True),
        rate("dial_rate", 4.0, "rate of dialling back"),
        amount("abandon_cost", 4.0, "reward", "cost of a caller who hangs up or finds no line"),
        amount("waiting_cost", 1.0, "reward/(time x call)", "cost of a waiting caller"),
        amount("callback_cost", 0.3, "reward/(time x call)", "cost of a call-back that is due"),
    ),
    build=build,
    axes=("calls in the system", "call-backs promised"),
    answer="With accept=0 and leave_number=0 no call-back ever arises and the gain follows from the birth-death "
    "chain of Erlang A.",
    note="With leave_number=0, patience_rate=0 or retry_rate=0 some policy never reaches some states: communicating and "
    "unichain, not irreducible. With accept=0 besides the first or the second, states with a call-back are never reached.",
)

"""A fit in words: sentences, a table with one line per choice, one JSON object."""

from __future__ import annotations

from math import isnan
from typing import Any

from sojourn.control.assumptions import LAWS
from sojourn.control.fit import Fit
from sojourn.control.memory import QUESTIONS
from sojourn.learn.event_estimate import EventEstimate


def sentences(found: Fit) -> list[str]:
    """Return what the log says, in sentences."""
    low, high = (bound + 0.0 for bound in found.gain_bounds)  # 0, never -0
    worst, earned, best = found.gain_now
    known = found.knowledge
    between = "" if isnan(worst) else f" (between {worst:.6g} and {best:.6g} at {found.confidence:.15g} confidence)"
    cut = len(found.log.censored_time)
    more = f", and {cut:,} that were not seen to end" if cut else ""
    said = [
        f"{len(found.log):,} sojourns of {known.n_states} states{more}; {int((found.visits > 0).sum())} of {known.n_pairs} choices "
        "were made.",
    ]
    said += [
        f"What we do now: {earned:.6g} per unit of time{between}.",
        f"What we could already play: the policy that is best on the mean of what was seen earns {found.estimate.gain:.6g} "
        "there; at "
        f"{found.confidence:.15g} confidence it earns at least {low:.6g}, and no policy earns more than {high:.6g}.",
    ] if found.pays else ["What we do now, and what could be earned: not known, since neither the log nor anything else says what "
                          "is paid."]
    if isinstance(found.estimate, EventEstimate):
        said.append(f"The structure: {found.estimate.evidence}.")
    tries = found.trials
    if not tries and found.pays:
        said.append("What to try next: nothing else; on the most hopeful model that the data allow, the policy that is best now "
                    "is best too.")
    for state, action, visits, cost in tries[:5]:
        price = "nobody knows what it costs" if isnan(cost) else f"a try costs about {cost:.4g} on the fitted model"
        said.append(f"What to try next: {action} in state {state} ({visits:,} times so far); {price}.")
    if len(tries) > 5:
        said.append(f"And {len(tries) - 5} further choices are to be tried.")
    return said


def pair_table(found: Fit) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of a table with one line per choice."""
    known, policy, rows = found.knowledge, found.policy, []
    law, memory = found.assumptions.smallest(LAWS), found.assumptions.smallest(QUESTIONS)
    for k in range(known.n_pairs):
        s, a = int(known.pair_state[k]), int(known.pair_action[k])
        best = "yes" if found.pays and policy[known.states[s]] == known.actions[a] else ""
        tests = ["" if isnan(p) else f"{p:.2g}" for p in (law[k], memory[k])]
        rows.append([known.states.label(s), known.actions.label(a), f"{found.visits[k]:,}", f"{found.rate[k]:.4g}",
                     f"{found.rate_bounds[k, 0]:.4g} to {found.rate_bounds[k, 1]:.4g}", *tests, best])
    return ["state", "action", "visits", "rate", f"{found.confidence:.15g} interval", "exponential? p-value",
            "no memory? p-value", "best now"], rows


def event_rows(found: Fit) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of a table with one line per event; no rows where none are declared."""
    known, bounds = found.estimate, found.event_bounds
    head = ["event", "seen", "exposure", "rate", f"{found.confidence:.15g} interval", "all together"]
    if not isinstance(known, EventEstimate) or bounds is None:
        return head, []
    told = known.rate_bounds[:, 0] == known.rate_bounds[:, 1]
    return head, [[name, f"{int(known.seen[k]):,}", f"{known.exposure[k]:.4g}", f"{known.rate[k]:.4g}",
                   "known" if told[k] else f"{bounds[k, 0]:.4g} to {bounds[k, 1]:.4g}",
                   "" if told[k] else f"{known.rate_bounds[k, 0]:.4g} to {known.rate_bounds[k, 1]:.4g}"]
                  for k, name in enumerate(known.names)]


def as_object(found: Fit) -> dict[str, Any]:
    """Return a fit as one JSON object."""
    known = found.knowledge
    law, memory = found.assumptions.smallest(LAWS), found.assumptions.smallest(QUESTIONS)
    choices = [{"state": known.states[int(known.pair_state[k])], "action": known.actions[int(known.pair_action[k])],
                "visits": int(found.visits[k]), "rate": found.rate[k], "rate_bounds": found.rate_bounds[k],
                "exponential_p_value": law[k], "no_memory_p_value": memory[k]} for k in range(known.n_pairs)]
    events = {}
    if isinstance(found.estimate, EventEstimate) and found.event_bounds is not None:
        each = zip(found.estimate.names, found.estimate.seen, found.estimate.exposure, found.estimate.rate, found.event_bounds)
        events = {"events": [{"event": name, "seen": int(n), "exposure": x, "rate": r, "rate_bounds": b}
                             for name, n, x, r, b in each],
                  "structure": found.estimate.evidence.as_dict()}
    return {"sojourns": len(found.log), "unfinished": len(found.log.censored_time), "states": known.n_states, "choices": choices,
            "confidence": found.confidence, "gain_bounds": found.gain_bounds, "gain_now": found.gain_now,
            "policy": [[s, a] for s, a in found.policy.items()] if found.pays else [],
            "trials": [list(row) for row in found.trials], "notes": list(found.notes), **events}

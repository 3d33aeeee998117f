"""What a controller has learned, in words: lines with a table, one JSON object."""

from __future__ import annotations

from typing import Any

from sojourn.learn.estimate import Estimate
from sojourn.learn.event_estimate import EventEstimate
from sojourn.model.columns import columns

SHOWN = 5  # choices to be tried that are named


def lines(found: Estimate | EventEstimate) -> list[str]:
    """Return what was learned: sentences, the events if there are any, a line per choice, what to try."""
    (low, high), known = found.gain_bounds, found.knowledge
    said = [f"{int(found.visits.sum()):,} decisions were counted.",
            f"On the mean model the best policy earns {found.gain:.6g} per unit of time." if found.gain == found.gain else
            "The best policy now has choices that were never tried, and without rate bounds nothing is known of its gain.",
            f"At {found.confidence:.15g} confidence it earns at least {low:.6g}, and no policy earns more than {high:.6g}."]
    if isinstance(found, Estimate) and found.wrong_bounds:
        some = "1 rate seems" if found.wrong_bounds == 1 else f"{found.wrong_bounds} rates seem"
        said.append(f"{some} to lie outside the bounds that were told.")
    if isinstance(found, EventEstimate):
        said.append(f"The structure: {found.evidence}.")
        rows = [(name, f"{found.seen[k]:,.0f}", f"{found.exposure[k]:.4g}", *_rate(found, k)) for k, name in enumerate(found.names)]
        said += ["", *columns(("event", "seen", "exposure", "rate", f"{found.confidence:.15g} interval"), rows, right=(1, 2, 3, 4))]
    rates = isinstance(found, Estimate)
    head = ["state", "action", "visits", *(["rate", f"{found.confidence:.15g} interval"] if rates else []), "best now"]
    table = [[known.states.label(s), known.actions.label(a), f"{found.visits[k]:,}", *(_rate(found, k) if rates else []),
              "yes" if found.policy[s] == a else ""] for k, (s, a) in enumerate(_pairs(found))]
    said += ["", *columns(head, table, right=range(2, len(head)))]
    tries = [f"{action} in state {state} ({visits:,} times so far)" for state, action, visits in found.remaining[:SHOWN]]
    more = f"; and {len(found.remaining) - SHOWN} further choices" if len(found.remaining) > SHOWN else ""
    return [*said, "", f"To be tried: {'; '.join(tries)}{more}." if tries else "Nothing remains to be tried."]


def as_object(found: Estimate | EventEstimate) -> dict[str, Any]:
    """Return the same as one JSON object."""
    known = found.knowledge
    choices = [{"state": known.states[s], "action": known.actions[a], "visits": int(found.visits[k]),
                **({"rate": found.rate[k], "rate_bounds": found.rate_bounds[k]} if isinstance(found, Estimate) else {})}
               for k, (s, a) in enumerate(_pairs(found))]
    events: dict[str, Any] = {}
    if isinstance(found, EventEstimate):
        events = {"events": [{"event": name, "seen": int(found.seen[k]), "exposure": found.exposure[k], "rate": found.rate[k],
                              "rate_bounds": found.rate_bounds[k]} for k, name in enumerate(found.names)],
                  "structure": found.evidence.as_dict()}
    else:
        events = {"wrong_bounds": found.wrong_bounds}
    policy = [[s, a] for s, a in found.policy_labels.items()]
    return {"confidence": found.confidence, "gain": found.gain, "gain_bounds": found.gain_bounds, "choices": choices,
            "policy": policy, "remaining": [list(row) for row in found.remaining], **events}


def _pairs(found: Estimate | EventEstimate) -> list[tuple[int, int]]:
    known = found.knowledge
    return list(zip(known.pair_state.tolist(), known.pair_action.tolist()))


def _rate(found: Estimate | EventEstimate, k: int) -> tuple[str, str]:
    low, high = found.rate_bounds[k]
    return f"{found.rate[k]:.4g}", f"{low:.4g} to {high:.4g}"

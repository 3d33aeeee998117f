"""A model's difficulty as a table, JSON and HTML; its warnings are in `cautions`."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import SojournError
from sojourn.instance.cautions import value_or_none
from sojourn.model.columns import columns
from sojourn.model.words import left_over

if TYPE_CHECKING:
    from sojourn.instance.difficulty import Difficulty

HTML_STATES = 300


def as_dict(d: Difficulty, epochs: float | None = None) -> dict[str, Any]:
    """Return all constants and every pair once, by label; with `epochs` also the bounds at so many decisions."""
    m = d.model
    second = value_or_none(lambda: d.second_best_policy)
    pair = value_or_none(lambda: [m.states.label(m.state(s)) for s in d.diameter_pair])
    return {
        "model": m.name,
        "rate_bounds": list(d.rate_bounds),
        "gain": d.gain,
        "gain_bounds": list(d.gain_bounds),
        "policy": {s: m.actions.label(a) for s, a in zip(m.states.labels, d.policy)},
        "bias": dict(zip(m.states.labels, d.bias.tolist())),
        "lower_bound_constant": value_or_none(lambda: d.lower_bound_constant),
        "lower_bound_constant_bounds": value_or_none(lambda: d.lower_bound_constant_bounds),
        "lower_bound_constant_unknown": value_or_none(lambda: d.lower_bound_constant_unknown),
        "lower_bound_constant_unknown_bounds": value_or_none(lambda: d.lower_bound_constant_unknown_bounds),
        "lower_bound_meaningful_from": value_or_none(lambda: d.meaningful_epochs()),
        "gain_gap": value_or_none(lambda: d.gain_gap),
        "gain_gap_bounds": value_or_none(lambda: d.gain_gap_bounds),
        "gain_gap_exact": value_or_none(lambda: d.gain_gaps.exact),
        "gain_gap_per_decision": value_or_none(lambda: d.gain_gap_per_decision),
        "gain_gap_per_decision_bounds": value_or_none(lambda: d.gain_gap_per_decision_bounds),
        "second_best_policy": None if second is None else {s: m.actions.label(a) for s, a in zip(m.states.labels, second)},
        "diameter": value_or_none(lambda: d.diameter),
        "diameter_bounds": value_or_none(lambda: d.diameter_bounds),
        "diameter_exact": value_or_none(lambda: d.diameters.exact),
        "diameter_pair": pair,
        "upper_bound_constant": value_or_none(lambda: d.upper_bound_constant),
        "upper_bound_constant_consistent": value_or_none(lambda: d.upper_bound_constant_consistent),
        "upper_bound_offset": value_or_none(lambda: d.upper_bound_offset),
        "upper_bound_offset_consistent": value_or_none(lambda: d.upper_bound_offset_consistent),
        "events": value_or_none(lambda: d.events.as_dict()) if m.events is not None else None,
        **({} if epochs is None else {"at_epochs": bounds_at_epochs(d, epochs)}),
        "pairs": _pairs(d),
        "warnings": d.warnings,
    }


def _pairs(d: Difficulty) -> list[dict[str, Any]]:
    m, best = d.model, d.optimum
    found = d.divergences if d.irreducible else None
    rows = []
    for i in range(m.n_pairs):
        k = None if found is None or best.optimal[i] or not np.isfinite(found.k[i]) else float(found.k[i])
        rows.append(
            {
                "state": m.states.label(m.pair_state[i]),
                "action": m.actions.label(m.pair_action[i]),
                "optimal": bool(best.optimal[i]),
                "gap": float(best.gap[i]),
                "critical": None if found is None else bool(found.critical[i]),
                "least_divergence": k,
                "least_divergence_bounds": None if k is None or found is None else _ends(found.low[i], found.high[i]),
            }
        )
    return rows


def _ends(low: float, high: float) -> list[float | None]:
    return [float(low), float(high) if np.isfinite(high) else None]


def constants(d: Difficulty, epochs: float | None = None) -> list[tuple[str, str, str]]:
    """Return (name, value, what it is) of each constant, in reading order; with `epochs` also the bounds at so many decisions."""
    m = d.model
    lo, hi = d.gain_bounds
    second = value_or_none(lambda: d.second_best_policy)
    deviations = (
        []
        if second is None
        else [
            f"{m.actions.label(a)} in {m.states.label(s)}"
            for s, a in enumerate(second)
            if not d.optimum.optimal[m.pair_at(s, int(a))]
        ]
    )
    rows = [
        ("gain ρ*", _show(d.gain), f"reward per unit time, proved within {hi - lo:.1e}"),
        (
            "C(M)",
            _show(value_or_none(lambda: d.lower_bound_constant)),
            "reward per log N that any uniformly fast learner pays (eq:CM)" + _within(lambda: d.lower_bound_constant_bounds),
        ),
        (
            "C_u(M)",
            _show(value_or_none(lambda: d.lower_bound_constant_unknown)),
            "the same for a learner that is not told which jumps are possible"
            + _within(lambda: d.lower_bound_constant_unknown_bounds),
        ),
        *_event_rows(d),
        *_epoch_rows(d, epochs),
        (
            "g",
            _infinite(lambda: d.gain_gap),
            f"reward per unit time to the second-best policy ({', '.join(deviations[:3]) or '-'})"
            + _within(lambda: d.gain_gap_bounds),
        ),
        (
            "g per decision",
            _infinite(lambda: d.gain_gap_per_decision),
            "reward per decision, least over suboptimal policies" + _within(lambda: d.gain_gap_per_decision_bounds),
        ),
        ("D(M)", _infinite(lambda: d.diameter), _diameter_words(d)),
        (
            "4C/g printed",
            _ratio(lambda: 4 * d.upper_bound_constant / d.gain_gap),
            f"C = {_show(value_or_none(lambda: d.upper_bound_constant))} "
            "as printed (thm:UCRL); "
            + ("a guarantee only when rate_max <= 1" if d.rate_bounds[1] > 1 else "rate_max <= 1"),
        ),
        (
            "4C/g consistent",
            _ratio(lambda: 4 * d.upper_bound_constant_consistent / d.gain_gap_per_decision),
            f"C = {_show(value_or_none(lambda: d.upper_bound_constant_consistent))}, gap per decision: the same in "
            f"every unit of time",
        ),
    ]
    return rows


def _event_rows(d: Difficulty) -> list[tuple[str, str, str]]:
    """Return the line of the declared events, if there are any."""
    if d.model.events is None:
        return []
    words = value_or_none(lambda: d.events.words())
    return [("C of events", _show(value_or_none(lambda: d.events.constant)),
             "the same for a learner that is told the events" + (f": {words}" if words else ""))]


def bounds_at_epochs(d: Difficulty, epochs: float) -> dict[str, Any]:
    """Return C(M) log N, what of it can be paid, and the bounds at N with the models they are owed to; None where not available.

    Where events are declared, `bound_at` and `bound_proved` are of every learner, those that see which event happened too, and
    `jumps_only` has those of learners that see jumps and holding times only, as C(M) log N is.
    """
    return {
        "epochs": float(epochs),
        "lower_bound": value_or_none(lambda: d.lower_bound(epochs=epochs)),
        "payable_bound": value_or_none(lambda: d.payable_bound(epochs)),
        **_bounds_seen(d, epochs, None),
        "jumps_only": None if d.model.events is None else _bounds_seen(d, epochs, False),
    }


def _bounds_seen(d: Difficulty, epochs: float, events: bool | None) -> dict[str, Any]:
    """Return the bounds at N for learners that see events, or do not; `bound_at_low` is a proved value of the programme only."""
    found = value_or_none(lambda: d.bound_at(epochs, events=events))
    proved = value_or_none(lambda: float(d.bound_against(found.models, epochs, events=events))) if found and found.models else None
    return {
        "bound_at": None if found is None else found.value,
        "bound_at_low": None if found is None else found.low,
        "bound_proved": proved,
        "alternatives": [{"regime": a.label, "price": a.price, "loss": a.loss} for a in (found.alternatives if found else ())],
    }


def _epoch_rows(d: Difficulty, epochs: float | None) -> list[tuple[str, str, str]]:
    """Return the lines of the bounds at N decisions."""
    if epochs is None:
        return []
    at, shared = bounds_at_epochs(d, epochs), d.model.events is not None
    only = ", for learners that see jumps and holding times only" if shared else ""
    payable = f"at N = {epochs:g} decisions, of which {_show(at['payable_bound'])} can be paid{only}"
    who = "every learner, of events too," if shared else "every learner"
    rows = [("C(M) log N", _show(at["lower_bound"]), payable), ("bound at N", *_bound_words(d, epochs, None, who))]
    if at["bound_proved"] is not None:
        words = ("the part of it that is a theorem: no learner avoids it here and in all those models, no constant left out; it is "
                 "pseudo-regret, the gaps of the choices")
        rows.append(("proved at N", _show(at["bound_proved"]), words))
    if not shared:
        return rows
    rows.append(("bound, jumps only", *_bound_words(d, epochs, False, "a learner that sees jumps and holding times only")))
    if at["jumps_only"]["bound_proved"] is not None:
        rows.append(("proved, jumps only", _show(at["jumps_only"]["bound_proved"]), "the part of that which is a theorem"))
    return rows


def _bound_words(d: Difficulty, epochs: float, events: bool | None, who: str) -> tuple[str, str]:
    """Return the bound at N decisions, and what it is owed to."""
    try:
        found = d.bound_at(epochs, events=events)
    except SojournError as error:
        return "not available", str(error)
    if not found.listed:
        return _show(found.value), f"what {who} loses, to first order: no model nearby asks for more than good play shows"
    owed = "".join(f"; dearest to rule out: {a.label}" for a in found.alternatives[:1])
    return _show(found.value), f"what {who} loses here or in one of {found.listed} models nearby, to first order{owed}"


def _diameter_words(d: Difficulty) -> str:
    if value_or_none(lambda: d.diameter) is None:
        return "the longest of the shortest expected times between two states"
    s, t = (d.model.states.label(d.model.state(s)) for s in d.diameter_pair)
    return f"time from {s} to {t} at best" + _within(lambda: d.diameter_bounds)


def _within(read: Callable[[], tuple[float, float]]) -> str:
    """Return how closely a value is proved: the width of its interval, or the interval where that is wide or open."""
    found = value_or_none(read)
    if found is None or found[0] is None:
        return ""
    low, high = found
    if high is None:
        return f", proved to be at least {low:.6g}"
    return f", proved within {high - low:.1e}" if high <= low * 1.001 else f", proved in [{low:.6g}, {high:.6g}]"


def _show(value: float | None) -> str:
    return "not available" if value is None else f"{value:.9g}"


def _infinite(read: Callable[[], float]) -> str:
    try:
        return f"{read():.9g}"
    except SojournError:
        return "not available"


def _ratio(read: Callable[[], float]) -> str:
    return _show(value_or_none(read))


def _rows(d: Difficulty, limit: int | None) -> tuple[list[tuple[str, ...]], int]:
    """Return the suboptimal pairs by their share of C(M), then by gap."""
    m, best = d.model, d.optimum
    found = d.divergences if d.irreducible else None
    k = np.full(m.n_pairs, np.inf) if found is None else found.k
    pairs = np.flatnonzero(~best.optimal)
    share = np.where(np.isfinite(k[pairs]), best.gap[pairs] / np.where(k[pairs] > 0, k[pairs], 1.0), 0.0)
    order = pairs[np.lexsort((best.gap[pairs], -share))]
    rows: list[tuple[str, ...]] = []
    for i in order[:limit]:
        kind = "?" if found is None else "yes" if found.critical[i] else "no"
        rows.append(
            (
                m.states.label(m.pair_state[i]),
                m.actions.label(m.pair_action[i]),
                f"{best.gap[i]:.6g}",
                kind,
                "-" if found is None else f"{k[i]:.6g}",
                "-" if found is None else f"{best.gap[i] / k[i]:.6g}",
            )
        )
    return rows, len(pairs) - len(rows)


HEAD = ("state", "action", "gap φ*", "critical", "K", "φ*/K")


def as_text(d: Difficulty, limit: int | None, epochs: float | None = None) -> str:
    """Return constants, suboptimal pairs and warnings as text."""
    rows, more = _rows(d, limit)
    lines, said = [repr(d.model)[1:-1], ""], constants(d, epochs)
    width = max(len(name) for name, _, _ in said)
    lines += [f"{name:<{width}}  {value:>14}  {words}" for name, value, words in said]
    if rows:
        lines += ["", *columns(HEAD, rows, right=range(2, len(HEAD)))]
    if more:
        lines.append(f"... and {left_over(more, 'suboptimal pair')}")
    return "\n".join(lines + [f"\n! {w}" for w in d.warnings])


def one_line(d: Difficulty) -> str:
    """Return the cheap constants, and the expensive ones that are already known."""
    name = f" of {d.model.name!r}" if d.model.name else ""
    parts = [f"gain {d.gain:.6g}", f"C(M) {_show(value_or_none(lambda: d.lower_bound_constant))}"]
    if "gain_gaps" in vars(d):
        parts.append(f"g {d.gain_gap:.6g}")
    if "diameters" in vars(d):
        parts.append(f"D {d.diameter:.6g}")
    return f"<Difficulty{name}: {', '.join(parts)}, rate bounds [{d.rate_bounds[0]:g}, {d.rate_bounds[1]:g}]>"


def as_html(d: Difficulty) -> str:
    """Return constants, pairs and warnings for a notebook; of a large model the one line only."""
    if d.model.n_states > HTML_STATES:
        return f"<pre>{escape(one_line(d))}</pre>"
    top = "".join(f"<tr><td>{escape(n)}</td><td>{escape(v)}</td><td>{escape(w)}</td></tr>" for n, v, w in constants(d))
    rows, more = _rows(d, 24)
    head = "".join(f"<th>{h}</th>" for h in HEAD)
    body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in r) + "</tr>" for r in rows)
    rest = f"<p>and {left_over(more, 'suboptimal pair')}</p>" if more else ""
    notes = "".join(f"<li>{escape(w)}</li>" for w in d.warnings)
    title = f"<b>{escape(repr(d.model)[1:-1])}</b>"
    return f"<div>{title}<table>{top}</table><table><tr>{head}</tr>{body}</table>{rest}<ul>{notes}</ul></div>"

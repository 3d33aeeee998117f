"""The rules every model obeys, checked once when it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.model.numbers import require_all

if TYPE_CHECKING:
    from sojourn.model.ctmdp import CTMDP

ROW_TOLERANCE = 1e-9
HOLDING = ("exponential", "unit")


def _labels(kind: str, labels: tuple[str, ...]) -> None:
    if not labels:
        raise ModelError(f"the model has no {kind}s; it needs at least one.")
    for i, label in enumerate(labels):
        if not isinstance(label, str) or not label:
            raise ModelError(f"{kind} label {i} is {label!r}; labels are non-empty strings, all different.")
    if len(set(labels)) < len(labels):
        seen: set[str] = set()
        double = next(x for x in labels if x in seen or seen.add(x))  # type: ignore[func-returns-value]
        raise ModelError(f"{kind} label {double!r} stands twice; labels must be different. Rename one.")


def _layout(m: CTMDP) -> None:
    counts = np.diff(m.pair_start)
    empty = np.flatnonzero(counts <= 0)
    if empty.size:
        s = int(empty[0])
        raise ModelError(
            f"state {m.states[s]!r} has 0 admissible actions ({empty.size} such states); every state needs at least one. "
            "Add an action (a rate and its next states) or remove the state."
        )
    state = m.pair_state
    key = state * max(m.n_actions, 1) + m.pair_action
    same = np.flatnonzero(np.diff(key) == 0)
    if same.size:
        k = int(same[0])
        raise ModelError(
            f"the choice ({m.states[state[k]]!r}, {m.actions[m.pair_action[k]]!r}) is given twice; every pair may appear once. "
            "Remove one or give its action another label."
        )


def _rows(m: CTMDP, where: Any) -> None:
    lengths = np.diff(m.row_start)
    empty = np.flatnonzero(lengths == 0)
    if empty.size:
        raise ModelError(f"transition{where(int(empty[0]))} has 0 next states; every row must sum to 1. Name a next state.")
    p = m.probability
    bad = np.flatnonzero(~((p > 0) & (p <= 1 + ROW_TOLERANCE)))
    if bad.size:
        k = int(np.searchsorted(m.row_start, bad[0], side="right") - 1)
        to = m.states[m.next_state[bad[0]]]
        raise ModelError(f"transition{where(k)} to {to!r} is {p[bad[0]]:g}; a probability must lie in [0, 1]. Correct the entry.")
    total = np.add.reduceat(p, m.row_start[:-1])
    wrong = np.flatnonzero(np.abs(total - 1) > ROW_TOLERANCE)
    if wrong.size:
        k = int(wrong[0])
        raise ModelError(
            f"transition{where(k)} sums to {total[k]:.12g}; every row must sum to 1 within {ROW_TOLERANCE:g} "
            f"({wrong.size} of {m.n_pairs} rows do not). If your rows are rounded, divide each by its sum first "
            "(`normalize_rows=True`)."
        )


def validate(m: CTMDP) -> None:
    """Raise ModelError with the first broken rule, the entry and its value."""
    _labels("state", m.states)
    _labels("action", m.actions)
    if m.holding not in HOLDING:
        raise ModelError(f"holding is {m.holding!r}; it must be one of {', '.join(HOLDING)}.")
    if not isinstance(m.name, str):
        raise ModelError(f"name is {m.name!r}; it must be a string.")
    _layout(m)

    def where(k: int) -> str:
        return f"[{m.states[m.pair_state[k]]}, {m.actions[m.pair_action[k]]}]"

    require_all("rate", m.rate, np.isfinite(m.rate) & (m.rate > 0), "a rate must be positive and finite",
                "Leave out a pair that cannot be chosen (admissible=False) instead of giving it rate 0.", lambda k: f"rate{where(k)}")
    for field in ("reward", "running"):
        values = getattr(m, field)
        require_all(field, values, np.isfinite(values), f"a {field} must be finite", "Use a large finite number.",
                    lambda k, field=field: f"{field}{where(k)}")
    if m.transition_reward is not None:
        require_all("transition_reward", m.transition_reward, np.isfinite(m.transition_reward), "it must be finite",
                    "Use a large finite number.")
    _rows(m, where)
    if m.rate_bounds is not None:
        lo, hi = m.rate_bounds
        require_all("rate", m.rate, (m.rate >= lo) & (m.rate <= hi), f"rates must lie within rate_bounds [{lo:g}, {hi:g}]",
                    "Widen rate_bounds or correct the rate.", lambda k: f"rate{where(k)}")

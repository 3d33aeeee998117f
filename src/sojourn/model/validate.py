"""The rules every model obeys, checked once when it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.hidden_characters import has_hidden
from sojourn.model.numbers import require_all, shown

if TYPE_CHECKING:
    from sojourn.model.ctmdp import CTMDP

ROW_TOLERANCE = 1e-9
HOLDING = ("exponential", "unit")


def _starts(name: str, start: np.ndarray, groups: int, total: int) -> None:
    """Check that `start` cuts `total` entries into `groups` consecutive parts."""
    if start.shape != (groups + 1,) or start[0] != 0 or start[-1] != total or (np.diff(start) < 0).any():
        ends = f"{start[0]}..{start[-1]}" if start.size else "empty"
        raise ModelError(f"{name} has shape {start.shape} and runs {ends}; it must rise from 0 to {total} in {groups + 1} entries.")


def _within(name: str, index: np.ndarray, limit: int) -> None:
    require_all(name, index, (index >= 0) & (index < limit), f"indices run from 0 to {limit - 1}", "Correct the index.")


def _layout(m: CTMDP) -> None:
    """Check the shapes and the order of the index arrays, so that compiled code may trust them."""
    _starts("pair_start", m.pair_start, m.n_states, m.n_pairs)
    _starts("row_start", m.row_start, m.n_pairs, len(m.next_state))
    sizes = {"rate": m.n_pairs, "reward": m.n_pairs, "running": m.n_pairs, "probability": len(m.next_state)}
    if m.transition_reward is not None:
        sizes["transition_reward"] = len(m.next_state)
    for name, size in sizes.items():
        if getattr(m, name).shape != (size,):
            raise ModelError(f"{name} has shape {getattr(m, name).shape}; it must have {size} entries, one for each pair or jump.")
    _within("pair_action", m.pair_action, m.n_actions)
    _within("next_state", m.next_state, m.n_states)
    empty = np.flatnonzero(np.diff(m.pair_start) == 0)
    if empty.size:
        raise ModelError(
            f"state {m.states[int(empty[0])]!r} has 0 admissible actions ({empty.size} such states); every state needs at "
            "least one. Add an action (a rate and its next states) or remove the state."
        )
    state = m.pair_state
    step = np.diff(state * m.n_actions + m.pair_action)
    if (step <= 0).any():
        k = int(np.flatnonzero(step <= 0)[0])
        pair = f"({m.states[state[k + 1]]!r}, {m.actions[m.pair_action[k + 1]]!r})"
        if (step < 0).any():
            raise ModelError(f"the choice {pair} stands out of order; pairs must ascend by action. Use `CTMDP.from_pairs`.")
        raise ModelError(f"the choice {pair} is given twice; every pair may appear once. Remove one or rename its action.")


def _rows(m: CTMDP, where: Any) -> None:
    empty = np.flatnonzero(np.diff(m.row_start) == 0)
    if empty.size:
        raise ModelError(f"transition{where(int(empty[0]))} has 0 next states; every row must sum to 1. Name a next state.")
    p, pair = m.probability, np.repeat(np.arange(m.n_pairs), np.diff(m.row_start))
    bad = np.flatnonzero(~((p > 0) & (p <= 1 + ROW_TOLERANCE)))
    if bad.size:
        to = m.states[m.next_state[bad[0]]]
        rule = ("a jump that is listed must have a chance above 0. Leave it out (`CTMDP.from_pairs`)." if p[bad[0]] == 0
                else "a probability must lie in [0, 1]. Correct the entry.")
        raise ModelError(f"transition{where(pair[bad[0]])} to {to!r} is {shown(p[bad[0]])}; {rule}")
    unsorted = np.flatnonzero((np.diff(m.next_state) <= 0) & (np.diff(pair) == 0))
    if unsorted.size:
        to = m.states[m.next_state[unsorted[0] + 1]]
        raise ModelError(f"transition{where(pair[unsorted[0]])} to {to!r} stands twice or out of order; next states must "
                         "ascend within a row. Use `CTMDP.from_pairs`.")
    total = np.add.reduceat(p, m.row_start[:-1])
    wrong = np.flatnonzero(np.abs(total - 1) > ROW_TOLERANCE)
    if wrong.size:
        k = int(wrong[0])
        raise ModelError(
            f"transition{where(k)} sums to {total[k]:.12g}; every row must sum to 1 within {ROW_TOLERANCE:g} "
            f"({wrong.size} of {m.n_pairs} rows do not). If your rows are rounded, divide each by its sum first "
            "(`normalize_rows=True`)."
        )


def require_name(name: Any) -> None:
    """Raise where the name of a model is not a line of text."""
    if not isinstance(name, str) or has_hidden(name):
        raise ModelError(f"name is {shown(name)}; it must be a string without control characters and others that nobody sees.")


def validate(m: CTMDP) -> None:
    """Raise ModelError with the first broken rule, the entry and its value."""
    if m.holding not in HOLDING:
        raise ModelError(f"holding is {m.holding!r}; it must be one of {', '.join(HOLDING)}.")
    require_name(m.name)
    _layout(m)

    def where(k: Any) -> str:
        return f"[{m.states.label(m.pair_state[k])}, {m.actions.label(m.pair_action[k])}]"

    usable = np.isfinite(m.rate) & (m.rate > 1e-300)
    require_all("rate", m.rate, usable, "a rate must be positive (above 1e-300) and finite",
                "Leave out a pair that cannot be chosen (admissible=False) instead of giving it rate 0.",
                lambda k: f"rate{where(k)}")
    for field in ("reward", "running"):
        values = getattr(m, field)
        require_all(field, values, np.isfinite(values), f"a {field} must be finite", "Use a large finite number.",
                    lambda k, field=field: f"{field}{where(k)}")
    _rows(m, where)
    if m.transition_reward is not None:
        pair = np.repeat(np.arange(m.n_pairs), np.diff(m.row_start))
        require_all("transition_reward", m.transition_reward, np.isfinite(m.transition_reward), "it must be finite",
                    "Use a large finite number.", lambda i: f"transition_reward{where(pair[i])} to {m.states[m.next_state[i]]!r}")
    if m.rate_bounds is not None:
        lo, hi = m.rate_bounds
        require_all("rate", m.rate, (m.rate >= lo) & (m.rate <= hi), f"rates must lie within rate_bounds [{lo!r}, {hi!r}]",
                    "Widen rate_bounds or correct the rate.", lambda k: f"rate{where(k)}")

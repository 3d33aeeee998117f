"""Names for policies: what they do differently from the optimal one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.model.words import left_over

SHOWN = 2  # differences that a name spells out


def policy_name(model: CTMDP, policy: Sequence[int], best: Sequence[int], gaps: np.ndarray | None = None) -> str:
    """Return what `policy` does differently from `best`, the optimal one; with `gaps` (per pair) ties are told apart.

    >>> from sojourn.zoo.catalogue import make
    >>> policy_name(make("three-state"), (0, 1, 1), (0, 0, 1))
    'B: slow instead of quick'
    """
    differ = [s for s, (a, b) in enumerate(zip(policy, best, strict=True)) if a != b]
    if not differ:
        return "the optimal policy"
    action = model.actions.label
    told = [f"{model.states.label(s)}: {action(policy[s])} instead of {action(best[s])}" for s in differ[:SHOWN]]
    more = len(differ) - len(told)
    name = "; ".join(told) + (f"; and {left_over(more, 'state')}" if more else "")
    return f"also optimal: {name}" if gaps is not None and _as_good(model, policy, differ, gaps) else name


def _as_good(model: CTMDP, policy: Sequence[int], differ: list[int], gaps: np.ndarray) -> bool:
    return all(gaps[model.pair(s, int(policy[s]))] == 0 for s in differ)

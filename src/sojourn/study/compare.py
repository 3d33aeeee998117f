"""Whether two computations of one replication agree: what happened exactly, the regrets up to rounding.

What happened (epochs, times, rewards, visits, policies) follows from the random numbers and must agree to the last bit.  A
regret is measured against the optimal gain, the bias and the gaps, whose last digits depend on how the model was solved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.simulation.regret import REGRETS

RELATIVE = 1e-9


def difference(new: dict[str, Any], old: dict[str, Any]) -> tuple[str, int] | None:
    """Return (column, position) of the first number in which `new` differs from `old`, of which it may be the beginning; else None.

    A regret may differ by 1e-9 of itself or, since it is a difference, of the rewards and the optimal gain x time that go into
    it; one NaN equals another.

    >>> old = {"epochs": np.array([10]), "rewards": np.array([5.0]), "regret": np.array([2.0])}
    >>> difference({**old, "regret": np.array([2.0 + 1e-12])}, old), difference({**old, "regret": np.array([2.0 + 1e-6])}, old)
    (None, ('regret', 0))
    """
    for name, values in new.items():
        if name in ("structure", "stopping"):  # what a test, or a proof, made of all this
            continue
        if name not in old:
            return name, 0
        mine, theirs = np.atleast_1d(np.asarray(values)), np.atleast_1d(np.asarray(old[name]))[: np.size(values) or None]
        if mine.shape != theirs.shape:
            return name, 0
        if name in REGRETS:
            same = np.isclose(mine, theirs, rtol=RELATIVE, atol=RELATIVE * _at_stake(old)[: len(mine)], equal_nan=True)
        else:
            same = (mine == theirs) | ((mine != mine) & (theirs != theirs))
        if not same.all():
            return name, int(np.argwhere(~same)[0][0])
    return None


def _at_stake(old: dict[str, Any]) -> np.ndarray:
    """Return at each checkpoint the size of what a regret is the difference of: the most so far, and so much for each decision."""
    size = np.abs(old["rewards"]) + np.nan_to_num(np.abs(old["regret"]))
    most = np.maximum.accumulate(size)
    return np.asarray(most + most[-1] / max(1, int(old["epochs"][-1])) * old["epochs"])

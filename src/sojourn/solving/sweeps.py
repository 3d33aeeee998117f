"""The value of one policy by sweeps, for chains too large for an elimination; proved by one step of its own operator."""

from __future__ import annotations

import numpy as np

from sojourn.kernels.bellman import policy_sweeps
from sojourn.solving.chain import Chain
from sojourn.solving.operator import operator_bounds
from sojourn.solving.value import PolicyValue

ABOVE = 1.1  # uniform rate over the largest rate
WORK = 10_000_000_000  # jumps looked at before giving up


def swept_value(chain: Chain, most: float = np.inf) -> PolicyValue | None:
    """Return the value of a chain with one recurrent class by sweeps until they gain nothing any more; its law is not proved.

    With `most` sweeps at most, None where these do not prove the gain to 1e-10.
    """
    n = chain.n_states
    rate = 1.0 / chain.holding
    uniform = ABOVE * float(rate.max())
    rows = (chain.matrix.indptr, chain.matrix.indices, chain.matrix.data, rate, chain.reward * rate, uniform)
    limit = min(most, WORK / chain.matrix.nnz)
    u, width, done = np.zeros(n), np.inf, 0
    while done < limit:
        new, low, high = policy_sweeps(*rows, np.arange(n), u, 50)
        done += 50
        if high - low >= width and done > 1000:
            break
        if done >= 100 and most < np.inf and _sweeps_left(width, high - low, low) > most - done:
            return None
        u, width = new, high - low
        if width <= 1e-13 * max(abs(low), abs(high)):
            break
    low, high = operator_bounds(chain, u)
    if most < np.inf and not high - low <= 1e-10 * abs(low + high) / 2:
        return None
    open_end = np.full(n, np.inf)
    return PolicyValue((low + high) / 2, (high - low) / 2, u, open_end, _law(chain, uniform, 4 * limit), np.inf, open_end, None)


def _sweeps_left(before: float, now: float, gain: float) -> float:
    """Return how many more sweeps the width needs to be 1e-10 of the gain, if it shrinks on as in the last 50."""
    if now <= 1e-10 * abs(gain):
        return 0.0
    return 50 * float(np.log(now / (1e-10 * abs(gain))) / np.log(before / now)) if 0 < now < before and gain else np.inf


def _law(chain: Chain, uniform: float, sweeps: float) -> np.ndarray:
    """Return the embedded stationary law by steps of the uniformized chain."""
    back = chain.matrix.T.tocsr()
    stay = 1.0 / (chain.holding * uniform)
    time = chain.holding / chain.holding.sum()
    for step in range(int(min(sweeps, 200_000))):
        flow = time * stay
        new = time + (back @ flow - flow)
        done = step % 50 == 49 and np.abs(new - time).sum() < 1e-15
        time = new / new.sum()
        if done:
            break
    law = time / chain.holding
    normalized: np.ndarray = law / law.sum()
    return normalized

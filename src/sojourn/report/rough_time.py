"""Where time is spent under a policy, roughly: enough to shade a picture of a model that is too large to evaluate for one."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from sojourn.model.ctmdp import CTMDP

ABOVE = 1.1  # uniform rate over the largest rate of the policy
STEPS = 4000
EVERY = 50
STILL = 1e-4  # the share of time that may still move in EVERY steps


def rough_time(model: CTMDP, policy: np.ndarray) -> np.ndarray:
    """Return the share of time spent in each state: the law of the uniformized chain from the first state on, once it hardly moves.

    Shares below about 1e-4 may be too small where they are reached slowly; nothing is proved.
    """
    pairs = model.policy_pairs(policy)
    rows = model.matrix[pairs]
    back = csr_matrix(rows.T)
    leave = model.rate[pairs] / (ABOVE * model.rate[pairs].max())
    share = np.zeros(model.n_states)
    share[0] = 1.0
    before = share
    for step in range(1, STEPS + 1):
        flow = share * leave
        share = share - flow + back @ flow
        if step % EVERY == 0:
            if np.abs(share - before).sum() < STILL:
                break
            before = share
    return np.asarray(share / share.sum())

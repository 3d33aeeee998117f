"""Peeling: the greatest set of states in which a policy can stay for ever without visiting the targets.

As this program reads assume-transition, a state j is visited under every policy, from everywhere, iff nothing is left when
the states that cannot avoid {j} are peeled off, one after the other.
"""

import numpy as np

from sojourn.kernels.jit import kernel


def peel_reference(pair_start: np.ndarray, row_start: np.ndarray, next_state: np.ndarray,
                   removed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (which states are left, a pair of each that stays among them; -1 elsewhere).   Paper: assume-transition

    `removed` marks the states taken away at the start.  A state stays while it has a pair whose successors all stay.
    """
    left = ~removed
    stay = np.full(len(left), -1, dtype=np.int64)
    changed = True
    while changed:
        changed = False
        for s in np.flatnonzero(left):
            good = [k for k in range(pair_start[s], pair_start[s + 1]) if left[next_state[row_start[k]:row_start[k + 1]]].all()]
            stay[s] = good[0] if good else -1
            if not good:
                left[s] = False
                changed = True
    stay[~left] = -1
    return left, stay


@kernel
def peel(pair_start: np.ndarray, row_start: np.ndarray, next_state: np.ndarray,
         into_start: np.ndarray, into_pair: np.ndarray, pair_state: np.ndarray,
         removed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """See `peel_reference`; `into_pair[into_start[s]:into_start[s+1]]` lists the pairs that may jump to s."""
    n_states = pair_start.size - 1
    left = ~removed
    broken = np.zeros(pair_state.size, dtype=np.bool_)
    choices = np.empty(n_states, dtype=np.int64)
    queue = np.empty(n_states, dtype=np.int64)
    end = 0
    for s in range(n_states):
        choices[s] = pair_start[s + 1] - pair_start[s]
        if removed[s]:
            queue[end] = s
            end += 1
    first = 0
    while first < end:
        gone = queue[first]
        first += 1
        for i in range(into_start[gone], into_start[gone + 1]):
            k = into_pair[i]
            if not broken[k]:
                broken[k] = True
                s = pair_state[k]
                choices[s] -= 1
                if choices[s] == 0 and left[s]:
                    left[s] = False
                    queue[end] = s
                    end += 1
    stay = np.full(n_states, -1, dtype=np.int64)
    for s in range(n_states):
        if left[s]:
            for k in range(pair_start[s], pair_start[s + 1]):
                if not broken[k]:
                    stay[s] = k
                    break
    return left, stay

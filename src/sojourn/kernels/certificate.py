"""One Bellman step at a guess, every rounding counted outward: `solving/certificate.py`, compiled for large models."""

import numpy as np

from sojourn.kernels.jit import kernel

EPSILON = float(np.finfo(np.float64).eps)
TINY = 5e-324  # what one product may lose to underflow


@kernel
def proved(pair_start, row_start, next_state, probability, rate, reward, running, reward_size, u, accuracy, first, last, choice):
    """Return (low, high, taken) over the states `first` to `last`; write the pair to take into `choice`.

    low and high are min and max over states of max_a λ r + c + λ Σ_j p(j) (u(j) - u(s)), less and plus a bound on the error.  The
    pair is the first that is within `accuracy`, or within rounding, of the state's best; `taken` is as low, over the pairs taken.
    The readable twins are `generator_step` in `solving/certificate.py` and `best_pairs` in `solving/optimality.py`.
    """
    widest = 0
    for s in range(first, last):
        widest = max(widest, pair_start[s + 1] - pair_start[s])
    value, least, slack = np.empty(widest), np.empty(widest), np.empty(widest)
    low, high, taken = np.inf, -np.inf, np.inf
    for s in range(first, last):
        at_least, at_most, best = -np.inf, -np.inf, -np.inf
        own = u[s]
        for k in range(pair_start[s], pair_start[s + 1]):
            moves, apart, around, total = 0.0, 0.0, 0.0, 0.0
            for i in range(row_start[k], row_start[k + 1]):
                p, there = probability[i], u[next_state[i]]
                move = p * (there - own)
                moves += move
                apart += abs(move)
                around += p * abs(there)
                total += p
            length = row_start[k + 1] - row_start[k]
            defect = abs(total - 1.0)
            if defect <= length * EPSILON:
                defect = 0.0
            paid = reward[k] * rate[k]
            step = paid + running[k] + rate[k] * moves
            size = reward_size[k] * rate[k] + abs(running[k]) + rate[k] * apart
            error = (length + 8) * (EPSILON * size + (TINY * (1 + rate[k]) + defect * abs(step - running[k])))
            if not step + error < np.inf:  # beyond floats, or no number: nothing is proved
                return -np.inf, np.inf, -np.inf
            at = k - pair_start[s]
            value[at], least[at] = step, step - error
            at_least, at_most, best = max(at_least, step - error), max(at_most, step + error), max(best, step)
            noise = 32 * EPSILON * (abs(paid) + abs(running[k]) + rate[k] * (around + abs(own)))
            slack[at] = min(1e5 * noise, max(2 * noise, accuracy))
        for at in range(pair_start[s + 1] - pair_start[s]):
            if value[at] >= best - slack[at]:
                choice[s] = pair_start[s] + at
                taken = min(taken, least[at])
                break
        low, high = min(low, at_least), max(high, at_most)
    return low, high, taken

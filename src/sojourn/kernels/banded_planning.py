"""A policy of a model whose jumps are short, solved by elimination within a band: what makes plans for long queues.

Where states are numbered so that a jump leads at most `below` places down and `above` places up, elimination takes some
S x below x above steps instead of S³.  Sweeps, the other way for large models, take very long on such lines.
"""

import numpy as np

from sojourn.kernels.jit import inner

BAND = 8_000_000  # steps of one elimination at most: what 200 states take without a band


@inner
def reach(model):
    """Return (below, above): how far jumps lead down and up at most, over all pairs."""
    below, above = 0, 0
    for s in range(len(model.pair_start) - 1):
        for k in range(model.row_start[model.pair_start[s]], model.row_start[model.pair_start[s + 1]]):
            below = max(below, s - model.next_state[k])
            above = max(above, model.next_state[k] - s)
    return below, above


@inner
def evaluate_banded(model, pair, bias, below, above, restart):
    """Fill `bias` (0 in state 0) and return the gain of the policy `pair`, as kernels/planning.py does; rows restart in state 0.

    With h(0) = 0 the other states have h = a - ρ b, where a and b solve the same equations for what is earned and for time.
    I - P without state 0 needs no exchange of rows, so that nothing is filled outside the band.
    """
    n = len(pair)
    matrix = np.zeros((n, below + above + 1))  # entry (s, s') stands at [s, s' - s + below]
    earned, time = np.empty(n), np.empty(n)
    for s in range(n):
        i = pair[s]
        earned[s] = model.reward[i] + model.running[i] / model.rate[i]
        time[s] = 1.0 / model.rate[i]
        matrix[s, below] += 1.0
        for k in range(model.row_start[i], model.row_start[i + 1]):
            if model.next_state[k] > 0:
                matrix[s, model.next_state[k] - s + below] -= model.probability[k] * (1.0 - restart)
    for k in range(1, n):
        for i in range(k + 1, min(k + below, n - 1) + 1):
            factor = matrix[i, k - i + below] / matrix[k, below]
            if factor != 0.0:
                for j in range(k + 1, min(k + above, n - 1) + 1):
                    matrix[i, j - i + below] -= factor * matrix[k, j - k + below]
                earned[i] -= factor * earned[k]
                time[i] -= factor * time[k]
    for k in range(n - 1, 0, -1):
        for j in range(k + 1, min(k + above, n - 1) + 1):
            earned[k] -= matrix[k, j - k + below] * earned[j]
            time[k] -= matrix[k, j - k + below] * time[j]
        earned[k] /= matrix[k, below]
        time[k] /= matrix[k, below]
    for j in range(1, min(above, n - 1) + 1):  # the equation of state 0, whose jumps lead up only
        earned[0] -= matrix[0, j + below] * earned[j]
        time[0] -= matrix[0, j + below] * time[j]
    gain = earned[0] / time[0]
    bias[0] = 0.0
    for s in range(1, n):
        bias[s] = earned[s] - gain * time[s]
    return gain

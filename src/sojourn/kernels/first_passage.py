"""Bellman steps of many shortest-path problems at once: the same choices, one column of values per target."""

import numpy as np

from sojourn.kernels.jit import inlined, kernel


def passage_sweep_reference(row_start, next_state, probability, cost, choice_start, sign, value):
    """Return the (S, T) array of min (sign 1) or max (sign -1) over the choices of each state of cost + Σ p V."""
    out = np.empty_like(value)
    for s in range(len(choice_start) - 1):
        rows = [
            cost[k] + probability[row_start[k] : row_start[k + 1]] @ value[next_state[row_start[k] : row_start[k + 1]]]
            for k in range(choice_start[s], choice_start[s + 1])
        ]
        out[s] = sign * np.min([sign * r for r in rows], axis=0)
    return out


@inlined
def look_ahead(row_start, next_state, probability, value, k, first, ahead):
    """Fill ahead[t] with first + Σ p V[., t] of choice k."""
    for t in range(value.shape[1]):
        ahead[t] = first
    for i in range(row_start[k], row_start[k + 1]):
        p, j = probability[i], next_state[i]
        for t in range(value.shape[1]):
            ahead[t] += p * value[j, t]


@kernel
def passage_sweep(row_start, next_state, probability, cost, choice_start, sign, value, out):
    """Fill out[s, t] with the best over the choices of s of cost + Σ p V[., t]."""
    width = value.shape[1]
    ahead = np.empty(width)
    for s in range(len(choice_start) - 1):
        for k in range(choice_start[s], choice_start[s + 1]):
            look_ahead(row_start, next_state, probability, value, k, cost[k], ahead)
            if k == choice_start[s]:
                for t in range(width):
                    out[s, t] = ahead[t]
            elif sign > 0:
                for t in range(width):
                    out[s, t] = min(out[s, t], ahead[t])
            else:
                for t in range(width):
                    out[s, t] = max(out[s, t], ahead[t])


@inlined
def steps_ahead(row_start, next_state, probability, value, k, s, first, ahead, apart):
    """Fill ahead[t] with first + Σ p (V[j, t] - V[s, t]) of choice k of state s and apart[t] with the sum of the absolute terms.

    Differences, so that what a row lacks to one counts as staying and the rounding errors are those of `apart`.
    """
    for t in range(value.shape[1]):
        ahead[t] = first
        apart[t] = first
    for i in range(row_start[k], row_start[k + 1]):
        p, j = probability[i], next_state[i]
        if j != s:
            for t in range(value.shape[1]):
                step = p * (value[j, t] - value[s, t])
                ahead[t] += step
                apart[t] += abs(step)


@kernel
def passage_excess(row_start, next_state, probability, cost, choice_start, sign, value, target, unit):
    """Return per column the largest over states of the least over choices of (cost + Σ p V - V(s))/cost, rounded upwards.

    With sign -1 it is the largest over choices too.  The state target[t] of column t is left out.  `unit` times the size of
    the terms bounds the rounding error: a term has at most as many roundings as the row has entries, and four.
    """
    width = value.shape[1]
    worst = np.zeros(width)
    ahead, apart, least = np.empty(width), np.empty(width), np.empty(width)
    for s in range(len(choice_start) - 1):
        for t in range(width):
            least[t] = sign * np.inf
        for k in range(choice_start[s], choice_start[s + 1]):
            steps_ahead(row_start, next_state, probability, value, k, s, cost[k], ahead, apart)
            bound = unit * (row_start[k + 1] - row_start[k] + 3)
            for t in range(width):
                slack = (ahead[t] + bound * apart[t]) / cost[k]
                least[t] = min(least[t], slack) if sign > 0 else max(least[t], slack)
        for t in range(width):
            if target[t] != s and not least[t] <= worst[t]:
                worst[t] = least[t] if least[t] > worst[t] else np.inf
    return worst


@kernel
def passage_shortfall(row_start, next_state, probability, cost, choice_start, value, target, unit):
    """Return per column the largest over all choices of (V(s) - Σ p V - cost)/cost, rounded upwards; the target is left out."""
    width = value.shape[1]
    worst = np.zeros(width)
    ahead, apart = np.empty(width), np.empty(width)
    for s in range(len(choice_start) - 1):
        for k in range(choice_start[s], choice_start[s + 1]):
            steps_ahead(row_start, next_state, probability, value, k, s, cost[k], ahead, apart)
            bound = unit * (row_start[k + 1] - row_start[k] + 3)
            for t in range(width):
                if target[t] != s:
                    slack = (bound * apart[t] - ahead[t]) / cost[k]
                    if not slack <= worst[t]:
                        worst[t] = slack if slack > worst[t] else np.inf
    return worst

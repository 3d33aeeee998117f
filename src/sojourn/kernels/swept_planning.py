"""The best policy of a large model, nearly: sweeps of the policy at hand and a Bellman step in turns, within a budget of work.

What learners plan with above DENSE states, where elimination takes S³ steps.  The sweeps are those of kernels/embedded.py; a plan
made from data need not be exact beyond CLOSE, and must be made in time.
"""

import numpy as np

from sojourn.kernels.embedded import chosen_rows, settled, sweep_pair
from sojourn.kernels.jit import inner

DENSE = 200  # states up to which plans are made by elimination
CLOSE = 1e-6  # a policy is good enough when what any action gains over it is this share of what decisions pay
CLOSER = 0.2  # sweeps of a policy end when their residual is this share of what it was
IN_A_ROW = 50  # sweeps of a policy at most
WORK = 300_000_000  # jumps looked at in one search at most: some 0.5 s


@inner
def improve_once(model, allowed, gain, bias, pair):
    """Move `pair` to the best actions at (gain, bias); return (changes, least, most), extremes over states of what a step gains.

    A state without time (where one only passes through) has no say in the extremes.
    """
    pair_start, row_start, next_state, probability = model.pair_start, model.row_start, model.next_state, model.probability
    reward, running, rate = model.reward, model.running, model.rate
    least, most, changes = np.inf, -np.inf, 0
    for s in range(len(pair)):
        best, chosen, old = -np.inf, pair[s], -np.inf
        for i in range(pair_start[s], pair_start[s + 1]):
            if allowed[i]:
                worth = reward[i] + (running[i] - gain) / rate[i]
                for k in range(row_start[i], row_start[i + 1]):
                    worth += probability[k] * bias[next_state[k]]
                if i == pair[s]:
                    old = worth
                if worth > best:
                    best, chosen = worth, i
        if best > old:
            pair[s] = chosen
            changes += 1
        if rate[chosen] < np.inf:
            step = (best - bias[s]) * rate[chosen]
            least, most = min(least, step), max(most, step)
    return changes, least, most


@inner
def best_policy_swept(model, allowed, pair):
    """Return (gain, bias, pair per state), nearly the best over the `allowed` pairs; `pair` is where it starts, and is moved.

    bias is 0 in state 0.  Where the budget ends first, it is the best policy found so far.
    """
    n = len(pair)
    visit = np.empty(len(model.rate))
    for i in range(len(visit)):
        visit[i] = model.reward[i] + model.running[i] / model.rate[i]
    xy, grown, bias = np.zeros((n, 2)), np.empty((n, 2)), np.zeros(n)
    gain, work, sweeps = 0.0, 0, 0
    while True:
        start, to, p, reward, time = chosen_rows(model.row_start, model.next_state, model.probability, model.rate, visit, pair)
        first = 0.0
        for sweep in range(IN_A_ROW):
            gain, width = sweep_pair(start, to, p, reward, time, xy, grown, sweeps % 2 == 1)
            sweeps += 1
            first = max(first, width)
            if sweep > 0 and width <= CLOSER * first:
                break
        work += (sweep + 1) * len(to) + len(model.next_state)
        settled(xy, gain, bias)
        _, least, most = improve_once(model, allowed, gain, bias, pair)
        size = 0.0
        for s in range(n):
            size += abs(reward[s] - gain * time[s])
        if not (most - least) * time.mean() > CLOSE * size / n or work > WORK:
            return gain, bias, pair


@inner
def move_swept(model, pair, u, stretch, closer, most):
    """Move u towards the bias of the policy `pair`, by at most `most` sweeps until the residual is `closer` of what it was.

    Each change is taken `stretch` times: with 1 a line of states is settled in one sweep, but where states are visited in turn the
    values may go round for ever; with less they do not.
    """
    n = len(u)
    visit = np.empty(len(model.rate))
    for i in range(len(visit)):
        visit[i] = model.reward[i] + model.running[i] / model.rate[i]
    start, to, p, reward, time = chosen_rows(model.row_start, model.next_state, model.probability, model.rate, visit, pair)
    xy, grown = np.zeros((n, 2)), np.empty((n, 2))
    for s in range(n):
        xy[s, 0] = u[s]
    gain, first = 0.0, 0.0
    for sweep in range(most):
        gain, width = sweep_pair(start, to, p, reward, time, xy, grown, sweep % 2 == 1, stretch)
        first = max(first, width)
        if sweep > 0 and width <= closer * first:
            break
    settled(xy, gain, u)

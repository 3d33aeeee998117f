"""How long a plan is worth following: until staying has cost as much as the way there and back.

A sampled policy may live elsewhere than the greedy one: swim up a river, wait at the other end of a line.  Going there and back
costs something once, staying there something with every decision.  A plan that ends before staying has cost as much as the way
pays for ways rather than for what it learns at their end.

With gain ρ, bias h and shares x of decisions of the greedy policy g and of the policy p followed, in one model,

    way = Σ_s (x_g(s) - x_p(s)) (h_g(s) - h_p(s)),   stay = (ρ_g - ρ_p) Σ_s x_p(s) / λ(s, p(s)) per decision.
"""

import numpy as np

from sojourn.kernels.jit import inner
from sojourn.kernels.planning import RESTART, evaluate_policy, solve_in_place


def rows_reference(model, pair):
    """Return the (S, S) matrix of the rows of the policy `pair`."""
    found = np.zeros((len(pair), len(pair)))
    for s, i in enumerate(pair):
        row = slice(model.row_start[i], model.row_start[i + 1])
        np.add.at(found[s], model.next_state[row], model.probability[row])
    return found


def shares_reference(model, pair):
    """Return the share of decisions that the policy `pair` takes in each state; rows restart as in kernels/planning.py."""
    n = len(pair)
    matrix = np.eye(n) - (1 - RESTART) * rows_reference(model, pair).T
    matrix[0] = 1.0  # instead of the balance of state 0: all shares make 1
    return np.linalg.solve(matrix, np.eye(n)[0])


def worth_staying_reference(model, gain, bias, greedy, pair):
    """Return the decisions after which following `pair` has cost as much as going there and back from `greedy`.

    `gain` and `bias` are the greedy policy's.  0 where the way costs nothing, infinity where staying costs nothing.
    """
    if np.array_equal(greedy, pair):
        return 0.0
    own, rate = np.asarray(pair), model.rate[pair]
    matrix = np.eye(len(pair)) - (1 - RESTART) * rows_reference(model, pair)
    matrix[:, 0] = 1 / rate
    solution = np.linalg.solve(matrix, model.reward[own] + model.running[own] / rate)
    here, there = shares_reference(model, greedy), shares_reference(model, pair)
    way = float((here - there) @ (bias - np.concatenate([[0.0], solution[1:]])))
    stay = (gain - solution[0]) * float((there / rate).sum())
    if not way > 0:
        return 0.0
    return way / stay if stay > 0 else np.inf


@inner
def shares(model, pair):
    row_start, next_state, probability = model.row_start, model.next_state, model.probability
    n = len(pair)
    matrix, found = np.zeros((n, n)), np.zeros(n)
    for s in range(n):
        matrix[s, s] += 1.0
        i = pair[s]
        for k in range(row_start[i], row_start[i + 1]):
            matrix[next_state[k], s] -= probability[k] * (1 - RESTART)
    for s in range(n):
        matrix[0, s] = 1.0
    found[0] = 1.0
    solve_in_place(matrix, found)
    return found


@inner
def worth_staying(model, gain, bias, greedy, pair):
    same = True
    for s in range(len(pair)):
        same = same and greedy[s] == pair[s]
    if same:
        return 0.0
    other = np.empty(len(pair))
    loss = gain - evaluate_policy(model, pair, other)
    here, there = shares(model, greedy), shares(model, pair)
    way, time = 0.0, 0.0
    for s in range(len(pair)):
        way += (here[s] - there[s]) * (bias[s] - other[s])
        time += there[s] / model.rate[pair[s]]
    if not way > 0.0:
        return 0.0
    return way / (loss * time) if loss * time > 0.0 else np.inf

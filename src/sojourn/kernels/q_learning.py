"""Q-learning in continuous time: SMART, relative-value Q-learning and optimistic Q-learning, one transition at a time.

Each is a pair (act, learn) in the sense of kernels/acting.py over a `Table`; the twin of each is below its name with `_reference`.
Ties go to the lowest action.
"""

from math import exp, expm1, log, sqrt
from typing import NamedTuple

import numpy as np

from sojourn.kernels.jit import inner

REWARD, TIME, SUM = range(3)  # of `total`
STEP, GREEDY = range(2)  # of `number`: transitions learned from; whether the last action was the best one


class Table(NamedTuple):
    """What Q-learning keeps; `setting` holds the numbers that the learner was given, in an order of its own."""

    pair_start: np.ndarray  # int64[S+1]
    pair_state: np.ndarray  # int64[P]
    value: np.ndarray  # float64[P], Q
    bound: np.ndarray  # float64[P], the least Q so far (optimistic Q-learning)
    visits: np.ndarray  # int64[P]
    time: np.ndarray  # float64[P], spent in each pair
    total: np.ndarray  # float64[3]
    number: np.ndarray  # int64[2]
    setting: np.ndarray  # float64[5]


def best_reference(value, pair_start, here):
    """Return the best pair of a state, the lowest of equals."""
    return int(pair_start[here] + np.argmax(value[pair_start[here]:pair_start[here + 1]]))


@inner
def best(value, pair_start, here):
    found = pair_start[here]
    for i in range(pair_start[here] + 1, pair_start[here + 1]):
        if value[i] > value[found]:
            found = i
    return found


def explored_reference(table, here, chance, own):
    """Return the best pair or, with this chance, one of the others, each as likely."""
    first, last = table.pair_start[here], table.pair_start[here + 1]
    greedy = best_reference(table.value, table.pair_start, here)
    table.number[GREEDY] = 1
    if last - first > 1 and own.random() < chance:
        table.number[GREEDY] = 0
        others = [i for i in range(first, last) if i != greedy]
        return others[int(own.random() * len(others))]
    return greedy


@inner
def explored(table, here, chance, own):
    first, last = table.pair_start[here], table.pair_start[here + 1]
    greedy = best(table.value, table.pair_start, here)
    table.number[GREEDY] = 1
    if last - first > 1 and own.random() < chance:
        table.number[GREEDY] = 0
        other = first + int(own.random() * (last - first - 1))
        return other + 1 if other >= greedy else other
    return greedy


# ---- SMART: setting = (step size, its decay, exploration, its decay) -------------------------------------------------------------


def searched(start, decay, step):
    """Return start / (1 + m²/(decay + m)), the search-then-converge schedule of Darken, Chang and Moody (1992)."""
    return start / (1.0 + step * (step / (decay + step))) if step > 0 else start


_searched = inner(searched)


def smart_act_reference(table, here, own):
    """The best action of R or, with the chance of the day, another one."""
    return explored_reference(table, here, searched(table.setting[2], table.setting[3], float(table.number[STEP])), own)


@inner
def smart_act(table, here, own):
    return explored(table, here, _searched(table.setting[2], table.setting[3], float(table.number[STEP])), own)


def smart_learn_reference(table, pair, holding_time, next_state, lump, running):
    """R(s,a) <- (1 - α) R(s,a) + α (reward - ρ τ + max R(next)); ρ = reward over time of the greedy steps (Das et al. 1999)."""
    size = searched(table.setting[0], table.setting[1], float(table.number[STEP]))
    gain = table.total[REWARD] / table.total[TIME] if table.total[TIME] > 0 else 0.0
    after = table.value[best_reference(table.value, table.pair_start, next_state)]
    table.value[pair] += size * (lump + running - gain * holding_time + after - table.value[pair])
    if table.number[GREEDY]:
        table.total[REWARD] += lump + running
        table.total[TIME] += holding_time
    table.number[STEP] += 1


@inner
def smart_learn(table, pair, holding_time, next_state, lump, running):
    value, total = table.value, table.total
    size = _searched(table.setting[0], table.setting[1], float(table.number[STEP]))
    gain = total[REWARD] / total[TIME] if total[TIME] > 0.0 else 0.0
    after = value[best(value, table.pair_start, next_state)]
    value[pair] += size * (lump + running - gain * holding_time + after - value[pair])
    if table.number[GREEDY] == 1:
        total[REWARD] += lump + running
        total[TIME] += holding_time
    table.number[STEP] += 1


# ---- relative-value Q-learning: setting = (power of the step size, exploration, its power, rate_min, rate_max) -------------------


def seen_in(table, here):
    """Return the visits to a state."""
    total = 0
    for i in range(table.pair_start[here], table.pair_start[here + 1]):
        total += table.visits[i]
    return total


_seen_in = inner(seen_in)


def rvi_act_reference(table, here, own):
    """The best action of Q or, with chance exploration / (visits to the state)^power, another one."""
    return explored_reference(table, here, table.setting[1] / max(1, seen_in(table, here)) ** table.setting[2], own)


@inner
def rvi_act(table, here, own):
    return explored(table, here, table.setting[1] / max(1, _seen_in(table, here)) ** table.setting[2], own)


def rvi_learn_reference(table, pair, holding_time, next_state, lump, running):
    """Q(s,a) += α [(reward + max Q(next) - Q(s,a))/T(s,a) - f(Q)]/λ_max, f(Q) = λ_max mean(Q), T the mean holding time so far."""
    power, _, _, rate_min, rate_max = table.setting
    table.visits[pair] += 1
    table.time[pair] += holding_time
    mean = min(max(table.time[pair] / table.visits[pair], 1 / rate_max), 1 / rate_min)
    after = table.value[best_reference(table.value, table.pair_start, next_state)]
    size = table.visits[pair] ** -power
    change = size * ((lump + running + after - table.value[pair]) / (mean * rate_max) - table.total[SUM] / len(table.value))
    table.value[pair] += change
    table.total[SUM] += change
    table.number[STEP] += 1


@inner
def rvi_learn(table, pair, holding_time, next_state, lump, running):
    value, setting = table.value, table.setting
    table.visits[pair] += 1
    table.time[pair] += holding_time
    mean = min(max(table.time[pair] / table.visits[pair], 1.0 / setting[4]), 1.0 / setting[3])
    after = value[best(value, table.pair_start, next_state)]
    size = float(table.visits[pair]) ** -setting[0]
    change = size * ((lump + running + after - value[pair]) / (mean * setting[4]) - table.total[SUM] / len(value))
    value[pair] += change
    table.total[SUM] += change
    table.number[STEP] += 1


# ---- optimistic Q-learning: setting = (H, discount rate, bonus, delta) -----------------------------------------------------------


def optimistic_act_reference(table, here, own):
    """The action with the largest bound."""
    return best_reference(table.bound, table.pair_start, here)


@inner
def optimistic_act(table, here, own):
    return best(table.bound, table.pair_start, here)


def optimistic_learn_reference(table, pair, holding_time, next_state, lump, running):
    """Q <- (1 - α) Q + α (reward + e^{-βτ} max bound(next) + bonus), α = (H + 1)/(H + n); the bound is the least Q so far.

    What runs is discounted within the sojourn; the bonus is bonus * sqrt(H log(2 t/delta)/n).
    """
    horizon, rate, bonus, delta, _ = table.setting
    table.visits[pair] += 1
    table.number[STEP] += 1
    n, away = table.visits[pair], rate * holding_time
    size = (horizon + 1) / (horizon + n)
    paid = lump + running * (-expm1(-away) / away if away > 0 else 1.0)
    after = table.bound[best_reference(table.bound, table.pair_start, next_state)]
    target = paid + exp(-away) * after + bonus * sqrt(horizon * log(2 * table.number[STEP] / delta) / n)
    table.value[pair] += size * (target - table.value[pair])
    table.bound[pair] = min(table.bound[pair], table.value[pair])


@inner
def optimistic_learn(table, pair, holding_time, next_state, lump, running):
    value, bound, setting = table.value, table.bound, table.setting
    table.visits[pair] += 1
    table.number[STEP] += 1
    n = table.visits[pair]
    away = setting[1] * holding_time
    size = (setting[0] + 1.0) / (setting[0] + n)
    paid = lump + running * (-expm1(-away) / away if away > 0.0 else 1.0)
    after = bound[best(bound, table.pair_start, next_state)]
    target = paid + exp(-away) * after + setting[2] * sqrt(setting[0] * log(2.0 * table.number[STEP] / setting[3]) / n)
    value[pair] += size * (target - value[pair])
    bound[pair] = min(bound[pair], value[pair])


SMART, RVI, OPTIMISTIC = (smart_act, smart_learn), (rvi_act, rvi_learn), (optimistic_act, optimistic_learn)

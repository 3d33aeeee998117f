"""Planners that sample, for large models whose successors are not known: rows of what was seen, and one place for anything else.

With S states and a weight of a each, a pair seen N times has the posterior Dirichlet(a + n_y) over all S states.  Held are only the
successors seen; all others together are the pooled one, of weight A = (S - k) a.

- Mean: n_y/(N + S a) on each successor seen, and S a/(N + S a) on a further state `elsewhere`, numbered S, which takes no time,
  pays nothing and leads to every state alike.  That is the Dirichlet mean, exactly.
- Draw: gammas for the successors seen and for the pooled one.  The pooled mass falls on up to ATOMS states drawn at random, broken
  off as sticks 1 - U^(1/A): the law of many small weights of sum A (Ferguson 1973; Sethuraman 1994), but for the last stick,
  which takes the rest (where S a is far above 1, eight atoms are a coarse stand-in for the even law of all others).
- Index: rows of the successors seen, the state of the highest bias, and the rest at the mean bias; N K + log N judges them in the
  shares in which they were seen.

The planners are those of kernels/sampled_plan.py in all else, but that a plan's way is not counted in its length.
"""

from typing import NamedTuple

import numpy as np

from sojourn.kernels.bk import upper_choice
from sojourn.kernels.counts import sorted_rows
from sojourn.kernels.imed import index_choice, insisted, skeleton
from sojourn.kernels.jit import inlined, inner, kernel
from sojourn.kernels.planning import Model, best_policy
from sojourn.kernels.posterior import TRIES, weights_now
from sojourn.kernels.sampled_plan import FREEZE, INSISTED, TRIAL, decide_alone, finish, set_length

ATOMS = 8
SMALL = 1e-3  # a stick of a row's mass that is not broken any more


class PairRows(NamedTuple):
    """The pairs of state s from pair_start[s], and what they pay."""

    pair_start: np.ndarray
    reward: np.ndarray
    running: np.ndarray


class Pooled(NamedTuple):
    """What plans are made from, and what a planner keeps: as `Sampler`, without anything over pairs and states together."""

    watch: int
    samples: int
    tsde: bool
    depth: float
    rows: PairRows
    shape: float
    time: float
    rate_min: float
    rate_max: float
    weight: np.ndarray  # per pair, of each of the S states in the prior
    draws: int  # per row and rate
    sampled: np.ndarray
    greedy: np.ndarray
    planned: np.ndarray
    fades: bool


def pooled_mean_reference(n_states, row_start, next_state, count, visits, holding_sum, weight, rate_min, rate_max):
    """Return ((P, S) matrix of the Dirichlet means, rate per pair); `weight` is each state's, per pair."""
    rows = np.repeat(np.asarray(weight, dtype=float)[:, None], n_states, axis=1)
    for i in range(len(visits)):
        np.add.at(rows[i], next_state[row_start[i]:row_start[i + 1]], count[row_start[i]:row_start[i + 1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(visits > 0, visits / holding_sum, np.sqrt(rate_min * rate_max))
    return rows / rows.sum(axis=1, keepdims=True), np.clip(rate, rate_min, rate_max)


@kernel
def pooled_mean(rows, row_start, next_state, count, visits, holding_sum, weight, rate_min, rate_max):
    """Return the mean model with `elsewhere` as one state more: its last pair, of S successors."""
    n_states, n_pairs = len(rows.pair_start) - 1, len(visits)
    jumps = len(next_state) + n_pairs
    pair_start, start = np.empty(n_states + 2, dtype=np.int64), np.empty(n_pairs + 2, dtype=np.int64)
    to, p = np.empty(jumps + n_states, dtype=np.int32), np.empty(jumps + n_states)
    reward, running, rate = np.zeros(n_pairs + 1), np.zeros(n_pairs + 1), np.empty(n_pairs + 1)
    pair_start[: n_states + 1] = rows.pair_start
    pair_start[n_states + 1] = n_pairs + 1
    at = 0
    for i in range(n_pairs):
        start[i] = at
        total = visits[i] + n_states * weight[i]
        for k in range(row_start[i], row_start[i + 1]):
            to[at], p[at] = next_state[k], count[k] / total
            at += 1
        to[at], p[at] = n_states, n_states * weight[i] / total
        at += 1
        reward[i], running[i] = rows.reward[i], rows.running[i]
        rate[i] = visits[i] / holding_sum[i] if visits[i] > 0 else np.sqrt(rate_min * rate_max)
        rate[i] = min(max(rate[i], rate_min), rate_max)
    start[n_pairs] = at
    for s in range(n_states):
        to[at], p[at] = s, 1.0 / n_states
        at += 1
    start[n_pairs + 1], rate[n_pairs] = at, np.inf
    return Model(pair_start, start, to, p, reward, running, rate)


@inner
def drawn_rate(own, visits, held, shape, time, rate_min, rate_max):
    """Return one rate from its posterior, as in kernels/posterior.py."""
    if rate_min == rate_max:
        return rate_min
    if visits + shape == 0:
        return rate_min * (rate_max / rate_min) ** own.random()
    drawn = 0.0
    for _ in range(TRIES):
        drawn = own.standard_gamma(visits + shape) / (held + time)
        if rate_min <= drawn and drawn <= rate_max:
            break
    return min(max(drawn, rate_min), rate_max)


@inner
def unseen_state(own, next_state, n_states):
    """Return a random state that is not in `next_state` (in ascending order); after some tries any state."""
    state = 0
    for _ in range(TRIES):
        state = int(own.random() * n_states)
        low, high = 0, len(next_state)
        while low < high:
            middle = (low + high) // 2
            if next_state[middle] < state:
                low = middle + 1
            else:
                high = middle
        if low == len(next_state) or next_state[low] != state:
            break
    return state


@inner
def drawn_row(own, next_state, count, n_states, weight, to, p):
    """Fill `to` and `p` with one row from its posterior; return its length."""
    many = len(next_state)
    total = 0.0
    for k in range(many):
        to[k], p[k] = next_state[k], own.standard_gamma(weight + count[k])
        total += p[k]
    strength = (n_states - many) * weight
    left = own.standard_gamma(strength) if strength > 0.0 else 0.0
    if total + left <= 0.0:  # every draw underflowed
        left = 1.0
    whole = total + left
    for atom in range(ATOMS):
        if left <= 0.0:
            break
        last = atom == ATOMS - 1 or left < SMALL * whole
        stick = left if last else left * (1.0 - own.random() ** (1.0 / strength))
        to[many], p[many] = unseen_state(own, next_state, n_states), stick
        many += 1
        left -= stick
        if last:
            break
    for k in range(many):
        p[k] /= whole
    return many


@inner
def drawn_model(own, sampler, row_start, next_state, count, visits, holding_sum):
    """Return a model in which every pair stands `draws` times, each with its own draw of row and rate."""
    q, draws, n_pairs = sampler.rows, sampler.draws, len(visits)
    n_states = len(q.pair_start) - 1
    pair_start, start = np.empty(n_states + 1, dtype=np.int64), np.empty(n_pairs * draws + 1, dtype=np.int64)
    weight = weights_now(sampler.weight, visits, sampler.fades)
    room = draws * (len(next_state) + ATOMS * n_pairs)
    to, p = np.empty(room, dtype=np.int32), np.empty(room)
    reward, running, rate = np.empty(n_pairs * draws), np.empty(n_pairs * draws), np.empty(n_pairs * draws)
    for s in range(n_states + 1):
        pair_start[s] = q.pair_start[s] * draws
    at = 0
    for i in range(n_pairs):
        a, b = row_start[i], row_start[i + 1]
        for copy in range(i * draws, (i + 1) * draws):
            start[copy] = at
            at += drawn_row(own, next_state[a:b], count[a:b], n_states, weight[i], to[at:], p[at:])
            rate[copy] = drawn_rate(own, visits[i], holding_sum[i], sampler.shape, sampler.time, sampler.rate_min, sampler.rate_max)
            reward[copy], running[copy] = q.reward[i], q.running[i]
    start[n_pairs * draws] = at
    return Model(pair_start, start, to, p, reward, running, rate)


@inner
def best_of_pooled_samples(own, sampler, row_start, next_state, count, visits, holding_sum):
    """Move `sampler.sampled` to the best policy of the drawn model with the largest gain; return that gain."""
    gain, draws = -np.inf, sampler.draws
    begin = sampler.sampled * draws
    allowed, pair_start = np.ones(len(visits) * draws, dtype=np.bool_), sampler.rows.pair_start
    for s in range(len(begin)):
        if pair_start[s + 1] - pair_start[s] == 1:  # without a choice the first draw counts, as in `copies_of` (learn/sampling.py)
            for copy in range(pair_start[s] * draws + 1, pair_start[s + 1] * draws):
                allowed[copy] = False
    for _ in range(sampler.samples):
        model = drawn_model(own, sampler, row_start, next_state, count, visits, holding_sum)
        found, _, best = best_policy(model, allowed, begin)
        if found > gain:
            gain = found
            for s in range(len(best)):
                sampler.sampled[s] = best[s] // draws
    return gain


@inner
def pooled_mean_best(sampler, row_start, next_state, count, visits, holding_sum):
    """Return (mean model, gain, bias with that of elsewhere last); move `sampler.greedy` to its best policy on the skeleton."""
    q = sampler.rows
    weight = weights_now(sampler.weight, visits, sampler.fades)
    model = pooled_mean(q, row_start, next_state, count, visits, holding_sum, weight, sampler.rate_min, sampler.rate_max)
    n_states, n_pairs = len(q.pair_start) - 1, len(visits)
    allowed, begin = np.ones(n_pairs + 1, dtype=np.bool_), np.empty(n_states + 1, dtype=np.int64)
    allowed[:n_pairs] = skeleton(q.pair_start, visits)
    begin[:n_states], begin[n_states] = sampler.greedy, n_pairs
    gain, bias, best = best_policy(model, allowed, begin)
    for s in range(n_states):
        sampler.greedy[s] = best[s]
    return model, gain, bias


@inner
def index_rows(sampler, mean, row_start, next_state, count, visits, bias, as_seen):
    """Return the model that an index judges: successors seen, the state of the highest bias, and the rest at the mean bias.

    With `as_seen` a pair that was tried has its successors in the shares in which they were seen, and nothing else.
    """
    q, weights = sampler.rows, weights_now(sampler.weight, visits, sampler.fades)
    n_states, n_pairs = len(q.pair_start) - 1, len(visits)
    top = np.argmax(bias[:n_states])
    start = np.empty(n_pairs + 1, dtype=np.int64)
    to, p = np.empty(len(next_state) + 2 * n_pairs, dtype=np.int32), np.empty(len(next_state) + 2 * n_pairs)
    at = 0
    for i in range(n_pairs):
        start[i] = at
        weight = 0.0 if as_seen and visits[i] > 0 else weights[i]
        total, rest, best = visits[i] + n_states * weight, n_states - (row_start[i + 1] - row_start[i]), weight
        for k in range(row_start[i], row_start[i + 1]):
            to[at], p[at] = next_state[k], (count[k] + weight) / total
            if next_state[k] == top:
                best = 0.0
            at += 1
        to[at], p[at] = top, best / total
        to[at + 1], p[at + 1] = n_states, (rest * weight - best) / total
        at += 2
    start[n_pairs] = at
    return Model(q.pair_start, start, to, p, mean.reward, mean.running, mean.rate)


@inlined
def rows_seen(counts):
    """Return (row_start, next_state, count) of the successors seen."""
    return sorted_rows(counts.head, counts.slot_state, counts.slot_next, counts.slot_count, counts.used[0])


@inlined
def plan_pooled_samples(sampler, desk, own):
    """Follow the best policy of a drawn model.  (CT-PSRL)"""
    counts = desk.counts
    row_start, next_state, count = rows_seen(counts)
    desk.info[0] = best_of_pooled_samples(own, sampler, row_start, next_state, count, counts.visits, counts.holding_sum)
    finish(sampler, desk, np.inf, sampler.sampled, np.zeros(0, dtype=np.bool_), TRIAL)
    set_length(sampler, desk.plan.epochs, counts.epoch[0], 0.0)
    return True


@inlined
def plan_pooled_imed(sampler, desk, own):
    """The same, with the index of least N K + log N insisting.  (CT-IMED)"""
    counts = desk.counts
    visits, epoch = counts.visits, counts.epoch[0]
    row_start, next_state, count = rows_seen(counts)
    mean, gain, bias = pooled_mean_best(sampler, row_start, next_state, count, visits, counts.holding_sum)
    model = index_rows(sampler, mean, row_start, next_state, count, visits, bias, True)
    desk.info[0] = gain
    asked, quota, divergence = index_choice(model, visits, gain, bias, sampler.greedy, sampler.rate_min, sampler.rate_max)
    if sampler.samples == 0:
        decide_alone(desk.plan.pair, desk.plan.left, asked, quota)
    else:
        asked, trying = insisted(model, visits, gain, bias, sampler.greedy, divergence)
        desk.info[1] = best_of_pooled_samples(own, sampler, row_start, next_state, count, visits, counts.holding_sum)
        finish(sampler, desk, sampler.depth * np.log(epoch) ** 2, asked, trying, INSISTED)
    set_length(sampler, desk.plan.epochs, epoch, 0.0)
    return True


@inlined
def plan_pooled_bk(sampler, desk, own):
    """The same, with the index of largest worth within N KL <= log t insisting.  (CT-BK)"""
    counts = desk.counts
    visits, epoch = counts.visits, counts.epoch[0]
    row_start, next_state, count = rows_seen(counts)
    mean, gain, bias = pooled_mean_best(sampler, row_start, next_state, count, visits, counts.holding_sum)
    model = index_rows(sampler, mean, row_start, next_state, count, visits, bias, False)
    desk.info[0] = gain
    well_known = sampler.depth * np.log(epoch) ** 2
    asked = upper_choice(model, visits, gain, bias, sampler.greedy, sampler.rate_min, sampler.rate_max, np.log(epoch),
                         well_known if sampler.samples > 0 else 0.0)
    if sampler.samples == 0:
        quota = np.empty(len(visits), dtype=np.int64)
        for k in range(len(visits)):
            quota[k] = max(1, int(FREEZE * visits[k]))
        decide_alone(desk.plan.pair, desk.plan.left, asked, quota)
    else:
        trying = np.empty(len(asked), dtype=np.bool_)
        for s in range(len(asked)):
            trying[s] = asked[s] != sampler.greedy[s]
        desk.info[1] = best_of_pooled_samples(own, sampler, row_start, next_state, count, visits, counts.holding_sum)
        finish(sampler, desk, well_known, asked, trying, TRIAL)
    set_length(sampler, desk.plan.epochs, epoch, 0.0)
    return True


POOLED_PLANNERS = (plan_pooled_samples, plan_pooled_imed, plan_pooled_bk)  # by index

"""Planners that sample: the best policy of models drawn from the posterior, and what an index insists on.

The drawn model has every pair several times over, each copy with its own draw of row and rate (`Copies`); the best policy chooses
among them.  An index, if there is one, judges with the posterior mean model on the skeleton.  In a well-known state (depth *
log²(t) visits) an action is tried on which the index insists.  Without samples the index decides alone.  A plan lasts long enough
to be worth its way (kernels/staying.py).

`plan_samples`, `plan_imed` and `plan_bk` are planners in the sense of kernels/driver.py, one for each index, so that none
compiles more than it needs.  Their twin is `sampled_plan_reference`.
"""

from typing import NamedTuple

import numpy as np

from sojourn.kernels.bk import upper_choice, upper_worth_reference
from sojourn.kernels.imed import (
    index_choice,
    index_choice_reference,
    insisted,
    insisted_reference,
    skeleton,
    skeleton_reference,
)
from sojourn.kernels.jit import inlined
from sojourn.kernels.least_divergence import least_divergence_reference
from sojourn.kernels.ledger import LEFT, NO_LIMIT
from sojourn.kernels.planning import Model, best_policy, best_policy_reference
from sojourn.kernels.posterior import (
    posterior_mean,
    posterior_mean_reference,
    posterior_sample,
    posterior_sample_reference,
    rows_as_seen,
    rows_as_seen_reference,
    successor_counts,
    successor_counts_reference,
    weights_now,
    weights_now_reference,
)
from sojourn.kernels.staying import worth_staying, worth_staying_reference
from sojourn.kernels.swept_planning import DENSE

NO_INDEX, IMED, BK = range(3)
TRIAL = 0.2  # in a well-known state a sampled action that is not the greedy one is tried for this share of its visits so far
INSISTED = 0.05  # the same for an action on which N K + log N insists
LONG = 0.1  # a plan that is worth staying with for longer lasts at most this share of the decisions so far
SHORT = 0.7  # under the index of least N K + log N a plan may last this many times the root of the decisions so far, or longer
FREEZE = 0.05  # without samples a choice of BK stands for this share of the pair's visits so far


class Rows(NamedTuple):
    """Pairs with their possible successors: pairs of state s from pair_start[s], successors of pair i from row_start[i]."""

    pair_start: np.ndarray
    row_start: np.ndarray
    next_state: np.ndarray
    reward: np.ndarray
    running: np.ndarray
    weight: np.ndarray  # of each of a pair's successors in the prior


class Copies(NamedTuple):
    """Every pair one or more times over: `pair` and `entry` say whose copy each of them and each of its successors is."""

    pair: np.ndarray
    entry: np.ndarray
    first: np.ndarray  # copy of each pair
    rows: Rows
    allowed: np.ndarray  # bool, all of them


class Sampler(NamedTuple):
    """What plans are made from, and what a planner keeps from one plan to the next.

    `samples`: models drawn per plan, of which the one with the largest gain is followed.  `tsde`: a plan is at most one epoch
    longer than the last (`set_length`); else it has no such limit.  `counted` has room for the successors, as in `rows.next_state`.
    """

    watch: int  # the index, or NO_INDEX
    samples: int
    tsde: bool
    depth: float
    rows: Rows
    shape: float
    time: float
    rate_min: float
    rate_max: float
    copies: Copies
    counted: np.ndarray
    sampled: np.ndarray  # pair per state, from where the next sampled policy is searched
    greedy: np.ndarray  # pair per state: the best policy of the mean model, and from where the next one is searched
    planned: np.ndarray  # int64[1], the number of the decision at which the last plan was made
    fades: bool  # whether the weight of the prior fades as a pair is visited


def sampled_plan_reference(sampler, desk, own, best=best_policy_reference,
                           divergence_of=lambda *row: least_divergence_reference(*row)[0], stay_of=worth_staying_reference):
    """Make a plan from the counts: fill desk.plan and desk.info (estimated gain with an index, sampled gain with samples).

    Return False, and change nothing, where a successor was seen that is not a possible one.
    """
    counts, copies, q = desk.counts, sampler.copies, sampler.copies.rows
    visits, epoch, info = counts.visits, int(counts.epoch[0]), []
    if successor_counts_reference(counts.head, counts.slot_state, counts.slot_next, counts.slot_count, sampler.rows.row_start,
                                  sampler.rows.next_state, sampler.counted) >= 0:
        return False
    asked, trying, quota = sampler.greedy, np.zeros(len(sampler.greedy), dtype=np.bool_), np.maximum(1, visits)
    well_known, stay = trying, 0.0
    if sampler.watch != NO_INDEX:
        well_known = np.add.reduceat(visits, sampler.rows.pair_start[:-1]) >= sampler.depth * np.log(epoch) ** 2
        asked, asked_quota, trying, mean = _ask_index_reference(sampler, epoch, visits, counts.holding_sum, best, divergence_of)
        info.append(mean[1])
    if sampler.samples == 0:
        chosen, quota = asked, asked_quota
    else:
        gain, start = -np.inf, copies.first[sampler.sampled]
        weight = weights_now_reference(q.weight, visits[copies.pair], sampler.fades)
        for _ in range(sampler.samples):
            probability, rate = posterior_sample_reference(own, q.row_start, sampler.counted[copies.entry], visits[copies.pair],
                                                           counts.holding_sum[copies.pair], weight, sampler.shape, sampler.time,
                                                           sampler.rate_min, sampler.rate_max)
            found, _, copy = best(Model(q.pair_start, q.row_start, q.next_state, probability, q.reward, q.running, rate),
                                  copies.allowed, start)
            if found > gain:
                gain, sampler.sampled[:] = found, copies.pair[copy]
        info.append(gain)
        chosen = np.where(well_known & trying, asked, sampler.sampled)
        share = np.where(trying & (sampler.watch == IMED), INSISTED, TRIAL)
        on_trial = well_known & (chosen != sampler.greedy)
        quota[chosen[on_trial]] = np.maximum(1, (share * visits[chosen])[on_trial].astype(np.int64))
        if sampler.watch == IMED and len(chosen) <= DENSE:
            stay = stay_of(*mean, sampler.greedy, sampler.sampled)
    desk.plan.pair[:], desk.plan.left[:], desk.info[:] = chosen, quota, info
    longer = max(SHORT * np.sqrt(epoch), min(stay, LONG * epoch)) if sampler.watch == IMED else 0
    desk.plan.epochs[LEFT] = max(epoch - sampler.planned[0] + 1, int(longer)) if sampler.tsde else NO_LIMIT
    sampler.planned[0] = epoch
    return True


def _ask_index_reference(sampler, epoch, visits, holding_sum, best, divergence_of):
    q, rate_min, rate_max, greedy = sampler.rows, sampler.rate_min, sampler.rate_max, sampler.greedy
    weight = weights_now_reference(q.weight, visits, sampler.fades)
    probability, rate = posterior_mean_reference(q.row_start, sampler.counted, visits, holding_sum, weight, rate_min, rate_max)
    model = Model(q.pair_start, q.row_start, q.next_state, probability, q.reward, q.running, rate)
    gain, bias, greedy[:] = best(model, skeleton_reference(q.pair_start, visits), greedy)
    if sampler.watch == BK:
        state = np.repeat(np.arange(len(greedy)), np.diff(q.pair_start))
        upper = np.empty(len(visits))
        for i, (a, b) in enumerate(zip(q.row_start[:-1], q.row_start[1:])):
            budget = np.log(epoch) / visits[i] if visits[i] > 0 else np.inf
            upper[i] = upper_worth_reference(probability[a:b], bias[q.next_state[a:b]], bias[state[i]], rate[i], q.reward[i],
                                             q.running[i], gain, rate_min, rate_max, budget, divergence_of)
        pair = np.array([g if upper[g] == upper[a:b].max() else a + np.argmax(upper[a:b])
                         for g, a, b in zip(greedy, q.pair_start[:-1], q.pair_start[1:])])
        return pair, np.maximum(1, (FREEZE * visits).astype(np.int64)), pair != greedy, (model, gain, bias)
    seen = model._replace(probability=rows_as_seen_reference(q.row_start, sampler.counted, visits, probability))
    pair, quota, divergence = index_choice_reference(seen, visits, gain, bias, greedy, rate_min, rate_max, divergence_of)
    if sampler.samples == 0:
        return pair, quota, pair != greedy, (model, gain, bias)
    pair, trying = insisted_reference(model, visits, gain, bias, greedy, divergence)
    return pair, quota, trying, (model, gain, bias)


@inlined
def counted_successors(sampler, counts):
    """Fill `sampler.counted`; return whether every successor seen is a possible one."""
    return successor_counts(counts.head, counts.slot_state, counts.slot_next, counts.slot_count, sampler.rows.row_start,
                            sampler.rows.next_state, sampler.counted) < 0


@inlined
def best_of_samples(sampler, own, visits, holding_sum):
    """Move `sampler.sampled` to the best policy of the drawn model with the largest gain; return that gain."""
    copies, rows = sampler.copies, sampler.copies.rows
    counted = np.empty(len(copies.entry), dtype=np.int64)
    seen, held = np.empty(len(copies.pair), dtype=np.int64), np.empty(len(copies.pair))
    start = np.empty(len(sampler.sampled), dtype=np.int64)
    for k in range(len(copies.entry)):
        counted[k] = sampler.counted[copies.entry[k]]
    for k in range(len(copies.pair)):
        seen[k] = visits[copies.pair[k]]
        held[k] = holding_sum[copies.pair[k]]
    for s in range(len(start)):
        start[s] = copies.first[sampler.sampled[s]]
    gain = -np.inf
    weight = weights_now(rows.weight, seen, sampler.fades)
    for _ in range(sampler.samples):
        probability, rate = posterior_sample(own, rows.row_start, counted, seen, held, weight, sampler.shape, sampler.time,
                                             sampler.rate_min, sampler.rate_max)
        model = Model(rows.pair_start, rows.row_start, rows.next_state, probability, rows.reward, rows.running, rate)
        found, _, best = best_policy(model, copies.allowed, start)
        if found > gain:
            gain = found
            for s in range(len(start)):
                sampler.sampled[s] = copies.pair[best[s]]
    return gain


@inlined
def mean_model(sampler, visits, holding_sum):
    """Return (mean model, gain, bias); move `sampler.greedy` to its best policy on the skeleton."""
    q = sampler.rows
    weight = weights_now(q.weight, visits, sampler.fades)
    probability, rate = posterior_mean(q.row_start, sampler.counted, visits, holding_sum, weight, sampler.rate_min,
                                       sampler.rate_max)
    model = Model(q.pair_start, q.row_start, q.next_state, probability, q.reward, q.running, rate)
    gain, bias, best = best_policy(model, skeleton(q.pair_start, visits), sampler.greedy)
    for s in range(len(best)):
        sampler.greedy[s] = best[s]
    return model, gain, bias


@inlined
def finish(sampler, desk, well_known, asked, trying, insisted_share):
    """Follow the sampled policy and, in states of `well_known` visits, what must be tried; there all but the greedy is a trial."""
    visits, chosen, quota, pair_start = desk.counts.visits, desk.plan.pair, desk.plan.left, sampler.rows.pair_start
    for k in range(len(visits)):
        quota[k] = max(1, visits[k])
    for s in range(len(chosen)):
        chosen[s] = sampler.sampled[s]
        total = 0
        for i in range(pair_start[s], pair_start[s + 1]):
            total += visits[i]
        if total >= well_known:
            share = TRIAL
            if trying[s]:
                chosen[s] = asked[s]
                share = insisted_share
            if chosen[s] != sampler.greedy[s]:
                quota[chosen[s]] = max(1, int(share * visits[chosen[s]]))


@inlined
def set_length(sampler, plan_epochs, epoch, stay):
    """Say how long the plan may last, and that it was made now.

    One epoch longer than the last one; where the index of least N K + log N watches, at least SHORT times the root of the epochs:
    else a plan that a doubling of visits ends early makes the next one short too, and a long way is left halfway.  Nor does it end
    before it is worth its way, `stay` decisions, but for LONG of the epochs.
    """
    longest = epoch - sampler.planned[0] + 1
    if sampler.watch == IMED:
        longest = max(longest, int(max(SHORT * np.sqrt(epoch), min(stay, LONG * epoch))))
    plan_epochs[LEFT] = longest if sampler.tsde else NO_LIMIT
    sampler.planned[0] = epoch


@inlined
def plan_samples(sampler, desk, own):
    """Follow the best policy of a drawn model.  (CT-PSRL)"""
    counts = desk.counts
    if not counted_successors(sampler, counts):
        return False
    desk.info[0] = best_of_samples(sampler, own, counts.visits, counts.holding_sum)
    finish(sampler, desk, np.inf, sampler.sampled, np.zeros(0, dtype=np.bool_), TRIAL)
    set_length(sampler, desk.plan.epochs, counts.epoch[0], 0.0)
    return True


@inlined
def plan_imed(sampler, desk, own):
    """The same, with the index of least N K + log N insisting.  (CT-IMED)"""
    counts = desk.counts
    visits, epoch = counts.visits, counts.epoch[0]
    if not counted_successors(sampler, counts):
        return False
    model, gain, bias = mean_model(sampler, visits, counts.holding_sum)
    desk.info[0] = gain
    q = sampler.rows
    row = rows_as_seen(q.row_start, sampler.counted, visits, model.probability)
    seen = Model(q.pair_start, q.row_start, q.next_state, row, q.reward, q.running, model.rate)
    asked, quota, divergence = index_choice(seen, visits, gain, bias, sampler.greedy, sampler.rate_min, sampler.rate_max)
    stay = 0.0
    if sampler.samples == 0:
        decide_alone(desk.plan.pair, desk.plan.left, asked, quota)
    else:
        asked, trying = insisted(model, visits, gain, bias, sampler.greedy, divergence)
        desk.info[1] = best_of_samples(sampler, own, visits, counts.holding_sum)
        finish(sampler, desk, sampler.depth * np.log(epoch) ** 2, asked, trying, INSISTED)
        if len(bias) <= DENSE:
            stay = worth_staying(model, gain, bias, sampler.greedy, sampler.sampled)
    set_length(sampler, desk.plan.epochs, epoch, stay)
    return True


@inlined
def plan_bk(sampler, desk, own):
    """The same, with the index of largest worth within N KL <= log t insisting.  (CT-BK)"""
    counts = desk.counts
    visits, epoch = counts.visits, counts.epoch[0]
    if not counted_successors(sampler, counts):
        return False
    model, gain, bias = mean_model(sampler, visits, counts.holding_sum)
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
        desk.info[1] = best_of_samples(sampler, own, visits, counts.holding_sum)
        finish(sampler, desk, well_known, asked, trying, TRIAL)
    set_length(sampler, desk.plan.epochs, epoch, 0.0)
    return True


@inlined
def decide_alone(pair, left, asked, quota):
    """Follow the index in every state."""
    for s in range(len(pair)):
        pair[s] = asked[s]
    for k in range(len(left)):
        left[k] = quota[k]


PLANNERS = (plan_samples, plan_imed, plan_bk)  # by index

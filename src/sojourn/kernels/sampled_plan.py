"""One plan of a learner that samples: the best policy of models drawn from the posterior, and what an index insists on.

The drawn model has every pair several times over, each copy with its own draw of row and rate (`Copies`); the best policy chooses
among them.  An index, if there is one, judges with the posterior mean model on the skeleton.  In a well-known state (depth *
log²(t) visits) an action is tried on which the index insists.  Without samples the index decides alone.
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
from sojourn.kernels.jit import kernel
from sojourn.kernels.least_divergence import least_divergence_reference
from sojourn.kernels.planning import best_policy, best_policy_reference
from sojourn.kernels.posterior import posterior_mean, posterior_mean_reference, posterior_sample, posterior_sample_reference

NO_INDEX, IMED, BK = range(3)
TRIAL = 0.2  # in a well-known state a sampled action that is not the greedy one is tried for this share of its visits so far
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
    """What plans are made from, with room for the `counted` successors, laid out as `rows.next_state`.

    `samples`: models drawn per plan, of which the one with the largest gain is followed.  `tsde`: a plan is at most one epoch
    longer than the last; else it has no such limit.
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
    counted: np.ndarray
    copies: Copies


class Standing(NamedTuple):
    """Pairs per state, from where the next policies are searched (`sampled`, `greedy`) and of the plan under way (`chosen`).

    `quota` are the visits per pair that the plan began with.
    """

    sampled: np.ndarray
    greedy: np.ndarray
    chosen: np.ndarray
    quota: np.ndarray


@kernel
def best_of_samples(sampler, own, visits, holding_sum, pair):
    """Put into `pair` the best policy of the drawn model with the largest gain, searched from the old `pair`; return that gain."""
    copies, rows = sampler.copies, sampler.copies.rows
    counted, seen, held, start = sampler.counted[copies.entry], visits[copies.pair], holding_sum[copies.pair], copies.first[pair]
    gain = -np.inf
    for _ in range(sampler.samples):
        probability, rate = posterior_sample(own, rows.row_start, counted, seen, held, rows.weight, sampler.shape, sampler.time,
                                             sampler.rate_min, sampler.rate_max)
        found, _, best = best_policy(rows.pair_start, rows.row_start, rows.next_state, probability, rows.reward, rows.running,
                                     rate, copies.allowed, start)
        if found > gain:
            gain = found
            pair[:] = copies.pair[best]
    return gain


@kernel
def ask_index(sampler, epoch, visits, holding_sum, greedy):
    """Return (pair per state, quota per pair, where that pair must be tried, gain of the mean model); move `greedy` to its best."""
    q, rate_min, rate_max = sampler.rows, sampler.rate_min, sampler.rate_max
    probability, rate = posterior_mean(q.row_start, sampler.counted, visits, holding_sum, q.weight, rate_min, rate_max)
    gain, bias, best = best_policy(q.pair_start, q.row_start, q.next_state, probability, q.reward, q.running, rate,
                                   skeleton(q.pair_start, visits), greedy)
    greedy[:] = best
    if sampler.watch == BK:
        heard = sampler.depth * np.log(epoch) ** 2 if sampler.samples > 0 else 0.0
        pair = upper_choice(q.pair_start, q.row_start, q.next_state, probability, q.reward, q.running, rate, visits, gain, bias,
                            greedy, rate_min, rate_max, np.log(epoch), heard)
        quota = np.empty_like(visits)
        for k in range(len(visits)):
            quota[k] = max(1, int(FREEZE * visits[k]))
        return pair, quota, pair != greedy, gain
    pair, quota, divergence = index_choice(q.pair_start, q.row_start, q.next_state, probability, q.reward, q.running, rate, visits,
                                           gain, bias, greedy, rate_min, rate_max)
    if sampler.samples == 0:
        return pair, quota, pair != greedy, gain
    pair, trying = insisted(q.pair_start, q.row_start, q.next_state, probability, q.reward, q.running, rate, visits, gain, bias,
                            greedy, divergence)
    return pair, quota, trying, gain


@kernel
def mix(pair_start, visits, well_known, asked, trying, standing):
    """Follow the sampled policy and, in states of `well_known` visits, what must be tried; there all but the greedy is a trial."""
    chosen, quota = standing.chosen, standing.quota
    chosen[:] = standing.sampled
    for k in range(len(visits)):
        quota[k] = max(1, visits[k])
    for s in range(len(chosen)):
        total = 0
        for i in range(pair_start[s], pair_start[s + 1]):
            total += visits[i]
        if total >= well_known:
            if trying[s]:
                chosen[s] = asked[s]
            if chosen[s] != standing.greedy[s]:
                quota[chosen[s]] = max(1, int(TRIAL * visits[chosen[s]]))


def sampled_plan_reference(sampler, own, epoch, visits, holding_sum, standing, best=best_policy_reference,
                           divergence_of=lambda *row: least_divergence_reference(*row)[0]):
    """Make a plan at decision number `epoch`, given the counts: fill `standing`; return (estimated gain, sampled gain).

    A gain is nan where there is no index, or no samples.  The successors must have been counted.
    """
    copies, q, estimated, gain = sampler.copies, sampler.copies.rows, np.nan, np.nan
    asked, trying, quota = standing.greedy, np.zeros(len(standing.greedy), dtype=np.bool_), np.maximum(1, visits)
    well_known = trying
    if sampler.watch != NO_INDEX:
        well_known = np.add.reduceat(visits, sampler.rows.pair_start[:-1]) >= sampler.depth * np.log(epoch) ** 2
        asked, asked_quota, trying, estimated = _ask_index_reference(sampler, epoch, visits, holding_sum, standing.greedy, best,
                                                                     divergence_of)
    if sampler.samples == 0:
        standing.chosen[:], standing.quota[:] = asked, asked_quota
        return estimated, gain
    gain, start = -np.inf, copies.first[standing.sampled]
    for _ in range(sampler.samples):
        probability, rate = posterior_sample_reference(own, q.row_start, sampler.counted[copies.entry], visits[copies.pair],
                                                       holding_sum[copies.pair], q.weight, sampler.shape, sampler.time,
                                                       sampler.rate_min, sampler.rate_max)
        found, _, copy = best(q.pair_start, q.row_start, q.next_state, probability, q.reward, q.running, rate, copies.allowed,
                              start)
        if found > gain:
            gain, standing.sampled[:] = found, copies.pair[copy]
    mixed = np.where(well_known & trying, asked, standing.sampled)
    trial = mixed[well_known & (mixed != standing.greedy)]
    quota[trial] = np.maximum(1, (TRIAL * visits[trial]).astype(np.int64))
    standing.chosen[:], standing.quota[:] = mixed, quota
    return estimated, gain


def _ask_index_reference(sampler, epoch, visits, holding_sum, greedy, best, divergence_of):
    q, rate_min, rate_max = sampler.rows, sampler.rate_min, sampler.rate_max
    probability, rate = posterior_mean_reference(q.row_start, sampler.counted, visits, holding_sum, q.weight, rate_min, rate_max)
    gain, bias, greedy[:] = best(q.pair_start, q.row_start, q.next_state, probability, q.reward, q.running, rate,
                                 skeleton_reference(q.pair_start, visits), greedy)
    if sampler.watch == BK:
        state = np.repeat(np.arange(len(greedy)), np.diff(q.pair_start))
        upper = np.empty(len(visits))
        for i, (a, b) in enumerate(zip(q.row_start[:-1], q.row_start[1:])):
            budget = np.log(epoch) / visits[i] if visits[i] > 0 else np.inf
            upper[i] = upper_worth_reference(probability[a:b], bias[q.next_state[a:b]], bias[state[i]], rate[i], q.reward[i],
                                             q.running[i], gain, rate_min, rate_max, budget, divergence_of)
        pair = np.array([g if upper[g] == upper[a:b].max() else a + np.argmax(upper[a:b])
                         for g, a, b in zip(greedy, q.pair_start[:-1], q.pair_start[1:])])
        return pair, np.maximum(1, (FREEZE * visits).astype(np.int64)), pair != greedy, gain
    pair, quota, divergence = index_choice_reference(q.pair_start, q.row_start, q.next_state, probability, q.reward, q.running,
                                                     rate, visits, gain, bias, greedy, rate_min, rate_max, divergence_of)
    if sampler.samples == 0:
        return pair, quota, pair != greedy, gain
    pair, trying = insisted_reference(q.pair_start, q.row_start, q.next_state, probability, q.reward, q.running, rate, visits, gain,
                                      bias, greedy, divergence)
    return pair, quota, trying, gain


@kernel
def sampled_plan(sampler, own, epoch, visits, holding_sum, standing):
    estimated = np.nan
    asked, trying, quota = standing.greedy, np.zeros(len(standing.greedy), dtype=np.bool_), standing.quota
    well_known = np.inf
    if sampler.watch != NO_INDEX:
        asked, quota, trying, estimated = ask_index(sampler, epoch, visits, holding_sum, standing.greedy)
        well_known = sampler.depth * np.log(epoch) ** 2
    if sampler.samples == 0:
        standing.chosen[:] = asked
        standing.quota[:] = quota
        return estimated, np.nan
    gain = best_of_samples(sampler, own, visits, holding_sum, standing.sampled)
    mix(sampler.rows.pair_start, visits, well_known, asked, trying, standing)
    return estimated, gain

"""When learning can stop: a policy whose gain is proved to be within epsilon of the best one, but with probability delta.

For a delta that was fixed beforehand the confidence sets hold at all times together with probability 1 - delta.  Then at every
moment the policy named earns at least its least gain over the sets, and no other one more than the largest gain over them of
policies that differ from it in some state.  Either it is the best, or the best differs from it; so it falls short of the best gain
by at most the difference.  The first moment at which that is at most epsilon may be waited for, however often one looks.

Learners of jumps are judged by the joint sets of joint_set.py, whoever played: they are made from the counts alone, and need about
half as many decisions as the KL sets of kl_set.py.  Learners of events are judged by the intervals of their events
(event_estimate.py).

How soon a certificate comes is proved for a variant of this rule and for ct-joint-ucrl only: docs/learners-proofs.md, Theorem 4.
decisions/0013; docs/how-to/stop-learning.md
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, identity
from scipy.sparse.linalg import splu

from sojourn.errors import ParameterError
from sojourn.learn.abilities import called
from sojourn.learn.certificate import Certificate
from sojourn.learn.counts import Counts
from sojourn.learn.estimate import alone, largest_gain, precision
from sojourn.learn.event_counts import EventCounts
from sojourn.learn.event_estimate import event_estimated
from sojourn.learn.joint_set import JointSet, joint_set
from sojourn.model.closeness import DELTA, Within, within
from sojourn.model.knowledge import Knowledge

ROUNDS = 1000  # of policy iteration on the means; it needs a handful
GAINED = 1e-10  # relative: an improvement below this is rounding
SLACK = 0.01  # of epsilon: how closely the ends are worked out
MOST_STATES = 500  # with a choice, up to which the policies that differ in each of them are looked at
OFFER = "'ct-kl-ucrl' and 'ct-joint-ucrl' do"
TELL_BOUNDS = "tell rate_bounds=(lo, hi), however wide"  # the remedy where none are told


def certificate(learner: Any, counts: Counts, knowledge: Knowledge, wanted: Within | None, delta: float = DELTA) -> Certificate:
    """Return what `counts` prove of a policy; `learner` says which sets count, and what play closes.

    Of the best policy at the means and the most hopeful one over the sets it is that of which more is proved.

    With None instead of a wish it says how close the policy is proved to be, but with probability `delta`.
    """
    chance = wanted.delta if wanted is not None else within(1.0, delta).delta
    note = open_ended(learner)
    events = getattr(learner, "events", None)
    if isinstance(events, EventCounts):
        found = event_estimated(events, counts.visits, 1 - chance)
        low, high = found.gain_bounds
        doubt = f"{found.evidence}, so nothing is proved." if found.evidence.rejected else ""
        return _certificate(knowledge, found.policy, low, high, high, wanted, chance, counts, note, doubt)
    _refuse(learner, counts, knowledge)
    sets = joint_set(counts, knowledge, chance / knowledge.n_pairs)
    gain, pair = best_tried(sets, counts, knowledge)
    tolerance = max(precision(sets, knowledge, counts.visits), 0.0 if wanted is None else SLACK * wanted.allowed(gain, gain))
    doubt = _doubt(sets, counts)
    if pair is None:
        low, high = _incomes(knowledge)
        return _certificate(knowledge, None, low, high, high, wanted, chance, counts, note, doubt)
    high, hopeful = largest_gain(sets, knowledge, tolerance)
    low = least_gain(sets, knowledge, pair, tolerance)
    other = knowledge.pair_table[np.arange(knowledge.n_states), hopeful]
    open_still = wanted is None or high - low > wanted.allowed(low, max(low, high))
    if open_still and (other != pair).any() and counts.visits[other].all():
        # What is best at the means may rest on a lucky choice that is never tried again; what is played is seen ever better.
        sure = least_gain(sets, knowledge, other, tolerance)
        pair, low = (other, sure) if sure > low else (pair, low)
    policy = np.array(knowledge.pair_action[pair])
    enough = -np.inf if wanted is None else low + wanted.allowed(low, max(low, high))
    others = high
    if np.array_equal(hopeful, policy) and (wanted is None or high > enough):
        others = largest_gain_elsewhere(sets, knowledge, pair, tolerance, high, np.inf if wanted is None else enough)
    return _certificate(knowledge, policy, low, high, others, wanted, chance, counts, note, doubt)


def least_gain(sets: JointSet, knowledge: Knowledge, pair: np.ndarray, tolerance: float) -> float:
    """Return a bound below which the policy that takes `pair` earns in no model of the set."""
    return -largest_gain(sets.only(pair).as_costs(), alone(knowledge, pair), tolerance)[0]


def largest_gain_elsewhere(sets: JointSet, knowledge: Knowledge, pair: np.ndarray, tolerance: float, high: float,
                           enough: float) -> float:
    """Return a bound that no policy exceeds which differs from `pair` in some state: one plan for each state with a choice.

    `high` bounds all policies.  It is returned as soon as one of the plans exceeds `enough`, and where there are too many states.
    The states whose other choices have the least time come first, as they are the likeliest to exceed it.
    """
    start, found = np.asarray(knowledge.pair_start), -np.inf
    free = np.flatnonzero(np.diff(start) > 1)
    if len(free) > MOST_STATES:
        return high
    time = sets.problem.time.copy()
    time[pair] = np.inf
    for s in free[np.argsort(np.minimum.reduceat(time, start[:-1])[free], kind="stable")]:
        others = np.delete(np.arange(knowledge.n_pairs), pair[s])
        gain = largest_gain(sets.only(others), knowledge, tolerance)[0]
        if gain > enough:
            return high
        found = max(found, gain)
    return min(found, high)


def _certificate(knowledge: Knowledge, policy: np.ndarray | None, low: float, high: float, others: float, wanted: Within | None,
                 delta: float, counts: Counts, note: str, doubt: str) -> Certificate:
    low, high = float(low), float(max(low, high))
    epsilon = float("nan") if wanted is None else wanted.allowed(low, high)
    others = min(max(float(others), low), high)
    return Certificate(knowledge, policy, low, high, others, epsilon, delta, int(counts.visits.sum()), wanted, note, doubt)


def _doubt(sets: JointSet, counts: Counts) -> str:
    """Return a sentence where no rate within the bounds that were told fits the holding times of some choice."""
    wrong = int(((sets.problem.time != counts.holding_sum) & (counts.visits > 0)).sum())
    if not wrong:
        return ""
    return (f"the holding times of {wrong} choice{'s' * (wrong > 1)} contradict the rate bounds that were told, so nothing is "
            "proved. Give wider bounds, or look at the unit of time.")


def _incomes(knowledge: Knowledge) -> tuple[float, float]:
    """Return what every policy earns at least and at most per unit of time, whatever the rates within the bounds."""
    with np.errstate(invalid="ignore"):  # 0 at an infinite rate
        lumps = np.nan_to_num(np.outer((knowledge.rate_min, knowledge.rate_max), knowledge.reward), posinf=np.inf, neginf=-np.inf)
    incomes = lumps + knowledge.running
    return float(incomes.min()), float(incomes.max())


def best_tried(sets: JointSet, counts: Counts, knowledge: Knowledge) -> tuple[float, np.ndarray | None]:
    """Return (gain, pair of each state) of the best policy at the means of what was seen, out of the pairs that were tried.

    (NaN, None) while some state has none.  A row is (n p̂ + 1/S each)/(n + 1), so that no policy falls apart into classes.  With a
    bias of mean 0 over the states the even part drops out: h = (I - D P̂)^-1 (r - g τ), D = n/(n + 1), and g makes that mean 0.
    """
    problem, tried, start = sets.problem, counts.visits > 0, np.asarray(knowledge.pair_start)
    state = np.asarray(knowledge.pair_state)
    reached, first = np.unique(state[tried], return_index=True)
    if len(reached) < knowledge.n_states:
        return float("nan"), None
    pair = np.flatnonzero(tried)[first]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(tried, np.clip(counts.visits / counts.holding_sum, knowledge.rate_min, knowledge.rate_max), 1.0)
    rows = csr_matrix((problem.jumps / np.repeat(counts.visits + 1.0, np.diff(problem.row_start)), problem.next_state,
                       problem.row_start), shape=(knowledge.n_pairs, knowledge.n_states))
    tau, gain = 1 / rate, 0.0
    income = knowledge.reward + knowledge.running * tau
    for _ in range(ROUNDS):
        solved = splu((identity(len(pair), format="csc") - rows[pair].tocsc()).tocsc())
        earned, spent = solved.solve(income[pair]), solved.solve(tau[pair])
        gain = float(earned.mean() / spent.mean())
        bias = earned - gain * spent
        worth = np.where(tried, (income + rows @ bias - bias[state]) * rate, -np.inf)
        best = np.maximum.reduceat(worth, start[:-1])
        margin = GAINED * (np.abs(bias).max() + np.abs(income[tried]).max()) * float(rate[tried].max())
        better = worth[pair] < best - margin
        if not better.any():
            break
        top = np.flatnonzero(worth == best[state])
        pair = np.where(better, top[np.searchsorted(state[top], np.arange(len(pair)))], pair)
    return gain, pair


def open_ended(learner: Any) -> str:
    """Return a sentence where the learner's play does not make the sets small, so that it may never be certified."""
    if getattr(learner, "closes_sets", False) and getattr(learner, "radius_scale", 1.0) >= 1:
        return ""
    return (f"{called(learner)!r} does not try what is still open for certainty's sake, so one may wait for a certificate in vain; "
            f"{OFFER}.")


def _refuse(learner: Any, counts: Counts, knowledge: Knowledge) -> None:
    if counts.scale:
        raise ParameterError(f"{called(learner)!r} leaves out long holding times in its counts (scale {counts.scale:g}), and a "
                             f"certificate needs all of them; {OFFER.replace(' do', ' count them')}.")
    if not knowledge.rates_told:
        raise ParameterError(f"no rate bounds are told, and a certificate needs some; {TELL_BOUNDS}.")
    if knowledge.events is not None:
        raise ParameterError("events are declared, and counts of jumps say nothing of what events pay; a certificate needs a "
                             "learner of events (such as 'events-ucrl'), or knowledge without events.")


def counts_of(learner: Any, epochs: int) -> Counts:
    """Return the counts of a learner that has been told all of `epochs` decisions, from which a certificate can be made."""
    counts = getattr(learner, "counts", None)
    known = getattr(learner, "knowledge", None)
    if not isinstance(counts, Counts) or not isinstance(known, Knowledge) or int(counts.visits.sum()) != epochs:
        raise ParameterError(f"{called(learner)!r} keeps no counts of all that happened, from which a certificate could be made; "
                             f"{OFFER.replace(' do', ' keep them')}.")
    if not isinstance(getattr(learner, "events", None), EventCounts):
        _refuse(learner, counts, known)
    return counts

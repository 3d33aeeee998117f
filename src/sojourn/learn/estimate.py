"""What has been learned: every rate and every row with an interval, the best policy now, what the gain may be, what is left to try.

The intervals are those of learn/kl_set.py: all of them together hold, at all times and whatever was played, with the stated
confidence.  Sojourns whose end was not seen count as time without a jump.  The pay is taken as it is known, not as it was paid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sojourn.errors import ParameterError, ToleranceError, require
from sojourn.learn.counts import Counts
from sojourn.learn.joint_set import JointSet
from sojourn.learn.kl_set import KLSet, kl_set, rate_sets
from sojourn.learn.open_set import OpenSet, best_on_mean, open_set
from sojourn.learn.optimism import income_spread, optimistic_plan, payment_unit
from sojourn.learn.posterior import Posterior
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import is_number
from sojourn.model.words import html_card, left_over

HALVINGS = 60  # of the interval in which the end of another is looked for
MAX_STEPS = 20_000
PRECISION = 1e-9  # of the gains, relative to the incomes that are possible
SHOWN = 12


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Arrays are per pair (P,), or per successor seen (`row_start[k]:row_start[k+1]` are those of pair k, as in CTMDP).

    `policy` (positions, one per state) is the best one on the mean of what was seen, `gain` what it would earn there per unit of
    time (NaN where it has a choice never tried and no rate bounds are told).  `gain_bounds`: no policy earns more than the upper
    end, and `policy` earns at least the lower one, both with the stated `confidence`.  A choice never tried may have any rate
    within the bounds and lead anywhere.
    """

    knowledge: Knowledge
    confidence: float
    visits: np.ndarray
    rate: np.ndarray  # jumps seen / time spent, within the bounds; NaN where none was seen
    rate_bounds: np.ndarray  # (P, 2)
    row_start: np.ndarray
    next_state: np.ndarray
    probability: np.ndarray
    probability_bounds: np.ndarray  # (E, 2)
    unseen: np.ndarray  # (P,) the most that all successors not yet seen may have together
    mean_lump: np.ndarray  # lump sum paid on average; NaN where never tried
    policy: np.ndarray
    gain: float
    gain_bounds: tuple[float, float]
    optimistic_policy: np.ndarray  # the best one where all that is open turns out well
    wrong_bounds: int  # pairs whose holding times contradict the rate bounds that were told

    @property
    def policy_labels(self) -> dict[Any, Any]:
        """The best policy now as {state: action}, both as the user calls them."""
        return {s: self.knowledge.actions[a] for s, a in zip(self.knowledge.states, self.policy)}

    @property
    def remaining(self) -> list[tuple[Any, Any, int]]:
        """What remains to be tried, as (state, action, visits so far): what was never tried, and what may still be better."""
        known = self.knowledge
        hopeful = known.pair_table[np.arange(known.n_states), self.optimistic_policy]
        played = known.pair_table[np.arange(known.n_states), self.policy]
        open_pairs = np.flatnonzero((self.visits == 0) | np.isin(np.arange(known.n_pairs), hopeful[hopeful != played]))
        return [(known.states[known.pair_state[k]], known.actions[known.pair_action[k]], int(self.visits[k])) for k in open_pairs]

    def rate_of(self, state: Any, action: Any) -> tuple[float, float, float]:
        """Return (low, estimate, high) of the rate of a choice, as the user calls it."""
        known = self.knowledge
        pair = known.pair(state, action)
        low, high = self.rate_bounds[pair]
        return float(low), float(self.rate[pair]), float(high)

    def row_of(self, state: Any, action: Any) -> dict[Any, tuple[float, float, float]]:
        """Return {next state: (low, estimate, high)} over the successors of a choice that were seen."""
        pair = self.knowledge.pair(state, action)
        entries = range(self.row_start[pair], self.row_start[pair + 1])
        return {self.knowledge.states[self.next_state[i]]: (float(self.probability_bounds[i, 0]), float(self.probability[i]),
                                                            float(self.probability_bounds[i, 1])) for i in entries}

    def unseen_of(self, state: Any, action: Any) -> float:
        """Return the most that all successors of a choice that were not yet seen may have together, as a probability."""
        return float(self.unseen[self.knowledge.pair(state, action)])

    @property
    def _now(self) -> str:
        """What the best policy now earns, in words."""
        if np.isnan(self.gain):
            return "best policy now has choices that were never tried, and without rate bounds nothing is known of its gain"
        return f"best policy now earns {self.gain:.6g} per unit of time on the mean model"

    def frame(self) -> Any:
        """Return one row per choice as a pandas DataFrame (needs the extra `frame`)."""
        pandas: Any = require("pandas", "frame")
        known, best = self.knowledge, np.zeros(len(self.visits), dtype=bool)
        best[known.pair_table[np.arange(known.n_states), self.policy]] = True
        return pandas.DataFrame({
            "state": [known.states[s] for s in known.pair_state], "action": [known.actions[a] for a in known.pair_action],
            "visits": self.visits, "rate": self.rate, "rate_low": self.rate_bounds[:, 0], "rate_high": self.rate_bounds[:, 1],
            "lump": self.mean_lump, "best_now": best,
        })

    def __repr__(self) -> str:
        low, high = self.gain_bounds
        some = "1 rate seems" if self.wrong_bounds == 1 else f"{self.wrong_bounds} rates seem"
        wrong = f"; {some} outside the bounds told" if self.wrong_bounds else ""
        return (f"<Estimate: {int(self.visits.sum()):,} epochs; {self._now}; at {self.confidence:.15g} confidence it earns "
                f"at least {low:.6g}, and no policy more than {high:.6g}; {len(self.remaining)} choices to try{wrong}>")

    def _repr_html_(self) -> str:
        known, rows = self.knowledge, []
        for k in range(min(SHOWN, known.n_pairs)):
            low, high = self.rate_bounds[k]
            rows.append((known.states.label(known.pair_state[k]), known.actions.label(known.pair_action[k]), f"{self.visits[k]:,}",
                         f"{self.rate[k]:.4g}", f"[{low:.4g}, {high:.4g}]"))
        more = f"and {left_over(known.n_pairs - SHOWN, 'choice')}" if known.n_pairs > SHOWN else ""
        return html_card(repr(self)[1:-1], ("state", "action", "visits", "rate", f"{self.confidence:.15g} interval"), rows, more)


def estimated(counts: Counts, knowledge: Knowledge, confidence: float = 0.95) -> Estimate:
    """Return what `counts` (of all holding times, none truncated) say about a system of which `knowledge` was known."""
    if not (is_number(confidence) and 0 < confidence < 1):
        raise ParameterError(f"confidence is {confidence!r}; it must lie between 0 and 1, such as 0.95.")
    if counts.scale:
        raise ParameterError(f"the counts leave out long holding times (scale {counts.scale:g}); an estimate needs all of them: "
                             "count with Counts(knowledge).")
    if knowledge.events is not None:
        raise ParameterError("events are declared, and these counts are of jumps, which say nothing of what events pay; use a "
                             "learner of events (such as 'events-psrl'), or knowledge without events.")
    if not knowledge.rates_told:
        return _without_bounds(counts, knowledge, confidence)
    level = (1 - confidence) / (2 * knowledge.n_pairs)
    start, after, count = counts.rows()
    share = count / np.repeat(np.maximum(1, counts.visits), np.diff(start))
    tried = counts.visits > 0
    scaled, unit = _in_unit(knowledge)
    gain, pair, sets, worst, radius = (_told if knowledge.supports_known else _untold)(counts, scaled, level)
    tolerance = precision(sets, scaled, counts.visits)
    high, hopeful = largest_gain(sets, scaled, tolerance)
    low = -largest_gain(worst, alone(scaled, pair), tolerance)[0]
    gain, low, high = gain * unit, low * unit, high * unit
    unseen = -np.expm1(-radius)
    if knowledge.support_start is not None:
        unseen[np.diff(start) == np.diff(knowledge.support_start)] = 0.0
    rate_bounds = np.stack([sets.rate_low, sets.rate_high], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.clip(counts.visits / counts.holding_sum, knowledge.rate_min, knowledge.rate_max)
        lump = counts.reward_sum / counts.visits
    return Estimate(
        knowledge=knowledge, confidence=confidence, visits=counts.visits.copy(), rate=np.where(tried, rate, np.nan),
        rate_bounds=rate_bounds, row_start=start, next_state=after, probability=share,
        probability_bounds=_shares(share, np.repeat(radius, np.diff(start))), unseen=unseen,
        mean_lump=np.where(tried, lump, np.nan), policy=np.array(knowledge.pair_action[pair]), gain=float(gain),
        gain_bounds=(min(low, float(gain)), max(high, float(gain))), optimistic_policy=np.array(hopeful),
        wrong_bounds=sets.empty_intervals)


def _in_unit(knowledge: Knowledge) -> tuple[Knowledge, float]:
    """Return the knowledge with payments in another unit, a power of two, where the squares of payments may be no numbers."""
    unit = payment_unit(knowledge.reward, knowledge.running)
    if unit == 1:
        return knowledge, 1.0
    return replace(knowledge, reward=knowledge.reward / unit, running=knowledge.running / unit, events=None), unit


def _without_bounds(counts: Counts, knowledge: Knowledge, confidence: float) -> Estimate:
    """Return the estimate where no rate bounds are told: a choice never tried may have any rate, and the gain no bound with it."""
    tried = counts.visits > 0
    unfinished = np.zeros(len(tried)) if counts.unfinished is None else counts.unfinished
    low, high = rate_sets(counts.visits, counts.holding_sum, unfinished > 0, (1 - confidence) / (2 * knowledge.n_pairs))
    ends = (float(low[tried].min()), float(high[tried].max())) if tried.any() else (1.0, 1.0)
    found = estimated(counts, replace(knowledge, rate_min=ends[0], rate_max=ends[1]), confidence)
    played = knowledge.pair_table[np.arange(knowledge.n_states), found.policy]
    least, most = found.gain_bounds
    bounds = np.where(tried[:, None], found.rate_bounds, np.stack([low, high], axis=1))
    gain = found.gain if tried[played].all() else float("nan")  # the rate of a choice never tried may be any
    return replace(found, knowledge=knowledge, rate_bounds=bounds, gain=gain,
                   gain_bounds=(least if tried[played].all() else -np.inf, most if tried.all() else np.inf))


def _told(counts: Counts, knowledge: Knowledge, level: float) -> tuple[float, np.ndarray, KLSet, KLSet, np.ndarray]:
    """Return (gain and pairs of the best policy now, what is open, the same for that policy alone at costs, radii of the rows)."""
    belief = Posterior(knowledge)
    sets = kl_set(counts, belief, level)
    gain, pair = belief.best_of_mean(np.array(knowledge.pair_start[:-1], dtype=np.int64), sets.rate_low, sets.rate_high)
    return gain, pair, sets, _against(sets, knowledge, pair), sets.row_radius


def _untold(counts: Counts, knowledge: Knowledge, level: float) -> tuple[float, np.ndarray, OpenSet, OpenSet, np.ndarray]:
    """Return the same where nobody said which jumps are possible."""
    sets = open_set(counts, knowledge, level)
    gain, pair = best_on_mean(sets, counts, knowledge)
    return gain, pair, sets, sets.against(pair), sets.problem.radius


def precision(sets: KLSet | OpenSet | JointSet, knowledge: Knowledge, visits: np.ndarray) -> float:
    """Return how closely bounds on the gain over these sets are worked out, in reward per unit of time."""
    return PRECISION * income_spread(knowledge, visits, sets.rate_low)


def largest_gain(sets: KLSet | OpenSet | JointSet, knowledge: Knowledge, tolerance: float) -> tuple[float, np.ndarray]:
    """Return (a bound that no policy on no model of the set exceeds, the policy that comes within `tolerance` of it)."""
    step = np.outer((knowledge.rate_min, knowledge.rate_max), knowledge.reward) + knowledge.running
    try:
        found = optimistic_plan(sets.iteration(), knowledge, tolerance, max_looks=MAX_STEPS)
    except ToleranceError as error:  # what was reached is a bound all the same
        found = error.best  # type: ignore[assignment]
    return min(found.gain, float(step.max())), np.asarray(found.policy)


def alone(knowledge: Knowledge, pair: np.ndarray) -> Knowledge:
    """Return the knowledge in which `pair` is all that can be played and every payment is a cost."""
    return replace(knowledge, pair_start=np.arange(knowledge.n_states + 1), pair_action=np.array(knowledge.pair_action[pair]),
                   reward=-knowledge.reward[pair], running=-knowledge.running[pair], events=None, support_start=None,
                   support_state=None)


def _against(sets: KLSet, knowledge: Knowledge, pair: np.ndarray) -> KLSet:
    """Return the set in which `pair` is all that can be played and every payment is a cost."""
    entries = np.concatenate([np.arange(sets.row_start[k], sets.row_start[k + 1]) for k in pair])
    start = np.concatenate([[0], np.cumsum(np.diff(sets.row_start)[pair])]).astype(np.int64)
    known = replace(alone(knowledge, pair), support_start=start, support_state=sets.next_state[entries])
    return KLSet(Posterior(known), start, sets.next_state[entries], sets.visits[pair], sets.count[entries], sets.row_radius[pair],
                 sets.rate_low[pair], sets.rate_high[pair], 0)


def _shares(share: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return [low, high] of each probability: the q with KL(share, q) <= radius, as of two outcomes, which is no larger."""
    def ends(inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            within = _divergence(share, middle) <= radius
            inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
        return outside

    return np.stack([ends(share, np.zeros_like(share)), ends(share, np.ones_like(share))], axis=1)


def _divergence(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        found: np.ndarray = (np.where(p > 0, p * np.log(p / q), 0.0) + np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0))
    return found

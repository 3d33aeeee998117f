"""How hard a model is to learn, in the paper's own constants, and what any learner must pay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import AssumptionError, ModelError, ParameterError, names_keywords, unknown_name
from sojourn.instance.bound_against import BoundAgainst, bound_against
from sojourn.instance.bound_at import BoundAt, bound_at
from sojourn.instance.diameter import Diameter
from sojourn.instance.diameter import diameter as diameter_of
from sojourn.instance.event_difficulty import EventDifficulty
from sojourn.instance.event_tilting import family
from sojourn.instance.gain_gap import GainGap, gap_of
from sojourn.instance.gaps import TIE, Optimum, optimum
from sojourn.instance.least_divergence import LeastDivergence, alternative, least_divergence
from sojourn.instance.lower_bound import horizon, lower_bound_constant, lower_bound_constant_bounds, visits_needed
from sojourn.instance.regret_bounds import RegretBounds
from sojourn.instance.rows import Rows, open_rows
from sojourn.instance.stopping_bound import StoppingBound, stopping_bound
from sojourn.model.checks import Verdict, irreducible
from sojourn.model.closeness import DELTA, Within, within
from sojourn.model.ctmdp import CTMDP, require_model
from sojourn.model.events import events_of
from sojourn.model.numbers import rate_bounds_pair, real_number
from sojourn.solving.evaluate import evaluate
from sojourn.solving.solution import Solution

if TYPE_CHECKING:
    from sojourn.report.look import Figure

REWARDS = ("known", "bernoulli")


@names_keywords
def difficulty(
    model: CTMDP,
    rate_bounds: tuple[float, float] | None = None,
    *,
    solution: Solution | None = None,
    rewards: str = "known",
    tie_tolerance: float = TIE,
) -> Difficulty:
    """Return the constants that say how hard `model` is to learn; the expensive ones are worked out when first asked for.

    `rate_bounds` are the λ_min and λ_max that the learner knows: the given ones, else the model's own bounds, else the range
    of its rates (with a warning).  `rewards="bernoulli"` takes the lump sums as 0/1 rewards of unknown mean.  `solution` saves
    solving again; actions whose gap is below `tie_tolerance` times the size of its terms count as optimal.

    >>> model = CTMDP.from_arrays([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[3.0, 5], [2, 7]], [[5.0, 8], [-4, -12]])
    >>> found = difficulty(model, rate_bounds=(2, 7))
    >>> round(found.gain_gap, 9), round(found.diameter, 9), found.lower_bound_constant
    (4.514285714, 0.2, 0.0)
    """
    require_model(model)
    if rewards not in REWARDS:
        raise ParameterError(unknown_name("kind of rewards", rewards, REWARDS))
    bounds = rate_bounds_pair(rate_bounds) if rate_bounds is not None else model.bounds
    model.knowledge(bounds)  # raises where a rate lies outside
    return Difficulty(
        model,
        bounds,
        optimum(model, solution, tie_tolerance),
        irreducible(model),
        rewards,
        rate_bounds is None and model.rate_bounds is None,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Difficulty(RegretBounds):
    """Gaps, least divergences, C(M), g, D and the bounds they give.  Tables are (S, A), NaN where a pair is not admissible."""

    model: CTMDP
    rate_bounds: tuple[float, float]
    optimum: Optimum
    irreducible: Verdict
    rewards: str = "known"
    bounds_defaulted: bool = False

    # ---- the solution ----------------------------------------------------------------------------------------------

    @property
    def gain(self) -> float:
        """ρ*, reward per unit time."""
        return self.optimum.gain

    @property
    def gain_bounds(self) -> tuple[float, float]:
        """An interval that holds ρ* for certain."""
        return self.optimum.gain_bounds

    @property
    def bias(self) -> np.ndarray:
        """h*, reward, 0 in state 0."""
        return self.optimum.bias

    @property
    def policy(self) -> np.ndarray:
        """An optimal policy, action index per state."""
        return self.optimum.policy

    @cached_property
    def optimal_actions(self) -> np.ndarray:
        """(S, A) booleans: the actions in O(s)."""
        return self.model.table(self.optimum.optimal, fill=False)

    @cached_property
    def gaps(self) -> np.ndarray:
        """φ*(s, a), reward: what one choice costs against playing on optimally.   Paper: eq:sub-gap"""
        return self.model.table(self.optimum.gap)

    @cached_property
    def as_told(self) -> Difficulty:
        """The same for the learners of this package: they are told what a choice pays on average, not what each jump pays.

        Where jumps pay nothing that is no difference.  Where they do, K and C(M) are for a learner that is told what each jump
        pays and has to learn how often; one that is told the mean has less to learn, and another constant to be set against.
        """
        if self.model.transition_reward is None:
            return self
        folded = self.model.replace(reward=self.model.expected_reward, transition_reward=None)
        return replace(difficulty(folded, self.rate_bounds, rewards=self.rewards), bounds_defaulted=self.bounds_defaulted)

    # ---- the lower bound -------------------------------------------------------------------------------------------

    @cached_property
    def divergences(self) -> LeastDivergence:
        """K with its alternatives, per pair; refused with the witness unless every policy is irreducible."""
        self._need_irreducible("the least divergences K, B(M) and the lower bound C(M) need")
        return least_divergence(self.optimum, self.rate_bounds, bernoulli=self.rewards == "bernoulli")

    def _need_irreducible(self, what: str) -> None:
        if not self.irreducible:
            raise AssumptionError(
                f"{what} every policy irreducible (assume-transition). {self.irreducible.statement} "
                "Gain, bias, gaps and diameter remain valid. Remove such actions, or give them a chance to leave."
            )

    @cached_property
    def critical(self) -> np.ndarray:
        """(S, A) booleans: B(M), the suboptimal pairs that some admissible row and rate would make uniquely optimal."""
        return self.model.table(self.divergences.critical, fill=False)

    @cached_property
    def least_divergence(self) -> np.ndarray:
        """K(s, a), nats per visit: 0 where optimal, infinite where not critical.   Paper: eq:K"""
        return self.model.table(self.divergences.k)

    @cached_property
    def least_divergence_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Two (S, A) tables between which K lies for certain: 0 and infinity where nothing is proved (above 3,000 states)."""
        return self.model.table(self.divergences.low), self.model.table(self.divergences.high)

    @cached_property
    def lower_bound_constant(self) -> float:
        """C(M) = Σ φ*/K over critical pairs, reward.   Paper: eq:CM"""
        return lower_bound_constant(self.optimum, self.divergences)

    @cached_property
    def lower_bound_constant_bounds(self) -> tuple[float, float]:
        """An interval that holds C(M) for certain; with Bernoulli rewards its upper end is open (infinite)."""
        self._need_irreducible("the lower bound C(M) needs")
        value = self.lower_bound_constant
        low, high = lower_bound_constant_bounds(self.optimum, self.rate_bounds, self.rewards == "bernoulli")
        return min(low, value), max(high, value)

    @cached_property
    def _open_rows(self) -> Rows:
        return open_rows(self.model, self.optimum.bias)

    @cached_property
    def divergences_unknown(self) -> LeastDivergence:
        """K where the supports are unknown: an alternative may lead to every state.  Rows have one more successor, the best one."""
        self._need_irreducible("the least divergences K with unknown supports need")
        return least_divergence(self.optimum, self.rate_bounds, self.rewards == "bernoulli", self._open_rows)

    @cached_property
    def lower_bound_constant_unknown(self) -> float:
        """C_u(M) >= C(M), reward: the same sum for learners that are not told which jumps are possible."""
        return lower_bound_constant(self.optimum, self.divergences_unknown)

    @cached_property
    def lower_bound_constant_unknown_bounds(self) -> tuple[float, float]:
        """An interval that holds C_u(M) for certain; with Bernoulli rewards its upper end is open (infinite)."""
        value = self.lower_bound_constant_unknown
        low, high = lower_bound_constant_bounds(self.optimum, self.rate_bounds, self.rewards == "bernoulli", self._open_rows)
        return min(low, value), max(high, value)

    @cached_property
    def visit_shares(self) -> np.ndarray:
        """How often an optimal policy visits each state: its share of all decisions."""
        return evaluate(self.model, self.policy).stationary

    def payable_bound(self, epochs: float, supports: bool = True) -> float:
        """Return Σ φ* min(log N / K, N μ(s)), reward: what of C(M) log N can be paid in N decisions.

        μ(s) is the share of decisions that good play takes in s: no pair of s can be tried more often than s is visited.
        `supports` says whether the learner is told them.  Far below C(M) log N it says that N is too small for that bound.
        """
        found = self.divergences if supports else self.divergences_unknown
        most = epochs * self.visit_shares[self.model.pair_state]
        return float(self.optimum.gap @ np.minimum(visits_needed(found, epochs), most))

    def bound_at(self, epochs: float, supports: bool = True, elsewhere: float | None = None, events: bool | None = None) -> BoundAt:
        """Return the least pseudo-regret in N decisions, to first order, of a learner that loses at most `elsewhere` nearby.

        Nearby are models in which another way to play is best; with None it may lose there as much as here.  As N grows it becomes
        C(M) log N; before, it leaves out what cannot matter in N decisions, and counts what it costs to learn that another way to
        play is no better.  Mean rewards count as known.  A float with its proof: see `sojourn.results.BoundAt`.

        Where the model declares events it is the bound of every learner, those told the events too, and nearby are models with
        other rates of the same events (it becomes `events.constant` log N).  With `events=False`, or `supports=False`, it is that
        of learners that see jumps and holding times only.   Derivation: docs/difficulty.md

        >>> model = CTMDP.from_arrays([[[1.0], [1.0]]], [[2.0, 1.5]], [[1.0, 1.1]], rate_bounds=(0.5, 6))  # two arms
        >>> bound = difficulty(model).bound_at(10**6)
        >>> f"{bound:.2f} of {difficulty(model).lower_bound(epochs=10**6):.2f}: {bound.alternatives[0].label}"
        '56.62 of 163.23: 1 in 0'
        """
        self._need_irreducible("the bound at N decisions needs")
        if elsewhere is not None and not (elsewhere := real_number("elsewhere", elsewhere)) > 0:
            raise ParameterError(f"elsewhere is {elsewhere:g}; what may be lost in other models is a positive amount of reward.")
        if events and not supports:
            raise ParameterError("supports is False and events is True; a learner that is told the events knows where they lead. "
                                 "Leave one of the two out.")
        seen = self.model.events is not None and (supports if events is None else bool(events))
        key = horizon(epochs=epochs)[1], bool(supports), elsewhere, seen
        if key not in self.bounds_at:
            near = family(self.model, self.rate_bounds, bool(supports), seen, told=not self.bounds_defaulted)
            self.bounds_at[key] = bound_at(self.optimum, near, self.rate_bounds, self.visit_shares, key[0], elsewhere)
        return self.bounds_at[key]

    def bound_against(self, others: CTMDP | Iterable[CTMDP], epochs: float, elsewhere: float | None = None,
                      events: bool | None = None) -> BoundAgainst:
        """Return what every learner loses here in N decisions, reward, unless it loses more than `elsewhere` in one of `others`.

        With None: what every learner loses here or in one of them.  Others are models with other rows and rates in which another
        way to play is best, as those of `bound_at(N).models`.  Proved, with no constant left out, whatever a learner knows, as long
        as it is the same of all these models (where jumps pay: what each pays, not the mean of a choice, which differs).  What it
        loses is pseudo-regret: the gaps of its choices.

        Where the model declares events, the others declare the same events with other rates, and it holds for learners that see
        which event happened, silent ones too.  `events=False` is the larger bound of those that see jumps and holding times only.
        A float with details: see `sojourn.results.BoundAgainst`.   Derivation: docs/difficulty.md

        >>> model = CTMDP.from_arrays([[[1.0], [1.0]]], [[2.0, 1.5]], [[1.0, 1.1]], rate_bounds=(0.5, 6))  # two arms
        >>> other = model.replace(rate=[2.0, 2.2])  # where the second is the better one
        >>> f"{difficulty(model).bound_against(other, 10**6):.2f}"
        '25.17'
        """
        if elsewhere is not None and not (elsewhere := real_number("elsewhere", elsewhere)) > 0:
            raise ParameterError(f"elsewhere is {elsewhere:g}; what may be lost in other models is a positive amount of reward.")
        models = list(others) if isinstance(others, Iterable) else [others]
        seen = self.model.events is not None and events is not False
        for other in models:
            require_model(other)
            if other.events is not None and self.model.events is None and events is not False:
                raise ModelError("the other model declares events, and this one does not: a learner that sees which event happened "
                                 "would know them apart at once. Leave them out with `other.replace(events=None)`.")
            if not (seen and self.bounds_defaulted):
                other.knowledge(self.rate_bounds)  # raises where a rate lies outside
        return bound_against(self.optimum, self.visit_shares, models, horizon(epochs=epochs)[1], elsewhere, seen)

    def stopping_bound(self, epsilon: float | str | Within, delta: float = DELTA, supports: bool = True) -> StoppingBound:
        """Return how many decisions, and how much time, any rule needs in the mean to name a policy within `epsilon` of the best.

        `epsilon` is an amount of gain (0.05), a share of the best gain ("5%") or `sojourn.within(...)`; the rule may be wrong with
        probability `delta`, in this model and in those with other rows (on the same supports, or with `supports=False` on any) and
        other rates within the bounds.  It says what telling policies apart costs at least; `good_enough` proves the gain as well,
        which costs far more.   Derivation: docs/difficulty.md

        >>> model = CTMDP.from_arrays([[[1.0], [1.0]]], [[2.0, 1.5]], [[1.0, 1.1]], rate_bounds=(0.5, 6))  # two arms
        >>> found = difficulty(model).stopping_bound("10%")
        >>> f"{found.epochs:.1f} decisions, {found.time:.1f} of time"
        '119.9 decisions, 68.9 of time'
        """
        self._need_irreducible("the least number of decisions of a stopping rule needs")
        return stopping_bound(self.optimum, self.rate_bounds, within(epsilon, delta), bool(supports))

    @cached_property
    def bounds_at(self) -> dict[tuple[float, bool, float | None, bool], BoundAt]:
        """The bounds at N decisions that were asked for, by (epochs, supports, elsewhere, whether events are seen)."""
        return {}

    def meaningful_epochs(self, supports: bool = True, share: float = 0.5) -> float:
        """Return the least power of ten N at which at least `share` of C(M) log N can be paid (see `payable_bound`)."""
        return next((n for n in 10.0 ** np.arange(1, 300)
                     if self.payable_bound(n, supports) >= share * self.lower_bound(epochs=n, supports=supports)), np.inf)

    def alternative(self, state: Any, action: Any) -> CTMDP:
        """Return the nearest model in which `action` ties with the best in `state`: its row and rate there are changed."""
        pair = self.model.pair(state, action)
        if self.optimum.optimal[pair]:
            raise ModelError(
                f"action {self.model.actions[self.model.pair_action[pair]]!r} is already optimal in state "
                f"{self.model.states[self.model.pair_state[pair]]!r} (its K is 0); ask for a suboptimal pair."
            )
        return alternative(self.model, self.divergences, pair, self.rate_bounds)

    def lower_bound(self, *, epochs: float | None = None, time: float | None = None, supports: bool = True) -> float:
        """Return C(M) log N or C(M) log T, reward: to first order the least regret of a uniformly fast learner.  Paper: thm:main

        `supports` says whether the learner is told the supports; if not, the constant is C_u(M).
        """
        constant = self.lower_bound_constant if supports else self.lower_bound_constant_unknown
        return constant * float(np.log(horizon(epochs, time)[1]))

    def visits_needed(self, epochs: float, in_time: bool = False) -> np.ndarray:
        """Return log N / K per pair, an (S, A) table: visits that N decisions need, or the time they take; 0 if not critical."""
        visits = visits_needed(self.divergences, epochs)
        return self.model.table(visits / self.model.rate if in_time else visits)

    def exploration_time(self, epochs: float) -> float:
        """Return the total time spent on critical pairs in N decisions, to first order: "how long will it explore"."""
        return float(np.nansum(self.visits_needed(epochs, in_time=True)))

    @cached_property
    def events(self) -> EventDifficulty:
        """What learning the rates of the declared events must cost (of one event per jump, where none is declared).

        Its constant is refused, as C(M) is, unless every policy is irreducible.   Proof: docs/events.md
        """
        self._need_irreducible("the constant of hidden events needs")
        return EventDifficulty(self.optimum, events_of(self.model))

    # ---- g and D ---------------------------------------------------------------------------------------------------

    @cached_property
    def gain_gaps(self) -> GainGap:
        """g and g_step with their policies; see `sojourn.gain_gap`."""
        return gap_of(self.optimum, self.irreducible)

    @property
    def gain_gap(self) -> GainGap:
        """g, reward per unit time: ρ* minus the next gain, a float with `policy`.  Infinite if all tie.   Paper: eq:gap-g"""
        return self.gain_gaps

    @property
    def gain_gap_bounds(self) -> tuple[float, float]:
        """An interval that holds g for certain."""
        return self.gain_gaps.bounds

    @property
    def gain_gap_per_decision_bounds(self) -> tuple[float, float]:
        """An interval that holds g_step for certain."""
        return self.gain_gaps.per_decision_bounds

    @property
    def gain_gap_per_decision(self) -> float:
        """g_step, reward per decision: the least (ρ* - ρ)·(mean holding time) of a suboptimal policy."""
        return self.gain_gaps.per_decision

    @property
    def second_best_policy(self) -> np.ndarray | None:
        """The policy that attains g, action index per state; None if all policies are optimal."""
        return self.gain_gaps.policy

    @cached_property
    def diameters(self) -> Diameter:
        """D(M) with its proof; see `sojourn.diameter`."""
        return diameter_of(self.model)

    @property
    def diameter(self) -> Diameter:
        """D(M), time, a float with `pair` and `bounds`.   Paper: eq:diameter"""
        return self.diameters

    @property
    def diameter_bounds(self) -> tuple[float, float]:
        """An interval that holds D(M) for certain."""
        return self.diameters.bounds

    @property
    def diameter_pair(self) -> tuple[Any, Any]:
        """The states (from, to) that attain D(M), as the user calls them."""
        return self.diameters.pair

    # ---- words -----------------------------------------------------------------------------------------------------

    @property
    def warnings(self) -> list[str]:
        """What to keep in mind when using these numbers, as sentences."""
        from sojourn.instance.cautions import warnings_of

        return warnings_of(self)

    def as_dict(self, epochs: float | None = None) -> dict[str, Any]:
        """Return everything as plain values, pairs and policies by label; None where infinite or not available.

        With `epochs`, also the bounds at so many decisions.
        """
        from sojourn.instance.words import as_dict

        return as_dict(self, epochs)

    def table(self, rows: int | None = 40, epochs: float | None = None) -> str:
        """Return constants, pairs and warnings as text; the first `rows` suboptimal pairs by their share of C(M).

        With `epochs`, also the bounds at so many decisions.
        """
        from sojourn.instance.words import as_text

        return as_text(self, rows, epochs)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        from sojourn.instance.words import one_line

        return one_line(self)

    def _repr_html_(self) -> str:
        from sojourn.instance.words import as_html

        return as_html(self)

    def plot(self, path: str | PathLike[str] | None = None, epochs: float = 1e6) -> Figure:
        """Draw the one-page card (needs the extra `plot`)."""
        from sojourn.report.difficulty import plot_difficulty

        return plot_difficulty(self, path, epochs)

"""The upper bounds of a model's difficulty: the part of `Difficulty` that rests on g, D and n_π."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sojourn.errors import AssumptionError, ParameterError
from sojourn.instance.diameter import Diameter
from sojourn.instance.gain_gap import GainGap
from sojourn.instance.gaps import Optimum
from sojourn.instance.optimism_bound import Constants, OptimismBound, longest_passage, optimism_bound
from sojourn.instance.upper_bound import (
    bad_steps_bound,
    doubling_bound,
    doubling_bound_time,
    failure_probability,
    offset_from,
    regret_bound,
    settling_epochs,
    settling_epochs_needed,
    upper_bound_constant,
)
from sojourn.model.checks import Verdict
from sojourn.model.ctmdp import CTMDP


class RegretBounds:
    """C, n_π, C' and the regret bounds of CT-UCRL, as printed and consistent; to be inherited by what knows the rest."""

    model: CTMDP
    rate_bounds: tuple[float, float]
    irreducible: Verdict
    optimum: Optimum

    @property
    def gain(self) -> float:
        raise NotImplementedError

    @property
    def gain_gap(self) -> GainGap:
        raise NotImplementedError

    @property
    def gain_gap_per_decision(self) -> float:
        raise NotImplementedError

    @property
    def diameter(self) -> Diameter:
        raise NotImplementedError

    @property
    def max_choices(self) -> int:
        """A of the paper's constants: the largest number of actions of a state."""
        return int(np.diff(self.model.pair_start).max())

    @property
    def upper_bound_constant(self) -> float:
        """C as printed.   Paper: eq:upper-C"""
        return upper_bound_constant(self.model.n_states, self.max_choices, self.diameter, self.rate_bounds)

    @property
    def upper_bound_constant_consistent(self) -> float:
        """C with 2 λ_max in place of 1 + λ_max: it does not change with the unit of time."""
        return upper_bound_constant(self.model.n_states, self.max_choices, self.diameter, self.rate_bounds, consistent=True)

    @cached_property
    def n_pi(self) -> dict[tuple[int, ...], int] | None:
        """{policy: n_π} as in the proof of thm:UCRL, for small models; None means not available."""
        return settling_epochs(self.model, self.gain_gap) if self.irreducible else None

    @cached_property
    def upper_bound_offset(self) -> float | None:
        """C' of thm:UCRL as printed, for small models; None means not available."""
        return offset_from(self.n_pi, self.model, self.rate_bounds, self.max_choices)[1] if self.n_pi else None

    @cached_property
    def upper_bound_offset_consistent(self) -> float | None:
        """C' with only what the proof needs of n_π, per decision (g_step); None means not available."""
        n = settling_epochs_needed(self.model, self.gain_gap_per_decision, self.gain) if self.irreducible else None
        return offset_from(n, self.model, self.rate_bounds, self.max_choices)[1] if n else None

    def _parts(self, consistent: bool, offset: float | None) -> tuple[float, float, float]:
        if offset is None:
            offset = self.upper_bound_offset_consistent if consistent else self.upper_bound_offset
        if offset is None:
            raise AssumptionError(
                f"C' needs n_π of every policy, which is not available for this model ({self.model.n_states} states, "
                f"{self.model.n_pairs} pairs). Pass offset=0 for the logarithmic term alone."
            )
        if consistent:
            return self.upper_bound_constant_consistent, self.gain_gap_per_decision, offset
        return self.upper_bound_constant, self.gain_gap, offset

    def upper_bound(self, epochs: float, consistent: bool = False, offset: float | None = None) -> float:
        """Return the bound on CT-UCRL's regret with delta = 1/N: as printed, or unit-consistent.   Paper: thm:UCRL

        `offset` replaces C' where that is not available (0: the logarithmic term alone).
        """
        return regret_bound(*self._parts(consistent, offset), epochs)

    def upper_bound_doubling(
        self,
        *,
        epochs: float | None = None,
        time: float | None = None,
        consistent: bool = False,
        offset: float | None = None,
    ) -> float:
        """Return the bound on doubling CT-UCRL's regret after N decisions or at time T.   Paper: thm:UCRL2"""
        if (epochs is None) == (time is None):
            raise ParameterError(f"give either epochs= or time= (epochs is {epochs!r}, time is {time!r}).")
        if epochs is not None:
            return doubling_bound(*self._parts(consistent, offset), epochs)
        assert time is not None
        return doubling_bound_time(*self._parts(consistent, offset), time, self.rate_bounds)

    @cached_property
    def longest_passage(self) -> float:
        """The largest expected number of jumps from one state to another, over all policies."""
        return longest_passage(self.model)

    def optimism_constants(self, supports: bool = False) -> Constants:
        """Return what the bounds of docs/learners-proofs.md need, for a learner that is told the supports or not."""
        if not self.irreducible:
            raise AssumptionError(f"the bound is worked out where every policy is irreducible (assume-transition). "
                                  f"{self.irreducible.statement}")
        model, (low, high) = self.model, self.rate_bounds
        reward, running, row = model.expected_reward, model.running, int(np.diff(model.row_start).max())
        ends = np.outer((low, high), reward) + running
        return Constants(
            states=model.n_states, pairs=model.n_pairs, choices=self.max_choices, successors=row,
            possible=row if supports else model.n_states, rate_bounds=(float(low), float(high)), slowest=float(model.rate.min()),
            diameter=float(self.diameter.bounds[1]), reward=float(np.abs(reward).max()), gain=self.gain,
            income=(float(ends.min()), float(ends.max())), least_income=float((reward * model.rate + running).min()),
            running=(float(running.min()), float(running.max())), gap=self.gain_gap.per_decision_bounds[0],
            largest_gap=float(self.optimum.gap.max()), jumps=self.longest_passage)

    def optimism_bound(self, sets: str, epochs: float, *, supports: bool = False, growth: float = 0.1,
                       delta: float | None = None, tolerance: float | None = None) -> OptimismBound:
        """Return what is proved of the mean pseudo-regret after N decisions, by optimism over these sets; for every N.

        `sets` is "kl" for ct-kl-ucrl, "joint" for ct-joint-ucrl, "printed" for ct-ucrl.  `delta` = None is the level 1/t (0.01
        of printed sets), a number a fixed level.  The theorem and its proof are in
        docs/learners-proofs.md.

        >>> from sojourn.instance.difficulty import difficulty
        >>> from sojourn.zoo.catalogue import make
        >>> found = difficulty(make("three-state"))
        >>> bound = found.optimism_bound("kl", 1e6)
        >>> f"{bound.total:.3g}, of which {bound.failing:.3g} for plans that fail"
        '2.43e+08, of which 37.2 for plans that fail'
        """
        return optimism_bound(sets, self.optimism_constants(supports), epochs, growth=growth, delta=delta, tolerance=tolerance)

    def bad_steps_bound(self, epochs: float, epsilon: float, delta: float) -> float:
        """Return the bound on decisions in epsilon-bad episodes, probability 1 - 2 delta.   Paper: eq:LepsN"""
        return bad_steps_bound(self.upper_bound_constant, self.model.n_states * self.max_choices, epochs, epsilon, delta)

    def failure_probability(self, epoch: float, delta: float) -> float:
        """Return delta/(15 t^6): the truth is not plausible at epoch t at most that often.   Paper: lem:failCI"""
        return failure_probability(epoch, delta)

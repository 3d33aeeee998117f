"""The regret bounds of docs/learners-proofs.md: what is proved of ct-kl-ucrl, ct-joint-ucrl and ct-ucrl for a model, as a number.

They hold for every number of decisions at once, with every constant written out, and are far above what is seen: they say that
regret is logarithmic, not how large it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sojourn.errors import AssumptionError, ParameterError
from sojourn.instance.first_passage import Passage
from sojourn.instance.one_target import reached
from sojourn.model.ctmdp import CTMDP
from sojourn.model.scalars import at_least, is_number, one_of

MAX_STATES = 400  # one search for the slowest policy per state
WIDTH = {"kl": 8.8, "joint": 6.1}  # c0: how wide a set is, in B sqrt(x/n)
SETS = (*WIDTH, "printed")  # of ct-kl-ucrl, ct-joint-ucrl and ct-ucrl
LEAST_GROWTH = 1 / 16
FAILS = 0.07  # of delta, times the states: mean decisions in failing plans of ct-ucrl
TRUNCATION = 1300.0  # largest log(2 A S N/δ)/log(1/δ) for which the truncated mean is proved to fail as seldom as printed


@dataclass(frozen=True)
class Constants:
    """What the bounds need of a model and of what the learner was told."""

    states: int
    pairs: int
    choices: int  # A: the most actions of a state
    successors: int  # σ: the most successors of a pair
    possible: int  # k: the most successors of a pair that the learner holds possible
    rate_bounds: tuple[float, float]
    slowest: float  # the least true rate
    diameter: float
    reward: float  # the largest |lump sum|
    gain: float
    income: tuple[float, float]  # least and largest r λ + c over pairs and rates within the bounds
    least_income: float  # the least over pairs at their true rates
    running: tuple[float, float]  # least and largest c
    gap: float  # g per decision
    largest_gap: float  # of a pair
    jumps: float  # the largest expected number of jumps between two states, over policies


@dataclass(frozen=True)
class OptimismBound:
    """The terms of a bound on the expected pseudo-regret; `total` is the bound."""

    widths: float  # a²/g
    plans: float  # what a plan costs, times how many there are
    first_visits: float  # decisions in pairs of which too little is known
    failing: float  # plans whose sets miss the truth

    @property
    def total(self) -> float:
        return self.widths + self.plans + self.first_visits + self.failing


def longest_passage(model: CTMDP) -> float:
    """Return the largest expected number of jumps from one state to another, over all policies; every policy is irreducible.

    >>> from sojourn.zoo.catalogue import make
    >>> round(longest_passage(make("two-state")), 9)
    1.0
    """
    if model.n_states > MAX_STATES:
        raise AssumptionError(f"the bound needs the slowest way between all pairs of states, worked out up to {MAX_STATES} states; "
                              f"the model has {model.n_states}.")
    if model.n_states == 1:
        return 1.0
    passage = Passage(model.matrix, model.pair_state, np.ones(model.n_pairs), largest=True)
    return max(float(reached(passage, target, passage.toward(target)).high().max()) for target in range(model.n_states))


def plans_bound(pairs: int, growth: float, epochs: float) -> float:
    """Return how many plans there are at most within N >= P decisions, where a pair may grow by `growth` within a plan.

    >>> plans_bound(6, 1.0, 1e5), round(plans_bound(6, 0.1, 1e5), 1)
    (102.148067842..., 954.2)
    """
    if growth == 1:
        return pairs * math.log2(8 * epochs / pairs)
    return 1 + pairs * (1 + 2 / growth + math.log1p(growth * epochs / (2 * pairs)) / math.log1p(growth / 2))


def budget(sets: str, m: Constants, level: float, epochs: float) -> float:
    """Return x: no budget of a set exceeds it within N decisions (in the mean, of joint sets).

    `level` is that of all sets together.
    """
    row = m.successors * math.log(m.possible * epochs / m.successors)
    if sets == "kl":
        return math.log(2 * m.pairs / level) + max(row, math.log(2 * epochs * (epochs + 1)))
    low, high = m.rate_bounds
    spread = math.sqrt(high / low)
    return math.log(m.pairs / level) + row + math.log1p(spread * epochs) + spread


def optimism_bound(sets: str, m: Constants, epochs: float, *, growth: float = 0.1, delta: float | None = None,
                   tolerance: float | None = None) -> OptimismBound:
    """Return the bound on the expected pseudo-regret after N decisions, for every N, by optimism over these sets.

    `delta` = None is the level 1/t at decision t (0.01 of printed sets, whose radii hold log t); a number is a fixed level.  A plan
    made at decision t is the best up to tolerance/sqrt(t) in units of the gain; by default what is so told the rate bounds.
    """
    one_of("sets", sets, SETS)
    n = at_least("epochs", epochs, max(m.pairs, 3), " (decisions; at least the number of pairs)")
    if delta is not None and not (is_number(delta) and 0 < delta <= 1):
        raise ParameterError(f"delta is {delta!r}; it must be in (0, 1].")
    if not (is_number(growth) and 0 < growth <= 1):
        raise ParameterError(f"growth is {growth!r}; it must be in (0, 1].")
    if m.largest_gap == 0:
        return OptimismBound(0.0, 0.0, 0.0, 0.0)
    printed = sets == "printed"
    spread = m.income[1] - m.income[0]
    theta = tolerance if tolerance is not None else m.rate_bounds[1] if printed else spread
    above = m.income[1] - m.least_income + theta  # what an optimistic gain may exceed an income by
    span = m.diameter * above
    raw = above / m.slowest + span
    if printed:
        delta = 0.01 if delta is None else delta
        growth, visits = 1.0, 1.0
        width, stop = _printed_width(m, delta, n, theta, span), (1 + math.sqrt(2)) * theta / m.slowest
        failing = FAILS * delta * m.states
    else:
        x = budget(sets, m, 1 / n if delta is None else delta, n)
        visits = 8 * (1 + growth) * x + 1
        turn = 1 + math.sqrt(1 + max(growth, LEAST_GROWTH))
        width, stop = turn * WIDTH[sets] * (m.reward + span) * math.sqrt(x), (1 + math.sqrt(2)) * theta / m.slowest
        failing = (1 + 2 * growth) * math.log2(2 * n) + 2 * m.states if delta is None else delta * n
    widths = m.pairs * (width + stop) ** 2 / m.gap if m.gap > 0 else math.inf
    each = m.largest_gap * m.jumps + 4 * span
    return OptimismBound(widths, each * plans_bound(m.pairs, growth, n), 2 * visits * m.pairs * raw, m.largest_gap * failing)


def _printed_width(m: Constants, delta: float, n: float, theta: float, span: float) -> float:
    """Return how wide the printed sets are, in 1/sqrt(visits)."""
    logarithm = math.log(2 * m.choices * m.states * n / delta)
    if logarithm > TRUNCATION * -math.log(delta):
        raise AssumptionError(f"with delta = {delta:g} and N = {n:g} the truncated mean is not proved to fail as seldom as its "
                              "radius says; take a smaller delta.")
    excess = theta + max(m.income[1] - m.running[0], m.running[1] - m.gain)
    return (1 + math.sqrt(2)) * (span * math.sqrt(14 * m.states * logarithm)
                                 + 8 * excess * math.sqrt(14 * logarithm) / m.rate_bounds[0])

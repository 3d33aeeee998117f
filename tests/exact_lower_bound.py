"""C(M) in sixty digits: the dual of each least divergence is one-dimensional and concave.   Paper: eq:CM"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction

from exact import ExactModel, policy_values
from exact_optimum import optimal_pairs
from sojourn.model.ctmdp import CTMDP

STEPS = 3000  # most halvings of the interval that holds the dual variable


def lower_bound_constant(model: CTMDP) -> Decimal | None:
    """Σ φ*/K over critical pairs, rates within the model's bounds; None where rounding may decide what is tied or critical."""
    total = Decimal(0)
    with localcontext(Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        for pair in pairs_of(model):
            if pair.gap == 0:
                continue
            if pair.gap < pair.size / 10**9 or abs(pair.margin) < pair.size / 10**9:
                return None
            if pair.margin > 0:
                least = pair.least_divergence()
                if least < Decimal(10) ** -25:  # too few of the sixty digits are left
                    return None
                total += _decimal(pair.gap) / least
        return +total


@dataclass
class ExactPair:
    """A choice in fractions: its row, what each jump brings, c - ρ, its rate, the rate bounds, its gap and the size of its terms.

    `margin` is how much better than the best the choice may become: positive where it is critical.
    """

    row: list[Fraction]
    worth: list[Fraction]
    flow: Fraction
    rate: Fraction
    bounds: tuple[Fraction, Fraction]
    gap: Fraction
    size: Fraction

    @property
    def margin(self) -> Fraction:
        return max(self.flow / bound for bound in self.bounds) + max(self.worth)

    def least_divergence(self, digits: int = 60) -> Decimal:
        """K, of a critical choice with a positive gap; of its digits some ten fewer are right, and for small K fewer still."""
        with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            return _least_divergence(self.row, self.worth, self.flow, self.rate, *self.bounds, digits - 10)


def pairs_of(model: CTMDP, bounds: tuple[float, float] | None = None) -> list[ExactPair]:
    """The choices of a model that is irreducible under every policy; rates within `bounds`, the model's own if not given."""
    exact = ExactModel(model)
    scaled, bias = policy_values(exact.choice(optimal_pairs(exact)))
    gain = scaled[0] * exact.unit
    h = [x * Fraction(1 << exact.jump_bits, 1 << exact.reward_bits) for x in bias]
    low, high = (Fraction(float(x)) for x in bounds or model.bounds)
    found = []
    for k, s in enumerate(exact.pair_state):
        row = range(int(model.row_start[k]), int(model.row_start[k + 1]))
        p = [Fraction(float(model.probability[i])) for i in row]
        paid = [Fraction(0 if model.transition_reward is None else float(model.transition_reward[i])) for i in row]
        ahead = [h[int(model.next_state[i])] - h[s] + w for i, w in zip(row, paid)]
        lump, flow, rate = Fraction(float(model.reward[k])), Fraction(float(model.running[k])) - gain, exact.pair_rate[k]
        gap = -(lump + flow / rate + sum(q * x for q, x in zip(p, ahead)))
        size = abs(lump) + abs(flow) / rate + sum(q * abs(x) for q, x in zip(p, ahead))
        found.append(ExactPair(p, [lump + x for x in ahead], flow, rate, (low, high), gap, size))
    return found


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def _least_divergence(p, worth, flow, rate, low, high, digits) -> Decimal:
    """The least KL that makes Σ Q (worth) + flow >= 0 with intensities Q whose sum lies in [low, high]."""
    weight, gain = [_decimal(x) for x in p], [_decimal(x * rate) for x in worth]
    nu = _root(lambda v: -sum(q * b / (1 - v * b) for q, b in zip(weight, gain)) - _decimal(flow), max(gain), digits)
    if nu is not None:
        speed = _decimal(rate) * sum(q / (1 - nu * b) for q, b in zip(weight, gain))
        if _decimal(low) <= speed <= _decimal(high):
            return sum(q * (1 - nu * b).ln() for q, b in zip(weight, gain)) - nu * _decimal(flow)
        bound = low if speed < _decimal(low) else high
    else:
        bound = low
    shift = [_decimal(x + flow / bound) for x in worth]
    nu = _root(lambda v: -sum(q * b / (1 - v * b) for q, b in zip(weight, shift)), max(shift), digits)
    ratio = _decimal(bound / rate)
    return -ratio.ln() + ratio - 1 + (sum(q * (1 - nu * b).ln() for q, b in zip(weight, shift)) if nu else Decimal(0))


def _root(slope, top: Decimal, digits: int) -> Decimal | None:
    """Where a falling slope on [0, 1/top) passes 0; 0 if it begins below, None if it never falls to 0."""
    if slope(Decimal(0)) <= 0:
        return Decimal(0)
    if top > 0:
        low, high = Decimal(0), 1 / top
    else:
        low, high = Decimal(0), Decimal(1)
        while slope(high) > 0:
            low, high = high, high * 2
            if high > Decimal(10) ** 400:
                return None
    for _ in range(STEPS):
        if high - low <= high / Decimal(10) ** digits:
            break
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return low

"""Proved lower and upper bounds of the least divergence K of one choice, its data known up to errors.   Paper: eq:K

Every multiplier ν >= 0 of the constraint gives a lower bound, every admissible alternative an upper one (see
`sojourn.kernels.least_divergence` for the programme and its notation).  With x_y = ν λ b_y and e(y) = y - log(1 + y)
  bounds of the rate left aside   K >= νλ φ - Σ p e(-x_y),
  the rate at a bound l           K >= e(l/λ - 1) + ν φ_l - Σ p e(-ν (b_y + (c - ρ)/l)),  φ_l = φ + (c - ρ)(1/λ - 1/l),
the second where the multiplier of the bound, whose sign is that of (λ/l)(1 - ν (c - ρ)/l) - 1, has the right one.  The
alternative Q_y = λ p_y (1 + z_y), z_y = b_y/(w + max b - b_y), is admissible when Σ p z b >= φ and costs Σ p e(z): a w a little
below the root makes it so for certain.  A successor of probability 0 allows ν λ b_y = 1 and any mass m_y at the cost m_y: where
there is no root, the best one takes what is missing.  No term cancels against a larger one.
"""

import numpy as np

from sojourn.kernels.jit import kernel
from sojourn.kernels.least_divergence import excess, multiplier

SAFE = 2e-12  # relative error of `excess` and of sums of it, generously
UNIT = 2.0**-52


@kernel
def dual_value(p, b, off, weight, gap):
    """Return a lower bound of weight · φ - Σ p e(-weight b) for all b within `off` and φ >= gap; -inf where it has none."""
    total = 0.0
    for y in range(len(p)):
        low, high = weight * (b[y] - off[y]), weight * (b[y] + off[y])
        if p[y] == 0.0 and high <= 1.0:
            continue
        if not high < 1.0 - 1e-13:
            return -np.inf
        total += p[y] * max(excess(-low), excess(-high))
    return weight * gap * (1 - 4 * UNIT) - total * (1 + SAFE)


@kernel
def dual_weight(p, b, off, w, top):
    """Return 1/(w + top), or a little less where a successor of probability 0 would make it too large."""
    weight = 1.0 / (w + top)
    for y in range(len(p)):
        if p[y] == 0.0 and weight * (b[y] + off[y]) > 1.0 - 4 * UNIT:
            weight = (1.0 - 8 * UNIT) / (b[y] + off[y])
    return weight


@kernel
def primal_value(p, b, off, top, w, gap, z):
    """Return (cost, m): an upper bound of Σ p e(z) + m for some z and a mass m on the best successor of probability 0.

    They satisfy Σ p z b + m max b >= φ for all b within `off` and φ <= gap; the cost is infinite if none is found.  `z` is filled.
    """
    floor = max(0.0, -top)
    unseen = np.inf  # error of the best value among successors of probability 0, if it is the best of all
    for y in range(len(p)):
        if p[y] == 0.0 and b[y] == top:
            unseen = min(unseen, off[y])
    shrink = 4 * UNIT
    for _ in range(60):
        at = floor + (w - floor) * (1 - shrink)
        reach, loss = 0.0, 0.0
        for y in range(len(p)):
            room = at + (top - b[y])
            z[y] = b[y] / room if b[y] != 0.0 and room > 0.0 else 0.0
            reach += p[y] * z[y] * b[y]
            loss += p[y] * abs(z[y]) * off[y]
        least = reach * (1 - (len(p) + 8) * UNIT) - loss * (1 + 1e-9)
        mass = 0.0
        if least < gap and w == 0.0 and top > 2.0 * unseen:
            mass = (gap - least) / (top - unseen) * (1 + 8 * UNIT)
        if least >= gap or mass > 0.0:
            total = mass
            for y in range(len(p)):
                total += p[y] * excess(z[y])
            return total * (1 + SAFE), mass
        shrink *= 2.0
        if shrink > 0.5:
            break
    return np.inf, 0.0


@kernel
def divergence_interval(p, b, off, rate, drift, drift_off, gap, gap_off, rate_min, rate_max, z, c):
    """Return (lower, upper) bounds of K; both infinite where the choice is certainly not critical.  z, c: room for the row."""
    top, blur, mass = -np.inf, 0.0, 0.0
    for y in range(len(p)):
        top, blur, mass = max(top, b[y]), max(blur, off[y]), mass + p[y]
    push = max(drift / rate_min, drift / rate_max)
    margin = top + push
    doubt = blur + drift_off / rate_min + 8 * UNIT * (abs(top) + abs(push))
    if margin < -doubt:
        return np.inf, np.inf
    sure = margin > doubt
    lack = abs(1.0 - mass) + len(p) * UNIT
    gap_low, gap_high = gap - gap_off, gap + gap_off
    if not gap_low > 0.0:
        return 0.0, np.inf
    low, high = 0.0, np.inf
    w = multiplier(p, b, top, top, gap)
    if w + top > 0.0:
        low = max(low, dual_value(p, b, off, dual_weight(p, b, off, w, top), gap_low))
    found, speed = primal_value(p, b, off, top, w, gap_high, z)
    for y in range(len(p)):
        speed += p[y] * (1.0 + z[y])
    speed *= rate
    if found < np.inf and rate_min * (1 + 1e-13) <= speed <= rate_max * (1 - 1e-13):
        return low, found if sure else np.inf
    for end in (rate_min, rate_max):
        if end == rate_min and speed > rate_min * (1 + 1e-12) and found < np.inf:
            continue
        if end == rate_max and speed < rate_max * (1 - 1e-12) and found < np.inf:
            continue
        shift, moved = drift / end, 1.0 / rate - 1.0 / end
        more = drift_off / end + 4 * UNIT * abs(shift)
        for y in range(len(p)):
            c[y] = b[y] + shift
            off[y] += more + 2 * UNIT * abs(c[y])
        price = excess(end / rate - 1.0)
        there = gap + drift * moved
        there_off = gap_off + drift_off * abs(moved) + 8 * UNIT * (gap + abs(drift) * (1.0 / rate + 1.0 / end))
        if there + there_off <= 0.0:
            high = min(high, price * (1 + SAFE) + lack)
        elif top + shift > 0.0 and there > 0.0:
            w = multiplier(p, c, top + shift, top + shift, there)
            weight = dual_weight(p, c, off, w, top + shift)
            sign = rate / end * (1.0 - weight * shift) - 1.0
            blur = 1e-12 + 8 * UNIT * (rate / end) * weight * abs(shift) + rate / end * weight * drift_off / end
            if (end == rate_max and sign > blur) or (end == rate_min and sign < -blur):
                low = max(low, price * (1 - SAFE) - lack + dual_value(p, c, off, weight, there - there_off))
            more_cost, _ = primal_value(p, c, off, top + shift, w, there + there_off, z)
            high = min(high, price * (1 + SAFE) + lack + more_cost)
        for y in range(len(p)):
            off[y] -= more
    return low, high if sure else np.inf


@kernel
def divergence_intervals(
    row_start, probability, b, off, rate, drift, drift_off, gap, gap_off, rate_min, rate_max, wanted, low, high
):
    """Fill low and high (P) for the pairs that are `wanted`."""
    longest = 0
    for i in range(len(rate)):
        longest = max(longest, row_start[i + 1] - row_start[i])
    z, c, error = np.empty(longest), np.empty(longest), np.empty(longest)
    for i in range(len(rate)):
        if wanted[i]:
            start, stop = row_start[i], row_start[i + 1]
            n = stop - start
            error[:n] = off[start:stop]
            low[i], high[i] = divergence_interval(
                probability[start:stop],
                b[start:stop],
                error[:n],
                rate[i],
                drift[i],
                drift_off[i],
                gap[i],
                gap_off[i],
                rate_min,
                rate_max,
                z[:n],
                c[:n],
            )

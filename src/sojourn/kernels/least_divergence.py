"""The least divergence that makes a choice optimal: one root of one decreasing function a pair.  Paper: eq:K

In intensities Q_y = l q_y the programme is convex: minimise Σ p_y log(p_y λ/Q_y) + ΣQ_y/λ - 1 subject to
Σ Q_y b_y + (c - ρ) >= 0 and rate_min <= ΣQ_y <= rate_max, with b_y = r + v_y - h(s), v_y = h(y) + (reward on the jump).
Its dual has one variable ν.  Written with w = 1/ν - max b, e_y = max b - b_y and the gap φ = -(Σ p b + (c - ρ)/λ) > 0
the optimality condition is F(w) = Σ p_y b_y²/(w + e_y) = φ, free of cancellation even next to the pole; 1/F is concave
and increasing, so Newton's method on 1/F from the left climbs to the root and cannot overshoot.  Then
Q_y/λ = p_y (1 + b_y/(w + e_y)).  With the rate fixed at a bound l the same holds with b_y + (c - ρ)/l in place of b_y.
A row may hold zeros inside its support (empirical rows): then the root may not exist, ν sits at the end of its interval
(w = 0) and the missing mass goes to the best successor.
"""

import itertools

import numpy as np

from sojourn.kernels.jit import inlined, inner, kernel

STRICT = 1e-11  # criticality is strict: an excess below STRICT times the size of its terms is rounding
STEPS = 200


def least_divergence_of_gap_reference(p, value, here, rate, reward, running, gain, gap, rate_min, rate_max):
    """Return (K, rate, q) with the gap given, which differs from what its terms add up to by rounding: the reward takes that."""
    short = gap + np.asarray(p) @ (reward + np.asarray(value, float) - here) + (running - gain) / rate
    return least_divergence_reference(p, value, here, rate, reward - short, running, gain, rate_min, rate_max)


def least_divergence_reference(p, value, here, rate, reward, running, gain, rate_min, rate_max):
    """Return (K, rate, q) by bisection on the dual variable ν of the printed form.  Paper: eq:K"""
    p, b = np.asarray(p, float), reward + np.asarray(value, float) - here
    drift = running - gain
    if max(b.max() + drift / rate_min, b.max() + drift / rate_max) <= 0:
        return np.inf, np.nan, np.full(len(p), np.nan)
    if p @ b + drift / rate >= 0:
        return 0.0, rate, p.copy()
    total, share = _dual_reference(p, b, drift / rate)
    if rate_min <= rate * total <= rate_max:
        speed, cost = rate * total, total - 1
    else:
        speed = rate_min if rate * total < rate_min else rate_max
        cost = speed / rate - 1 - np.log(speed / rate)
        share = p.copy() if p @ b + drift / speed >= 0 else _dual_reference(p, b + drift / speed, 0.0)[1]
        total = share.sum()
    seen = p > 0
    return float(cost - p[seen] @ np.log(share[seen] / p[seen])), float(speed), share / total


def _dual_reference(p, b, d):
    """Return (Σ_y z_y, z) at the maximum over ν of Σ p log(1 - ν b) - ν d, z_y = p_y/(1 - ν b_y)."""
    end = 1 / b.max() if b.max() > 0 else 1e30
    seen = p > 0
    low, high = 0.0, end
    for _ in range(STEPS):
        middle = (low + high) / 2 if high < 2e15 else max(2 * low, 1.0) if low < 1e15 else (low + high) / 2
        with np.errstate(divide="ignore"):
            slope = -(p[seen] * b[seen] / (1 - middle * b[seen])).sum() - d
        low, high = (middle, high) if slope > 0 and middle < end else (low, middle)
    z = np.zeros(len(p))
    z[seen] = p[seen] / (1 - low * b[seen])
    missing = -(z @ b + d)
    if b.max() > 0 and missing > 1e-9 * (np.abs(z * b).sum() + abs(d)):
        z[np.argmax(b)] += missing / b.max()
    return z.sum(), z


@kernel
def excess(y):
    """Return y - log(1 + y) >= 0 without cancellation."""
    if abs(y) > 0.01:
        return y - np.log1p(y)
    return y * y * (1 / 2 - y * (1 / 3 - y * (1 / 4 - y * (1 / 5 - y * (1 / 6 - y * (1 / 7 - y * (1 / 8 - y / 9)))))))


@inner
def multiplier(p, value, best, top, gap):
    """Return w, the root of F(w) = Σ p_y b_y²/(w + e_y) = gap, e_y = best - value_y, b_y = top - e_y; the end if there is none."""
    floor = max(0.0, -top)
    weight, mean, single, at_floor = 0.0, 0.0, 0.0, 0.0
    for y in range(len(p)):
        if p[y] > 0.0:
            e = best - value[y]
            a = p[y] * (top - e) ** 2
            weight += a
            mean += a * e
            if e == 0.0:
                single += a
            at_floor = at_floor + a / (floor + e) if a > 0.0 else at_floor
    if at_floor <= gap:
        return floor
    w = max(floor, single / gap, weight / gap - mean / weight)
    for _ in range(STEPS):
        total, slope = 0.0, 0.0
        for y in range(len(p)):
            if p[y] > 0.0:
                e = best - value[y]
                a = p[y] * (top - e) ** 2
                if a > 0.0:  # a best successor that is worth nothing, b = 0 = e, has no pole at w = 0
                    inverse = 1.0 / (w + e)
                    total += a * inverse
                    slope += a * inverse * inverse
        step = total * (total - gap) / (gap * slope)
        w += step
        if not step > 1e-15 * w:
            break
    return w


@inner
def tilt(p, value, best, top, gap, q):
    """Fill q with the unnormalised minimiser z and return (Σ z, Σ p (y - log(1 + y)) + mass put on unseen successors)."""
    w = multiplier(p, value, best, top, gap)
    total, cost, spent = 0.0, 0.0, 0.0
    for y in range(len(p)):
        q[y] = 0.0
        if p[y] > 0.0:
            b = top - (best - value[y])
            ratio = b / (w + (best - value[y])) if b != 0.0 else 0.0
            q[y] = p[y] * (1.0 + ratio)
            total += q[y]
            cost += p[y] * excess(ratio)
            spent += p[y] * b * ratio
    if w == 0.0 and spent < gap:
        extra = (gap - spent) / top
        for y in range(len(p)):
            if value[y] == best:
                q[y] += extra
                break
        total += extra
        cost += extra
    return total, cost


@inlined
def look_at_row(p, value, here, reward, drift, rate_min, rate_max, q):
    """Return (best value, mean worth b, whether the choice is critical) and fill q with p, or with NaN where it is not."""
    base = reward - here
    best, mean, size = -np.inf, 0.0, 0.0
    for y in range(len(p)):
        best = max(best, value[y])
        mean += p[y] * (value[y] + base)
        size = max(size, abs(value[y]))
        q[y] = p[y]
    push = max(drift / rate_min, drift / rate_max)
    critical = not best + base + push <= STRICT * (abs(reward) + abs(here) + size + abs(push))
    if not critical:
        for y in range(len(p)):
            q[y] = np.nan
    return best, mean, critical


@inlined
def solved_row(p, value, best, top, mean, drift, finer, rate, rate_min, rate_max, q):
    """Return (K, alternative rate) of a critical choice; `finer` is what its gap is more than -(mean + drift/rate) in floats."""
    gap = -(mean + drift / rate) + finer
    if gap <= 0.0:
        return 0.0, rate
    total, cost = tilt(p, value, best, top, gap, q)
    speed = rate * total
    if speed < rate_min * (1 - 1e-14) or speed > rate_max * (1 + 1e-14):
        speed = rate_min if speed < rate_min else rate_max
        cost = excess(speed / rate - 1.0)
        gap = -(mean + drift / speed) + finer
        if gap <= 0.0 or top + drift / speed <= 0.0:
            for y in range(len(p)):
                q[y] = p[y]
            return cost, speed
        total, more = tilt(p, value, best, top + drift / speed, gap, q)
        cost += more
    else:
        speed = min(max(speed, rate_min), rate_max)
    for y in range(len(p)):
        q[y] /= total
    return cost, speed


@kernel
def least_divergence_row(p, value, here, rate, reward, running, gain, rate_min, rate_max, q):
    """Return (K, alternative rate) of one choice and fill q with the alternative row; K = inf where it is not critical.

    `p` is the row over its known support (zeros allowed), `value[y]` = h(y) + reward paid on the jump to y, `here` = h(s).
    K = 0 where the choice is already as good as `gain` and h ask for.  Paper: eq:K, eq:KLdiff
    """
    best, mean, critical = look_at_row(p, value, here, reward, running - gain, rate_min, rate_max, q)
    if not critical:
        return np.inf, np.nan
    return solved_row(p, value, best, best + (reward - here), mean, running - gain, 0.0, rate, rate_min, rate_max, q)


@kernel
def least_divergence_of_gap(p, value, here, rate, reward, running, gain, gap, rate_min, rate_max, q):
    """As `least_divergence_row`, with the gap given: next to a tie it is known to more digits than its terms add up to."""
    drift = running - gain
    best, mean, critical = look_at_row(p, value, here, reward, drift, rate_min, rate_max, q)
    if not critical:
        return np.inf, np.nan
    finer = gap + (mean + drift / rate)
    return solved_row(p, value, best, best + (reward - here), mean, drift, finer, rate, rate_min, rate_max, q)


@kernel
def least_divergences(
    row_start, probability, value, here, rate, reward, running, gain, gap, rate_min, rate_max, wanted, k, alt_rate, alt_row
):
    """Fill k, alt_rate (P) and alt_row (as probability) for the pairs that are `wanted`; the others keep what they held."""
    for i in range(len(rate)):
        if wanted[i]:
            a, b = row_start[i], row_start[i + 1]
            k[i], alt_rate[i] = least_divergence_of_gap(
                probability[a:b],
                value[a:b],
                here[i],
                rate[i],
                reward[i],
                running[i],
                gain,
                gap[i],
                rate_min,
                rate_max,
                alt_row[a:b],
            )


def best_outside_reference(row_start, next_state, order):
    """Return per pair the first state in `order` that is no successor of it, or -1."""
    rows = [set(next_state[a:b].tolist()) for a, b in itertools.pairwise(row_start)]
    return np.array([next((y for y in order.tolist() if y not in row), -1) for row in rows])


@kernel
def best_outside(row_start, next_state, order):
    """Return per pair the first state in `order` that is no successor of it, or -1 where all states are."""
    out = np.full(len(row_start) - 1, -1)
    for i in range(len(out)):
        for y in order:
            inside = False
            for k in range(row_start[i], row_start[i + 1]):
                if next_state[k] == y:
                    inside = True
                    break
            if not inside:
                out[i] = y
                break
    return out

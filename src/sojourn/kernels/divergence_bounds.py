"""K of one choice from data of about 32 digits, the row and rate that attain it, and proved bounds.   Paper: eq:K

The programme and its notation are those of `sojourn.kernels.least_divergence`: b_y is what a jump to y brings, d = (c - ρ)/λ, and
the gap is φ = -(Σ p b + d).  With T = max(0, max b) the dual variable is u >= 0, νλ = 1/(u + T), and with z_y = b_y/(u + T - b_y)
  for every u                 K >= Σ p e(z) + (φ - F(u))/(u + T),   F(u) = Σ p z b,  e(z) = z - log(1 + z),
  where F(u) >= φ             K <= Σ p e(z), attained by the intensities Q_y = λ p_y (1 + z_y),
  the rate at a bound l       the same with b_y + (c - ρ)/l in the place of b_y, and e(l/λ - 1) more; from below where the
                              multiplier of the bound, whose sign is that of (λ/l)(1 - (c - ρ)/(l (u + T))) - 1, has the right one.
The first is the dual function: an error of u shows in it to second order only.  Where rates lie far apart φ and Σ p |b| agree to
many digits, and u depends on the digits after these: b, c - ρ and F are sums of two floats.  1 + z = (u + T)/(u + T - b) is
computed as it stands here, without a difference.  A successor of probability 0 allows u = 0 and any mass m at the cost m: where
there is no root, the best one takes what is missing.
"""

import numpy as np

from sojourn.kernels.jit import inlined, inner, kernel
from sojourn.kernels.least_divergence import excess

SAFE = 2e-12  # relative error of `excess` and of sums of it, generously
UNIT = 2.0**-52
FINE = 2.0**-98  # relative error of one operation on sums of two floats, generously
SPLIT = 134217729.0
STEPS = 100
NEAR = 0.25  # a gap below this share of its terms is next to a tie


@inlined
def sum_of(a, b):
    """Return a + b as a float and what it lacks."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@inlined
def product_of(a, b):
    """Return a * b as a float and what it lacks."""
    total = a * b
    c, d = SPLIT * a, SPLIT * b
    c, d = c - (c - a), d - (d - b)
    return total, ((c * d - total) + c * (b - d) + (a - c) * d) + (a - c) * (b - d)


@inner
def plus(h, r, h2, r2):
    total, rest = sum_of(h, h2)
    return sum_of(total, rest + (r + r2))


@inner
def times(h, r, h2, r2):
    total, rest = product_of(h, h2)
    return sum_of(total, rest + (h * r2 + r * h2))


@inner
def over(h, r, h2, r2):
    first = h / h2
    total, rest = product_of(first, h2)
    left = ((h - total) - rest) + (r - first * r2)
    return sum_of(first, left / h2)


@inner
def look(p, b, b_low, off, room, room_low, u, rise):
    """Return (F(u) in two floats, its slope downwards, Σ p e(z), Σ p (1 + z), error of F by that of b).  rise: T, room: T - b."""
    reach, reach_low, slope, cost, total, blur = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    delta = u + rise
    for y in range(len(p)):
        if p[y] == 0.0:
            continue
        at, at_low = sum_of(u, room[y])
        at, at_low = sum_of(at, at_low + room_low[y])
        if off[y] > 0.0:
            share = off[y] / at
            blur += p[y] * delta * share * share if share < 0.5 else np.inf
        if b[y] == 0.0:
            total += p[y]
            continue
        z, z_low = over(b[y], b_low[y], at, at_low)
        term, term_low = times(z, z_low, b[y], b_low[y])
        rest, rest_low = product_of(term, p[y])
        reach, reach_low = plus(reach, reach_low, rest, rest_low + term_low * p[y])
        slope += p[y] * z * z
        blur += p[y] * abs(z) * off[y]
        total += p[y] * (delta / at)
        cost += p[y] * (excess(z) if z > -0.5 else z - np.log(delta / at))
    return reach, reach_low, slope, cost, total, blur


@inner
def near_root(p, b, room, gap, least):
    """Return u with F(u) = gap, about, by floats: Newton's method on 1/F, which is concave and climbs from the left."""
    weight, mean, single = 0.0, 0.0, 0.0
    for y in range(len(p)):
        a = p[y] * b[y] * b[y]
        weight += a
        mean += a * room[y]
        if room[y] == 0.0:
            single += a
    u = max(least, single / gap)
    if weight > 0.0:
        u = max(u, weight / gap - mean / weight)
    for _ in range(STEPS):
        total, slope = 0.0, 0.0
        for y in range(len(p)):
            if p[y] > 0.0 and b[y] != 0.0:
                z = b[y] / (u + room[y])
                total += p[y] * z * b[y]
                slope += p[y] * z * z
        step = total * (total - gap) / (gap * slope)
        u += step
        if not step > 1e-15 * u:
            break
    return max(u, least)


@inner
def root(p, b, b_low, off, room, room_low, rise, gap, gap_low, least):
    """Return u with F(u) = φ, and what `look` says there; 0 where F is below φ everywhere.  `least` is below the root."""
    at_floor = 0.0
    for y in range(len(p)):
        if p[y] > 0.0 and b[y] != 0.0:
            at_floor += p[y] * b[y] * (b[y] / room[y])
    if rise > 0.0 and at_floor <= gap:
        return 0.0, look(p, b, b_low, off, room, room_low, 0.0, rise)
    u = near_root(p, b, room, gap, least)
    found = look(p, b, b_low, off, room, room_low, u, rise)
    for _ in range(STEPS):
        ahead = (found[0] - gap) + (found[1] - gap_low)
        step = found[0] * ahead / (gap * found[2])
        if not abs(step) > 1e-9 * u:  # what that leaves is of second order
            break
        u = max(u + step, least, u * 2.0**-30)
        found = look(p, b, b_low, off, room, room_low, u, rise)
    return u, found


@inner
def fill(p, b, room, u, rise, q):
    for y in range(len(p)):
        q[y] = p[y] * ((u + rise) / (u + room[y])) if p[y] > 0.0 and b[y] != 0.0 else p[y]


@inner
def upper_value(p, b, b_low, off, room, room_low, rise, gap, gap_low, gap_off, u, found, q):
    """Return an upper bound of Σ p e(z) + m for some z and a mass m on the best successor of probability 0; q becomes p (1 + z).

    They satisfy Σ p z b + m max b >= φ for all b within `off` and φ within `gap_off`; the cost is infinite if none is found.
    """
    unseen, index = np.inf, -1
    for y in range(len(p)):
        if p[y] == 0.0 and room[y] == 0.0 and off[y] < unseen:
            unseen, index = off[y], y
    ahead = (found[0] - gap) + (found[1] - gap_low)
    move = 4 * UNIT * u + 2 * max(gap_off + found[5] - ahead, 0.0) / found[2] if found[2] > 0.0 else 0.0
    at, mass = u, 0.0
    for _ in range(60):
        at = max(u - move, 0.5 * at)
        found = look(p, b, b_low, off, room, room_low, at, rise)
        ahead = (found[0] - gap) + (found[1] - gap_low) - found[5] - gap_off - (len(p) + 8) * FINE * (found[0] + gap)
        if not ahead >= 0.0 and index >= 0 and rise > 2 * unseen and (u == 0.0 or at < 1e-3 * u):
            mass = -ahead / (rise - unseen) * (1 + 8 * UNIT)
        if ahead >= 0.0 or mass > 0.0:
            fill(p, b, room, at, rise, q)
            if mass > 0.0:
                q[index] += mass
            return (found[3] + mass) * (1 + SAFE + len(p) * UNIT)
        if u == 0.0:
            break
        move *= 8.0
    fill(p, b, room, u, rise, q)
    return np.inf


@inner
def row_doubt(p, b, room, stay, lack, near, cost, u, rise):
    """Return how much K may change by where a row that lacks `lack` to one stays with the rest, or shares it out."""
    delta = u + rise
    share = abs(stay / delta)
    if near:
        return abs(lack) * (2 * cost + (share * share if share < 0.5 else 1.0 + share))
    size = 1.0 + (abs(np.log1p(-stay / delta)) if stay < delta else 0.0)
    for y in range(len(p)):
        if p[y] > 0.0 and b[y] != 0.0:
            size += p[y] * abs(np.log(delta / (u + room[y])))
    return abs(lack) * size


@inner
def tight(p, b, b_low, off, rise, rise_low, stay, lack, gap, gap_low, gap_off, least, room, room_low, q):
    """Return (K, low, high, u) where rates are free, for jumps that bring b and a gap φ > 0; q is filled with Q/λ.

    `gap` is that of the row as it stands.  Next to a tie what it lacks to one counts as staying, which brings `stay`.
    """
    around = 0.0
    for y in range(len(p)):
        around += p[y] * abs(b[y])
    near = gap < NEAR * around
    if near and lack != 0.0:
        gap, gap_low = plus(gap, gap_low, -lack * stay, 0.0)
        gap_off += abs(lack * stay)
    if not gap > 0.0:
        q[:] = p
        return 0.0, 0.0, np.inf, np.inf
    u, found = root(p, b, b_low, off, room, room_low, rise, gap, gap_low, least)
    k = found[3] + ((gap - found[0]) + (gap_low - found[1])) / (u + rise)
    doubt = row_doubt(p, b, room, stay, lack, near, found[3], u, rise) if lack != 0.0 else 0.0
    high = upper_value(p, b, b_low, off, room, room_low, rise, gap, gap_low, gap_off, u, found, q) + doubt
    floor = u
    for y in range(len(p)):
        if p[y] == 0.0 and floor + room[y] < off[y] * (1 + 4 * UNIT):
            floor = off[y] * (1 + 4 * UNIT)
    if floor > u:
        found = look(p, b, b_low, off, room, room_low, floor, rise)
    ahead = (gap - found[0]) + (gap_low - found[1])
    wrong = found[5] + gap_off + (len(p) + 8) * FINE * (found[0] + gap) + SAFE * abs(ahead)
    low = found[3] * (1 - SAFE - len(p) * UNIT) + (ahead - wrong) / (floor + rise) - doubt
    return k, low if low == low else 0.0, high if high == high else np.inf, floor


@inner
def rate_price(end, rate):
    """Return e(end/rate - 1), for any two rates."""
    y = (end - rate) / rate
    return excess(y) if y > -0.5 else y - np.log(end / rate)


@inner
def largest(b, b_low):
    """Return the index of the largest."""
    best = 0
    for y in range(1, len(b)):
        if b[y] > b[best] or (b[y] == b[best] and b_low[y] > b_low[best]):
            best = y
    return best


@inner
def sums(p, b, b_low, off):
    """Return (1 - Σ p, Σ p b in two floats, Σ p |b|, Σ p off)."""
    lack, lack_low, mean, mean_low, size, blur = 1.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for y in range(len(p)):
        lack, lack_low = plus(lack, lack_low, -p[y], 0.0)
        term, rest = product_of(p[y], b[y])
        mean, mean_low = plus(mean, mean_low, term, rest + p[y] * b_low[y])
        size += p[y] * abs(b[y])
        blur += p[y] * off[y]
    return lack, mean, mean_low, size, blur


@kernel
def proved_divergence(
    p, b, b_low, off, stay, rate, drift, drift_low, drift_off, gap_off, rate_min, rate_max, tolerance, c, c_low, c_off, room,
    room_low, q
):
    """Return (K, low, high, rate): K, bounds of it, and the rate that attains it; `q` is filled with the row.

    K is infinite where no row and rate make the choice better than the best by more than `tolerance` times the terms of that.  Both
    bounds are infinite where the choice is certainly not critical, the upper one also where that is not certain.  `stay` is b of a
    jump to the state itself, `gap_off` what is uncertain of the gap besides b and the drift.  c to room_low: room for the row.
    """
    q[:] = np.nan
    # --- is it critical?
    best = largest(b, b_low)
    top, top_low = b[best], b_low[best]
    end = rate_min if drift / rate_min > drift / rate_max else rate_max
    push, push_low = over(drift, drift_low, end, 0.0)
    margin, _ = plus(top, top_low, push, push_low)
    doubt = off.max() + drift_off / end + 8 * FINE * (abs(top) + abs(push))
    if not margin >= -doubt:
        return np.inf, np.inf, np.inf, np.nan
    # --- the gap, and K with the rate left free
    lack, mean, mean_low, size, blur = sums(p, b, b_low, off)
    d, d_low = over(drift, drift_low, rate, 0.0)
    gap, gap_low = plus(-mean, -mean_low, -d, -d_low)
    gap_off += (blur + drift_off / rate) * (1 + 1e-6) + (len(p) + 8) * (FINE * (size + abs(d)) + 5e-324)
    rise, rise_low = (top, top_low) if top > 0.0 else (0.0, 0.0)
    for y in range(len(p)):
        room[y], room_low[y] = plus(rise, rise_low, -b[y], -b_low[y])
    least = 0.0 if top > 0.0 else 0.5 * max(d, 0.0)
    k, low, high, _ = tight(p, b, b_low, off, rise, rise_low, stay, lack, gap, gap_low, gap_off, least, room, room_low, q)
    speed = rate * q.sum()
    # --- the rate at a bound
    if not rate_min * (1 + 1e-13) <= speed <= rate_max * (1 - 1e-13):
        end = rate_min if abs(speed - rate_min) <= abs(speed - rate_max) else rate_max
        shift, shift_low = over(drift, drift_low, end, 0.0)
        for y in range(len(p)):
            c[y], c_low[y] = plus(b[y], b_low[y], shift, shift_low)
            c_off[y] = off[y] + drift_off / end * (1 + 1e-6) + 4 * FINE * (abs(b[y]) + abs(shift))
            room[y], room_low[y] = plus(top, top_low, -b[y], -b_low[y])
        rise, rise_low = plus(top, top_low, shift, shift_low)
        there, there_low = plus(-mean, -mean_low, -shift, -shift_low)
        there, there_low = plus(there, there_low, lack * shift, lack * shift_low)
        gap_off += (drift_off / end + drift_off / rate) * (1 + 1e-6) + 8 * FINE * (size + abs(shift))
        price, high = rate_price(end, rate), np.inf
        if there <= 0.0 or rise <= 0.0:
            k = price
            q[:] = p
            if there <= -gap_off - abs(lack * (stay + shift)):
                high = price * (1 + SAFE)
        else:
            more, least, most, u = tight(
                p, c, c_low, c_off, rise, rise_low, stay + shift, lack, there, there_low, gap_off, 0.0, room, room_low, q
            )
            k, high = price + more, price * (1 + SAFE) + most
            level, _ = plus(u, 0.0, top, top_low)
            sign = rate / end * (level / (u + rise)) - 1.0  # of the multiplier: 1 - (c - ρ)/(l (u + T)) is level / (u + T)
            wrong = 1e-12 * (1 + abs(sign)) + rate / end * (off.max() + 2 * drift_off / end) / (u + rise)
            if (end == rate_max and sign > wrong) or (end == rate_min and sign < -wrong):
                low = max(low, price * (1 - SAFE) + least)
        speed = end
    total = q.sum()
    q[:] = q / total
    if not (margin > doubt and margin > tolerance * (abs(stay) + abs(top - stay) + abs(push))):
        q[:] = np.nan
        k, speed = np.inf, np.nan
    return k, max(low, 0.0), high if margin > doubt else np.inf, speed


@kernel
def proved_divergences(
    row_start, probability, b, b_low, off, stay, rate, drift, drift_low, drift_off, gap_off, rate_min, rate_max, tolerance, wanted,
    k, low, high, alt_rate, alt_row
):
    """Fill k, low, high, alt_rate (P) and alt_row (as probability) for the pairs that are `wanted`."""
    longest = 0
    for i in range(len(rate)):
        longest = max(longest, row_start[i + 1] - row_start[i])
    c, c_low, c_off = np.empty(longest), np.empty(longest), np.empty(longest)
    room, room_low = np.empty(longest), np.empty(longest)
    for i in range(len(rate)):
        if wanted[i]:
            start, stop = row_start[i], row_start[i + 1]
            n = stop - start
            k[i], low[i], high[i], alt_rate[i] = proved_divergence(
                probability[start:stop], b[start:stop], b_low[start:stop], off[start:stop], stay[i], rate[i], drift[i],
                drift_low[i], drift_off[i], gap_off[i], rate_min, rate_max, tolerance, c[:n], c_low[:n], c_off[:n], room[:n],
                room_low[:n], alt_row[start:stop]
            )

"""The best row of a KL ball: maximise Σ q u over KL(p ‖ q) <= x.

With d(y) = max u - u(y) and w > 0 the maximiser is q(y) ∝ p(y)/(w + d(y)), where w solves
f(w) = Σ p log(w + d) + log Σ p/(w + d) = x, and f falls from f(0) to 0.  If f(0) < x, which needs a best successor that was
never seen, w = 0 and it gets the mass 1 - exp(f(0) - x).
"""

import numpy as np

from sojourn.kernels.jit import kernel

STEPS = 200
ROUNDING = 1e-15  # of f
LEAST = 0.5**STEPS  # of the first guess of w: below, all but 1e-60 of the mass is on the best successor


def kl_row_reference(p, shortfall, x):
    """Return (the best row q of the ball KL(p ‖ q) <= x, Σ q d), by bisection on w; a row without data goes to the best."""
    p, d = np.asarray(p, float), np.asarray(shortfall, float)
    best = int(np.argmin(d))
    seen = p > 0
    if not seen.any() or x == np.inf:
        return np.eye(len(p))[best], float(d[best])
    d = d - d[best]
    if d[seen].max() == 0:
        return p.copy(), float(shortfall[best])

    def f(w):
        return p[seen] @ np.log(w + d[seen]) + np.log((p[seen] / (w + d[seen])).sum())

    if p[d == 0].sum() == 0 and f(0.0) <= x:
        q = np.zeros(len(p))
        q[seen] = p[seen] / d[seen] / (p[seen] / d[seen]).sum() * np.exp(f(0.0) - x)
        q[best] = 1 - np.exp(f(0.0) - x)
        return q, float(q @ d + shortfall[best])
    low, high = 0.0, d.max() * (1 + 1 / np.sqrt(x)) if x > 0 else np.inf
    if high == np.inf:
        return p.copy(), float(p @ d + shortfall[best])
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > x else (low, middle)
    q = p / (high + d)
    return q / q.sum(), float(q @ d / q.sum() + shortfall[best])


@kernel
def kl_gap(p, d, w):
    """Return (f(w), f'(w), Σ p/(w + d))."""
    total = 0.0
    first = 0.0
    second = 0.0
    for y in range(len(p)):
        if p[y] > 0.0:
            t = w + d[y]
            total += p[y] * np.log(t)
            first += p[y] / t
            second += p[y] / (t * t)
    return total + np.log(first), first - second / first, first


@kernel
def kl_multiplier(p, d, x, spread):
    """Return w > 0 with f(w) = x, by Newton's method kept within a bracket; `spread` is Σ p d² - (Σ p d)²."""
    low = 0.0
    high = np.inf
    w = np.sqrt(spread / (2.0 * x))
    for _ in range(STEPS):
        value, slope, _ = kl_gap(p, d, w)
        if value > x:
            low = w
        else:
            high = w
        step = (x - value) / slope if slope < 0.0 else np.inf
        new = w + step
        if not (new > low and new < high):
            new = 2.0 * w if high == np.inf else 0.5 * (low + high)
        if abs(new - w) <= 1e-13 * w:
            return new
        w = new
    return w


@kernel
def kl_multiplier_by_log(p, d, x, spread):
    """As `kl_multiplier`, by Newton's method for log w: f is nearly linear in it where w is small, that is, x large.

    In a large ball `kl_multiplier` halves w up to STEPS times; this takes a handful of steps.  No w below LEAST is looked for.
    """
    w = np.sqrt(spread / (2.0 * x))
    least = w * LEAST
    low, high = least, np.inf
    for _ in range(STEPS):
        value, slope, _ = kl_gap(p, d, w)
        step = (x - value) / (slope * w) if slope < 0.0 else np.inf
        if abs(value - x) <= ROUNDING or abs(step) <= 1e-12:
            return w
        if value > x:
            low = w
        elif w == least:
            return w
        else:
            high = w
        new = w * np.exp(min(step, 100.0))
        if new <= least and low == least:
            new = least
        elif not (new > low and new < high):
            new = 2.0 * w if high == np.inf else np.sqrt(low) * np.sqrt(high)
        w = new
    return w


@kernel
def kl_row(p, shortfall, x, q, by_log=False):
    """See `kl_row_reference`: fills `q`; `by_log` solves for w by its logarithm, the same to rounding."""
    n = len(p)
    best = 0
    for y in range(n):
        if shortfall[y] < shortfall[best]:
            best = y
    floor = shortfall[best]
    d = np.empty(n)
    mass, at_best, mean, square = 0.0, 0.0, 0.0, 0.0
    for y in range(n):
        d[y] = shortfall[y] - floor
        q[y] = p[y]
        mass += p[y]
        mean += p[y] * d[y]
        square += p[y] * d[y] * d[y]
        if d[y] == 0.0:
            at_best += p[y]
    if mass == 0.0 or x == np.inf:
        q[:] = 0.0
        q[best] = 1.0
        return floor
    if mean == 0.0 or x <= 0.0:
        return floor + mean
    w = 0.0
    rest = 1.0
    if at_best == 0.0:
        value, _, first = kl_gap(p, d, 0.0)
        if value <= x:
            rest = np.exp(value - x)
            for y in range(n):
                q[y] = p[y] / d[y] / first * rest if p[y] > 0.0 else 0.0
            q[best] += 1.0 - rest
            return floor + rest / first
    spread = max(square - mean * mean, 1e-300)
    w = kl_multiplier_by_log(p, d, x, spread) if by_log else kl_multiplier(p, d, x, spread)
    _, _, first = kl_gap(p, d, w)
    lost = 0.0
    for y in range(n):
        q[y] = p[y] / (w + d[y]) / first
        lost += q[y] * d[y]
    return floor + lost

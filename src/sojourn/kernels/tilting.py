"""Rows and rates tilted along a slope: intensities p / (a - slope), as instance/tilting.py asks for them."""

import numpy as np

from sojourn.kernels.jit import kernel

STEPS = 60
SETTLED = 1e-14  # relative step of Newton's method that changes nothing any more


def intensities_reference(row, rate, slope, low, high):
    """Return p / (a - slope) per row: a = 1/λ, or else what keeps the sum, the new rate, within the bounds."""
    steep = np.where(row > 0, slope, -np.inf)
    top, best = steep.max(axis=1), steep.argmax(axis=1)
    a = 1.0 / rate
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where(a > top, (row / (a[:, None] - slope)).sum(axis=1), np.inf)
    goal = np.clip(total, low, high)
    late = np.flatnonzero(goal != total)
    found = np.where(row > 0, row / np.where(a[:, None] > steep, a[:, None] - slope, 1.0), 0.0)
    if late.size:
        p, d, goal = row[late], top[late, None] - slope[late], goal[late]
        d = np.where(p > 0, d, 1.0)
        w = p[np.arange(len(late)), best[late]] / goal  # a - top, from below: the sum is too large
        for _ in range(STEPS):
            part = p / (w[:, None] + d)
            total = part.sum(axis=1)
            step = (1 / goal - 1 / total) * total**2 / (part / (w[:, None] + d)).sum(axis=1)
            w = w + np.maximum(step, 0.0)
            if (step <= SETTLED * w).all():
                break
        found[late] = p / (w[:, None] + d)
        found[late] *= (goal / found[late].sum(axis=1))[:, None]
    return found


@kernel
def intensities(row, rate, slope, low, high):
    found = np.zeros(row.shape)
    for i in range(len(rate)):
        top, best, total, a = -np.inf, 0, 0.0, 1.0 / rate[i]
        for y in range(row.shape[1]):
            if row[i, y] > 0.0:
                found[i, y] = row[i, y] / (a - slope[i, y])
                total += found[i, y]
                if slope[i, y] > top:
                    top, best = slope[i, y], y
        if not a > top:
            total = np.inf
        goal = min(max(total, low), high)
        if goal == total:
            continue
        w = row[i, best] / goal
        for _ in range(STEPS):
            total, steepness = 0.0, 0.0
            for y in range(row.shape[1]):
                if row[i, y] > 0.0:
                    gap = w + (top - slope[i, y])
                    part = row[i, y] / gap
                    total += part
                    steepness += part / gap
            step = (1.0 / goal - 1.0 / total) * total**2 / steepness
            w += max(step, 0.0)
            if step <= SETTLED * w:
                break
        total = 0.0
        for y in range(row.shape[1]):
            if row[i, y] > 0.0:
                found[i, y] = row[i, y] / (w + (top - slope[i, y]))
                total += found[i, y]
        for y in range(row.shape[1]):
            found[i, y] *= goal / total
    return found

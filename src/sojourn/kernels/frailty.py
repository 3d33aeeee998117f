"""The likelihood of counts whose rates are scattered around a common one, averaged over how much and around which.

Cell c of exposure x_c has the rate θ g_c, g_c from Gamma(κ, κ).  Integrated over g_c its count has a Gamma-Poisson law.  θ is then
averaged over Gamma(a, b) laws, one for each b.  With u = log θ the logarithm of the integrand is concave: n u - Σ (n_c + κ) log(1 +
z) + a u - b e^u with z = θ x_c/κ.  So between two nodes it lies above its chord, and the integral of exp(chord) is a proved lower
bound of the integral: what is returned is never above the exact mixture, wherever the nodes are, and mostly 1 % to 2 % below it.
The nodes are laid around the mode of the likelihood, where n - Σ (n_c + κ) z/(1 + z) is 0.
"""

from math import exp, expm1, lgamma, log, log1p, sqrt

import numpy as np

from sojourn.kernels.jit import kernel

KAPPAS = np.array([3.0, 10.0, 30.0, 100.0, 300.0, 1000.0])
NODES = np.linspace(-8.0, 8.0, 49)  # in standard deviations of log θ
STEPS = 50
LEVEL = 1e-9  # rise of a chord, below which its ends count as equal


def log_frailty_reference(count, exposure, shape, scales):
    """Return the log of the likelihood (without Π c^n/n!) averaged over KAPPAS; exposures and the sum of counts are positive."""
    n, parts = count.sum(), []
    for kappa in KAPPAS:
        at = np.log(n / exposure.sum())
        for _ in range(STEPS):
            z = np.exp(at) * exposure / kappa
            curve = ((count + kappa) * z / (1 + z) ** 2).sum()
            step = np.clip((n - ((count + kappa) * z / (1 + z)).sum()) / curve, -1, 1)
            at += step
            if abs(step) < 1e-6:
                break
        nodes = at + NODES / np.sqrt(curve)
        constant = sum(lgamma(c + kappa) - lgamma(kappa) - c * np.log(kappa) for c in count)
        spread = ((count + kappa) * np.log1p(np.exp(nodes)[:, None] * exposure / kappa)).sum(axis=1)
        for b in scales:
            prior = shape * (np.log(b) + nodes) - b * np.exp(nodes) - lgamma(shape)
            log_f = constant + n * nodes - spread + prior
            rise = np.diff(log_f)
            steep = np.where(np.abs(rise) < LEVEL, 1.0, rise)
            parts.extend(np.maximum(log_f[1:], log_f[:-1]) + np.log(nodes[1] - nodes[0])
                         + np.where(np.abs(rise) < LEVEL, 0.0, np.log(-np.expm1(-np.abs(steep)) / np.abs(steep))))
    return np.logaddexp.reduce(parts) - np.log(len(KAPPAS) * len(scales))


@kernel
def log_frailty(count, exposure, shape, scales):
    n, x = 0.0, 0.0
    for c in range(len(count)):
        n += count[c]
        x += exposure[c]
    spans = len(NODES) - 1
    parts = np.empty(len(KAPPAS) * len(scales) * spans)
    spread = np.empty(len(NODES))
    at_part = 0
    for kappa in KAPPAS:
        at, curve = log(n / x), 1.0
        for _ in range(STEPS):
            theta, slope, curve = exp(at) / kappa, n, 0.0
            for c in range(len(count)):
                z = theta * exposure[c]
                share = (count[c] + kappa) * z / (1 + z)
                slope -= share
                curve += share / (1 + z)
            step = min(max(slope / curve, -1.0), 1.0)
            at += step
            if abs(step) < 1e-6:
                break
        width, constant, base = 1 / sqrt(curve), 0.0, lgamma(kappa)
        for c in range(len(count)):
            constant += lgamma(count[c] + kappa) - base - count[c] * log(kappa)
        constant += log(width * (NODES[1] - NODES[0])) - lgamma(shape)
        for i in range(len(NODES)):
            node = at + width * NODES[i]
            theta, total = exp(node), constant + (n + shape) * node
            for c in range(len(count)):
                total -= (count[c] + kappa) * log1p(theta * exposure[c] / kappa)
            spread[i] = total
        for b in scales:
            before = spread[0] + shape * log(b) - b * exp(at + width * NODES[0])
            for i in range(spans):
                after = spread[i + 1] + shape * log(b) - b * exp(at + width * NODES[i + 1])
                rise = abs(after - before)
                part = max(before, after)  # the log of the integral of exp(chord)
                if rise >= LEVEL:
                    part += log(-expm1(-rise) / rise)
                parts[at_part] = part
                at_part += 1
                before = after
    largest = parts.max()
    total = 0.0
    for part in parts:
        total += exp(part - largest)
    return largest + log(total) - log(float(len(KAPPAS) * len(scales)))

"""The likelihood of counts whose rates are scattered around a common one, averaged over how much and around which.

Cell c of exposure x_c has the rate θ g_c, g_c from Gamma(κ, κ).  Integrated over g_c its count has a Gamma-Poisson law; the
integral over log θ, with the prior of log θ a mixture of Gamma(a, b) laws of θ, is a sum over nodes around the mode, where the
derivative of the logarithm, n - Σ (n_c + κ) z/(1 + z) with z = θ x_c/κ, is 0.
"""

from math import exp, lgamma, log, log1p, sqrt

import numpy as np

from sojourn.kernels.jit import kernel

KAPPAS = np.array([3.0, 10.0, 30.0, 100.0, 300.0, 1000.0])
NODES = np.linspace(-6.0, 6.0, 19)  # in standard deviations of log θ
STEPS = 50


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
        width = 1 / np.sqrt(curve)
        constant = sum(lgamma(c + kappa) - lgamma(kappa) - c * np.log(kappa) for c in count)
        for node in at + width * NODES:
            prior = np.mean([np.exp(shape * (np.log(b) + node) - b * np.exp(node) - lgamma(shape)) for b in scales])
            spread = ((count + kappa) * np.log1p(np.exp(node) * exposure / kappa)).sum()
            parts.append(constant + n * node - spread + np.log(max(prior, 1e-300)) + np.log(width * (NODES[1] - NODES[0])))
    return np.logaddexp.reduce(parts) - np.log(len(KAPPAS))


@kernel
def log_frailty(count, exposure, shape, scales):
    n, x = 0.0, 0.0
    for c in range(len(count)):
        n += count[c]
        x += exposure[c]
    parts = np.empty(len(KAPPAS) * len(NODES))
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
        constant += log(width * (NODES[1] - NODES[0]))
        for far in NODES:
            node = at + width * far
            theta, total, prior = exp(node), constant + n * node, 0.0
            for c in range(len(count)):
                total -= (count[c] + kappa) * log1p(theta * exposure[c] / kappa)
            for b in scales:
                prior += exp(shape * (log(b) + node) - b * theta - lgamma(shape))
            parts[at_part] = total + log(max(prior / len(scales), 1e-300))
            at_part += 1
    largest = parts.max()
    total = 0.0
    for part in parts:
        total += exp(part - largest)
    return largest + log(total) - log(float(len(KAPPAS)))

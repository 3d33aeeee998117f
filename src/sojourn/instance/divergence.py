"""How hard two models are to tell apart at one choice: relative entropy of the jump and of the holding time."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.errors import ParameterError
from sojourn.kernels.least_divergence import excess
from sojourn.model.numbers import real_array, real_number


def divergence(transition: Any, rate: float, other_transition: Any, other_rate: float) -> float:
    """Return KL(p, q) + KL(Exp(λ), Exp(l)), in nats per visit; infinite where q misses a state of p's support.

    Paper: eq:KLdiff   Σ p log(p/q) + log(λ/l) + l/λ - 1

    >>> round(divergence([0.5, 0.5], 1.0, [0.25, 0.75], 2.0), 12)
    0.450693855666
    """
    p, q = real_array("transition", transition), real_array("other_transition", other_transition)
    if p.shape != q.shape:
        raise ParameterError(
            f"transition has shape {p.shape} and other_transition {q.shape}; they must be the same states."
        )
    rates = real_number("rate", rate), real_number("other_rate", other_rate)
    if min(rates) <= 0:
        raise ParameterError(f"the rates are {rates[0]:g} and {rates[1]:g}; both must be positive.")
    seen = p > 0
    if (q[seen] <= 0).any():
        return float("inf")
    jump = float(sum(p[y] * excess(q[y] / p[y] - 1) for y in np.flatnonzero(seen)) + p.sum() - q[seen].sum())
    return max(0.0, jump) + float(excess(rates[1] / rates[0] - 1))

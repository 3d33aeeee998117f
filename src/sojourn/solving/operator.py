"""What one step of a policy's own operator proves of its gain."""

from __future__ import annotations

import numpy as np

from sojourn.solving.chain import Chain, differences
from sojourn.solving.elimination import UNIT


def operator_bounds(chain: Chain, u: np.ndarray) -> tuple[float, float]:
    """Return the least and the largest of (r + Σ_j p(j) (u(j) - u(s))) / τ, rounding included: the gain lies between them."""
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = _bounds(chain, u)
    return (low, high) if low <= high else (-np.inf, np.inf)  # products beyond floats prove nothing


def _bounds(chain: Chain, u: np.ndarray) -> tuple[float, float]:
    lengths = np.diff(chain.matrix.indptr)
    apart = np.add.reduceat(chain.matrix.data * np.abs(u[chain.matrix.indices] - np.repeat(u, lengths)), chain.matrix.indptr[:-1])
    moves = differences(chain.matrix, u)
    relative = (lengths + 8) * 2 * UNIT + chain.matrix_error
    error = chain.reward_error + relative * (np.abs(chain.reward) + apart) + chain.row_error * np.abs(moves) + lengths * 5e-324
    value = chain.reward + moves
    spare = (2 * UNIT + chain.holding_error) * np.abs(value)
    return float(((value - error - spare) / chain.holding).min()), float(((value + error + spare) / chain.holding).max())

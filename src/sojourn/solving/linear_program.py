"""The linear programme over visit frequencies, by HiGHS.

maximize  Σ y(s,a) (r + c/λ)   over y >= 0 with   Σ_a y(j,a) = Σ_{s,a} y(s,a) p(j|s,a)  for every j,   Σ y/λ = 1;
y(s,a) is how often per unit of time the pair is chosen.
"""

from __future__ import annotations

import numpy as np

from sojourn.errors import ToleranceError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.graph import sure_reach
from sojourn.solving.chain import visit_reward


def best_frequencies(model: CTMDP) -> tuple[np.ndarray, float, int]:
    """Return (visits per unit of time of each pair, gain, iterations of HiGHS): the best over all states and policies."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, vstack

    size = max(1.0, float(np.abs(visit_reward(model)).max()))
    speed = float(np.exp(np.log(model.rate).mean()))  # time is measured in 1/speed, so that its unit does not matter to HiGHS
    out = csr_matrix((np.ones(model.n_pairs), (model.pair_state, np.arange(model.n_pairs))), shape=(model.n_states, model.n_pairs))
    time = csr_matrix(speed / model.rate)
    answer = linprog(-visit_reward(model) / size, A_eq=vstack([out - model.matrix.T, time]).tocsr(),
                     b_eq=np.concatenate([np.zeros(model.n_states), [1.0]]), bounds=(0, None), method="highs")
    if answer.x is None or answer.fun is None:
        raise ToleranceError(f"the linear programme ended without an answer, status {answer.status} ({answer.message}). "
                             "Use method='policy-iteration'.")
    return answer.x * speed, -float(answer.fun) * size * speed, int(answer.nit)


def policy_of(model: CTMDP, frequency: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (a policy, pair per state, that is often right; which states it is about).

    These take the most frequent pair, the others a way to them.
    """
    best = np.maximum.reduceat(frequency, model.pair_start[:-1])
    visited = best > 1e-9 * frequency.max()
    chosen = np.where(frequency >= best[model.pair_state], np.arange(model.n_pairs), model.n_pairs)
    pairs = np.minimum.reduceat(chosen, model.pair_start[:-1])
    reached, way = sure_reach(model, visited)
    return np.where(visited, pairs, np.where(reached, way, start)), visited

"""KL-UCRL on the uniformised process: UCRL2 with KL balls for the rows.

Source: Filippi, Cappe, Garivier 2010 (Allerton).  Proved there, in discrete time and with the printed radii (radius_scale = 1): the
regret bounds of UCRL2.  Here ticks are counted in the mean (learn/uniformised.py), and nothing is proved.  `ct-kl-ucrl` is made for
continuous time: rows of jumps and intervals of rates instead of rows with staying.
"""

from __future__ import annotations

from math import e, log, sqrt

import numpy as np

from sojourn.kernels.kl_optimism import KLProblem, kl_optimism
from sojourn.kernels.swept_planning import DENSE
from sojourn.learn.ct_kl_ucrl import MAX_STEPS
from sojourn.learn.optimism import Optimistic, TurnIteration, extended_iteration
from sojourn.learn.ucrl2 import UCRL2, without_running
from sojourn.learn.uniformised import Steps, uniformised_steps, with_a_free_place
from sojourn.model.knowledge import Knowledge


class KLUCRL(UCRL2):
    """Optimism over KL balls for the rows of a tick of the uniformised process.   Source: Filippi, Cappe, Garivier 2010

    `radius_scale` multiplies both radii; 1 is as printed, the default 0.1 is mended as that of `ucrl2`.  The other parameters are
    those of `ucrl2`.  Where the supports are unknown, rows list all states of a small model; of a large one (above 200 states)
    the successors seen and one place for the best of all others, which plans over the same balls.
    """

    def __init__(self, knowledge: Knowledge, delta: float | None = None, horizon: float | None = None, radius_scale: float = 0.1,
                 seed: int | np.random.SeedSequence = 0):
        super().__init__(knowledge, delta, horizon, None, radius_scale, seed)
        self.pooled = not knowledge.supports_known and knowledge.n_states > DENSE

    def steps(self) -> Steps:
        found = uniformised_steps(self.counts, self.knowledge, every=not self.pooled)
        return with_a_free_place(found) if self.pooled else found

    def doubt(self, steps: Steps) -> np.ndarray:
        """Return C_R/sqrt(N), C_R² = log(4 S A log(t)/δ)/1.99."""
        known = self.knowledge
        c = log(4 * known.n_states * known.max_choices * log(max(steps.now, e)) / self.delta) / 1.99
        found: np.ndarray = np.sqrt(c / np.maximum(1, steps.number))
        return found

    def radius(self, steps: Steps) -> np.ndarray:
        """Return C_P/N: C_P = S (B + log(B + 1/log t) (1 + 1/(B + 1/log t))), B = log(2 e S² A log(t)/δ)."""
        known, later = self.knowledge, log(max(steps.now, e))
        b = log(2 * e * known.n_states**2 * known.max_choices * later / self.delta)
        more = b + 1 / later
        c = known.n_states * (b + log(more) * (1 + 1 / more))
        found: np.ndarray = np.where(steps.number > 0, c / np.maximum(1, steps.number), np.inf)
        return found

    def optimistic(self, steps: Steps) -> Optimistic:
        known, still = self.knowledge, without_running(self.knowledge)
        top = np.full(len(steps.number), float(known.rate_max))
        problem = KLProblem(np.array(known.pair_start), steps.row_start, steps.next_state, steps.probability,
                            self.radius_scale * self.radius(steps), top, top, self.reward(steps), 0 * top, float(known.rate_max),
                            self.pooled)
        return extended_iteration(TurnIteration(kl_optimism, problem), still, 1 / sqrt(steps.now), None, MAX_STEPS)

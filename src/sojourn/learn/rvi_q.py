"""RVI-Q: relative-value Q-learning, for semi-Markov decision processes.

Sources: Abounadi, Bertsekas, Borkar 2001 (SIAM J. Control Optim. 40(3)); Wan, Yu, Sutton 2024 (holding times).  Proved there: Q
converges almost surely, and f(Q) to the best gain, if all pairs are tried for ever in comparable numbers and steps fall as usual
(Σ α = inf, Σ α² < inf).  No regret bound.
"""

from __future__ import annotations

import numpy as np

from sojourn.errors import ParameterError
from sojourn.kernels.q_learning import RVI, SUM
from sojourn.learn.q_table import QLearner
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import at_least, positive


class RVIQ(QLearner):
    """Q(s,a) += α [(reward + max Q(next) - Q(s,a))/T(s,a) - f(Q)]/λ_max, T the mean holding time seen.   Source: Wan et al. 2024

    f(Q) = λ_max times the mean of Q, which tends to the gain.  The step size is α = n^-`power` at the pair's n-th visit, 1/2 <
    power <= 1; another than the best action is tried with chance `exploration` / (visits to the state)^`exploration_power`.
    """

    compiled_act = RVI

    def __init__(self, knowledge: Knowledge, power: float = 0.55, exploration: float = 1.0, exploration_power: float = 0.5,
                 seed: int | np.random.SeedSequence = 0):
        if not 0.5 < positive("power", power) <= 1:
            raise ParameterError(f"power is {power!r}; it must be above 0.5 and at most 1, or the steps do not settle.")
        given = [float(power), positive("exploration", exploration), at_least("exploration_power", exploration_power, 0),
                 float(knowledge.rate_min), float(knowledge.rate_max)]
        super().__init__(knowledge, given, 0.0, seed)

    @property
    def gain(self) -> float:
        """f(Q), the estimate of the gain, per unit of time."""
        return float(self.knowledge.rate_max * self.table.total[SUM] / self.knowledge.n_pairs)

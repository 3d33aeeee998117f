"""SMART: average-reward Q-learning for semi-Markov decision processes.

Sources: Das, Gosavi, Mahadevan, Marchalleck 1999 (Management Science 45(4)); Bradtke and Duff 1995 (Q-learning with holding times);
Darken, Chang, Moody 1992 (the schedules).  Nothing is proved about this form: the estimate of the gain moves at the speed of the
table.  Its regret is linear while it explores with a chance that does not fall fast enough.
"""

from __future__ import annotations

import numpy as np

from sojourn.kernels.q_learning import SMART as ACT_AND_LEARN
from sojourn.learn.q_table import QLearner
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import positive


class SMART(QLearner):
    """R(s,a) += α (reward - ρ τ + max R(next) - R(s,a)), ρ the reward per time of the greedy steps.   Source: Das et al. 1999

    Step size and chance to explore after m decisions are x/(1 + m²/(y + m)): `step` and `exploration` are x, `step_decay` and
    `exploration_decay` y.  The paper starts both at 0.1; here both fall within some 10^4 to 10^5 decisions, and
    exploration starts at 0.2: with 0.1 it is no better than playing at random on `call-centre` (0.5 is surer there and dearer
    elsewhere).
    """

    compiled_act = ACT_AND_LEARN
    may_lack_rate_bounds = True

    def __init__(self, knowledge: Knowledge, step: float = 0.1, step_decay: float = 1e9, exploration: float = 0.2,
                 exploration_decay: float = 1e8, seed: int | np.random.SeedSequence = 0):
        given = [positive("step", step), positive("step_decay", step_decay), positive("exploration", exploration),
                 positive("exploration_decay", exploration_decay)]
        super().__init__(knowledge, given, 0.0, seed)

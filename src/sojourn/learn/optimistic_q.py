"""Optimistic Q-learning for the average reward: discounted Q-learning with a bonus, its discount close to none.

Source: Wei, Jafarnia-Jahromi, Luo, Sharma, Jain 2020 (ICML, algorithm 1).  Proved there, in discrete time, with bonus 4 sp(v*)
sqrt(H/n log(2T/delta)): regret O(T^{2/3}) up to logarithms.  Here a discount rate λ_max/H takes the place of the discount 1 -
1/H, and nothing is proved.
"""

from __future__ import annotations

import numpy as np

from sojourn.kernels.q_learning import OPTIMISTIC
from sojourn.learn.ct_kl_ucrl import reward_spread
from sojourn.learn.ct_ucrl import confidence
from sojourn.learn.q_table import QLearner
from sojourn.model.knowledge import Knowledge
from sojourn.model.scalars import at_least


class OptimisticQ(QLearner):
    """Plays the largest upper bound of Q, which starts above everything possible and only falls.   Source: Wei et al. 2020

    `memory` is H: what is paid H uniformised steps from now counts e times less.  (The paper's H grows like T^(1/3) and is 10 to
    20 for small models at 10^6 decisions; where decisions last many uniformised steps, as on `machine-repair`, that is too
    short-sighted and costs more than playing at random, 200 is not.)  The bonus is `bonus` w sqrt(H log(2t/delta)/n), w the
    spread of the rewards per uniformised step; the paper has 4 sp(v*) in the place of `bonus` w, with which nothing is learned in
    10^5 decisions.  Less is cheaper on most models, but a bound that luck has once made too small stays so: with 0.02
    more than half of the runs on `hospital-beds` are worse than playing at random.
    """

    compiled_act = OPTIMISTIC

    def __init__(self, knowledge: Knowledge, delta: float | None = None, memory: float = 200.0, bonus: float = 0.1,
                 seed: int | np.random.SeedSequence = 0):
        self.delta = confidence(delta, None)
        length = at_least("memory", memory, 1, " (uniformised steps)")
        step = np.outer((knowledge.rate_min, knowledge.rate_max), knowledge.reward) + knowledge.running
        rate = float(knowledge.rate_max) / length  # of the discount
        top = max(float(step.max()), 0.0) / rate + max(float(knowledge.reward.max()), 0.0)
        given = [length, rate, at_least("bonus", bonus, 0) * reward_spread(knowledge), self.delta]
        super().__init__(knowledge, given, top, seed)

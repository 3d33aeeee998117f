"""CT-BK: the action that may still be worth most, its data allowed to move by log t, watching over posterior sampling.

Sources: Burnetas and Katehakis 1997 (discrete time, where it attains the lower bound); Tewari and Bartlett 2008.  Here rows and
rates move together within N KL <= log t.  That it attains C(M) in continuous time is not proved.
"""

from __future__ import annotations

from math import log

import numpy as np

from sojourn.kernels.bk import upper_choice
from sojourn.kernels.imed import skeleton
from sojourn.learn.deep import DeepLearner

FREEZE = 0.05  # a choice stands for this share of the pair's visits so far


class CTBK(DeepLearner):
    """The upper index of Burnetas and Katehakis, with the gain and bias of the posterior mean model on the skeleton.

    `prior`, `draws` and `depth` as in ct-imed.
    """

    def choice(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return the largest upper index in each state, for a twentieth of the visits so far."""
        belief, visits = self.belief, self.counts.visits
        probability, rate = belief.mean()
        gain, bias, self.greedy_pair = belief.best(probability, rate, self.greedy_pair, skeleton(belief.pair_start, visits))
        pair = upper_choice(belief.pair_start, belief.row_start, belief.next_state, probability, belief.reward, belief.running,
                            rate, visits, gain, bias, belief.rate_min, belief.rate_max, log(self.counts.epoch))
        return pair, np.maximum(1, (FREEZE * visits).astype(np.int64)), pair != self.greedy_pair, gain

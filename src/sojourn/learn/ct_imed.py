"""CT-IMED: the least N K + log N, the index that aims at the lower bound, watching over optimistic posterior sampling.

Sources: Honda and Takemura 2015 (the index, for bandits); Pesquerel and Maillard 2022 (for discrete-time models); here K is the
least divergence of eq:K, which counts rows and rates; Agrawal and Jia 2017 (several draws per row).  That it attains C(M) in
continuous time is not proved.
"""

from __future__ import annotations

import numpy as np

from sojourn.kernels.imed import index_choice, insisted, skeleton
from sojourn.learn.deep import DeepLearner


class CTIMED(DeepLearner):
    """Sampled policies, and the least divergence index where sampling has forgotten an action.

    Gain and bias are those of the posterior mean model on the pairs seen at least log² times as often as their state's most
    visited one allows (the skeleton); N K + log N is then compared in every state.  An action whose index is below the greedy
    one's log N is tried, sooner where a try is cheap; everywhere else a policy sampled from the posterior is followed
    (learn/deep.py).

    - `prior`: Dirichlet weight of each possible successor; None means 1/k each.  It serves the sampled and the mean model.
    - `draws`: a row of k possible successors is drawn k times per plan, at least 3 and at most `draws` times; 0 leaves the index
      alone, which may lock.
    - `depth`: a state is well known, and the index heard there, after depth * log²(t) visits.
    """

    def choice(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return the least index in each state, with the visits for which it stays the least; among others, while sampling."""
        belief, visits = self.belief, self.counts.visits
        probability, rate = belief.mean()
        gain, bias, self.greedy_pair = belief.best(probability, rate, self.greedy_pair, skeleton(belief.pair_start, visits))
        pair, quota, divergence = index_choice(belief.pair_start, belief.row_start, belief.next_state, probability, belief.reward,
                                               belief.running, rate, visits, gain, bias, self.greedy_pair, belief.rate_min,
                                               belief.rate_max)
        if self.draws == 0:
            return pair, quota, pair != self.greedy_pair, gain
        pair, trying = insisted(belief.pair_start, belief.row_start, belief.next_state, probability, belief.reward, belief.running,
                                rate, visits, gain, bias, self.greedy_pair, divergence)
        return pair, quota, trying, gain

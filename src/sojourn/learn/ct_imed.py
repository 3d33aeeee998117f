"""CT-IMED: optimistic posterior sampling, overridden by the least N K + log N, the index that aims at the lower bound.

Sources: Honda and Takemura 2015 (the index, for bandits); Pesquerel and Maillard 2022 (for discrete-time models); here K is the
least divergence of eq:K, which counts rows and rates; Agrawal and Jia 2017 (several draws per row).  That it attains C(M) in
continuous time is not proved.
"""

from __future__ import annotations

from sojourn.kernels.sampled_plan import IMED
from sojourn.learn.index_sampling import IndexSampling


class CTIMED(IndexSampling):
    """Sampled policies, and the least divergence index where sampling has forgotten an action.

    Gain and bias are those of the posterior mean model on the skeleton, the pairs with N(s,a) >= log²(max_b N(s,b)); N K + log N
    is then compared in every state.  An action whose index is below the greedy
    one's log N is tried, sooner where a try is cheap; everywhere else a policy sampled from the posterior is followed
    (learn/index_sampling.py).

    - `prior`: Dirichlet weight of each possible successor; None means 1/k each.  It serves the sampled and the mean model.
    - `draws` of a row and rate per plan: 3 where the supports are known; else as many as there are states, at least 3 and at
      most `draws`.  0 leaves the index alone, which may lock.
    - `depth`: a state is well known, and the index heard there, after depth * log²(t) visits.

    Without rate bounds (`rate_bounds="unknown"`) every pair is tried first, as `ct-kl-ucrl` does over its sets at level 1/t; then
    rates are drawn from Gamma laws on all of (0, inf), and K is the least divergence over rates in (0, inf).
    """

    index = IMED
    may_lack_rate_bounds = True
    fades = True

"""CT-BK: the action that may still be worth most, its data allowed to move by log t, watching over posterior sampling.

Sources: Burnetas and Katehakis 1997 (discrete time, where it attains the lower bound); Tewari and Bartlett 2008.  Here rows and
rates move together within N KL <= log t.  That it attains C(M) in continuous time is not proved.
"""

from __future__ import annotations

from sojourn.kernels.sampled_plan import BK
from sojourn.learn.deep import DeepLearner


class CTBK(DeepLearner):
    """The upper index of Burnetas and Katehakis, with the gain and bias of the posterior mean model on the skeleton.

    `prior`, `draws` and `depth` as in ct-imed.
    """

    index = BK

"""CT-BK: plays the action of largest possible worth within N KL <= log t where posterior sampling neglects it.

Sources: Burnetas and Katehakis 1997 (discrete time, where it attains the lower bound); Tewari and Bartlett 2008.  Here rows and
rates move together within N KL <= log t.  That it attains C(M) in continuous time is not proved.
"""

from __future__ import annotations

from sojourn.kernels.sampled_plan import BK
from sojourn.learn.index_sampling import IndexSampling


class CTBK(IndexSampling):
    """The upper index of Burnetas and Katehakis, with the gain and bias of the posterior mean model on the skeleton.

    `prior`, `draws` and `depth` as in ct-imed.
    """

    index = BK

# The types of the names that `__init__.py` imports on first use; tests/test_types.py compares the two.
from sojourn.learn.acting import ActingLearner as ActingLearner
from sojourn.learn.catalogue import LEARNERS as LEARNERS
from sojourn.learn.counts import Counts as Counts
from sojourn.learn.ct_ucrl import CTUCRL as CTUCRL
from sojourn.learn.doubling import Doubling as Doubling
from sojourn.learn.doubling import DoublingCTUCRL as DoublingCTUCRL
from sojourn.learn.holding_sets import HoldingSet as HoldingSet
from sojourn.learn.kl_set import KLSet as KLSet
from sojourn.learn.kl_set import kl_set as kl_set
from sojourn.learn.learner import History as History
from sojourn.learn.learner import Learner as Learner
from sojourn.learn.learner import Plan as Plan
from sojourn.learn.optimism import Optimistic as Optimistic
from sojourn.learn.optimism import extended_iteration as extended_iteration
from sojourn.learn.plausible import PlausibleSet as PlausibleSet
from sojourn.learn.plausible import extended_value_iteration as extended_value_iteration
from sojourn.learn.plausible import fast_extended_value_iteration as fast_extended_value_iteration
from sojourn.learn.plausible import plausible_set as plausible_set
from sojourn.learn.posterior import Posterior as Posterior
from sojourn.learn.uniformised import Steps as Steps
from sojourn.learn.unknown_bounds import UnknownRatesCTUCRL as UnknownRatesCTUCRL
from sojourn.learn.wrapper import Wrapper as Wrapper

__all__: list[str]

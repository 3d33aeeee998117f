"""Learners: observations in, plans out.  The public names are imported on first use."""

from importlib import import_module
from typing import Any

_HOME = {
    "Plan": "learner", "History": "learner", "Learner": "learner", "Counts": "counts", "Posterior": "posterior",
    "PlausibleSet": "plausible", "plausible_set": "plausible", "KLSet": "kl_set", "kl_set": "kl_set",
    "extended_iteration": "optimism", "Optimistic": "optimism", "extended_value_iteration": "plausible",
    "fast_extended_value_iteration": "plausible", "Wrapper": "wrapper",
    "CTUCRL": "ct_ucrl", "Doubling": "doubling", "DoublingCTUCRL": "doubling", "UnknownRatesCTUCRL": "unknown_bounds",
    "LEARNERS": "catalogue", "HoldingSet": "holding_sets", "Steps": "uniformised", "ActingLearner": "acting",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"sojourn.learn.{_HOME[name]}"), name)
    from sojourn.errors import unknown_attribute

    raise AttributeError(unknown_attribute("sojourn.learn", name, _HOME))

"""Continuous-time RiverSwim: a small certain reward downstream, a large one far against the current."""

from __future__ import annotations

import numpy as np

from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly
from sojourn.zoo.family import Family, Parameter, amount, count, limit_states, rate, share


def build(length: int, leak: float, forward: float, back: float, edge_forward: float, left_rate: float, right_rate: float,
          rate_step: float, small_reward: float, large_reward: float) -> CTMDP:
    """Return the model; state 0 is downstream, state length - 1 the far end."""
    limit_states(length, length=length)
    model = Assembly(length)
    x = np.arange(length)
    first, last = x == 0, x == length - 1
    up, down = np.minimum(x + 1, length - 1), np.maximum(x - 1, 0)
    model.add("left", x, [(down, left_rate * (1 - leak)), (up, left_rate * leak)], reward=small_reward * first)
    speed = right_rate + rate_step * x
    ahead = np.where(first | last, edge_forward, forward)  # at the far end "ahead" means staying there
    behind = np.where(first, 0.0, np.where(last, 1 - edge_forward, back))
    model.add("right", x, [(up, speed * ahead), (down, speed * behind), (x, speed * (1 - ahead - behind).round(15))],
              reward=large_reward * last)
    return model.build([str(i) for i in range(length)], rate_bounds=_bounds(left_rate, right_rate, rate_step, length))


def _bounds(left_rate: float, right_rate: float, rate_step: float, length: int) -> tuple[float, float]:
    rates = (left_rate, right_rate, right_rate + rate_step * (length - 1))
    return min(rates) / 2, 2 * max(rates)


FAMILY = Family(
    name="river-swim",
    summary="continuous-time RiverSwim: a small certain reward downstream, a large one far against the current",
    theory="The swimmer is at one of `length` places. `left` goes one place down, for small_reward at place 0; "
    "`right` struggles against the current and earns large_reward at the far end. A learner that does not "
    "explore deeply settles for the small reward. With leak e, `left` is carried one place up with "
    "probability e, so that every policy reaches every place.",
    source="A. L. Strehl and M. L. Littman (2008), An analysis of model-based interval estimation for Markov "
    "decision processes, J. Computer and System Sciences 74(8), 1309-1331, in discrete time; given rates "
    "here",
    parameters=(
        count("length", 6, "places", "number of places", 2, 1_000_000),
        share("leak", 0.05, "probability that `left` goes up; 0 gives the classical model", 0.5),
        share("forward", 0.35, "probability that `right` advances", 0.5),
        share("back", 0.05, "probability that `right` is thrown back", 0.5),
        share("edge_forward", 0.6, "probability that `right` advances at place 0, or stays at the far end"),
        rate("left_rate", 2.0, "rate of `left`"),
        rate("right_rate", 1.0, "rate of `right` at place 0"),
        Parameter("rate_step", 0.1, "1/time", "how much faster `right` is with every place", "real", 0, 1e3),
        amount("small_reward", 0.005, "reward", "for `left` at place 0"),
        amount("large_reward", 1.0, "reward", "for `right` at the far end"),
    ),
    build=build,
    axes=("place",),
    answer="Swimming right everywhere is optimal; with leak=0 and the other defaults the gain is known to 16 digits "
    "as a fraction (test data).",
    note="With leak=0 (the classical model) a policy that goes left never sees the far end: unichain and "
    "communicating, not irreducible.",
)

"""The smallest interesting model: two states that alternate, each left slowly or fast."""

from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.assembly import Assembly
from sojourn.zoo.family import Family


def build() -> CTMDP:
    """Return the two-state example."""
    model = Assembly(2)
    model.add("slow", [0, 1], [([1, 0], [3, 2])], reward=[5, -4])
    model.add("fast", [0, 1], [([1, 0], [5, 7])], reward=[8, -12])
    return model.build(["earning", "paying"], rate_bounds=(2.0, 7.0))


FAMILY = Family(
    name="two-state",
    summary="two states that alternate; each may be left slowly or fast, for other lump sums",
    theory="The process jumps from `earning` to `paying` and back. Leaving `earning` pays 5 (slow, rate 3) or 8 "
    "(fast, rate 5); leaving `paying` costs 4 (slow, rate 2) or 12 (fast, rate 7). Only the rates are "
    "uncertain: every jump has one target.",
    source="a textbook-style example of a semi-Markov decision process, after Puterman (1994), Markov Decision "
    "Processes, ch. 11",
    parameters=(),
    build=build,
    answer="gain = (8 - 4) / (1/5 + 1/2) = 40/7: reward per cycle over time per cycle; fast in `earning`, slow in "
    "`paying`.",
    note="Rewards lie outside [0, 1], which the constants of the regret bounds assume.",
)

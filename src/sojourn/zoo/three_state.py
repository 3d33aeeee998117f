"""Three states, two actions, every state reachable from every other in one jump or two."""

from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.family import Family


def build() -> CTMDP:
    """Return the three-state example."""
    transition = [
        [[0, 1 / 2, 1 / 2], [0, 1 / 3, 2 / 3]],
        [[2 / 3, 0, 1 / 3], [1 / 4, 0, 3 / 4]],
        [[1 / 2, 1 / 2, 0], [3 / 5, 2 / 5, 0]],
    ]
    return CTMDP.from_arrays(
        transition, rate=[[5, 2], [2, 1], [7, 3]], reward=[[0.5, 0.8], [0.5, 0.2], [0.4, 1.0]],
        states=["A", "B", "C"], actions=["quick", "slow"], rate_bounds=(1.0, 7.0),
    )


FAMILY = Family(
    name="three-state",
    summary="three states and two actions, the worked example of the documentation",
    theory="Each state is left quickly or slowly; the slow action pays more at once in A and C and occupies the "
    "process longer. Small enough that gain, bias, gaps and every constant of the paper are known as "
    "fractions.",
    source="made for this project; exact rational answers in the test data",
    parameters=(),
    build=build,
    answer="gain = 1305/671, bias (0, -25/61, 126/671), policy quick, quick, slow.",
)

"""A solution belongs to the model it solves."""

import pytest

from sojourn.errors import ModelError, ParameterError
from sojourn.instance.difficulty import difficulty
from sojourn.instance.gain_gap import gain_gap
from sojourn.instance.gaps import gaps
from sojourn.simulation.simulate import simulate
from sojourn.solving.solution import require_solution_of
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

USES = {  # everything that takes `solution=`
    "difficulty": lambda model, solution: difficulty(model, solution=solution),
    "gain_gap": lambda model, solution: gain_gap(model, solution=solution),
    "gaps": lambda model, solution: gaps(model, solution=solution),
    "simulate": lambda model, solution: simulate(model, [0, 0, 0], max_epochs=10, solution=solution),
    "plot": lambda model, solution: model.plot(solution=solution),
}


@pytest.mark.parametrize("name", USES)
def test_a_solution_of_another_model_of_the_same_shape_is_refused(name):
    use, model = USES[name], make("three-state")
    faster = model.replace(rate=2 * model.rate, rate_bounds=None)
    with pytest.raises(ModelError, match=r"the solution is of another model: rate\[0\] is 10\.0 there and 5\.0 here.*leave it out"):
        use(model, solve(faster))
    with pytest.raises(ParameterError, match=r"solution is 3 \(a int\); it must be what `sojourn.solve\(model\)` returns"):
        use(model, 3)


@pytest.mark.parametrize("name", USES)
def test_a_solution_of_an_equal_model_under_another_name_is_taken(name):
    model = make("three-state")
    USES[name](model, solve(model.replace(name="other", states=("x", "y", "z"))))


def test_a_transition_reward_on_one_side_only_is_noticed():
    model = make("three-state")
    paid = model.replace(transition_reward=0 * model.probability)
    with pytest.raises(ModelError, match=f"transition_reward has {len(model.probability)} entries there and 0 here"):
        require_solution_of(model, solve(paid))

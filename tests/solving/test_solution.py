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


@pytest.mark.parametrize("length, more", [(12, ""), (13, "and 1 more state"), (15, "and 3 more states")])
def test_a_solution_shows_twelve_states_and_says_how_many_more_there_are(length, more):
    solution = solve(make(f"river-swim:length={length}"))
    words, page = repr(solution), solution._repr_html_()
    assert words.startswith(f"<Solution: gain {solution.gain:.12g} per unit time, proved in [") and words.count(" -> ") == 12
    assert words.endswith(", ...>" if more else f"{solution.rows(12)[-1][1]}>") and ("..." in words) == bool(more)
    assert page.count("<tr><td>") == 12 and page.endswith(f"<p>{more}</p></div>" if more else "</table></div>")
    for state, action, bias in solution.rows(12):
        assert f"{state} -> {action}" in words and f"<tr><td>{state}</td><td>{action}</td><td>{bias:.6g}</td></tr>" in page
    assert len(solution.rows(length)) == len(solution.rows(10**6)) == length


def test_the_first_number_that_differs_is_named_also_where_it_is_the_only_one():
    model = make("three-state")
    for k in range(model.n_pairs):
        rate = model.rate.copy()
        rate[k] *= 2
        with pytest.raises(ModelError, match=rf"rate\[{k}\] is {rate[k]} there and {model.rate[k]} here"):
            require_solution_of(model, solve(model.replace(rate=rate, rate_bounds=None)))

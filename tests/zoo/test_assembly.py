"""The builder behind the families: many states at a time, the same as one by one."""

import numpy as np
import pytest

import sojourn
from sojourn import CTMDP, Choice
from sojourn.zoo.assembly import Assembly, grid, tuple_labels
from sojourn.zoo.catalogue import make


def two_machines(pay):
    model = Assembly(3)
    up = np.arange(1, 3)
    model.add("run", up, [(up - 1, 0.5 * up, -2.0), (np.minimum(up + 1, 2), [1.0, 0.0])], running=up * 1.0)
    model.add("repair", [0], [(1, 3.0), (2, 1.0), (1, 1.0, 5.0)])
    return model.build(["0", "1", "2"], pay=pay)


def test_jumps_to_the_same_state_add_up_and_their_rewards_average():
    model = two_machines("transition")
    k = model.pair("0", "repair")
    assert model.rate[k] == 5.0
    np.testing.assert_allclose(model.matrix[k].toarray()[0], [0, 0.8, 0.2])
    row = slice(model.row_start[k], model.row_start[k + 1])
    np.testing.assert_allclose(model.transition_reward[row], [5.0 * 1 / 4, 0.0])


def test_the_three_ways_to_pay_have_the_same_mean():
    lump, running, jump = (two_machines(pay) for pay in ("lump", "running", "transition"))
    np.testing.assert_allclose(lump.reward + lump.running / lump.rate, jump.expected_reward + jump.running / jump.rate)
    np.testing.assert_allclose(running.reward + running.running / running.rate, jump.expected_reward + jump.running / jump.rate)
    assert lump.transition_reward is None and running.transition_reward is None


def test_jumps_of_intensity_zero_are_left_out():
    model = two_machines("lump")
    assert (model.probability > 0).all() and len(model.next_state) == 5


def test_routing_agrees_with_breadth_first_exploration():
    size, arrival, service = 3, 0.8, (1.0, 0.6)

    def choices(n):
        def with_arrival_to(q):
            rates = {}
            for k in range(2):
                if n[k] > 0:
                    rates[tuple(x - (i == k) for i, x in enumerate(n))] = service[k]
            if q is not None:
                rates[tuple(x + (i == q) for i, x in enumerate(n))] = arrival
            return Choice(rates, running_cost=sum(n) + (40 * arrival if q is None else 0))

        open_queues = [q for q in range(2) if n[q] < size]
        return {f"to queue {q + 1}": with_arrival_to(q) for q in open_queues} or {"turn away": with_arrival_to(None)}

    explored = CTMDP.explore((0, 0), choices)
    built = make("routing", capacity=size)
    assert set(explored.states.labels) == set(built.states) and explored.n_pairs == built.n_pairs
    assert sojourn.solve(explored).gain == pytest.approx(sojourn.solve(built).gain, rel=1e-12)


def test_a_grid_numbers_its_states_with_the_last_coordinate_fastest():
    states, (x, y) = grid(2, 3)
    assert states.tolist() == [0, 1, 2, 3, 4, 5]
    assert tuple_labels(x, y) == ["(0, 0)", "(0, 1)", "(0, 2)", "(1, 0)", "(1, 1)", "(1, 2)"]

"""Models from functions: breadth-first, over any hashable states."""

from fractions import Fraction

import numpy as np
import pytest

from sojourn.errors import ModelError
from sojourn.model import explore
from sojourn.model.ctmdp import CTMDP
from sojourn.model.explore import Choice


def queue(n: int) -> dict[str, Choice]:
    """A queue with room for four: arrivals admitted or not, one server."""
    service = {n - 1: 2.0} if n else {}
    options = {"reject": Choice(service, running=-n)} if n else {}
    if n < 4:
        options["admit"] = Choice({n + 1: 1.0, **service}, running=-n, transition_rewards={n + 1: 5.0})
    return options


def test_states_are_numbered_breadth_first_and_actions_by_first_appearance():
    model = CTMDP.explore(2, queue, name="queue", rate_bounds=(0.5, 4))
    assert model.states == (2, 1, 3, 0, 4)
    assert model.actions == ("reject", "admit")
    assert model.n_pairs == 8 and model.rate[model.pair(2, "admit")] == 3
    assert model.expected_reward[model.pair(2, "admit")] == pytest.approx(5 / 3)
    assert model.running[model.pair(4, "reject")] == -4
    assert model.name == "queue" and model.rate_bounds == (0.5, 4)


def test_exploring_agrees_with_the_generators_of_the_same_queue():
    up, down = np.diag([1.0] * 4, 1), np.diag([2.0] * 4, -1)
    admit, reject = up + down, down.copy()
    admit[4] = 0
    for g in (admit, reject):
        g -= np.diag(g.sum(axis=1))
    running = np.repeat(-np.arange(5.0)[:, None], 2, axis=1)
    paid = [np.diag([5.0] * 4, 1), np.zeros((5, 5))]
    built = CTMDP.from_generators({"admit": admit, "reject": reject}, running=running, transition_reward=paid)
    found = CTMDP.explore(0, queue)
    assert found.equals(built) and found.states == range(5)


def test_costs_fractions_and_integers_are_numbers():
    model = CTMDP.explore("a", lambda s: {1: Choice({"a": Fraction(1, 2), "b": np.int64(0)}, cost=1, running_cost=Fraction(1, 4))})
    assert model.reward.tolist() == [-1] and model.running.tolist() == [-0.25] and model.rate.tolist() == [0.5]
    assert model.n_states == 1 and model.actions == (1,)


def test_an_endless_state_space_is_stopped():
    with pytest.raises(ModelError, match="more than 50 states are reachable from 0"):
        CTMDP.explore(0, lambda n: {"up": Choice({n + 1: 1.0})}, max_states=50)


@pytest.mark.parametrize(
    ("choices", "shown"),
    [
        (lambda s: {}, "{}"),
        (lambda s: None, "None"),
        (lambda s: [1], r"\[1\]"),
        (lambda s: {"a": 3}, "is 3"),
        (7, "choices is 7"),
        (lambda s: {"a": Choice({})}, "total intensity 0"),
        (lambda s: {"a": Choice({0: 0.0})}, "total intensity 0"),
        (lambda s: {"a": Choice({0: -1.0})}, "-1.0"),
        (lambda s: {"a": Choice({0: float("nan")})}, "nan"),
        (lambda s: {"a": Choice({0: float("inf")})}, "inf"),
        (lambda s: {"a": Choice({0: True})}, "True"),
        (lambda s: {"a": Choice({0: "1"})}, "'1'"),
        (lambda s: {"a": Choice([0])}, r"\[0\]"),
        (lambda s: {"a": Choice({0: 1.0}, reward=True)}, "True"),
        (lambda s: {"a": Choice({0: 1.0}, reward=float("nan"))}, "reward of 'a' in 0 is nan"),
        (lambda s: {"a": Choice({0: 1.0}, running="2")}, "running of 'a' in 0 is '2'"),
        (lambda s: {"a": Choice({0: 1.0}, cost=None)}, "cost of 'a' in 0 is None"),
        (lambda s: {"a": Choice({0: 1.0}, transition_rewards={0: True})}, "True"),
        (lambda s: {"a": Choice({0: 1.0}, transition_rewards={1: 2.0})}, "jump to 1"),
        (lambda s: {"a": Choice({0: 1.0}, transition_rewards=3)}, "is 3"),
        (lambda s: {"": Choice({0: 1.0})}, "label 0 is ''"),
        (lambda s: {"a": Choice({0: 1e308, 1: 1e308})}, "inf"),
        (lambda s: {"a": Choice({0: 1e200, 1: 1e-200})}, "'a' in 0 to 1 is 1e-200 of 1e[+]200"),
        (lambda s: {1: Choice({0: 1.0}), "1": Choice({0: 2.0})}, "action label '1' stands twice: 1 and '1' both read so"),
    ],
)
def test_a_wrong_answer_of_choices_is_refused_with_state_action_and_value(choices, shown):
    with pytest.raises(ModelError, match=shown):
        CTMDP.explore(0, choices)


def test_states_must_be_hashable_and_have_different_labels():
    with pytest.raises(ModelError, match=r"start is \[1\].*tuple"):
        CTMDP.explore([1], queue)
    with pytest.raises(ModelError, match="state label '1' stands twice"):
        CTMDP.explore(1, lambda s: {"go": Choice({"1": 1.0}) if s == 1 else Choice({1: 1.0})})
    named = CTMDP.explore(1, lambda s: {"go": Choice({"1": 1.0}) if s == 1 else Choice({1: 1.0})}, label=repr)
    assert named.states[:] == (1, "1") and named.states.labels == ("1", "'1'")
    assert named.state(1) == 0 and named.state("1") == 1 and named.state("'1'") == 1


def test_an_error_in_choices_says_which_choice_led_there():
    def choices(n):
        if n == 3:
            raise KeyError("no such shelf")
        return {"up": Choice({n + 1: 1.0, 0: 0.5}), "stay": Choice({n: 1.0})}

    with pytest.raises(ModelError, match=r"choices\(3\) raised KeyError: .* \(3 was reached from 2 by 'up'\.\)") as caught:
        CTMDP.explore(0, choices)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(ModelError, match=r"choices\(1\) gave {}.* \(1 was reached from 0 by 'up'\.\)"):
        CTMDP.explore(0, lambda n: {} if n else {"up": Choice({1: 1.0})})
    with pytest.raises(ModelError, match=r"reward of 'a' in 1 is nan.* \(1 was reached from 0 by 'up'\.\)"):
        CTMDP.explore(0, lambda n: {"a": Choice({0: 1.0}, reward=float("nan"))} if n else {"up": Choice({1: 1.0})})
    with pytest.raises(ModelError, match=r"choices\(0\) raised ZeroDivisionError: .*zero$"):
        CTMDP.explore(0, lambda n: {"a": Choice({0: 1 / n})})


def two_queues(state):
    first, second = state
    rates = {(first + 1, second): 0.3, (first, second + 1): 0.35}
    rates = {there: rate for there, rate in rates.items() if max(there) < 20}
    found = {}
    if first:
        found["first"] = Choice({**rates, (first - 1, second): 1.0}, running_cost=float(first + second))
    if second:
        found["second"] = Choice({**rates, (first, second - 1): 0.8}, running_cost=float(first + second))
    return found or {"wait": Choice(rates)}


def test_the_quick_way_into_a_model_makes_what_the_careful_way_makes(monkeypatch):
    """`add_plain` takes choices of positive floats; without it every choice is taken by `add`."""
    quick = CTMDP.explore((0, 0), two_queues)
    monkeypatch.setattr(explore.Found, "add_plain", lambda *_: False)
    careful = CTMDP.explore((0, 0), two_queues)
    assert quick.equals(careful) and quick.n_states == 400


@pytest.mark.parametrize("odd", [0.0, -1.0, float("nan"), float("inf"), 1e-320, 1e200, 1, True, "1"])
def test_odd_numbers_fare_alike_on_the_quick_and_the_careful_way(monkeypatch, odd):
    def outcome():
        def choices(n):
            return {"go": Choice({1 - n: 2.0, n: odd} if n else {1: 1.0}, cost=0.5)}

        try:
            return CTMDP.explore(0, choices)
        except ModelError as error:
            return str(error)

    quick = outcome()
    monkeypatch.setattr(explore.Found, "add_plain", lambda *_: False)
    careful = outcome()
    assert quick.equals(careful) if isinstance(quick, CTMDP) else quick == careful


def test_exploring_says_how_far_it_is_and_stops_at_the_limit(monkeypatch, capsys):
    monkeypatch.setattr("sojourn.model.progress.PATIENCE", -1.0)
    monkeypatch.setattr("sojourn.model.progress.EVERY", -1.0)
    CTMDP.explore((0, 0), two_queues, progress=True)
    assert "exploring: 0 of 1 states" in capsys.readouterr().err
    with pytest.raises(ModelError, match=r"more than 100 states are reachable.*raise max_states"):
        CTMDP.explore((0, 0), two_queues, max_states=100)
    assert CTMDP.explore((0, 0), two_queues, max_states=400).n_states == 400

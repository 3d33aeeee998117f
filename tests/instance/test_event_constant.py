"""The constant of hidden events: exact anchors, brackets, and alternatives that are confirmed by solving them."""

from dataclasses import replace
from math import log

import numpy as np
import pytest

from sojourn.errors import AssumptionError
from sojourn.instance.difficulty import difficulty
from sojourn.instance.event_alternatives import hidden_events, kl
from sojourn.instance.event_constant import least_cost
from sojourn.instance.event_difficulty import EventDifficulty
from sojourn.instance.gaps import optimum
from sojourn.model.events import events_of, plain_events
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import FILES, make

SMALL = "service-rate:capacity=1,arrival_rate=1,speeds=(1,2),speed_costs=(0,2),waiting_cost=1,loss_cost=0"
TWO = "service-rate:capacity=2,arrival_rate=1,speeds=(1,2),speed_costs=(0,8),waiting_cost=1,loss_cost=0"
HIDDEN = "service-rate:speed_costs=(0.5,2,200)"
SEVERAL = "service-rate:capacity=6,speeds=(0.8,1.2,1.8,2.5),speed_costs=(0.5,2,40,60)"


def constant_of(model, table=None):
    return least_cost(hidden_events(optimum(model), events_of(model) if table is None else table))


@pytest.mark.parametrize("name", ["three-state", "customer-selection", "random", "machine-repair"])
def test_with_one_event_per_jump_it_is_the_tabular_constant(name):
    model = make(name)
    found = constant_of(model, plain_events(model))
    wanted = difficulty(model, rate_bounds=(1e-6, 1e6)).lower_bound_constant
    assert abs(found.high - wanted) <= 1e-8 * wanted and found.high - found.low <= 1e-8 * wanted


@pytest.mark.parametrize("name, wanted", [(SMALL, 1.5 / (2 * log(0.4) + 3)), (TWO, 7 / (7 + 2 * log(2 / 9))), (HIDDEN, 11.564113)])
def test_one_hidden_speed_has_a_closed_form(name, wanted):
    found = difficulty(make(name)).events
    assert abs(found.constant - wanted) <= 1e-8 * wanted + 1e-6 * (name == HIDDEN)
    assert len(found.hidden) == 1 and found.constant in found.bounds


def test_the_tabular_constant_of_the_same_queue_is_larger():
    model = make(TWO)
    assert abs(constant_of(model, plain_events(model)).high - 3.5996377502) <= 1e-9


@pytest.mark.parametrize("unit", [0.01, 1000.0])
def test_the_unit_of_time_does_not_change_it(unit):
    words = "service-rate:capacity=2,arrival_rate={a},speeds=({a},{b}),speed_costs=(0,{c}),waiting_cost={a},loss_cost=0"
    model = make(words.format(a=unit, b=2 * unit, c=8 * unit))
    assert abs(difficulty(model).events.constant - 1.7535750105) <= 1e-9


@pytest.mark.parametrize("name", [name for name in FILES if make(name).events is not None])
def test_it_is_nothing_for_the_zoo_at_its_defaults(name):
    model = make(name)
    found = EventDifficulty(optimum(model), events_of(model))
    assert found.hidden == () and found.bounds == (0.0, 0.0) and "seen while playing well" in found.words()


def test_it_is_refused_unless_every_policy_is_irreducible():
    with pytest.raises(AssumptionError, match="every policy irreducible"):
        _ = difficulty(make("admission:urgent_rate=0")).events


def at_rates(model, table, theta):
    """Return the model with other rates, built from the table alone."""
    from scipy import sparse

    from sojourn.model.ctmdp import CTMDP

    q, jumps = table.intensity(theta), table.jumps
    flow = sparse.csr_matrix((q[jumps], (table.pair[jumps], table.next_state[jumps])), shape=(model.n_pairs, model.n_states))
    rate = table.rate(theta)
    income = table.income(theta) - table.reward * rate
    return CTMDP.from_pairs(model.pair_state, model.pair_action, sparse.diags(1 / rate) @ flow, rate, table.reward, income,
                            states=model.states, actions=model.actions, normalize_rows=True)


@pytest.mark.parametrize("name", [SMALL, TWO, HIDDEN, SEVERAL])
def test_alternatives_a_little_past_the_edge_raise_the_gain_and_a_little_before_it_do_not(name):
    model = make(name)
    table, gain = model.events, solve(model).gain
    found = difficulty(model).events
    for pair in found.found.pairs[found.cost.confusing]:
        near = found.alternative(model.states[model.pair_state[pair]], model.actions[model.pair_action[pair]])
        for factor, rises in ((1 + 1e-6, True), (1 - 1e-6, False)):
            theta = table.value.copy()
            for event, value in near.items():
                k = table.number(event)
                theta[k] += (value - theta[k]) * factor
            new = solve(at_rates(model, table, theta)).gain
            others = [p for p in found.found.pairs if p != pair]
            if rises or not others:
                assert (new > gain + 1e-12) == rises, (pair, near)


def test_several_hidden_events_the_bought_exposures_meet_every_confusing_rate_and_less_would_not():
    model = make(SEVERAL)
    events = hidden_events(optimum(model), model.events)
    found = least_cost(events)
    assert len(events.hidden) >= 2 and found.high - found.low <= 1e-7 * found.high
    assert abs(events.need @ found.time - found.high) <= 1e-9 * found.high
    rng, worst = np.random.default_rng(0), np.inf
    for _ in range(20_000):
        theta = events.value * np.exp(rng.normal(scale=rng.choice([0.2, 1.0, 3.0]), size=len(events.hidden)))
        gained = np.bincount(events.where, events.worth * (theta - events.value)[events.event])
        if (gained > events.need).any():
            worst = min(worst, float(found.exposure @ kl(events.value, theta)))
    assert 1 - 1e-6 <= worst < 1.5  # feasible; and the search came near enough to have noticed otherwise


def test_bounds_of_a_rate_can_take_the_confusion_away():
    model = make(SMALL)
    table = model.events
    k = table.number("serve at speed 2")
    tight = replace(table, high=np.where(np.arange(table.n_events) == k, 2.1, np.inf))
    found = EventDifficulty(optimum(model), tight)
    assert found.hidden and not found.confusing and found.constant == 0.0 and "nothing else would be better" in found.words()
    mine = np.arange(table.n_events) == k
    known = replace(table, low=np.where(mine, 2.0, 0.0), high=np.where(mine, 2.0, np.inf))
    assert EventDifficulty(optimum(model), known).hidden == ()

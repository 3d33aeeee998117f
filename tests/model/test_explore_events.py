"""Rates in `explore`: the ten lines of a user, sums, products, payments, and events that lead nowhere."""

import numpy as np
import pytest

import sojourn
from sojourn.errors import ModelError
from sojourn.model.explore import Choice, explore
from sojourn.model.knowledge import Knowledge
from sojourn.model.rates import Rate
from sojourn.solving.solve import solve

arrive, slow, fast = Rate("arrive", 0.8), Rate("slow", 1.0), Rate("fast", 2.0)


def queue(n):
    up = {n + 1: arrive} if n < 10 else {}
    if n == 0:
        return {"idle": Choice(rates=up)}
    lost = {} if n < 10 else {arrive: -5.0}
    return {speed.name: Choice(rates={**up, n - 1: speed}, running_cost=n + price, silent=lost)
            for speed, price in [(slow, 0.5), (fast, 8.0)]}


def numbers(n):
    """The same queue with the rates as numbers, and what is lost as a running cost."""
    up = {n + 1: 0.8} if n < 10 else {}
    if n == 0:
        return {"idle": Choice(rates=up)}
    return {name: Choice(rates={**up, n - 1: rate}, running_cost=n + price + (4.0 if n == 10 else 0.0))
            for name, rate, price in [("slow", 1.0, 0.5), ("fast", 2.0, 8.0)]}


def test_a_queue_of_named_rates_is_the_queue_of_numbers_with_its_events():
    model, plain = explore(0, queue), explore(0, numbers)
    assert model.replace(events=None).equals(plain) and plain.events is None
    table = model.events
    assert table.names == ("arrive", "slow", "fast") and table.value.tolist() == [0.8, 1.0, 2.0]
    assert table.running.min() == -18.0 and model.running.min() == -22.0  # what arrivals that are lost cost is not told
    assert table.silent.tolist() == [0] and table.payment.min() == -5.0
    run = sojourn.simulate(model, "events-psrl", max_epochs=3000, seed=0)
    assert np.allclose(run.learner.events.seen / run.learner.events.exposure, table.value, rtol=0.25)


def test_forms_payments_by_event_and_plain_numbers_go_together():
    def choices(s):
        if s == 0:
            return {"go": Choice(rates={1: arrive + 2 * slow, 2: 0.5}, transition_rewards={1: {arrive: 4.0, slow: 1.0}, 2: 3.0})}
        return {"back": Choice(rates={0: fast / 2})}

    model = explore(0, choices)
    table = model.events
    rows = {(int(p), int(y), table.names[k]): (float(c), float(w)) for p, y, k, c, w in
            zip(table.pair, table.next_state, table.event, table.coefficient, table.payment)}
    assert rows == {(0, 1, "arrive"): (1.0, 4.0), (0, 1, "slow"): (2.0, 1.0), (0, 2, "known"): (0.5, 3.0),
                    (1, 0, "fast"): (0.5, 0.0), (2, 0, "fast"): (0.5, 0.0)}
    assert table.known.tolist() == [name == "known" for name in table.names]
    mean = (0.8 * 4 + 2.0 * 1) / 2.8
    assert np.allclose(model.transition_reward, [mean, 3.0, 0.0, 0.0])
    cycle = 1 / 3.3 + 1.0
    assert np.isclose(solve(model).gain, (2.8 * mean + 0.5 * 3) / 3.3 / cycle)


@pytest.mark.parametrize("choice, words", [
    (lambda: Choice(rates={1: arrive * slow}), "product of two"),
    (lambda: Choice(rates={1: arrive}, transition_rewards={1: {slow: 1.0}}), "does not lead there"),
    (lambda: Choice(rates={1: 0.5}, transition_rewards={1: {slow: 1.0}}), "none has a name"),
    (lambda: Choice(rates={1: arrive}, silent={0.5: 1.0}), "must be rates"),
    (lambda: Choice(rates={1: arrive}, silent=[slow]), "must map rates"),
    (lambda: Choice(rates={1: arrive + Rate("arrive", 3.0)}), "two rates are named"),
])
def test_what_cannot_be_meant_is_refused(choice, words):
    with pytest.raises(ModelError, match=words):
        explore(0, lambda s: {"go": choice() if s == 0 else Choice(rates={0: 1.0})})


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_a_file_keeps_rates_bounds_and_events(tmp_path, ending):
    tight = Rate("arrive", 0.8, bounds=(0.1, 2.0))
    model = explore(0, lambda n: {"go": Choice(rates={(n + 1) % 3: tight, (n + 2) % 3: 0.5}, silent={Rate("tick", 3.0): -1.0})})
    model.save(tmp_path / f"m.{ending}")
    again = sojourn.load(tmp_path / f"m.{ending}")
    assert again.equals(model) and again.events.high.tolist() == model.events.high.tolist()
    assert again.knowledge(events=True).events.high[0] == 2.0


# ---- without a model -------------------------------------------------------------------------------------------------------


def shop(arrive, slow, fast, odd):
    """Return `choices` of a queue with everything: thinning, sums, silent losses, pay by event, a plain number."""
    def choices(n):
        up = {n + 1: 0.5 * arrive} if n < 4 else {}
        lost = {} if n < 4 else {arrive: -5.0}
        if n == 0:
            return {"idle": Choice(rates=up)}
        both = {n - 1: slow + 2 * fast}
        return {"slow": Choice(rates={**up, n - 1: slow, (n + 2) % 5: 0.125, (n + 3) % 5: 0 * odd}, running_cost=n, silent=lost),
                "both": Choice(rates={**up, **both}, cost=1.0, transition_rewards={n - 1: {slow: 3.0, fast: 1.0}}, silent=lost)}
    return choices


def test_knowledge_of_events_without_values_is_what_a_model_with_values_tells():
    told = {"bounds": (0.1, 9.0)}
    model = explore(0, shop(Rate("arrive", 0.8), Rate("slow", 1.0, **told), Rate("fast", 2.0), Rate("odd", 3.0)))
    one = model.knowledge(events=True)
    two = Knowledge.explore(0, shop(Rate("arrive"), Rate("slow", **told), Rate("fast"), Rate("odd")))
    for name in ("pair_start", "pair_action", "reward", "running", "support_start", "support_state"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert one.states == two.states and one.actions == two.actions and (one.rate_min, one.rate_max) == (two.rate_min, two.rate_max)
    assert two.events.value is None and two.events.names == one.events.names
    for name in ("pair", "next_state", "event", "payment", "low", "high"):
        assert np.array_equal(getattr(one.events, name), getattr(two.events, name)), name
    assert np.allclose(one.events.coefficient, two.events.coefficient, rtol=1e-15)


def test_a_session_learns_from_knowledge_without_values():
    known = Knowledge.explore(0, shop(Rate("arrive"), Rate("slow"), Rate("fast"), Rate("odd")))
    session = sojourn.Session("events-psrl", 4, knowledge=known, seed=1)
    assert session.action in ("slow", "both")
    session.report(0.4, 3, event="slow", silent={"arrive": 2})
    assert session.state == 3


def test_a_model_refuses_a_rate_without_a_value_and_says_where_it_may_stand():
    with pytest.raises(ModelError, match=r"the rate 'arrive' of 'idle' in 0 has no value; .* Knowledge.explore"):
        explore(0, shop(Rate("arrive"), Rate("slow", 1.0), Rate("fast", 1.0), Rate("odd", 1.0)))
    with pytest.raises(ModelError, match="known and has no value"):
        Rate("arrive", known=True)
    with pytest.raises(ModelError, match="two rates are named 'a', with values none and 2"):
        Knowledge.explore(0, lambda n: {"go": Choice({1 - n: Rate("a", 2.0) if n else Rate("a")})})
    with pytest.raises(ModelError, match="names no Rate"):
        Knowledge.explore(0, lambda n: {"go": Choice({1 - n: 2.0})})
    with pytest.raises(ModelError, match="total intensity 0; it must be positive"):
        Knowledge.explore(0, lambda n: {"go": Choice({1 - n: 0 * Rate("a")})})

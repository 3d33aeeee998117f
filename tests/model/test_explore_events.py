"""Rates in `explore`: the ten lines of a user, sums, products, payments, and events that lead nowhere."""

import numpy as np
import pytest

import sojourn
from sojourn.errors import ModelError
from sojourn.model.explore import Choice, explore
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

"""The bounds at N decisions where events are seen: second ways to the same numbers, and what no learner of events contradicts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import sojourn
from sojourn import CTMDP, Choice, Rate
from sojourn.errors import ModelError, ParameterError
from sojourn.instance.event_tilting import family, with_values
from sojourn.instance.regimes import regimes
from sojourn.instance.tilting import nearest
from sojourn.zoo.catalogue import FILES, make

pytestmark = pytest.mark.xdist_group("event_bounds")  # bounds once worked out are kept with their model


def speeds(time=1.0, pay=1.0):
    """A queue of two places; good play never serves fast, and so never sees how fast that would be."""
    arrive, slow, fast = Rate("arrive", time), Rate("slow", time), Rate("fast", 2 * time)

    def choices(n):
        up = {n + 1: arrive} if n < 2 else {}
        if n == 0:
            return {"idle": Choice(up)}
        return {speed.name: Choice({**up, n - 1: speed}, running_cost=pay * time * (n + price))
                for speed, price in ((slow, 0), (fast, 8))}

    return CTMDP.explore(0, choices)


@pytest.fixture(scope="module")
def queue():
    return sojourn.difficulty(speeds())


def shown(theta):
    """A rate that good play sees happen without a jump, and that only the other action needs."""
    go, lo = Rate("go", 1.0, known=True), Rate("lo", 0.01, known=True)
    x = Rate("x", theta, bounds=(0.05, 5))

    def choices(state):
        if state == 0:
            return {"a": Choice({1: go, 2: lo}, silent={x: 0.0}, running=1.0), "b": Choice({1: go, 2: x}, running=-1.6)}
        return {"back": Choice({0: go}, running=0.0 if state == 1 else 3.0)}

    return CTMDP.explore(0, choices)


def test_a_learner_that_sees_silent_events_is_not_said_to_lose_what_it_does_not():
    """`events-ce` loses 7 and 2 here, where 45 is proved of learners that see jumps and holding times only."""
    here, there = shown(0.95), shown(1.2)
    found = sojourn.difficulty(here, (0.5, 6))
    runs = [[sojourn.simulate(model, "events-ce", max_epochs=100_000, seed=seed).pseudo_regret[-1] for seed in range(2)]
            for model in (here, there)]
    paid = np.max(runs)
    bound, jumps_only = found.bound_against(there, 1e5), found.bound_against(there, 1e5, events=False)
    assert 0.1 < bound < paid < 20 < jumps_only and bound.events and not jumps_only.events
    assert jumps_only == pytest.approx(44.98, abs=0.01)


def labelled(gain, loss):
    """Two ways to go round, three times per unit of time: one pays nothing, the other 1 or -1 by the event that ends it."""
    win, lose, turn = Rate("win", gain), Rate("lose", loss), Rate("turn", 3.0, known=True)
    return CTMDP.explore(0, lambda _: {"safe": Choice({0: turn}),
                                       "try": Choice({0: win + lose}, transition_rewards={0: {win: 1.0, lose: -1.0}})})


def least_of_all_learners(epochs):
    """Return min over learners of the larger of the regrets in `labelled(1, 2)` and `labelled(2, 1)`, by dynamic programming.

    A try wins with chance 1/3 or 2/3 and tells a likelihood ratio of 2 either way; to be safe tells nothing.  At prior odds w the
    least of w R + (1 - w) R' is a dynamic programme over (decisions left, wins less losses); the largest over w is the answer.
    """
    found, net = 0.0, np.arange(-epochs, epochs + 1)
    for w in 1 / (1 + np.exp(np.linspace(-1.5, 1.5, 61))):
        bad = w / (w + (1 - w) * 2.0**np.clip(net, -900, 900))  # chance that trying is the worse, given wins less losses
        win, value = bad / 3 + (1 - bad) * 2 / 3, np.zeros(len(net))
        for left in range(1, epochs + 1):
            tried = bad / 3 + win * np.append(value[1:], 0.0) + (1 - win) * np.append(0.0, value[:-1])
            value = np.minimum(left * (1 - bad) / 3, tried)
        found = max(found, value[epochs])
    return found


@pytest.mark.parametrize("epochs", [30, 1000])
def test_it_is_below_what_the_best_of_all_learners_pays_and_not_far_below(epochs):
    """Holding times and successors tell nothing in these two models, only labels do."""
    exact = least_of_all_learners(epochs)
    bound = sojourn.difficulty(labelled(1.0, 2.0)).bound_against(labelled(2.0, 1.0), epochs)
    assert 0.25 * exact < bound < exact
    here, there = labelled(1.0, 2.0), labelled(2.0, 1.0)
    assert family(here, here.bounds, True, True).told(there).tolist() == pytest.approx([0.0, math.log(2) / 3])


def watched(theta):
    """A sure reward of 1, or whatever a silent event pays meanwhile."""
    go, x = Rate("go", 1.0, known=True), Rate("x", theta, bounds=(0.1, 4))
    return CTMDP.explore(0, lambda _: {"sure": Choice({0: go}, reward=1.0), "watch": Choice({0: go}, silent={x: 1.0})})


@pytest.mark.parametrize("epochs, level", [(1e4, 4.5), (1e6, 8.0)])
def test_a_sequential_test_of_a_silent_event_pays_little_more_and_never_less(epochs, level):
    """Jumps and holding times tell nothing here.  20,000 runs, five standard errors: false alarms less than once in a million."""
    rng, paid, theta, other = np.random.default_rng(7), [], 0.6, 1.5
    for true, gap in ((theta, 1 - theta), (other, other - 1)):
        time = rng.exponential(size=(20_000, 400))
        odds = np.cumsum(rng.poisson(true * time) * math.log(theta / other) - (theta - other) * time, axis=1)
        end = np.argmax((odds >= level) | (odds <= -2 * level), axis=1)
        last = odds[np.arange(len(end)), end]
        assert (np.abs(last) >= level).all()
        visits = np.where(last >= level, end + 1, epochs) if true == theta else np.where(last >= level, epochs - end - 1, 0)
        paid += [gap * visits.mean(), gap * visits.std() / math.sqrt(len(visits))]
    here, error, there, doubt = paid
    bound = sojourn.difficulty(watched(theta)).bound_against(watched(other), epochs, elsewhere=there + 5 * doubt)
    assert here + 5 * error > bound > 0.6 * here


def test_it_grows_like_the_constant_of_hidden_events(queue):
    values = [queue.bound_at(n, elsewhere=1.0) for n in (1e4, 1e6, 1e9)]
    slopes = np.diff(values) / np.diff(np.log([1e4, 1e6, 1e9]))
    assert slopes[1] == pytest.approx(queue.events.constant, rel=0.1)
    assert abs(slopes[1] - queue.events.constant) < abs(slopes[0] - queue.events.constant)


def test_what_good_play_sees_costs_next_to_nothing():
    found = sojourn.difficulty(make("admission:servers=2,capacity=5"))
    bound = found.bound_at(1e4)
    assert bound < 0.1 and bound.within == 10 and found.lower_bound_constant > 100 and not found.events.hidden


def test_alternatives_keep_the_events_what_is_known_and_all_bounds():
    for model, told in ((speeds(), (0.9, 10.4)), (watched(0.6), None)):
        found = sojourn.difficulty(model, told)
        bound = found.bound_at(1e3)
        assert bound.alternatives and bound.events
        mine = found.model.events
        for other in bound.alternatives:
            theirs = other.model.events
            for field in ("names", "pair", "next_state", "event", "coefficient", "payment", "reward", "running", "low", "high"):
                assert np.array_equal(getattr(mine, field), getattr(theirs, field))
            assert (theirs.value[mine.known] == mine.value[mine.known]).all()
            assert ((theirs.value >= mine.low) & (theirs.value <= mine.high)).all()
            nats = np.zeros(found.model.n_pairs)
            for pair, event, size in zip(mine.pair, mine.event, mine.coefficient):
                x, y = mine.value[event], theirs.value[event]
                nats[pair] += size * (x * math.log(x / y) + y - x) / found.model.rate[pair]
            assert other.divergence == pytest.approx(nats, rel=1e-9, abs=1e-13) and (other.divergence >= nats * (1 - 1e-9)).all()
            assert sojourn.solve(other.model).gain_bounds[0] > sojourn.evaluate(other.model, found.policy).gain_bounds[1]
            if told is not None:
                assert other.model.rate.min() >= told[0] * (1 - 1e-9) and other.model.rate.max() <= told[1] * (1 + 1e-9)


@pytest.mark.parametrize("name", [name for name in FILES if make(name).events is not None and make(name).n_pairs < 100])
def test_events_tell_at_least_what_row_and_holding_time_tell(name):
    model, rng = make(name), np.random.default_rng(3)
    rows, events = (family(model, (1e-9, 1e9), True, seen) for seen in (False, True))
    for spread in (1e-3, 1.0):
        theta = model.events.value * np.exp(spread * rng.normal(size=model.events.n_events))
        other = with_values(model, model.events, np.clip(theta, model.events.low, model.events.high))
        assert (events.told(other) >= rows.told(other) * (1 - 1e-9) - 1e-12).all()
        assert sojourn.solve(other).gain == pytest.approx(events.sloped(other.events.value, other.policy_pairs(
            sojourn.solve(other).policy))[0], rel=1e-9)


@pytest.mark.parametrize("which", [0, 2, 5])
def test_the_nearest_rates_are_those_that_a_general_solver_finds(which):
    rng, model = np.random.default_rng(0), make("tandem:capacity=2")
    near, found = family(model, model.bounds, True, True, told=False), sojourn.difficulty(model)
    good, visits, theta = model.policy_pairs(found.policy), rng.uniform(1, 50, model.n_pairs), near.steady
    regime = regimes(near, found.optimum, good)[which]
    pairs = regime.pairs
    tilted = nearest(near, pairs, good, visits, 0.1 * regime.distance)

    def wins_by(x):
        return near.sloped(theta * np.exp(x), pairs)[0] - near.sloped(theta * np.exp(x), good)[0]

    ahead = {"type": "ineq", "fun": lambda x: 10 * (wins_by(x) - tilted.ahead)}
    solved = minimize(lambda x: visits @ near.nats(theta * np.exp(x)), np.zeros(len(theta)), method="SLSQP", constraints=[ahead],
                      bounds=[(-5, 5)] * len(theta), options={"maxiter": 500, "ftol": 1e-10})
    assert solved.success and visits @ tilted.divergence == pytest.approx(solved.fun, rel=2e-3)


def test_it_does_not_depend_on_the_units_of_reward_and_time(queue):
    bound = queue.bound_at(1e4)
    proved = queue.bound_against(bound.models, 1e4)
    found, pay = sojourn.difficulty(speeds(1e9, 1e-9)), 1e-9
    assert found.bound_at(1e4) == pytest.approx(pay * bound, rel=1e-3)
    assert found.bound_against(found.bound_at(1e4).models, 1e4) == pytest.approx(pay * proved, rel=1e-2)
    assert 0.8 * bound < proved < bound


@pytest.mark.parametrize("name", ["events-psrl", "events-ce", "random"])
def test_learners_pay_here_what_is_proved_for_what_they_pay_there(name, queue):
    """20 runs of 1,000 decisions; four standard errors on each side."""
    other, paid = queue.bound_at(1e4).models[0], []
    for model in (queue.model, other):
        runs = [sojourn.simulate(model, name, max_epochs=1000, seed=i, checkpoints=[1000]).pseudo_regret[-1] for i in range(20)]
        paid += [np.mean(runs), 4 * np.std(runs) / math.sqrt(20)]
    here, error, there, doubt = paid
    assert here + error >= queue.bound_against(other, 1000, elsewhere=there + doubt + 1e-9)


def test_what_cannot_be_compared_is_said_in_words():
    here, there = shown(0.95), shown(1.2)
    found = sojourn.difficulty(here)
    with pytest.raises(ModelError, match=r"declares no events, and this one does.*events=False compares"):
        found.bound_against(there.replace(events=None), 1e4)
    with pytest.raises(ModelError, match=r"`other.replace\(events=None\)`"):
        sojourn.difficulty(here.replace(events=None), (0.5, 6)).bound_against(there, 1e4)
    with pytest.raises(ModelError, match="other events, or lets them lead elsewhere"):
        renamed = replace(there.events, names=(*there.events.names[:-1], "y"))
        found.bound_against(there.replace(events=renamed), 1e4)
    with pytest.raises(ModelError, match=r"payment of the event 'x' under action watch in state 0 is 1, and 2 in the other model"):
        go, x = Rate("go", 1.0, known=True), Rate("x", 1.5, bounds=(0.1, 4))
        dearer = CTMDP.explore(0, lambda _: {"sure": Choice({0: go}, reward=1.0), "watch": Choice({0: go}, silent={x: 2.0})})
        sojourn.difficulty(watched(0.6)).bound_against(dearer, 1e4)
    with pytest.raises(ParameterError, match="knows where they lead"):
        found.bound_at(1e4, supports=False, events=True)
    assert not found.bound_at(1e3, supports=False).events and found.bound_at(1e3).events

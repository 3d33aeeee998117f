"""Fits per event: rates are covered as often as stated, the gain is bracketed, the structure is tested, wrong rows are named."""

import json

import numpy as np
import pytest
from scipy import stats

import sojourn
from command_line import run
from sojourn.control.controller import Controller
from sojourn.control.fit_events import event_intervals
from sojourn.errors import FileError, ParameterError
from sojourn.learn.event_estimate import EventEstimate

QUEUE = sojourn.make("service-rate:capacity=4")
TOLD = QUEUE.knowledge(events=True)


def simulated(n: int, seed: int, truth: sojourn.CTMDP = QUEUE, hurry: float = 1.0) -> dict[str, list[object]]:
    """A log under uniformly random choices, drawn from the event table alone; `hurry` multiplies services from state 3 on."""
    rng, table = np.random.default_rng(seed), truth.events
    rows, state = [], 0
    for _ in range(n):
        pair = int(rng.integers(truth.pair_start[state], truth.pair_start[state + 1]))
        mine = np.arange(table.row_start[pair], table.row_start[pair + 1])
        speed = table.coefficient[mine] * table.value[table.event[mine]]
        speed = speed * np.where((table.event[mine] > 0) & (state >= 3), hurry, 1.0)
        jumps = table.jumps[mine]
        tau = float(rng.exponential(1 / speed[jumps].sum()))
        row = int(rng.choice(mine[jumps], p=speed[jumps] / speed[jumps].sum()))
        lost = int(rng.poisson(speed[~jumps].sum() * tau))
        rows.append((truth.states[state], truth.actions[truth.pair_action[pair]], tau, truth.states[table.next_state[row]],
                     table.names[table.event[row]], lost))
        state = int(table.next_state[row])
    names = ("state", "action", "holding_time", "next_state", "event", "silent:arrive")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def test_intervals_of_events_cover_the_truth_as_often_as_stated_and_the_gain_is_bracketed():
    best, inside, together, gains = sojourn.solve(QUEUE).gain, [], 0, 0
    for seed in range(60):
        found = sojourn.fit(simulated(150, seed), 0.9, knowledge=TOLD)
        value = QUEUE.events.value
        inside += ((found.event_bounds[:, 0] <= value) & (value <= found.event_bounds[:, 1])).tolist()
        wide = found.estimate.rate_bounds
        together += bool(((wide[:, 0] <= value) & (value <= wide[:, 1])).all())
        low, high = found.gain_bounds
        gains += low <= sojourn.evaluate(QUEUE, found.policy).gain and best <= high
    assert stats.binomtest(int(np.sum(inside)), len(inside), 0.9, alternative="less").pvalue > 1e-4 and np.mean(inside) < 0.97
    assert together >= 54 and gains >= 54  # at least 0.9


def test_gain_bounds_contain_the_gain_of_every_choice_of_rates_within_the_intervals():
    """A second way: models drawn inside the intervals, solved and evaluated by the solver."""
    found = sojourn.fit(simulated(300, 1), knowledge=TOLD)
    rng, (low, high) = np.random.default_rng(2), found.gain_bounds
    for _ in range(25):
        least, most = found.estimate.rate_bounds.T
        value = np.where(rng.random(4) < 0.5, least, most) if rng.random() < 0.5 else rng.uniform(least, most)
        model = rebuilt(QUEUE, value)
        assert sojourn.solve(model).gain <= high + 1e-9 and sojourn.evaluate(model, found.policy).gain >= low - 1e-9


def rebuilt(base: sojourn.CTMDP, value: np.ndarray) -> sojourn.CTMDP:
    """A dense model from the rows of the event table, one by one."""
    table = base.events
    transition = np.zeros((base.n_pairs, base.n_states))
    running = np.array(table.running)
    for i, (pair, after, event) in enumerate(zip(table.pair, table.next_state, table.event)):
        speed = table.coefficient[i] * value[event]
        running[pair] += speed * table.payment[i]
        if after >= 0:
            transition[pair, after] += speed
    rate = transition.sum(axis=1)
    return sojourn.CTMDP.from_pairs(base.pair_state, base.pair_action, transition / rate[:, None], rate, np.array(table.reward),
                                    running, states=base.states, actions=base.actions)


def test_the_model_of_a_fit_has_the_likeliest_rates_and_its_own_events():
    found = sojourn.fit(simulated(3000, 3), knowledge=TOLD)
    assert found.model.events is not None and found.model.events.value == pytest.approx(QUEUE.events.value, rel=0.1)
    assert sojourn.solve(found.model).gain == pytest.approx(found.estimate.gain, rel=0.01)
    assert sojourn.solve(found.model).gain == pytest.approx(sojourn.solve(rebuilt(QUEUE, found.estimate.rate)).gain, rel=1e-9)
    uniform = np.where(QUEUE.admissible, 1.0, 0.0) / QUEUE.admissible.sum(axis=1, keepdims=True)
    low, _, high = found.gain_now
    assert low < sojourn.evaluate(QUEUE, uniform).gain < high  # what events paid is part of it
    warm = found.learner("events-psrl")
    assert warm.events.count.sum() == found.estimate.seen.sum()


def test_a_structure_that_does_not_hold_is_said_and_one_that_does_is_not():
    assert not sojourn.fit(simulated(3000, 4), knowledge=TOLD).estimate.evidence.rejected
    wrong = sojourn.fit(simulated(3000, 4, hurry=2.5), knowledge=TOLD)
    assert wrong.estimate.evidence.rejected and any("do not hold" in note for note in wrong.notes)


@pytest.mark.parametrize(("change", "words"), [
    ({"event": "serve at speed 1.8"}, "row 71"), ({"event": "nonsense"}, "row 71 has event 'nonsense'"),
    ({"silent:arrive": 0.5}, "row 71"), ({"silent:arrive": -1}, "row 71"), ({"silent:arrive": 3}, "row 71"),
])
def test_a_row_that_no_event_explains_is_named(change, words):
    log = simulated(200, 5)
    at = 70
    right = {"event": "arrive", "state": "0", "action": "idle", "next_state": "1", "silent:arrive": 0}
    for name, value in {**right, **change}.items():
        log[name][at] = value
    with pytest.raises(FileError, match=words):
        sojourn.fit(log, knowledge=TOLD, contiguous=False)


def test_a_column_of_an_event_that_is_never_silent_is_refused():
    log = simulated(50, 5)
    log["silent:serve at speed 1.2"] = [0] * 50
    with pytest.raises(FileError, match="declared as an event that may"):
        sojourn.fit(log, knowledge=TOLD)


def test_a_log_that_does_not_say_how_often_an_event_led_nowhere_is_refused_where_it_can(tmp_path):
    """Read as "it never did", 4,000 rows gave an interval of 0.752 to 0.782 for the rate 0.8."""
    log = simulated(400, 5)
    first = next(i for i, state in enumerate(log["state"]) if state == QUEUE.states[4]) + 1
    without = {name: values for name, values in log.items() if name != "silent:arrive"}
    empty = {**log, "silent:arrive": [None if i + 1 == first else n for i, n in enumerate(log["silent:arrive"])]}
    with Controller.create(tmp_path / "c", TOLD, "events-ce", "0") as controller:
        for wrong, words in ((without, "needs a column 'silent:arrive'"), (empty, "has an empty cell 'silent:arrive'")):
            for read in (lambda log: sojourn.fit(log, knowledge=TOLD), controller.import_log):
                with pytest.raises(FileError, match=rf"row {first} {words}.*Say how often it was, 0 where it was not"):
                    read(wrong)
        assert controller.status()["imported"] == 0
    elsewhere = {**log, "silent:arrive": [n if s == QUEUE.states[4] else None for s, n in zip(log["state"], log["silent:arrive"])]}
    right = sojourn.fit(log, knowledge=TOLD).estimate
    assert np.array_equal(sojourn.fit(elsewhere, knowledge=TOLD).estimate.rate_bounds, right.rate_bounds)
    keep = [i for i, state in enumerate(log["state"]) if state != QUEUE.states[4]]  # the remedy
    found = sojourn.fit({name: [values[i] for i in keep] for name, values in without.items()}, knowledge=TOLD, contiguous=False)
    assert found.event_bounds[0, 0] < 0.8 < found.event_bounds[0, 1] and found.estimate.exposure[0] < right.exposure[0]


def test_an_unfinished_sojourn_is_exposure_without_an_event():
    go, back = sojourn.Rate("go", 1.0), sojourn.Rate("back", 2.0)
    model = sojourn.CTMDP.explore("a", lambda s: {"x": sojourn.Choice(rates={"b": go} if s == "a" else {"a": back})})
    stamps = {"time": [0.0, 1.0, 2.0, 3.0, 8.0], "state": ["a", "b", "a", "b", "b"], "action": ["x", "x", "x", "x", None]}
    found = sojourn.fit(stamps, knowledge=model.knowledge(events=True))
    assert found.estimate.exposure.tolist() == [1.0, 6.0]  # the first sojourn only gives the unit of time
    assert found.estimate.seen.tolist() == [1.0, 1.0]


def test_what_is_known_of_rates_narrows_the_gain_and_needs_to_be_possible():
    log = simulated(100, 6)
    free, told = (sojourn.fit(log, knowledge=TOLD, rate_bounds=bounds).gain_bounds for bounds in (None, (0.7, 2.0)))
    assert free[0] < told[0] <= sojourn.solve(QUEUE).gain <= told[1] < free[1]
    with pytest.raises(ParameterError):
        sojourn.fit(log, knowledge=TOLD, reward={("0", "idle"): 1.0})


def test_a_controller_of_events_estimates_events_and_imports_a_log_with_them(tmp_path):
    log = simulated(400, 7)
    with Controller.create(tmp_path / "c", TOLD, "events-ce", "0") as controller:
        assert controller.import_log(log) == 400
        found = controller.estimate()
        assert isinstance(found, EventEstimate) and found.rate_of("arrive")[0] < 0.8 < found.rate_of("arrive")[2]
        assert "EventEstimate" in repr(found) and found.policy_labels == sojourn.fit(log, knowledge=TOLD).policy
        controller.verify()


def test_exact_intervals_are_those_of_the_poisson_law():
    low, high = event_intervals(np.array([7.0]), np.array([3.5]), 0.1)[0]
    assert stats.poisson.sf(6, low * 3.5) == pytest.approx(0.05) and stats.poisson.cdf(7, high * 3.5) == pytest.approx(0.05)


def test_the_command_fits_events_and_needs_to_know_them(tmp_path):
    log = simulated(300, 8)
    (tmp_path / "log.csv").write_text("\n".join([",".join(log), *(",".join(map(str, row)) for row in zip(*log.values()))]))
    said = run("fit", tmp_path / "log.csv", "--model", "service-rate:capacity=4", "--events", "--report", tmp_path / "page.html")
    assert said.code == 0 and "serve at speed 1.2" in said.out and "The structure: nothing speaks against" in said.out
    assert "<h2>Events</h2>" in (tmp_path / "page.html").read_text()
    found = json.loads(run("fit", tmp_path / "log.csv", "--model", "service-rate:capacity=4", "--events", "--json").out)
    assert [event["event"] for event in found["events"]] == list(QUEUE.events.names) and not found["structure"]["rejected"]
    assert run("fit", tmp_path / "log.csv", "--events").code == 1


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_a_log_that_contradicts_what_was_told_of_events_is_said_to(factor):
    log = simulated(400, 2)
    other = {**log, "holding_time": [factor * tau for tau in log["holding_time"]]}
    bounds = (0.1, 10.0)
    assert not any("contradicts" in note for note in sojourn.fit(log, knowledge=TOLD, rate_bounds=bounds).notes)
    assert not any("contradicts" in note for note in sojourn.fit(other, knowledge=TOLD).notes)  # nothing was told
    (note,) = [note for note in sojourn.fit(other, knowledge=TOLD, rate_bounds=bounds).notes if "contradicts" in note]
    assert "in 4 of 4 events: the rate of 'arrive' is" in note and "0.1 to 10 was told" in note


def test_a_known_rate_that_the_log_contradicts_is_named():
    go, back = sojourn.Rate("go", 1.0, known=True), sojourn.Rate("back", 2.0)
    model = sojourn.CTMDP.explore(0, lambda s: {"x": sojourn.Choice({1: go} if s == 0 else {0: back}, running=1.0)})
    times = np.random.default_rng(1).exponential(size=600)
    for factor, words in ((1.0, False), (3.0, True)):
        log = {"state": [0, 1] * 300, "action": ["x"] * 600, "holding_time": factor * times, "next_state": [1, 0] * 300}
        notes = sojourn.fit(log, knowledge=model.knowledge(events=True)).notes
        assert any("1 of 2 events: the rate of 'go'" in note and "1 was told" in note for note in notes) == words

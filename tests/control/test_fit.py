"""Fitting: intervals cover at the stated rate, gains are bracketed, the model is the likeliest one, and learners start warm."""

import numpy as np
import pytest
from scipy import stats

import sojourn
from command_line import run
from control_plant import MODEL
from sojourn.control.estimate_words import lines
from sojourn.control.exponential import kuiper_tail, law_tests
from sojourn.control.fit_words import as_object, pair_table, sentences
from sojourn.errors import ModelError, ParameterError
from sojourn.simulation.session import Session

KNOWN = MODEL.knowledge()
TRANSITION = np.zeros((MODEL.n_pairs, MODEL.n_states))  # a row per pair
TRANSITION[np.repeat(np.arange(MODEL.n_pairs), np.diff(MODEL.row_start)), MODEL.next_state] = MODEL.probability


def simulated(n: int, seed: int, law: str = "exponential") -> dict[str, list[object]]:
    """A log of MODEL under uniformly random choices, drawn without Sojourn's own walk."""
    rng = np.random.default_rng(seed)
    state, rows = 0, []
    for _ in range(n):
        k = int(rng.integers(MODEL.pair_start[state], MODEL.pair_start[state + 1]))
        row = slice(MODEL.row_start[k], MODEL.row_start[k + 1])
        after = int(rng.choice(MODEL.next_state[row], p=MODEL.probability[row]))
        tau = float(rng.exponential() if law == "exponential" else rng.gamma(3) / 3)
        tau /= float(MODEL.rate[k])
        paid = float(MODEL.reward[k] + MODEL.running[k] * tau)
        rows.append((MODEL.states[state], MODEL.actions[MODEL.pair_action[k]], tau, MODEL.states[after], paid))
        state = after
    return {name: [row[i] for row in rows] for i, name in enumerate(("state", "action", "holding_time", "next_state", "reward"))}


def test_intervals_cover_the_truth_as_often_as_stated_and_the_gain_is_bracketed():
    best = sojourn.solve(MODEL).gain
    inside, rows_inside, gains = [], [], 0
    for seed in range(60):
        found = sojourn.fit(simulated(150, seed), 0.9, knowledge=KNOWN)
        seen = found.visits > 0
        inside += (((found.rate_bounds[:, 0] <= MODEL.rate) & (MODEL.rate <= found.rate_bounds[:, 1]))[seen]).tolist()
        truth = TRANSITION[np.repeat(np.arange(5), np.diff(found.estimate.row_start)), found.estimate.next_state]
        rows_inside += ((found.probability_bounds[:, 0] <= truth) & (truth <= found.probability_bounds[:, 1])).tolist()
        gains += found.gain_bounds[0] <= best <= found.gain_bounds[1]
    assert stats.binomtest(int(np.sum(inside)), len(inside), 0.9).pvalue > 1e-4  # exact intervals: neither too narrow nor too wide
    assert np.mean(rows_inside) > 0.87  # conservative ones
    assert gains >= 54  # at least 0.9; far more, since the sets hold together and at all times


def test_the_column_reward_is_split_into_lump_sum_and_running_reward_where_that_explains_it():
    found = sojourn.fit(simulated(2000, 1), rate_bounds=(0.3, 3.0))
    order = [found.knowledge.pair(MODEL.states[s], MODEL.actions[a]) for s, a in zip(MODEL.pair_state, MODEL.pair_action)]
    assert found.knowledge.reward[order] == pytest.approx(MODEL.reward, abs=1e-6)
    assert found.knowledge.running[order] == pytest.approx(MODEL.running, abs=1e-6)
    best = sojourn.solve(MODEL)
    assert found.policy == dict(best.policy_labels) and found.gain_bounds[0] <= best.gain <= found.gain_bounds[1]
    assert sojourn.evaluate(found.model, found.policy).gain == pytest.approx(found.estimate.gain, rel=0.02)
    low, gain, high = found.gain_now
    uniform = np.where(MODEL.admissible, 1.0, 0.0) / MODEL.admissible.sum(axis=1, keepdims=True)
    assert low < sojourn.evaluate(MODEL, uniform).gain < high and low < gain < high


def test_payments_that_vary_widen_the_interval_of_the_gain():
    log = simulated(1500, 2)
    rng = np.random.default_rng(5)
    noisy = sojourn.fit({**log, "reward": [r + rng.normal() for r in log["reward"]]}, rate_bounds=(0.3, 3.0))
    assert any("varies" in note for note in noisy.notes)
    assert noisy.gain_bounds[0] <= sojourn.solve(MODEL).gain <= noisy.gain_bounds[1]


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e140])
def test_the_unit_of_pay_changes_nothing(unit):
    """Below 1e-160 squares of payments were 0: payments that vary counted as known, and the bounds on the gain were too close."""
    log = simulated(300, 2)
    noise = np.random.default_rng(5).normal(size=300)
    paid = {"varying": log["reward"] + noise, "known": np.array(log["reward"])}
    for rewards in paid.values():
        here = sojourn.fit({**log, "reward": rewards.tolist()}, rate_bounds=(0.3, 3.0))
        there = sojourn.fit({**log, "reward": (rewards * unit).tolist()}, rate_bounds=(0.3, 3.0))
        assert np.array(there.gain_bounds) / unit == pytest.approx(here.gain_bounds)
        assert np.array(there.gain_now) / unit == pytest.approx(here.gain_now) and len(there.notes) == len(here.notes)


def test_a_log_that_says_that_nothing_was_paid_has_a_gain_of_0():
    found = sojourn.fit({**simulated(100, 2), "reward": [0.0] * 100}, rate_bounds=(0.3, 3.0))
    assert found.gain_bounds == (0.0, 0.0) and found.gain_now[1] == 0.0
    assert str(found.gain_bounds[0]) == "0.0" and not any("there is no gain" in note for note in found.notes)


def test_the_tests_of_the_law_are_uniform_for_exponential_times_and_find_others():
    rng = np.random.default_rng(7)
    times = rng.exponential(size=(2000, 25)) * rng.lognormal(size=(2000, 1))
    gini, p, kuiper = law_tests(np.repeat(np.arange(2000), 25), times.ravel(), 2000)
    assert stats.kstest(p, "uniform").pvalue > 1e-3 and stats.kstest(kuiper, "uniform", alternative="greater").pvalue > 1e-3
    x = np.sort(times[3])
    assert gini[3] == pytest.approx(np.abs(x[:, None] - x[None, :]).sum() / (2 * 25 * 24 * x.mean()), rel=1e-12)
    on_test = [x[:k].sum() + (25 - k) * x[k - 1] for k in range(1, 25)] / x.sum()  # a second way, from the definition
    steps = np.arange(25) / 24
    statistic = (steps[1:] - on_test).max() + (on_test - steps[:-1]).max()
    assert kuiper[3] == pytest.approx(kuiper_tail(np.array([statistic]), np.array([24]))[0], rel=1e-9)
    found = sojourn.fit(simulated(1500, 3, law="erlang"), knowledge=KNOWN)
    assert any("more regular than exponential" in note for note in found.notes)
    assert not sojourn.fit(simulated(1500, 3), knowledge=KNOWN).notes


def test_an_unfinished_sojourn_counts_as_time_without_a_jump():
    stamps = {"time": [0.0, 1.0, 2.0, 3.0, 8.0], "state": ["a", "b", "a", "b", "b"], "action": ["x", "x", "x", "x", None]}
    found = sojourn.fit(stamps, running={("a", "x"): 1.0})
    assert found.exposure.tolist() == [2.0, 6.0] and found.visits.tolist() == [2, 1] and found.rate.tolist() == [1.0, 1 / 6]


@pytest.mark.parametrize("name", ["default", "ct-ucrl", "ct-psrl", "ct-ce"])
def test_any_learner_starts_warm(name):
    found = sojourn.fit(simulated(3000, 4), knowledge=KNOWN)
    warm = found.learner(name, **({"delta": 0.01} if name == "ct-ucrl" else {}))
    assert warm.counts.visits.tolist() == found.visits.tolist()
    assert Session(warm, ("up", 1)).action in ("run", "service")
    if name == "ct-ce":
        assert Session(warm, ("up", 1)).action == found.policy["up", 1]


def test_what_to_try_next_is_what_was_never_tried_and_it_has_a_price_where_it_was():
    log = simulated(400, 6)
    keep = [i for i, a in enumerate(log["action"]) if a != "rush"]
    found = sojourn.fit({name: [values[i] for i in keep] for name, values in log.items()}, knowledge=KNOWN, contiguous=False)
    tried = {(s, a): (n, cost) for s, a, n, cost in found.trials}
    assert tried[("down", 0), "rush"][0] == 0 and np.isnan(tried[("down", 0), "rush"][1])
    assert any("never made" in note for note in found.notes)


@pytest.mark.parametrize(("more", "words"), [
    ({"confidence": 1.5}, "confidence"), ({"running": {("a", "x"): 1.0}}, "not a \\(state, action\\)"),
    ({"knowledge": KNOWN, "rate_bounds": (1, 2)}, "give one of them"),
])
def test_what_cannot_be_asked_is_refused(more, words):
    with pytest.raises(ParameterError, match=words):
        sojourn.fit(simulated(50, 1), **more)


def test_a_state_that_was_never_left_needs_a_knowledge():
    with pytest.raises(ParameterError, match="never left"):
        sojourn.fit({"state": ["a"], "action": ["x"], "holding_time": [1.0], "next_state": ["b"]})


def test_the_command_prints_sentences_json_and_a_page(tmp_path):
    log = simulated(300, 8)
    text = ["state,action,holding_time,next_state,reward"]
    text += [f"{s[0]}{s[1]},{a},{t!r},{j[0]}{j[1]},{r!r}" for s, a, t, j, r in zip(*log.values())]
    (tmp_path / "log.csv").write_text("\n".join(text))
    said = run("fit", tmp_path / "log.csv", "--report", tmp_path / "page.html")
    assert said.code == 0 and "What we could already play" in said.out and "300 sojourns of 3 states" in said.out
    page = (tmp_path / "page.html").read_text()
    assert "What we do now" in page and "<script" not in page
    import json

    found = json.loads(run("fit", tmp_path / "log.csv", "--json").out)
    assert found["gain_bounds"][0] < found["gain_bounds"][1] and len(found["choices"]) == 5
    assert run("fit", tmp_path / "none.csv").code == 1


def test_a_log_without_payments_has_no_gain_and_nothing_is_said_of_one(tmp_path):
    log = {name: values for name, values in simulated(300, 8).items() if name != "reward"}
    found = sojourn.fit(log)
    assert not found.pays and np.isnan([*found.gain_bounds, *found.gain_now]).all() and found.trials == []
    said = " ".join(sentences(found))
    assert "not known" in said and not any(word in said for word in ("earns", "What to try next", " 0 per unit"))
    assert "nothing is paid" in repr(found) and any("give a column `reward`" in note for note in found.notes)
    assert as_object(found)["policy"] == [] and not any(row[-1] for row in pair_table(found)[1])
    assert "earns" not in found.report(tmp_path / "page.html").read_text()
    for paying in ({"running": {(log["state"][0], log["action"][0]): 1.0}}, {"knowledge": KNOWN}):
        assert sojourn.fit(log, **paying).pays
    assert sojourn.fit({**log, "reward": [0.0] * 300}).gain_now[1] == 0.0  # it says that nothing was paid


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e3, 1e9])
def test_a_log_that_contradicts_the_rate_bounds_is_said_to(factor):
    """Holding times in another unit went unnoticed, though no interval and no gain was right any more."""
    log = simulated(300, 5)
    assert not any("contradicts" in note for note in sojourn.fit(log, knowledge=KNOWN).notes)
    other = {**log, "holding_time": [factor * tau for tau in log["holding_time"]]}
    (note,) = [note for note in sojourn.fit(other, knowledge=KNOWN).notes if "contradicts" in note]
    assert "choices: the rate of" in note and "Check the unit of the holding times" in note
    told = sojourn.fit({**other, "reward": [0.0] * 300}, rate_bounds=MODEL.bounds)
    assert any("contradicts" in note for note in told.notes)


def test_rate_bounds_that_hold_are_called_contradicted_no_more_often_than_stated():
    """At 0.5 in at most half of the logs; it is far rarer, since the intervals hold at all times and for all choices."""
    fits = [sojourn.fit(simulated(40, seed), 0.5, knowledge=KNOWN) for seed in range(60)]
    assert sum(any("contradicts" in note for note in found.notes) for found in fits) < 30


@pytest.mark.parametrize(("more", "words"), [
    ({"reward": {("A", "slow"): "1_5"}}, r"reward\[\('A', 'slow'\)\] is '1_5'; it must be a finite number"),
    ({"running": {("A", "slow"): float("nan")}}, "is nan; it must be a finite number"), ({"reward": 3}, "reward is 3; it must map"),
    ({"running": [1.0, 2.0]}, "running is .*; it must map"), ({"rate_bounds": "ab"}, "rate_bounds is 'ab'"),
    ({"rate_bounds": 3}, "rate_bounds is 3; it must be a pair"),
])
def test_payments_and_bounds_that_are_none_are_refused_in_words(more, words):
    log = {name: values for name, values in simulated(100, 1).items() if name != "reward"}
    with pytest.raises((ParameterError, ModelError), match=words):
        sojourn.fit(log, **more)


def test_a_confidence_near_1_is_not_called_1():
    """0.99999 was rounded: "at 1 confidence" nothing at all may be said."""
    found = sojourn.fit(simulated(60, 3), 0.99999, rate_bounds=(0.3, 3.0))
    said = [*sentences(found), *found.notes, repr(found), repr(found.estimate), *pair_table(found)[0], *lines(found.estimate)]
    assert sum("0.99999" in text for text in said) >= 4 and not any("1 confidence" in text or "1 interval" in text for text in said)
    assert any(" 0.95 confidence" in text for text in sentences(sojourn.fit(simulated(60, 3), rate_bounds=(0.3, 3.0))))

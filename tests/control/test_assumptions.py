"""What a log says against the model: each fault is noticed, where there is none nothing is, and p-values have a second way."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import sojourn
from sojourn.control.assumptions import check_assumptions
from sojourn.control.exponential import kuiper_tail, law_tests
from sojourn.control.log import read_log
from sojourn.control.memory import QUESTIONS, memory_tests, path_of

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import fit_assumptions as campaign

NEEDED = {  # visits that are asked for here: half as many again as nine of ten logs need (docs/fit.md)
    "lognormal, sigma 0.954 (the Gini of an exponential)": (700, "total time on test"),
    "Erlang, 2 phases": (170, "gini"),
    "b and c strictly in turn": (40, "last successor"),
    "the last successor again in 7 of 10": (240, "last successor"),
    "times that follow the last one here, correlation 0.5": (240, "last time"),
    "twice as long after a long sojourn": (680, "time before"),
    "twice as long after state c": (480, "state before"),
    "twice as long where it leads to c": (480, "time and successor"),
}


@pytest.mark.parametrize("fault", NEEDED)
def test_each_fault_is_noticed_and_named(fault):
    n, question = NEEDED[fault]
    hits = [campaign.noticed(campaign.FAULTS[fault](n, np.random.default_rng(seed)), 0.05) for seed in range(3)]
    assert all(question in said for said in hits)


@pytest.mark.parametrize("kind", ["small", "full rows", "cut short"])
def test_false_alarms_are_no_more_frequent_than_stated(kind):
    """100 logs at 0.05: more than 15 alarms have probability 4e-5 where the level is just 0.05."""
    small, dense, cut = campaign.chain(3, 2, 2, 1), campaign.chain(5, 1, 5, 3), campaign.chain(3, 2, 2, 1, loops=False)
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        log = (campaign.walked(*small, 200, rng) if kind == "small" else campaign.walked(*dense, 300, rng) if kind == "full rows"
               else campaign.cut(*cut, 60, rng, 0.5))
        alarms += bool(campaign.noticed(log, 0.05))
    assert alarms <= 15


def test_trajectories_cut_short_do_not_make_exponential_times_look_regular():
    """Complete sojourns of 500 trajectories cut at time 1 are short ones; with the unfinished ones they are exponential."""
    rng, turns = np.random.default_rng(1), np.eye(2)[::-1][:, None]
    rows, known = campaign.knowledge_of(campaign.cut(np.full((2, 1), 0.5), turns, 500, rng, 1.0))
    assert len(rows.censored_row) == 500 and not check_assumptions(rows, known, 0.05).noticed
    bare = law_tests(rows.state, rows.holding_time, 2)
    assert bare[1][0] < 1e-9 and bare[0][0] < 0.5  # the Gini test of the complete ones alone


def test_counts_of_jumps_have_the_p_values_of_fisher():
    rng = np.random.default_rng(5)
    log = campaign.star(rng.exponential(size=60), campaign.persistent(60, 0.8, rng), rng.exponential(size=60))
    rows, known = campaign.knowledge_of(log)
    answer = memory_tests(path_of(rows, known), np.asarray(known.pair_state), known.n_pairs)["last successor"]
    k = known.pair("a", "x")
    ways = rows.next_state[rows.state == known.states.position("a")]
    b = known.states.position("b")
    before, after = ways[:-1] == b, ways[1:] == b
    table = [[(before & after).sum(), (before & ~after).sum()], [(~before & after).sum(), (~before & ~after).sum()]]
    tails = [stats.fisher_exact(table, alternative=side)[1] for side in ("less", "greater")]
    assert answer.p[k] == pytest.approx(min(1.0, 2 * min(tails)), rel=1e-9) and answer.p[k] < 1e-3


def test_times_have_the_p_values_of_ranks_or_of_the_beta_law():
    rng = np.random.default_rng(6)
    log = campaign.by_successor(80, 3.0, rng)
    rows, known = campaign.knowledge_of(log)
    answers = memory_tests(path_of(rows, known), np.asarray(known.pair_state), known.n_pairs)
    k, here = known.pair("a", "x"), rows.state == known.states.position("a")
    times, to_c = rows.holding_time[here], rows.next_state[here] == known.states.position("c")
    share = times[to_c].sum() / times.sum()
    beta = 2 * min(stats.beta(to_c.sum(), (~to_c).sum() + 1).cdf(share), stats.beta(to_c.sum() + 1, (~to_c).sum()).sf(share))
    ranks = stats.mannwhitneyu(times[to_c], times[~to_c], use_continuity=False, method="asymptotic").pvalue
    assert answers["time and successor"].p[k] == pytest.approx(max(beta, ranks), rel=1e-9)
    spearman = stats.spearmanr(times[1:], times[:-1]).statistic
    assert answers["last time"].p[k] >= stats.norm.sf(abs(spearman + 1 / 79) * np.sqrt(78)) * 2 * (1 - 1e-9)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_the_unit_of_time_does_not_matter(factor):
    log = campaign.FAULTS["twice as long after state c"](300, np.random.default_rng(3))
    plain, other = (check_assumptions(*campaign.knowledge_of({**log, "holding_time": log["holding_time"] * c}), 0.05)
                    for c in (1.0, factor))
    for name, answer in plain.answers.items():
        assert other.answers[name].p == pytest.approx(answer.p, rel=1e-6, nan_ok=True)


def test_notes_of_a_fit_say_what_was_noticed_and_where():
    rng = np.random.default_rng(4)
    turns = campaign.star(rng.exponential(size=200), np.arange(200) % 2 == 1, rng.exponential(size=200))
    (note,) = sojourn.fit(turns, running={("a", "x"): 1.0}, rate_bounds=(0.1, 10.0)).notes
    assert "'x' in state 'a' (200 sojourns): where it leads depends on" in note and "p-value" in note
    lognormal = {**turns, "holding_time": np.exp(0.954 * rng.normal(size=400)), "next_state": turns["next_state"]}
    assert any("not exponential, though their Gini" in note for note in sojourn.fit(lognormal, running={("a", "x"): 1.0}).notes)


def test_a_log_too_short_to_be_tested_has_no_p_values():
    rows, known = campaign.knowledge_of(campaign.star(np.ones(3), np.zeros(3, bool), np.ones(3)))
    found = check_assumptions(rows, known, 0.05)
    assert not found.noticed and all(np.isnan(answer.p).all() for answer in found.answers.values())
    assert set(found.answers) == {"gini", "total time on test", *QUESTIONS}
    assert 0.04 < kuiper_tail(np.array([1.747 / (10 + 0.155 + 0.024)]), np.array([100]))[0] < 0.06


def test_rows_that_do_not_follow_each_other_have_nothing_before_them():
    log = campaign.star(np.ones(4), np.array([0, 1, 0, 1], bool), np.ones(4))
    rows = read_log({**log, "trajectory": [1, 1, 1, 2, 2, 2, 3, 3]}, contiguous=False)
    assert rows.follows.tolist() == [False, True, True, False, True, True, False, True]
    _, known = campaign.knowledge_of(log)
    path = path_of(rows, known)
    assert path.last.tolist() == [-1, 0, 1, -1, 3, 4, -1, 6] and path.own.tolist() == [-1, -1, 0, -1, 2, 1, 4, 3]

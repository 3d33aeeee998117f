"""The short form of benchmarks/check_proofs.py: no counterexample, and constants that are too small are noticed."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

SPEC = importlib.util.spec_from_file_location("check_proofs", Path(__file__).parents[2] / "benchmarks" / "check_proofs.py")
proofs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(proofs)


def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("check", proofs.CHECKS, ids=lambda check: check.__name__)
def test_no_random_case_breaks_a_lemma_of_the_proofs(check):
    cases, worst = check(rng(), 8)
    assert cases >= 10 and 0.02 < worst <= proofs.ROUNDING


def test_widths_that_are_claimed_too_narrow_are_noticed():
    assert proofs.widths(rng(), 4, joint=4.8)[1] > 1
    assert proofs.widths(rng(), 4, separate=5.5)[1] > 1


def test_budgets_that_are_too_small_are_noticed():
    assert proofs.failing_blocks(rng(), 4, scale=0.3)[1] > 1


def test_what_a_decision_loses_is_noticed_if_claimed_wrongly():
    assert proofs.decisions(rng(), 12, wild=1.0)[1] > 1
    assert proofs.decisions(rng(), 2, sign=-1.0)[1] > 1.001


def test_a_plan_with_a_quota_is_worked_out_as_it_is_walked():
    """20,000 walks; means within five standard errors."""
    rows, _, _ = proofs.random_model(rng())
    p, phi, quota, random = rows[:, 0], np.array([0.0, 1.0, 0.3]), (2, 3, 1), rng()
    lengths, costs = [], []
    for _ in range(20_000):
        s, visits, cost = 1, [0, 0, 0], 0.0
        while visits[s] < quota[s]:
            visits[s] += 1
            cost += phi[s]
            s = int(np.searchsorted(np.cumsum(p[s]), random.random()))
        lengths.append(sum(visits))
        costs.append(cost)
    exact = proofs.of_a_plan(p, phi, quota, 1)
    for seen, mean in zip((lengths, costs), exact):
        assert abs(np.mean(seen) - mean) < 5 * np.std(seen) / np.sqrt(len(seen))

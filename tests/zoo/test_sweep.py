"""The short form of `benchmarks/zoo_sweep.py`: each family small and middling, in light and heavy traffic, slow and fast."""

from fractions import Fraction

import numpy as np
import pytest

from exact import ExactModel, policy_gains
from sojourn.zoo.catalogue import families
from zoo_cases import FAMILIES, ZooCase, birth_death_gain, quick_cases, run

QUICK = list(quick_cases())


@pytest.mark.parametrize("case", QUICK, ids=[case.name for case in QUICK])
def test_every_family_is_solved_and_evaluated_with_proof(case):
    record = run(case)
    assert not record["wrong"]
    for step in ("solve", "optimal", "random"):
        assert record[step]["status"] in ("proved", "tiny gain", "several classes"), record[step]


def test_every_family_is_swept():
    assert list(FAMILIES) == families()


@pytest.mark.parametrize("scale", [1.0, "spread"])
@pytest.mark.parametrize("family", ["admission", "river-swim", "customer-selection"])
def test_the_product_form_in_sixty_digits_is_the_exact_gain(family, scale):
    model = ZooCase(family, 30, 1.2, scale).model()
    exact = ExactModel(model)
    for weight in (np.ones(model.n_pairs), np.isin(np.arange(model.n_pairs), model.pair_start[:-1]).astype(float)):
        gain, error = birth_death_gain(model, weight, np.flatnonzero(weight))
        (truth,) = policy_gains(exact, exact.mixture(weight))
        assert abs(truth - gain) <= error + Fraction(1, 10**40) * abs(truth)

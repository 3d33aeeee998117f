"""Where time is spent, roughly: against the proved law of the same chain."""

import numpy as np
import pytest

import sojourn
from sojourn.report.rough_time import rough_time


@pytest.mark.parametrize("name", ["tandem:capacity=12", "routing:capacity=9", "random:states=300"])
def test_the_rough_share_of_time_is_near_the_proved_one(name):
    model = sojourn.make(name)
    policy = sojourn.solve(model).policy
    found, proved = rough_time(model, policy), sojourn.evaluate(model, policy).occupancy
    assert np.abs(found - proved).sum() < 5e-3
    assert found.sum() == pytest.approx(1.0)

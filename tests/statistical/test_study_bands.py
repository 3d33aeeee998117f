"""The 95 % bands cover what they should.  Fixed seeds; false-alarm probabilities are stated."""

import numpy as np
import pytest

from sojourn.solving.solve import solve
from sojourn.study.spec import checked_study
from sojourn.study.statistics import compare, holm, mean_band
from sojourn.study.task import Replication


def covers(draw, mean, trials, method="t"):
    inside = 0
    for _ in range(trials):
        low, high = mean_band(draw()[:, None], method=method)
        inside += bool(low[0] <= mean <= high[0])
    return inside / trials


def test_the_t_band_covers_the_mean_of_normal_values_in_95_percent():
    """4,000 trials: 0.95 +- 4.5 standard errors (0.0155); a right band fails with probability 7e-6."""
    rng = np.random.default_rng(1)
    assert abs(covers(lambda: rng.normal(3, 2, 8), 3, 4000) - 0.95) < 0.0155


def test_the_bands_cover_the_mean_of_skewed_values_nearly():
    """Exponential values, 30 runs: the t band is known to cover a little less than 95 %, the studentised bootstrap more nearly."""
    rng = np.random.default_rng(2)
    t = covers(lambda: rng.exponential(1, 30), 1, 2000)
    assert 0.91 < t < 0.955
    bootstrap = covers(lambda: rng.exponential(1, 30), 1, 400, "bootstrap")
    assert bootstrap > 0.905  # 0.95 less 4.1 standard errors: false alarm 2e-5


def expected_pseudo_regret(model, gap, epochs):
    """Return the mean pseudo-regret of playing every admissible action equally often, by summing E[visits] exactly."""
    choices = np.diff(model.pair_start)
    weight = 1.0 / choices[model.pair_state]
    matrix = np.zeros((model.n_states, model.n_states))
    np.add.at(matrix, model.pair_state, weight[:, None] * model.matrix.toarray())
    cost = np.bincount(model.pair_state, weights=weight * gap)
    here, total = np.eye(model.n_states)[0], 0.0
    for _ in range(epochs):
        total += here @ cost
        here = here @ matrix
    return total


@pytest.mark.slow
def test_the_band_of_a_study_covers_a_known_mean_regret_in_95_percent():
    """Random actions on the three-state model: the mean pseudo-regret after 40 decisions is known exactly.

    200 studies of 8 runs: coverage 0.95 +- 4 standard errors (0.062); a right band fails with probability 6e-5.
    """
    spec = checked_study(
        {
            "study": {"name": "c", "epochs": 40, "replications": 1600, "seed": 4, "checkpoints": [40]},
            "models": ["three-state"],
            "learners": ["random"],
        }
    )
    model, entry = spec.models[0], spec.learners[0]
    finals = []
    solution = solve(model.model)
    for number in range(1600):
        run = Replication(model.model, entry, number, spec.horizon, model.key, solution=solution)
        run.advance(40)
        finals.append(run.points[-1][6])
    exact = expected_pseudo_regret(model.model, run.walk.yardstick.gap, 40)
    low, high = mean_band(np.array(finals).reshape(200, 8).T)
    assert abs(np.mean((low <= exact) & (exact <= high)) - 0.95) < 0.062
    assert np.mean(finals) == pytest.approx(exact, abs=4.5 * np.std(finals) / np.sqrt(1600))


def test_holm_keeps_the_chance_of_any_false_alarm_below_5_percent():
    """600 studies of 6 comparisons without any difference: at most 0.05 + 4.5 standard errors (0.04); false alarm 3e-6."""
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(600):
        runs = rng.normal(size=(4, 10))
        p = [compare("m", "a", "b", runs[i], runs[j], paired=False).p for i in range(4) for j in range(i)]
        alarms += min(holm(p)) < 0.05
    assert alarms / 600 < 0.09

"""The lower bound of learners that are not told which jumps are possible, and what of a bound can be paid at all."""

import numpy as np
import pytest

from sojourn.instance.difficulty import difficulty
from sojourn.instance.divergence_bounds import least_divergence_bounds
from sojourn.instance.rows import open_rows
from sojourn.kernels.least_divergence import best_outside, best_outside_reference, least_divergence_reference
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make


def over_all_states(found, pair):
    """K of a pair by the reference, its row written out over all states."""
    model = found.model
    row = slice(model.row_start[pair], model.row_start[pair + 1])
    p, value = np.zeros(model.n_states), np.array(found.bias)
    p[model.next_state[row]] = model.probability[row]
    if model.transition_reward is not None:
        value[model.next_state[row]] += model.transition_reward[row]
    here = found.bias[model.pair_state[pair]]
    with np.errstate(all="ignore"):
        return least_divergence_reference(p, value, here, model.rate[pair], model.reward[pair], model.running[pair], found.gain,
                                          *found.rate_bounds)


def models(random_model):
    rng = np.random.default_rng(20)
    for i in range(12):
        model = random_model(rng, 5 + i % 3, 2, 2, running=i % 2 == 0)
        if i % 3 == 0:
            model = model.replace(transition_reward=rng.normal(0, 0.3, len(model.next_state)))
        yield model
    yield from (make(name) for name in ("river-swim", "three-state", "sis-epidemic:population=6"))


def test_k_with_unknown_supports_is_k_of_the_rows_written_out_over_all_states(random_model):
    checked = ends = 0
    for model in models(random_model):
        found = difficulty(model)
        low, high = least_divergence_bounds(found.optimum, found.rate_bounds, open_rows(model, found.bias))
        for pair in np.flatnonzero(~found.optimum.optimal):
            k = found.divergences_unknown.k[pair]
            expected, _, q = over_all_states(found, pair)
            assert k <= found.divergences.k[pair] * (1 + 1e-12)
            if np.isfinite(k) or np.isfinite(expected):
                assert k == pytest.approx(expected, rel=1e-7)
                assert low[pair] <= k <= high[pair] <= low[pair] * (1 + 1e-7)
                outside = np.setdiff1d(np.flatnonzero(q > 1e-9), model.next_state[model.row_start[pair]:model.row_start[pair + 1]])
                ends += len(outside) > 0
                checked += 1
        lo, hi = found.lower_bound_constant_unknown_bounds
        assert found.lower_bound_constant <= hi and lo <= found.lower_bound_constant_unknown <= hi <= lo * (1 + 1e-6)
    assert checked > 60 and ends > 20  # alternatives that lead to states outside the support are among them


def with_row(model, pair, q, rate, share):
    """The model with the row and rate of one pair moved towards (q over all states, rate) in intensities, by `share`."""
    dense = model.dense()
    s, a = model.pair_state[pair], model.pair_action[pair]
    old = dense["transition"][s, a] * model.rate[pair]
    flow = old + share * (q * rate - old)
    dense["transition"][s, a], dense["rate"][s, a] = flow / flow.sum(), flow.sum()
    return CTMDP.from_arrays(np.nan_to_num(dense["transition"]), np.nan_to_num(dense["rate"], nan=1.0),
                             np.nan_to_num(dense["reward"]), np.nan_to_num(dense["running"]), dense["admissible"])


def test_an_alternative_outside_the_support_makes_its_action_optimal_and_nothing_nearer_does():
    model = make("river-swim")
    found = difficulty(model)
    tried = 0
    for pair in np.flatnonzero(found.divergences_unknown.critical):
        _, rate, q = over_all_states(found, pair)
        s, a = int(model.pair_state[pair]), int(model.pair_action[pair])
        beyond, short = (with_row(model, pair, q, rate, share) for share in (1.001, 0.99))
        if (beyond.probability > 0).all():
            assert solve(beyond).gain > found.gain and solve(beyond).policy[s] == a
            assert solve(short).gain == pytest.approx(found.gain, rel=1e-9)
            tried += 1
    assert tried >= 3


def test_what_c_and_c_unknown_are_on_models_where_they_were_computed_by_hand():
    """Ratios measured with another program: 2.2 on RiverSwim, 2.0 on the epidemic."""
    for name, ratio in (("river-swim", 2.18145), ("sis-epidemic", 1.96876)):
        found = difficulty(make(name))
        assert found.lower_bound_constant_unknown / found.lower_bound_constant == pytest.approx(ratio, rel=1e-4)
        assert found.lower_bound(epochs=100, supports=False) == pytest.approx(found.lower_bound_constant_unknown * np.log(100))


def test_no_more_is_payable_than_visits_allow():
    """On the call centre C(M) log N is fifty times what a million decisions can pay; on three-state all of it can be paid."""
    small, large = difficulty(make("three-state")), difficulty(make("call-centre"))
    assert small.payable_bound(1e6) == pytest.approx(small.lower_bound(epochs=1e6))
    assert small.payable_bound(3) < small.lower_bound(epochs=3)
    assert large.payable_bound(1e6) < large.lower_bound(epochs=1e6) / 50
    by_hand = sum(
        gap * min(np.log(1e6) / k, 1e6 * large.visit_shares[s])
        for gap, k, s in zip(large.optimum.gap, large.divergences.k, large.model.pair_state) if gap > 0 and np.isfinite(k))
    assert large.payable_bound(1e6) == pytest.approx(by_hand)


def test_the_best_state_outside_a_support_is_found_as_in_plain_python():
    rng = np.random.default_rng(3)
    for _ in range(40):
        n = int(rng.integers(1, 7))
        rows = [np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False)) for _ in range(5)]
        start, order = np.cumsum([0, *map(len, rows)]), rng.permutation(n)
        expected = best_outside_reference(start, np.concatenate(rows), order)
        assert np.array_equal(best_outside(start, np.concatenate(rows), order), expected)

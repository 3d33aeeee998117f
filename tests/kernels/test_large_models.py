"""The compiled parts for large models against plain forms of themselves."""

import numpy as np
import pytest
from scipy import sparse

import sojourn
from sojourn.kernels import coarse_model, connected, embedded, multigrid
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.arrays import arrays_of, unsigned
from sojourn.solving.certificate import _compiled_step, generator_step, proved_and_chosen
from sojourn.solving.embedded import Guess, smooth
from sojourn.solving.evaluate import evaluate
from sojourn.solving.multigrid import ENOUGH, Coarse, Level
from sojourn.solving.optimality import best_pairs, noise
from sojourn.solving.solve import solve


def drawn(seed, n=40, line=False):
    """A model with 1 to 3 actions a state, jumps to itself among them, all states joined."""
    rng = np.random.default_rng(seed)
    state = np.repeat(np.arange(n), rng.integers(1, 4, n))
    action = np.concatenate([np.arange(c) for c in np.bincount(state)])
    pairs = len(state)
    dense = sparse.random(pairs, n, 0.08, random_state=np.random.RandomState(seed)).toarray() * (not line)
    dense[np.arange(pairs), (state + 1) % n] += 0.5
    dense[np.arange(pairs), np.maximum(state - 1, 0)] += 0.25
    return CTMDP.from_pairs(state, action, dense / dense.sum(axis=1, keepdims=True), rng.uniform(0.5, 3, pairs),
                            rng.normal(size=pairs), rng.normal(size=pairs), normalize_rows=True)


def a_policy(model, seed):
    rng = np.random.default_rng(seed)
    return model.pair_start[:-1] + rng.integers(0, np.diff(model.pair_start))


@pytest.mark.parametrize("seed", range(3))
def test_a_sweep_for_reward_and_time_does_what_its_reference_does(seed):
    model, pairs = drawn(seed), a_policy(drawn(seed), seed)
    visit = model.expected_reward + model.running / model.rate
    rows = embedded.chosen_rows(model.row_start, model.next_state, model.probability, model.rate, visit, pairs)
    for mine, plain in zip(rows, embedded.chosen_rows_reference(
            model.row_start, model.next_state, model.probability, model.rate, visit, pairs), strict=True):
        np.testing.assert_array_equal(mine, plain)
    xy = np.random.default_rng(seed).normal(size=(model.n_states, 2))
    other = xy.copy()
    for backward, stretch in ((False, 1.0), (True, 1.0), (False, 1.2), (True, 1.2)):
        got = embedded.sweep_pair(*rows, xy, np.empty_like(xy), backward, stretch)
        assert got == pytest.approx(embedded.sweep_pair_reference(*rows, other, backward, stretch), rel=1e-11)
        np.testing.assert_allclose(xy, other, rtol=1e-11)


def test_sweeps_in_a_row_are_single_sweeps_until_the_width_is_a_share_of_the_first():
    model, pairs = drawn(1), a_policy(drawn(1), 1)
    visit = model.expected_reward + model.running / model.rate
    rows = embedded.chosen_rows(model.row_start, model.next_state, model.probability, model.rate, visit, pairs)
    fast = (unsigned(rows[0]), unsigned(rows[1]), *rows[2:])
    xy = np.random.default_rng(1).normal(size=(model.n_states, 2))
    for stretch, in_rows in ((1.0, False), (1.2, False), (1.0, True), (1.2, True)):
        other, widths = xy.copy(), []
        gain, made = embedded.sweep_on(*fast, xy, np.empty_like(xy), 4, 50, 0.05, stretch, in_rows)
        for sweep in range(made):
            one, width = embedded.sweep_pair_reference(*rows, other, (4 + sweep) % 3 == 2, stretch)
            widths.append(width)
        assert gain == pytest.approx(one, rel=1e-11) and 1 < made < 50
        looked_at = widths[::2]
        assert looked_at[-1] <= 0.05 * max(looked_at)
        assert all(w > 0.05 * max(looked_at[:i]) for i, w in enumerate(looked_at[:-1]) if i)
        np.testing.assert_allclose(xy, other, rtol=1e-10)
        xy = np.random.default_rng(2).normal(size=xy.shape)
    assert embedded.sweep_on(*fast, xy, np.empty_like(xy), 0, 3, 0.0, 1.0, False)[1] == 3


def test_whether_states_stand_in_rows_is_seen():
    n = 300
    here = np.arange(n)
    for ways, expected in (((1, -1), True), ((1, 40), True), ((-1, 40), True), ((7, 40), False), ((2, -2), False)):
        to = np.sort(np.column_stack([(here + way) % n for way in ways]), axis=1).ravel().astype(np.uint32)
        assert embedded.stand_in_rows(np.arange(0, 2 * n + 1, 2, dtype=np.uint64), to) == expected


@pytest.mark.parametrize("backward", [False, True])
def test_a_sweep_of_the_bellman_equation_does_what_its_reference_does(backward):
    model = drawn(6)
    a, u = arrays_of(model), np.random.default_rng(2).normal(size=model.n_states)
    other, mine, plain = u.copy(), a_policy(model, 2), a_policy(model, 2)
    changes = embedded.best_sweep(*a.fast, 0.4, u, backward, mine)
    same = (a.pair_start, a.row_start, a.next_state, a.probability, a.rate, a.income)
    assert changes == embedded.best_sweep_reference(*same, 0.4, other, backward, plain) > 0
    assert (mine == plain).all()
    np.testing.assert_allclose(u, other, rtol=1e-12)


def test_a_sweep_of_the_bellman_equation_does_not_change_a_policy_by_rounding():
    model = drawn(6)
    a, u = arrays_of(model), np.full(model.n_states, 1e14) + np.random.default_rng(2).integers(0, 2, model.n_states) / 64
    plain = (a.pair_start, a.row_start, a.next_state, a.probability, a.rate, np.zeros_like(a.income))
    fast = (*a.fast[:-1], np.zeros_like(a.income))
    for rows, sweep in ((plain, embedded.best_sweep_reference), (fast, embedded.best_sweep)):
        pairs = a_policy(model, 2)
        assert sweep(*rows, 0.0, u.copy(), False, pairs) == 0 and (pairs == a_policy(model, 2)).all()
        far = u + 1e14 * np.random.default_rng(3).random(model.n_states)
        assert sweep(*rows, 0.0, far, False, pairs) > 0


def test_sweeps_of_the_bellman_equation_from_the_value_of_a_policy_lead_to_one_that_earns_no_less():
    rises = []
    for seed in range(12):
        model = drawn(seed, line=seed % 2 == 1)
        pairs = a_policy(model, seed)
        value = evaluate(model, model.pair_action[pairs])
        guess = Guess(pairs.copy(), value.gain, value.bias.copy())
        smooth(arrays_of(model), guess, 7)
        rises.append(evaluate(model, model.pair_action[guess.pairs]).gain - value.gain)
    assert min(rises) >= -1e-12 and max(rises) > 0.01


@pytest.mark.parametrize("slack", [0.0, 1.0])
def test_a_bellman_step_improves_as_its_reference_does_in_parts_too(slack):
    model = drawn(5)
    a, u = arrays_of(model), np.random.default_rng(1).normal(size=model.n_states)
    arguments = (a.pair_start, a.row_start, a.next_state, a.probability, a.rate, a.income, 0.3, u, slack)
    mine, plain = a_policy(model, 1), a_policy(model, 1)
    parts = [embedded.best_step(*arguments, 0, 17, mine), embedded.best_step(*arguments, 17, 40, mine)]
    least, most, changes = embedded.best_step_reference(*arguments, 0, 40, plain)
    assert (mine == plain).all() and changes == parts[0][2] + parts[1][2] > 0
    assert min(p[0] for p in parts) == pytest.approx(least) and max(p[1] for p in parts) == pytest.approx(most)


@pytest.mark.parametrize("seed", range(3))
def test_the_parts_of_multigrid_do_what_their_references_do(seed):
    model, pairs = drawn(seed), a_policy(drawn(seed), seed)
    rows = multigrid.generator_rows(model.row_start, model.next_state, model.probability, model.rate, pairs)
    for mine, plain in zip(rows, multigrid.generator_rows_reference(
            model.row_start, model.next_state, model.probability, model.rate, pairs), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-14)
    x = multigrid.rough_law(*rows, 5)
    np.testing.assert_allclose(x, multigrid.rough_law_reference(*rows, 5), rtol=1e-9)
    group, head, link = multigrid.joined(*rows[:3], x)
    count = len(head)
    listed = [[] for _ in range(count)]
    for g in range(count):
        s = head[g]
        while s >= 0:
            listed[g].append(s)
            s = link[s]
    assert sorted(s for each in listed for s in each) == list(range(model.n_states))
    assert all(group[s] == g for g in range(count) for s in listed[g])
    assert max(map(len, listed)) <= 3 and count < 0.7 * model.n_states
    start, to, q, out = multigrid.summed_rows(*rows[:3], x, group, head, link)
    plain = multigrid.summed_rows_reference(*rows[:3], x, group, count)
    got = sparse.csr_matrix((q, to, start), shape=(count, count)).toarray()
    np.testing.assert_allclose(got, sparse.csr_matrix((plain[2], plain[1], plain[0]), shape=(count, count)).toarray(), rtol=1e-12)
    np.testing.assert_allclose(out, plain[3], rtol=1e-12)
    b, h, v, rest = np.random.default_rng(seed).normal(size=model.n_states), np.empty(40), np.empty(40), np.empty(count)
    multigrid.down(*rows, x, group, b, h, v, rest)
    plain_h, plain_rest = multigrid.down_reference(*rows, x, group, b, count)
    np.testing.assert_allclose(h, plain_h, rtol=1e-10)
    np.testing.assert_allclose(rest, plain_rest, atol=1e-10)
    coarse, w = np.random.default_rng(seed).normal(size=count), np.ones(40)
    plain_h, plain_v = multigrid.up_reference(*rows, w, group, b, h, coarse, 0.7)
    multigrid.up(*rows, w, group, b, h, v, coarse, 0.7)
    np.testing.assert_allclose(h, plain_h, rtol=1e-10)
    np.testing.assert_allclose(v, plain_v, atol=1e-10)
    least, most = multigrid.left_over(*rows, w, b, h, 0.7, rest := np.empty(40))
    np.testing.assert_allclose(rest, b - v, atol=1e-10)
    assert (least, most) == (rest.min(), rest.max())


def plain_solve(levels, at, b):
    """`solve_level` on a list of levels with the plain forms of its parts."""
    level = levels[at]
    if at == len(levels) - 1:
        found = level.inverse().T @ b
        return found[:-1], found[-1]

    def cycle(b):
        h, rest = multigrid.down_reference(*level.rows, level.law, level.group, b, levels[at + 1].n)
        correction, gain = plain_solve(levels, at + 1, rest)
        return *multigrid.up_reference(*level.rows, level.w, level.group, b, h, correction, gain), gain

    h, v, gain = cycle(b)
    step = v @ b / (v @ v)
    left = b - step * v
    if left @ left <= ENOUGH**2 * (b @ b):
        return step * h, step * gain
    h2, v2, gain2 = cycle(left)
    (one, two), *_ = np.linalg.lstsq(np.column_stack([v, v2]), b)
    return one * h + two * h2, one * gain + two * gain2


def test_the_levels_together_do_what_plain_ones_do():
    model = sojourn.make("tandem", capacity=40)
    rows = multigrid.generator_rows(model.row_start, model.next_state, model.probability, model.rate, a_policy(model, 1))
    levels = [Level(*rows, np.ones(model.n_states))]
    while levels[-1].n > 20:
        levels.append(levels[-1].coarsen(2))
    assert len(levels) > 3
    coarse = Coarse(levels[1:])
    coarse.b[: coarse.n] = b = np.random.default_rng(3).normal(size=coarse.n)
    h, gain = coarse.solve()
    plain_h, plain_gain = plain_solve(levels, 1, b)
    np.testing.assert_allclose(h, plain_h, rtol=1e-6, atol=1e-6 * np.abs(plain_h).max())
    assert gain == pytest.approx(plain_gain, rel=1e-6)


def test_the_smaller_model_takes_the_mean_over_each_group():
    model = drawn(2)
    a, usual = arrays_of(model), a_policy(model, 3)
    group = np.arange(40, dtype=np.int32) // 4
    head, link = coarse_model.members(group, 10)
    start, action, row, to, p, rate, income = coarse_model.coarse_model(*a, group, head, link, model.n_actions, usual)
    flow = sparse.diags(model.rate) @ model.matrix
    for g in range(10):
        assert action[start[g]:start[g + 1]].tolist() == sorted({int(model.pair_action[k]) for s in range(4 * g, 4 * g + 4)
                                                                 for k in range(model.pair_start[s], model.pair_start[s + 1])})
        for k in range(start[g], start[g + 1]):
            taken = [next((i for i in range(model.pair_start[s], model.pair_start[s + 1]) if model.pair_action[i] == action[k]),
                          usual[s]) for s in range(4 * g, 4 * g + 4)]
            mean = np.asarray(flow[taken].sum(axis=0)).ravel().reshape(10, 4).sum(axis=1) / 4
            mean[g] = 0
            np.testing.assert_allclose(np.bincount(to[row[k]:row[k + 1]], rate[k] * p[row[k]:row[k + 1]], 10), mean, atol=1e-14)
            assert income[k] == pytest.approx(a.income[taken].mean())


def test_the_compiled_certificate_is_the_plain_one():
    for seed in range(5):
        model = drawn(seed)
        u = np.random.default_rng(seed).normal(size=40) * 10.0 ** seed
        value, error = generator_step(model, u)
        first = model.pair_start[:-1]
        bounds, chosen = proved_and_chosen(model, u, 1e-3)
        low, high = np.maximum.reduceat(value - error, first).min(), np.maximum.reduceat(value + error, first).max()
        rounding = noise(model, 0.0, u) * model.rate
        assert (chosen == best_pairs(model, value, np.clip(1e-3, 2 * rounding, 1e5 * rounding))).all()
        assert bounds == pytest.approx(((value - error)[chosen].min(), high), rel=1e-14)
        assert _compiled_step(model, u, 1e-3)[0][:2] == pytest.approx((low, high), rel=1e-14)
    u[3] = 1e308
    assert proved_and_chosen(model, u, 1e-3)[0] == (-np.inf, np.inf)


def test_a_tie_that_is_taken_lowers_the_proof_to_the_policy_that_takes_it():
    model = CTMDP.from_arrays([[[0.5, 0.5]] * 2] * 2, [[1.0, 1.0]] * 2, [[1.0, 1.0 + 1e-4]] * 2)
    bounds, chosen = proved_and_chosen(model, np.zeros(2), 1e-3)
    assert model.pair_action[chosen].tolist() == [1, 1]  # far beyond rounding: no tie
    bounds, chosen = proved_and_chosen(model, np.array([1e9, 1e9]), 1e-3)
    assert model.pair_action[chosen].tolist() == [0, 0]  # beside such numbers a difference of 1e-4 is one
    assert bounds[0] <= evaluate(model, [0, 0]).gain <= solve(model).gain <= bounds[1]
    assert bounds[0] == pytest.approx(1.0, rel=1e-9)


def test_connection_and_lines_are_seen():
    whole, rows = drawn(1), lambda m: (m.pair_start, m.row_start, m.next_state)
    assert connected.reaches_all(*rows(whole)) and connected.reached_by_all(*rows(whole)) == 1
    sink = CTMDP.from_arrays([[[0, 1.0, 0]], [[0, 0, 1.0]], [[0, 0, 1.0]]], [[1.0]] * 3)
    assert connected.reaches_all(*rows(sink)) and connected.reached_by_all(*rows(sink)) == 0
    source = CTMDP.from_arrays([[[1.0, 0]], [[1.0, 0]]], [[1.0]] * 2)
    assert not connected.reaches_all(*rows(source)) and connected.reached_by_all(*rows(source)) == 1
    line = drawn(1, 400, line=True)
    assert not connected.is_wide(line.row_start, line.next_state, line.pair_start[:-1], 8)
    wide = drawn(1, 400)
    assert connected.is_wide(wide.row_start, wide.next_state, wide.pair_start[:-1], 8)

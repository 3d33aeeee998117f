"""The structure test: silent where the structure holds, loud where it does not, and the guard that follows it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import gammaln, logsumexp
from scipy.stats import nbinom, poisson

from sojourn.kernels.frailty import KAPPAS, log_frailty
from sojourn.learn.catalogue import learner_for
from sojourn.learn.event_belief import SCALES, SHAPE
from sojourn.learn.event_counts import EventCounts
from sojourn.learn.structure_test import RATIOS, StructureTest, binned, coordinates, frailty
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate
from sojourn.simulation.walk import Walk
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make


def slower(model, factor, event="serve 2", coordinate=1, least=3):
    """Return the tandem whose second station works slower while at least three customers are there."""
    from scipy import sparse

    table = model.events
    there = coordinates(model.states)[coordinate][model.pair_state[table.pair]] >= least
    size = np.where((table.event == table.number(event)) & there, factor, 1.0) * table.coefficient
    changed = replace(table, coefficient=size)
    flow, jumps, rate = changed.intensity(table.value), table.jumps, changed.rate(table.value)
    rows = sparse.csr_matrix((flow[jumps], (table.pair[jumps], table.next_state[jumps])), shape=(model.n_pairs, model.n_states))
    return CTMDP.from_pairs(model.pair_state, model.pair_action, sparse.diags(1 / rate) @ rows, rate, model.reward, model.running,
                            states=model.states, actions=model.actions, normalize_rows=True, events=changed)


def counted(model, factor=1.0, time=200.0, seed=0):
    """Return the test of a model's events and counts drawn as if every pair had been in for `time`; `factor` scatters the cells."""
    known = model.knowledge(events=True)
    counts = EventCounts(known, known.events)
    rng, table = np.random.default_rng(seed), model.events
    counts.unit = 1.0
    counts.time[:] = time * rng.uniform(0.5, 1.5, table.n_pairs)
    scatter = factor ** rng.normal(size=len(table.pair))
    counts.count[:] = rng.poisson(counts.time[table.pair] * table.intensity(table.value) * scatter)
    return StructureTest(known, known.events), counts


def prior_density(theta, unit):
    """Return the density of log θ under the average of nine Gamma laws."""
    scales = 0.5 / unit * 10.0 ** np.arange(-4, 5)
    return np.mean([np.exp(0.5 * np.log(b * theta) - b * theta - gammaln(0.5)) for b in scales], axis=0)


def test_the_frailty_of_one_kappa_is_the_negative_binomial_likelihood(monkeypatch):
    """A second way: scipy's negative binomial, integrated over the common rate by brute force."""
    import sojourn.kernels.frailty as kernels

    rng, unit = np.random.default_rng(3), 1.3
    exposure = rng.uniform(1, 20, 6)
    count = rng.poisson(2 * exposure).astype(float)
    log_theta = np.linspace(np.log(0.2), np.log(20), 20_001)
    theta = np.exp(log_theta)
    total = 0.0
    for kappa in kernels.KAPPAS:
        cells = sum(nbinom.logpmf(c, kappa, kappa / (kappa + theta * x)) - (c * np.log(x) - gammaln(c + 1))
                    for c, x in zip(count, exposure))
        prior = prior_density(theta, unit)
        total += trapezoid(np.exp(cells) * prior, log_theta) / len(kernels.KAPPAS)
    assert -0.015 < frailty(count, exposure, unit) - np.log(total) < 1e-6


def exact_mixture(count, exposure, scales):
    """Return the log of the mixture of `log_frailty` by a sum over 12,000 values of the common rate."""
    u = np.log(count.sum() / exposure.sum()) + np.linspace(-12, 12, 12_001)
    theta, parts = np.exp(u), []
    for kappa in KAPPAS:
        constant = (gammaln(count + kappa) - gammaln(kappa) - count * np.log(kappa)).sum()
        likelihood = constant + count.sum() * u - ((count + kappa) * np.log1p(theta[:, None] * exposure / kappa)).sum(axis=1)
        parts += [likelihood + 0.5 * (np.log(b) + u) - b * theta - gammaln(0.5) for b in scales]
    return logsumexp(parts) + np.log(u[1] - u[0]) - np.log(len(parts))


@pytest.mark.parametrize("cells, n, unit", [(1, 100.0, 10**-7.5), (1, 1e3, 1e-9), (2, 1e3, 1e-9), (2, 50.0, 1.0), (9, 3.0, 1e4)])
def test_the_evidence_is_never_above_the_exact_mixture_however_far_off_the_unit_is(cells, n, unit):
    """So that it is at most 1 in the mean.  Sums at nodes around the mode were 1.3, 2.5 and 10^133 times the first three."""
    count, exposure = np.full(cells, n), n * np.linspace(0.5, 1.5, cells) if cells > 1 else np.array([n])
    scales = SHAPE / unit * SCALES
    off = log_frailty(count, exposure, SHAPE, scales) - exact_mixture(count, exposure, scales)
    assert off < 1e-6 and (off > -0.02 or unit < 1e-3)


@pytest.mark.parametrize("exposure, scales, most", [([1.0, 1.0], [2.0], 60), ([0.1, 0.3], [0.5, 5.0], 40)])
def test_the_mean_of_the_evidence_is_at_most_1_and_hardly_less(exposure, scales, most):
    """Under any rates, those of the mixture too: the sum over all counts, nothing drawn."""
    exposure, scales = np.array(exposure), np.array(scales)
    u = np.linspace(-30, 8, 20_001)
    none = [np.exp(-(k * np.log1p(np.exp(u)[:, None] * exposure / k)).sum(axis=1) + 0.5 * (np.log(b) + u) - b * np.exp(u))
            for k in KAPPAS for b in scales]
    total = trapezoid(np.mean(none, axis=0), u) / np.exp(gammaln(0.5))  # no event at all
    for one, two in np.ndindex(most, most):
        if one or two:
            count = np.array([one, two], dtype=float)
            total += np.exp(log_frailty(count, exposure, 0.5, scales) + (count * np.log(exposure) - gammaln(count + 1)).sum())
    assert 0.99 < total <= 1


def test_the_splits_are_ratios_of_poisson_likelihoods():
    """A second way, for one event, one threshold and a prior of one point: mixtures are averages of plain likelihoods."""
    model = make("machine-repair:machines=2,crews=1")
    test, counts = counted(model)
    found = test.evidence(counts)
    assert set(found.events) == {"fail", "repair"}
    table, k = model.events, 0
    rows = np.flatnonzero(table.event == k)
    down = coordinates(model.states)[0][model.pair_state[table.pair[rows]]]
    exposure = counts.time[table.pair[rows]] * table.coefficient[rows]
    n, x = counts.count[rows], exposure
    theta = np.exp(np.linspace(np.log(1e-4), np.log(1e2), 40_001))
    null = poisson.logpmf(n, n.sum() / x.sum() * x).sum()
    log_theta, mixed, ways = np.log(theta), [], [down >= t for t in np.unique(down)[1:]]
    prior = prior_density(theta, 1.0)
    for half in ways:
        for rho in RATIOS:
            like = poisson.logpmf(n[:, None], np.where(half, rho, 1.0)[:, None] * x[:, None] * theta).sum(axis=0) - null
            mixed.append(trapezoid(np.exp(like) * prior, log_theta))
    frail = frailty(n.astype(float), x, 1.0) - (n.sum() * np.log(n.sum() / x.sum()) - n.sum())
    assert np.isclose(found.events["fail"], np.log(0.5 * np.mean(mixed) + 0.5 * np.exp(frail)), atol=1e-3)


def test_scattered_rates_are_found_and_common_ones_are_not():
    model = make("tandem")
    test, right = counted(model, 1.0)
    wrong = counted(model, 1.15)[1]
    assert not test.evidence(right).rejected and "nothing speaks against" in str(test.evidence(right))
    assert test.evidence(wrong).rejected and "do not hold" in str(test.evidence(wrong))


def test_false_alarms_are_rare_when_looked_at_often():
    """20 right runs of 3,000 decisions, looked at about 15 times each: at level 1 % more than 2 would have probability 0.001."""
    model = make("tandem:capacity=3")
    found = solve(model)
    runs = [simulate(model, "events-ce", max_epochs=3000, seed=seed, solution=found) for seed in range(20)]
    assert sum(run.learner.rejected_epoch > 0 for run in runs) <= 2


def test_a_station_that_slows_down_is_noticed_and_the_guard_goes_on_as_the_default():
    model = make("tandem")
    world, known = slower(model, 0.6), model.knowledge(events=True)
    run = simulate(world, "events-psrl", max_epochs=12_000, seed=0, knowledge=known, parameters={"guard": True})
    learner = run.learner
    assert 0 < learner.rejected_epoch < 8000 and learner.evidence > np.log(100) and learner.guard.inner is not None
    default = simulate(world, "default", max_epochs=12_000, seed=0, knowledge=world.knowledge(supports=True))
    assert run.pseudo_regret[-1] < 2 * default.pseudo_regret[-1]


def test_a_guarded_learner_goes_on_where_it_stopped_after_a_rejection():
    model = make("tandem:capacity=3")
    world, known = slower(model, 0.3, least=2), model.knowledge(events=True)

    def walk(seed):
        return Walk(world, learner_for(model, "events-ce", knowledge=known, parameters={"guard": True}), seed=seed)

    whole, first, second = walk(5), walk(5), walk(77)
    whole.advance(4000)
    first.advance(2500)
    assert first.learner.rejected_epoch
    second.restore(first.state())
    second.advance(4000)
    assert (whole.visits == second.visits).all() and whole.time == second.time


def test_a_rejection_stands_when_later_data_agree():
    model = make("tandem:capacity=3")
    world, known = slower(model, 0.3, least=2), model.knowledge(events=True)
    run = simulate(world, "events-ce", max_epochs=3000, seed=5, knowledge=known, parameters={"guard": True})
    learner = run.learner
    assert run.structure.rejected and learner.rejected_epoch
    table, events = learner.table, learner.events
    events.time[:] = 50.0
    events.count[:] = np.round(50.0 * table.coefficient)  # as if every rate were 1 in every cell
    assert run.structure.log_e < 0.0 and learner.test.evidence(events).rejected is False
    assert run.structure.rejected and run.structure.as_dict()["since"] == learner.rejected_epoch
    assert str(run.structure).startswith("the declared events do not hold: ")
    assert f"at decision {learner.rejected_epoch:,}" in str(run.structure)


def test_nothing_is_tested_where_no_rate_is_shared():
    model = make("three-state")
    run = simulate(model, "events-ce", max_epochs=500, seed=0)
    assert str(run.learner.examine()).startswith("nothing to test") and run.learner.evidence == 0.0


@pytest.mark.parametrize("values, bins", [(np.arange(5.0), 5), (np.arange(1000.0), 17), (np.zeros(4), 1)])
def test_thresholds_are_few_and_cover_the_range(values, bins):
    found = binned(values)
    assert len(np.unique(found)) == bins and (np.diff(found) >= 0).all()

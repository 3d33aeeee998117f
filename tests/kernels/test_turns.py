"""The turns of kernels/turns.py against their twin, and that they end where one way alone goes round in circles."""

import numpy as np
import pytest
from scipy import sparse

import sojourn
from sojourn.kernels.jit import from_python
from sojourn.kernels.kl_optimism import kl_bellman
from sojourn.kernels.planning import Model
from sojourn.kernels.turns import DAMPED_POLICY, POLICY, STEPS, advance, advance_reference, first_course, valued
from sojourn.learn.ct_kl_ucrl import reward_spread
from sojourn.learn.learner import History
from sojourn.learn.optimism import optimistic_plan

LEARNERS = ("ct-kl-ucrl", "ct-joint-ucrl")


def tangle(n_states, seed=0):
    """A random sparse model: 4 actions, up to 8 successors."""
    rng = np.random.default_rng(seed)
    pairs = 4 * n_states
    state = np.repeat(np.arange(n_states), 4)
    to = rng.integers(0, n_states, (pairs, 8))
    to[:, 0] = (state + 1) % n_states
    rows = sparse.csr_matrix((rng.dirichlet(np.ones(8), pairs).ravel(), (np.repeat(np.arange(pairs), 8), to.ravel())))
    rows.sum_duplicates()
    return sojourn.CTMDP.from_pairs(state, np.tile(np.arange(4), n_states), rows, rng.uniform(1, 5, pairs), rng.normal(size=pairs),
                                    normalize_rows=True)


def after_random_play(name, model, decisions, supports=True):
    """Return a learner that has watched random play from state 0."""
    rng, state, seen = np.random.default_rng(1), 0, []
    for _ in range(decisions):
        i = rng.integers(model.pair_start[state], model.pair_start[state + 1])
        row = slice(model.row_start[i], model.row_start[i + 1])
        after = int(rng.choice(model.next_state[row], p=model.probability[row] / model.probability[row].sum()))
        seen.append((state, model.pair_action[i], rng.exponential(1 / model.rate[i]), after, model.reward[i]))
        state = after
    learner = sojourn.learner(name, model.knowledge(supports=supports), seed=3)
    learner.observe(History(*(np.array(column) for column in zip(*seen))))
    return learner


def test_the_kernel_moves_as_its_twin():
    kernel, move = from_python(advance), from_python(valued)
    for model in (sojourn.make("admission:capacity=20"), sojourn.make("machine-repair:machines=250")):
        problem = after_random_play("ct-kl-ucrl", model, 200).known_now().iteration().problem
        mine, theirs = first_course(model.n_states), first_course(model.n_states)
        mine.turn[1] = theirs.turn[1] = 5
        u, kinds = np.zeros(model.n_states), set()
        for _ in range(60):
            u_next, pair, rate, rows = kl_bellman(u, problem)
            drawn = Model(problem.pair_start, problem.row_start, problem.next_state, rows, problem.reward, problem.running, rate)

            def values(kind, u=u, drawn=drawn, pair=pair):
                found = u.copy()
                return found if move(found, drawn, pair, kind) else None

            kinds.add(int(mine.turn[2]))
            expected = advance_reference(u.copy(), u_next, theirs, values)
            kernel(u, u_next, (u_next - u).min(), (u_next - u).max(), mine, drawn, pair)
            np.testing.assert_allclose(u, expected, rtol=1e-12, atol=1e-12)
            assert np.array_equal(mine.turn, theirs.turn) and mine.span[0] == pytest.approx(theirs.span[0], rel=1e-12)
        assert kinds == ({POLICY, DAMPED_POLICY, STEPS} if model.n_states > 200 else {POLICY, STEPS})


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("model", "decisions"), [
    ("tangle", 1000), ("machine-repair:machines=300", 3000), ("admission:capacity=400", 300), ("tandem:capacity=25", 3000),
    ("river-swim:length=300", 3000)])
def test_a_large_model_whose_rows_are_open_is_planned_in_few_steps(name, model, decisions):
    """Values of policies alone do not end on the first two within 20,000 steps; damped steps alone take thousands on the last."""
    learner = after_random_play(name, tangle(3000) if model == "tangle" else sojourn.make(model), decisions)
    known = learner.knowledge
    tolerance = known.rate_max * reward_spread(known) / (decisions if name == "ct-joint-ucrl" else np.sqrt(decisions))
    best = optimistic_plan(learner.known_now().iteration(), known, tolerance, None, 20_000)
    assert best.sweeps < 1000


@pytest.mark.parametrize("name", LEARNERS)
def test_a_plan_of_a_large_model_comes_back_to_python_every_few_steps(name):
    """So that Ctrl-C is heard; and the course goes on where it was."""
    learner = after_random_play(name, tangle(3000), 100)
    iteration = learner.known_now().iteration()
    u = np.zeros(3000)
    steps = [iteration.improve(u, 0.0, 10_000).steps for _ in range(3)]
    assert max(steps) <= 20 and iteration.course.turn[0] + iteration.course.turn[2] > 0

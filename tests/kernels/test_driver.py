"""The compiled driver with a compiled planner equals itself in plain Python, filled in with their readable twins: walk, counts,
plans begun and both random streams."""

import subprocess
import sys

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.kernels.driver import PlainBox, boxed, driver, filled_in, in_python, planner, walk_plans
from sojourn.kernels.fast_walk import walk_fast
from sojourn.kernels.jit import from_python
from sojourn.kernels.least_divergence import least_divergence_row
from sojourn.kernels.ledger import BEGUN, DONE, LEFT, STATE, Desk, empty_begun, empty_ledger
from sojourn.kernels.planning import best_policy
from sojourn.kernels.sampled_plan import BK, IMED, NO_INDEX, PLANNERS, Sampler, sampled_plan_reference
from sojourn.kernels.staying import worth_staying
from sojourn.kernels.walk import walk_plan, walk_plan_reference
from sojourn.learn.counts import Counts
from sojourn.learn.posterior import Posterior
from sojourn.learn.sampling import copies_of, rows_of
from sojourn.learn.streams import stream, stream_state
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.world import world_of

stay = from_python(worth_staying)


def some_model(seed: int) -> CTMDP:
    """Action sets that depend on the state, running rewards, now and then transition rewards."""
    rng = np.random.default_rng(seed)
    states, actions = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    rows = rng.dirichlet(np.full(states, 0.5), (states, actions)) + 0.01
    rows[rng.random(rows.shape) < 0.3] = 0
    rows[:, :, 0] += rows.sum(axis=2) == 0
    rows /= rows.sum(axis=2, keepdims=True)
    admissible = rng.random((states, actions)) < 0.8
    admissible[:, -1] = True
    more = {"transition_reward": rng.normal(size=rows.shape)} if rng.random() < 0.3 else {}
    return CTMDP.from_arrays(rows, rng.uniform(0.5, 4, (states, actions)), rng.random((states, actions)),
                             rng.normal(size=(states, actions)), admissible, **more)


def kernel_divergence(p, value, *rest):
    return least_divergence_row(p, value, *rest, np.empty(len(p)))[0]


def readable(sampler, desk, own):
    """The planners' twin; best policies, divergences and stays are compared elsewhere, with their own."""
    return sampled_plan_reference(sampler, desk, own, best=best_policy, divergence_of=kernel_divergence, stay_of=stay)


KINDS = [(NO_INDEX, 1, 1, True), (NO_INDEX, 3, 1, False), (IMED, 1, 8, True), (IMED, 0, 0, False), (BK, 1, 8, True),
         (BK, 0, 0, False)]  # index, samples, draws per row, tsde
kinds = st.sampled_from(KINDS)


class Setting:
    """A ledger, a sampler and both random streams, so that two of them can be compared."""

    def __init__(self, model: CTMDP, seed: int, law: str | None, supports: bool, kind: tuple, rows: int, depth: float = 1.0):
        known = model.knowledge(supports=supports)
        index, samples, most, tsde = kind
        self.rng, self.own, self.counts, belief = stream(seed), stream(seed + 1), Counts(known), Posterior(known)
        self.counts.reserve(known.n_pairs * known.n_states)
        first = np.array(known.pair_start[:-1])
        self.sampler = Sampler(index, samples, tsde, depth, rows_of(belief), 0.0, 0.0, belief.rate_min, belief.rate_max,
                               copies_of(belief, most), belief.count, first.copy(), first.copy(), np.ones(1, dtype=np.int64),
                               index == IMED and not supports)
        begun = empty_begun(rows, known.n_states, known.n_pairs, (index != NO_INDEX) + (samples > 0))
        arrays = self.counts.arrays(np.full(len(model.next_state), -1, dtype=np.int64))
        self.ledger = empty_ledger(world_of(model, law), arrays, begun)._replace(words=stream_state(self.rng))

    def run(self, walk, epochs: int, max_time: float) -> bool:
        box = boxed if hasattr(walk, "py_func") else PlainBox
        return bool(walk(self.sampler, box(self.ledger), self.rng, self.own, epochs, max_time))

    def seen(self) -> list[np.ndarray]:
        x, q = self.ledger, self.sampler
        return [np.array(a) for a in (*x.counts, x.visits, x.clock, x.at, *x.plan, x.info, *x.begun, stream_state(self.own),
                                      q.sampled, q.greedy, q.planned, q.counted)]


def same(one: Setting, two: Setting) -> bool:
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(one.seen(), two.seen(), strict=True))


@settings(max_examples=80)
@given(seed=st.integers(0, 10**6), law=st.sampled_from([None, "deterministic", "erlang:stages=2"]), supports=st.booleans(),
       kind=kinds, rows=st.sampled_from([3, 200]), max_time=st.sampled_from([np.inf, 30.0]))
def test_walking_plans_equals_the_reference_call_after_call(seed, law, supports, kind, rows, max_time):
    model = some_model(seed)
    fast = law != "erlang:stages=2" and model.transition_reward is None
    one, two = (Setting(model, seed, law, supports, kind, rows) for _ in range(2))
    compiled = driver(PLANNERS[kind[0]], walk_fast if fast else walk_plan)
    plain = filled_in(walk_plans, readable, walk_plan_reference)
    for epochs in (90, 1, 30):
        assert one.run(compiled, epochs, max_time) == two.run(plain, epochs, max_time)
        assert same(one, two)
        assert np.array_equal(one.ledger.words if fast else stream_state(one.rng), stream_state(two.rng))


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), supports=st.booleans(), kind=kinds, depth=st.sampled_from([0.0, 1.0, 1e9]))
def test_a_plan_after_any_counts_is_the_references(seed, supports, kind, depth):
    """Visits of all sizes, so that states are well known or not, actions greedy, on trial or insisted on."""
    model = some_model(seed)
    one, two = (Setting(model, seed, None, supports, kind, 1, depth) for _ in range(2))
    for here in (one, two):
        rng, counts, rows = np.random.default_rng(seed), here.counts, here.sampler.rows
        for i in range(len(counts.visits)):
            possible = rows.next_state[rows.row_start[i]:rows.row_start[i + 1]]
            visits = int(10 ** rng.uniform(-0.5, 5))
            for state, count in zip(possible, rng.multinomial(visits, rng.dirichlet(np.ones(len(possible))))):
                if count:
                    counts.add(i, 1.0, int(state))
                    counts.slot_count[counts.used[0] - 1] = count
            counts.visits[i] = visits
        counts.holding_sum[:] = counts.visits / rng.uniform(model.bounds[0], model.bounds[1], len(counts.visits))
        counts.epoch = 1 + int(counts.visits.sum())
    one_desk, two_desk = (Desk(here.ledger.counts, here.ledger.plan, here.ledger.info) for here in (one, two))
    assert planner(PLANNERS[kind[0]])(one.sampler, one_desk, one.own) and readable(two.sampler, two_desk, two.own)
    assert same(one, two)
    plan = one.ledger.plan
    assert plan.left.min() >= 1 and plan.epochs[LEFT] >= 1
    assert all(start <= i < end for i, start, end in zip(plan.pair, model.pair_start, model.pair_start[1:]))


def test_a_successor_that_is_not_listed_leaves_the_next_plan_to_python():
    model = CTMDP.from_arrays([[[0.9, 0.1]], [[0.5, 0.5]]], np.ones((2, 1)), np.ones((2, 1)))
    for kind in (KINDS[0], KINDS[2]):
        one, two = (Setting(model, 3, None, True, kind, 100) for _ in range(2))
        walks = driver(PLANNERS[kind[0]], walk_plan), filled_in(walk_plans, readable, walk_plan_reference)
        for here, walk in zip((one, two), walks, strict=True):
            here.sampler.rows.next_state[:] = 0
            assert here.run(walk, 500, np.inf)
        at = one.ledger.at
        assert np.array_equal(at, two.ledger.at) and 1 < at[BEGUN] < 100 and one.ledger.visits.sum() == at[DONE] < 500


def test_the_driver_leaves_every_plan_to_python_where_the_learner_plans_there():
    model = some_model(5)
    here = Setting(model, 5, None, False, KINDS[0], 1)
    walk = driver(in_python, walk_plan)
    assert walk((), boxed(here.ledger), here.rng, here.own, 10, np.inf) and here.ledger.at[DONE] == 0  # no plan yet
    here.ledger.plan.left[:], here.ledger.plan.epochs[:] = 1000, (0, 7)
    here.ledger.plan.pair[:] = model.pair_start[:-1]
    assert walk((), boxed(here.ledger), here.rng, here.own, 10, np.inf) and here.ledger.at[DONE] == 7
    here.ledger.plan.epochs[:] = 0, 3
    assert not walk((), boxed(here.ledger), here.rng, here.own, 3, np.inf)  # the plan is over, but nobody needs the next one
    assert here.ledger.at[STATE] in range(model.n_states)


MODULE = '''
import numpy as np
from sojourn.kernels.driver import driver
from sojourn.kernels.jit import kernel
from sojourn.kernels.ledger import LEFT, NO_LIMIT
from sojourn.kernels.walk import walk_plan

@kernel
def first_actions(state, desk, own):
    for s in range(len(desk.plan.pair)):
        desk.plan.pair[s] = state[0][s]
    desk.plan.left[:] = 5
    desk.plan.epochs[LEFT] = NO_LIMIT
    return True

if __name__ == "__main__":
    import mine
    from sojourn.learn.fixed import Fixed
    from sojourn.simulation.walk import Walk
    from sojourn.zoo.catalogue import make
    class Mine(Fixed):
        compiled_plan = mine.first_actions
        def planner_state(self):
            return (np.array(self.knowledge.pair_start[:-1]),)
    walk = Walk(make("three-state"), Mine(make("three-state").knowledge()), holding_times="erlang:stages=2")
    walk.advance(1000)
    made = driver(mine.first_actions, walk_plan)
    print(walk.log.total > 50, len(made.stats.cache_hits), len(made.stats.cache_misses))
'''


def test_a_planner_from_another_file_is_compiled_into_the_driver_once_and_kept_on_disk(tmp_path):
    (tmp_path / "mine.py").write_text(MODULE, encoding="utf-8")
    said = [subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
            for _ in range(2)]
    assert said == [["True", "0", "1"], ["True", "1", "0"]]

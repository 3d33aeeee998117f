"""Many sampled plans in one compiled call equal their readable twin bit for bit: walk, counts, notes and both random streams."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.kernels.fast_walk import packed_cells
from sojourn.kernels.least_divergence import least_divergence_row
from sojourn.kernels.planning import best_policy
from sojourn.kernels.sampled_plan import BK, IMED, NO_INDEX, Sampler, Standing, sampled_plan, sampled_plan_reference
from sojourn.kernels.sampled_walk import notes_of, walk_samples, walk_samples_reference
from sojourn.learn.counting import Belief
from sojourn.learn.counts import Counts
from sojourn.learn.sampling import copies_of, rows_of
from sojourn.learn.streams import stream, stream_state
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.folding import Folding
from sojourn.simulation.shapes import Ground, trace_of
from sojourn.simulation.world import world_of


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


TWINS = {"best": best_policy, "divergence_of": kernel_divergence}  # compared elsewhere, with their own readable twins
KINDS = [(NO_INDEX, 1, 1, True), (NO_INDEX, 3, 1, False), (IMED, 1, 8, True), (IMED, 0, 0, False), (BK, 1, 8, True),
         (BK, 0, 0, False)]  # index, samples, draws per row, tsde
kinds = st.sampled_from(KINDS)


def sampler_of(known, kind, depth=1.0) -> Sampler:
    index, samples, most, tsde = kind
    b = Belief(known)
    return Sampler(index, samples, tsde, depth, rows_of(b), 0.0, 0.0, b.rate_min, b.rate_max, b.count, copies_of(b, most))


def standing_of(known) -> Standing:
    return Standing(*(np.array(known.pair_start[:-1]) for _ in range(3)), np.zeros(known.n_pairs, dtype=np.int64))


class Setting:
    """Everything one call changes, so that two of them can be compared."""

    def __init__(self, model: CTMDP, seed: int, law: str | None, raw: bool, supports: bool, kind: tuple, rows: int):
        known = model.knowledge(supports=supports)
        self.world, self.rng, self.own = world_of(model, law), stream(seed), stream(seed + 1)
        self.counts = Counts(known)
        w, pairs = self.world, known.n_pairs
        self.ground = Ground(w, stream_state(self.rng) if raw else np.zeros(0, dtype=np.uint64),
                             Folding(known, len(w.next_state)).into(self.counts), np.zeros(pairs, dtype=np.int64), np.zeros(3),
                             trace_of(0), np.zeros(8 * known.n_states, dtype=np.int64),
                             packed_cells(w.next_state, w.cut, w.own, w.other))
        self.sampler, self.standing = sampler_of(known, kind), standing_of(known)
        self.left, self.notes = np.zeros(pairs, dtype=np.int64), notes_of(rows, known.n_states, pairs)
        for column in self.notes:
            column[:] = 0
        self.at, self.epoch, self.plan = 0, 1, (0, 0)

    def run(self, kernel, epochs: int, max_time: float, **more):
        out = kernel(self.ground, self.rng, self.at, epochs, max_time, self.sampler, self.own, self.epoch, self.standing, self.left,
                     *self.plan, self.notes, **more)
        self.at, self.epoch, self.plan = int(out[0]), self.epoch + int(out[1]), (int(out[4]), int(out[5]))
        return tuple(int(x) for x in out)

    def seen(self) -> list[np.ndarray]:
        words = self.ground.words if len(self.ground.words) else stream_state(self.rng)
        return [np.array(a) for a in (*self.ground.fold[:-1], self.ground.visits, self.ground.clock, words, stream_state(self.own),
                                      *self.standing, self.left, *self.notes)]


@settings(max_examples=80)
@given(seed=st.integers(0, 10**6), law=st.sampled_from([None, "deterministic", "erlang:stages=2"]), supports=st.booleans(),
       kind=kinds, rows=st.sampled_from([3, 200]), max_time=st.sampled_from([np.inf, 30.0]))
def test_walking_samples_equals_its_reference_call_after_call(seed, law, supports, kind, rows, max_time):
    model = some_model(seed)
    raw = law != "erlang:stages=2" and model.transition_reward is None
    one = Setting(model, seed, law, raw, supports, kind, rows)
    two = Setting(model, seed, law, False, supports, kind, rows)
    for epochs in (150, 1, 40):
        assert one.run(walk_samples, epochs, max_time) == two.run(walk_samples_reference, epochs, max_time, **TWINS)
        assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(one.seen(), two.seen(), strict=True))


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), supports=st.booleans(), kind=kinds, depth=st.sampled_from([0.0, 1.0, 1e9]))
def test_a_plan_after_any_counts_is_the_references(seed, supports, kind, depth):
    """Visits of all sizes, so that states are well known or not, actions greedy, on trial or insisted on."""
    model, rng = some_model(seed), np.random.default_rng(seed)
    known = model.knowledge(supports=supports)
    visits, plans = np.zeros(known.n_pairs, dtype=np.int64), []
    sampler = sampler_of(known, kind, depth)
    for i in range(known.n_pairs):
        row = slice(sampler.rows.row_start[i], sampler.rows.row_start[i + 1])
        visits[i] = int(10 ** rng.uniform(-0.5, 5))
        sampler.counted[row] = rng.multinomial(visits[i], rng.dirichlet(np.ones(row.stop - row.start)))
    held = visits / rng.uniform(known.rate_min, known.rate_max, known.n_pairs)
    for kernel, twins in ((sampled_plan, {}), (sampled_plan_reference, TWINS)):
        own, standing = stream(seed), standing_of(known)
        gains = kernel(sampler, own, 1 + int(visits.sum()), visits, held, standing, **twins)
        plans.append([np.array(gains), stream_state(own), *standing])
    assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(*plans, strict=True))
    gain, (_, _, chosen, quota) = plans[0][0], plans[0][2:]
    assert np.isnan(gain).tolist() == [kind[0] == NO_INDEX, kind[1] == 0] and quota.min() >= 1
    assert all(start <= i < end for i, start, end in zip(chosen, known.pair_start, known.pair_start[1:]))


def test_a_successor_that_is_not_listed_stops_the_walk_before_the_next_plan():
    model = CTMDP.from_arrays([[[0.9, 0.1]], [[0.5, 0.5]]], np.ones((2, 1)), np.ones((2, 1)))
    for kind in (KINDS[0], KINDS[2]):
        ends = []
        for kernel in (walk_samples, walk_samples_reference):
            here = Setting(model, 3, None, False, True, kind, 100)
            here.sampler.rows.next_state[:] = 0
            ends.append(here.run(kernel, 500, np.inf))
        _, epochs, *_, begun, stuck = ends[0]
        assert ends[0] == ends[1] and stuck and 1 < begun < 100 and here.ground.visits.sum() == epochs < 500

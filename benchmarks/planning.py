"""Planning: ratios measured side by side in one run.

1. One sweep over sparse rows against the textbook sweep, which builds a vector over all states for every pair.
2. A full solve over dense rows, from u = 0.
3. Fast planning against the printed iteration, over the plausible sets that a learner met on birth-death chains.

Times are CPU times of this process, the least of a few repetitions.  Exits with 1 if a target is missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from sojourn.kernels import optimism as kernels
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.optimism import Optimistic
from sojourn.learn.plausible import (
    PlausibleSet,
    extended_value_iteration,
    fast_extended_value_iteration,
    holding_radius,
    rate_interval,
    transition_radius,
)
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate

DELTA = 0.01


def least_time(work: Callable[[], object], repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def random_model(n_states: int, n_actions: int, successors: int, seed: int = 0) -> CTMDP:
    rng = np.random.default_rng(seed)
    shape = (n_states, n_actions)
    transition = np.zeros((*shape, n_states))
    for s in range(n_states):
        for a in range(n_actions):
            transition[s, a, rng.choice(n_states, successors, replace=False)] = rng.dirichlet(np.ones(successors))
    return CTMDP.from_arrays(transition, rng.uniform(1, 3, shape), rng.uniform(0, 1, shape), rate_bounds=(1.0, 3.0))


def birth_death(n_states: int) -> CTMDP:
    """A queue with a slow and a fast server: arrivals at rate 1, service at 0.9 or 1.2; the fast one costs more."""
    shape = (n_states, 2)
    transition, rate, reward = np.zeros((*shape, n_states)), np.zeros(shape), np.zeros(shape)
    for s in range(n_states):
        for a in range(2):
            up, down = 1.0 * (s < n_states - 1), (0.9 + 0.3 * a) * (s > 0)
            rate[s, a] = up + down
            transition[s, a, min(s + 1, n_states - 1)] += up / (up + down)
            transition[s, a, max(s - 1, 0)] += down / (up + down)
            reward[s, a] = 0.5 + 0.4 * np.sin(s / 7) - 0.15 * a
    return CTMDP.from_arrays(transition, rate, reward)


def estimated(model: CTMDP, visits: int, radius_scale: float) -> PlausibleSet:
    """The plausible set when every pair has been visited `visits` times and every estimate is right."""
    knowledge = model.knowledge()
    n = np.full(knowledge.n_pairs, visits)
    size = (knowledge.n_states, knowledge.max_choices, int(n.sum()) + 1, DELTA)
    mean, radius = 1 / model.rate, radius_scale * holding_radius(n, *size, knowledge.rate_min)
    low, high, _ = rate_interval(n, mean, radius, knowledge.rate_min, knowledge.rate_max)
    return PlausibleSet(n, model.row_start, model.next_state, model.probability, radius_scale * transition_radius(n, *size), mean,
                        radius, low, high, knowledge.reward, 0)


def textbook_sweep(u, pair_start, dense, reach, slow, fast, reward, running):
    """One step of eq:EVI as usually written: every pair gets its own row over all states (here without an inner loop)."""
    order = np.argsort(u)
    best, worst_first = order[-1], order[:-1]
    u_next = np.empty(len(u))
    for s in range(len(u)):
        top = -np.inf
        for i in range(pair_start[s], pair_start[s + 1]):
            p = dense[i].copy()
            p[best] = min(1.0, p[best] + reach[i])
            sorted_row = p[worst_first]
            taken = np.minimum(np.maximum(p.sum() - 1.0 - np.concatenate([[0.0], np.cumsum(sorted_row)[:-1]]), 0.0), sorted_row)
            p[worst_first] = sorted_row - taken
            bracket = reward[i] + p @ u - u[s]
            top = max(top, bracket * (fast[i] if bracket >= 0 else slow[i]) + running[i])
        u_next[s] = top + u[s]
    return u_next


def sparse_sweep() -> bool:
    model = random_model(1000, 4, 8)
    plausible = estimated(model, 1000, 0.02)
    knowledge, sweeps = model.knowledge(), 100
    problem = plausible.iteration(knowledge).problem
    dense = np.asarray(model.matrix.todense())
    u = np.zeros(1000)
    kernels.extended_value_iteration(u, -1.0, 5, 1.0, problem)  # five sweeps in, so that nothing is tied
    rest = (plausible.reach, *problem[5:9])
    u_next = textbook_sweep(u, model.pair_start, dense, *rest)
    after = u.copy()
    kernels.extended_value_iteration(after, -1.0, 1, 1.0, problem)
    assert np.abs(after - u_next).max() < 1e-10, "the two sweeps disagree"
    slow = least_time(lambda: textbook_sweep(u, model.pair_start, dense, *rest), 3)
    fast = least_time(lambda: kernels.extended_value_iteration(u.copy(), -1.0, sweeps, 1.0, problem), 10) / sweeps
    print(f"sweep, S=1000 A=4, 8 successors: textbook {slow * 1e3:.1f} ms, sparse {fast * 1e6:.0f} us, "
          f"ratio {slow / fast:.0f} (target 200)")
    return slow / fast >= 200


def dense_solve() -> bool:
    model = random_model(400, 4, 400)
    knowledge, fine = model.knowledge(), True
    print("dense solve, S=400 A=4, rows over all states, every pair seen 625 times (t_k = 10^6), from u = 0, target 20 ms:")
    for radius_scale in (0.1, 0.02, 0.005):
        plausible = estimated(model, 625, radius_scale)
        for tolerance in (1e-2, 1e-3):
            sweeps = extended_value_iteration(plausible, knowledge, tolerance).sweeps
            seconds = least_time(lambda p=plausible, x=tolerance: extended_value_iteration(p, knowledge, x))
            radius = plausible.transition_radius[0]
            print(f"  L1 radius {radius:.2f}, span < {tolerance:g}: {sweeps} sweeps, {seconds * 1e3:.1f} ms")
            fine &= seconds < 0.02
    return fine


class Recorder(CTUCRL):
    """CT-UCRL that keeps every plausible set it plans on."""

    def optimistic(self) -> Optimistic:
        self.__dict__.setdefault("met", []).append((self.plausible, self.tolerance()))
        return super().optimistic()


def fast_against_printed(n_states: int, radius_scale: float, samples: int) -> bool:
    model = birth_death(n_states)
    knowledge = model.knowledge()
    learner = Recorder(knowledge, delta=DELTA, radius_scale=radius_scale, planning="fast")
    simulate(model, learner, max_epochs=10**6, seed=0)
    met = learner.__dict__["met"]
    chosen = set(np.linspace(0, len(met) - 1, samples).astype(int).tolist())
    printed = fast = 0.0
    sweeps = steps = 0
    values = None
    for k, (plausible, tolerance) in enumerate(met):
        found = fast_extended_value_iteration(plausible, knowledge, tolerance, values)
        if k in chosen:
            again = extended_value_iteration(plausible, knowledge, tolerance)
            fast += least_time(lambda p=plausible, x=tolerance, v=values: fast_extended_value_iteration(p, knowledge, x, v), 3)
            printed += least_time(lambda p=plausible, x=tolerance: extended_value_iteration(p, knowledge, x), 3)
            sweeps, steps = sweeps + again.sweeps, steps + found.sweeps
        values = found.values
    print(f"birth-death S={n_states}, radius_scale {radius_scale:g}, {len(met)} episodes in 10^6 epochs: "
          f"printed {printed / samples * 1e3:.2f} ms ({sweeps / samples:.0f} sweeps), fast {fast / samples * 1e3:.3f} ms "
          f"({steps / samples:.1f} Bellman steps), ratio {printed / fast:.1f} (target 5)")
    return printed / fast >= 5


def main() -> int:
    results = [sparse_sweep(), dense_solve(), fast_against_printed(100, 0.003, 60), fast_against_printed(1000, 0.003, 40)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

"""How long the difficulty constants take: K a pair, g for all deviations, D with its proof, and 10,000 states.

Run: python benchmarks/difficulty.py [--quick]        Each figure stands beside its goal.
"""

import os
import sys
import time

import numpy as np
from scipy.sparse import csr_matrix

from sojourn.instance.diameter import diameter
from sojourn.instance.gain_gap import gap_of
from sojourn.instance.gaps import optimum
from sojourn.instance.least_divergence import least_divergence
from sojourn.kernels.least_divergence import least_divergences
from sojourn.model.checks import irreducible
from sojourn.model.ctmdp import CTMDP
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make


def random_model(n: int, actions: int = 4, successors: int = 8, seed: int = 0) -> CTMDP:
    """Random rows over `successors` states, one of them the next on a ring: every policy is irreducible."""
    rng = np.random.default_rng(seed)
    pairs = n * actions
    column = np.array([rng.choice(n, successors, replace=False) for _ in range(pairs)])
    after = (np.repeat(np.arange(n), actions) + 1) % n
    missing = ~(column == after[:, None]).any(axis=1)
    column[missing, 0] = after[missing]
    matrix = csr_matrix(
        (
            rng.dirichlet(np.ones(successors), pairs).ravel(),
            column.ravel(),
            np.arange(0, pairs * successors + 1, successors),
        ),
        shape=(pairs, n),
    )
    matrix.sort_indices()
    return CTMDP.from_pairs(
        np.repeat(np.arange(n), actions),
        np.tile(np.arange(actions), n),
        matrix,
        rng.uniform(1, 5, pairs),
        rng.random(pairs),
        rate_bounds=(0.5, 8.0),
    )


def queues(*sizes: int, arrival: float = 1.0, speed: float = 2.4, service: tuple[float, ...] = (0.8, 1.0, 1.3)) -> CTMDP:
    """One queue with three speeds (birth and death), or two queues of which one is served at a time."""
    rows, columns, values, state, action, rate = [], [], [], [], [], []
    shape = np.array(sizes)
    for s, place in enumerate(np.ndindex(*sizes)):
        options = [(0, v) for v in service] if len(sizes) == 1 else [(i, speed) for i in range(len(sizes))]
        for a, (served, strength) in enumerate(options):
            jumps = {}
            for i in range(len(sizes)):
                if place[i] < shape[i] - 1:
                    jumps[np.ravel_multi_index(tuple(np.add(place, np.eye(len(sizes), dtype=int)[i])), sizes)] = arrival
            if place[served] > 0:
                jumps[np.ravel_multi_index(tuple(np.subtract(place, np.eye(len(sizes), dtype=int)[served])), sizes)] = strength
            if jumps:
                total = sum(jumps.values())
                for j, v in jumps.items():
                    rows.append(len(state))
                    columns.append(int(j))
                    values.append(v / total)
                state.append(s)
                action.append(a)
                rate.append(total)
    matrix = csr_matrix((values, (rows, columns)), shape=(len(state), int(np.prod(sizes))))
    return CTMDP.from_pairs(state, action, matrix, rate, np.random.default_rng(0).random(len(state)))


def best_of(repeat: int, work) -> tuple[float, float]:
    """Return the least wall-clock time and the least processor time."""
    wall, busy = [], []
    for _ in range(repeat):
        began, cpu = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - began)
        busy.append(time.process_time() - cpu)
    return min(wall), min(busy)


def line(what: str, spent: tuple[float, float], unit: str, goal: float | None, note: str = "") -> None:
    value, cpu = spent
    verdict = "" if goal is None else f"   goal {goal:g} {unit}: {'met' if value <= goal else 'MISSED'}"
    print(f"{what:<52} {value:9.4g} {unit} (processor {cpu:.4g}){verdict}{'   ' + note if note else ''}", flush=True)


def divergence_speed(successors: int = 8, pairs: int = 2_000) -> None:
    """Critical pairs only: every one needs its root."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(successors), pairs)
    value = rng.normal(0, 0.5, (pairs, successors))
    rate, gain = rng.uniform(1, 4, pairs), 1.0
    gap = rng.uniform(0.05, 0.3, pairs)
    here = (p * value).sum(axis=1) - gain / rate + gap
    zero = np.zeros(pairs)
    k, other, row = zero.copy(), zero.copy(), p.ravel().copy()
    start = np.arange(0, pairs * successors + 1, successors)

    def work() -> None:
        least_divergences(
            start, p.ravel(), value.ravel(), here, rate, zero, zero, gain, gap, 0.5, 8.0, np.ones(pairs, bool), k, other, row
        )

    work()
    finite = int(np.isfinite(k).sum())
    wall, cpu = best_of(50, work)
    line(
        f"K, {successors} successors, {finite:,} critical pairs",
        (wall / finite * 1e6, cpu / finite * 1e6),
        "us a pair",
        1.0,
    )


def gap_speed(n: int = 1000) -> None:
    model = random_model(n)
    best, verdict = optimum(model, solve(model)), irreducible(model)
    gap_of(best, verdict)
    line(f"g and g_step for all pairs after solving, S = {n:,}", best_of(3, lambda: gap_of(best, verdict)), "s", 0.5)


def diameter_speed(name: str, model: CTMDP, goal: float | None) -> None:
    found: list = []
    spent = best_of(1, lambda: found.append(diameter(model)))
    found = found[0]
    low, high = found.bounds
    note = (
        f"D = {found.value:.9g}, proved to {(high - low) / found.value:.1e}"
        if found.exact
        else f"bracketed: D in [{low:.9g}, {high:.3g}], the lower end attained"
    )
    line(f"D, {name}, S = {model.n_states:,}", spent, "s", goal, f"{note}, {found.solved} targets solved")


def large(n: int = 10_000) -> None:
    """No array of S x S x A, nor of S x S, is built."""
    model = random_model(n, actions=3)
    made: list = []
    line(f"solve, random, S = {n:,}", best_of(1, lambda: made.append(optimum(model, solve(model)))), "s", None)
    best = made[0]
    spent = best_of(1, lambda: made.append(least_divergence(best, (0.5, 8.0))))
    line(f"K for all pairs, S = {n:,}", spent, "s", None, f"{int(made[-1].critical.sum()):,} critical, exact")
    diameter_speed("random", model, None)
    diameter_speed("two queues", queues(100, 100, speed=1.9), None)
    spent = best_of(1, lambda: made.append(gap_of(best, irreducible(model))))
    line(f"g and g_step, S = {n:,}", spent, "s", None, "exact" if made[-1].exact else "attained, an upper bound")
    for name in ("tandem", "routing"):
        for load, words in ((0.6, ""), (0.99, ", load 0.99")):
            grid(name + words, make(name, capacity=99, arrival_rate=load * (1.6 if name == "routing" else 1.0)))


def grid(name: str, model: CTMDP) -> None:
    """Two queues of 100 x 100: verdict, gaps and K, g, and D, each with what is proved."""
    made: list = []
    line(f"verdict, {name}, S = {model.n_states:,}", best_of(1, lambda: made.append(irreducible(model))), "s", None)
    verdict, best = made[0], optimum(model, solve(model))
    spent = best_of(1, lambda: made.append(least_divergence(best, model.bounds)))
    line(f"K for all pairs, {name}", spent, "s", None, f"{int(made[-1].critical.sum()):,} critical")
    spent = best_of(1, lambda: made.append(gap_of(best, verdict)))
    low, high = made[-1].bounds
    line(f"g and g_step, {name}", spent, "s", None, f"g = {made[-1].value:.6g}, proved in [{low:.6g}, {high:.6g}]")
    diameter_speed(name, model, None)


def main() -> None:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{os.cpu_count()} processors, load {load:.1f}: under load wall-clock times grow and processor times do not")
    diameter(random_model(50))  # compile
    divergence_speed()
    gap_speed()
    diameter_speed("random, 8 successors", random_model(1000), 3.0)
    diameter_speed("birth and death, three speeds", queues(1000), 15.0)
    diameter_speed("birth and death, D = 5e5", queues(1000, service=(1.0, 1.02, 1.05)), 15.0)
    diameter_speed("two queues", queues(32, 32), 15.0)
    if "--quick" not in sys.argv:
        large()


if __name__ == "__main__":
    main()

"""How much a learning step costs over its random numbers, measured side by side in one run.

The yardstick is a numba loop that draws one uniform and one exponential from PCG64.  Every case runs CT-UCRL itself (plans,
episodes, checkpoints) on its model and is timed against the yardstick in turns; the ratio of the best times is reported.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from sojourn.errors import SojournError
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.learn.event_planner import EventPlanner
from sojourn.learn.found import Found
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate
from sojourn.simulation.walk import Walk
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

ROUNDS, STEPS = 15, 2**20


@numba.njit(nogil=True)
def draws(rng: np.random.Generator, n: int) -> float:
    total = 0.0
    for _ in range(n):
        total += rng.random()
        total += rng.standard_exponential()
    return total


def birth_death(states: int, seed: int = 0) -> CTMDP:
    """Two service speeds in each state; up or down by one."""
    rng = np.random.default_rng(seed)
    rows, rates = np.zeros((states, 2, states)), np.zeros((states, 2))
    for s in range(states):
        for a in range(2):
            up, down = (0.9 if s < states - 1 else 0.0), ((1.0 + a) if s else 0.0)
            rows[s, a, min(s + 1, states - 1)] += up
            rows[s, a, max(s - 1, 0)] += down
            rates[s, a] = up + down
    return CTMDP.from_arrays(rows / rows.sum(axis=2, keepdims=True), rates, rng.random((states, 2)), rate_bounds=(0.9, 2.9),
                             name=f"birth-death {states}")


def random_model(states: int, actions: int, successors: int, seed: int = 0) -> CTMDP:
    rng = np.random.default_rng(seed)
    rows = np.zeros((states, actions, states))
    for s in range(states):
        for a in range(actions):
            rows[s, a, rng.choice(states, successors, replace=False)] = rng.dirichlet(np.ones(successors))
    return CTMDP.from_arrays(rows, rng.uniform(1, 5, (states, actions)), rng.random((states, actions)), rate_bounds=(1, 5),
                             name=f"random {states} x {actions} x {successors}")


def walker(model: CTMDP) -> Walk:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Walk(model, CTUCRL(model.knowledge(), delta=0.01), solution=_solution(model))


def _solution(model: CTMDP) -> Any:
    try:
        return solve(model)
    except SojournError as error:
        return error.best  # type: ignore[attr-defined]


def ratio(model: CTMDP) -> tuple[float, float, float]:
    """Return (ratio, ns per learning step, ns of the yardstick), best of ROUNDS turns after a warm-up of 4 million steps."""
    walk, rng = walker(model), np.random.Generator(np.random.PCG64(1))
    walk.advance(4 * STEPS)
    draws(rng, 10)
    best = [np.inf, np.inf]
    for _ in range(ROUNDS):
        best[0] = min(best[0], seconds(lambda: draws(rng, STEPS)))
        best[1] = min(best[1], seconds(lambda: walk.advance(walk.epoch + STEPS)))
    return best[1] / best[0], best[1] / STEPS * 1e9, best[0] / STEPS * 1e9


def seconds(task: Callable[[], object]) -> float:
    began = time.process_time()
    task()
    return time.process_time() - began


def replications(count: int = 50, decisions: int = 10**7) -> float:
    """Return the CPU seconds of the two-state example, delta = 0.01, with its checkpoints and regrets."""
    model = make("two-state")
    solution, knowledge = solve(model), model.knowledge()

    def all_of_them() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in range(count):
                simulate(model, CTUCRL(knowledge, delta=0.01), max_epochs=decisions, seed=seed, solution=solution)

    return seconds(all_of_them)


def event_speed(name: str, decisions: int = 10**6) -> float:
    """Return the decisions per CPU second of a learner of events on the tandem, all its plans included."""
    model = make("tandem")
    solution = solve(model)
    return decisions / seconds(lambda: simulate(model, name, max_epochs=decisions, solution=solution, checkpoints=2))


def warm_plan(model: CTMDP) -> float:
    """Return the CPU milliseconds of a warm plan over events, rates moved by 1 %."""
    known = model.knowledge(events=True)
    assert model.events is not None and known.events is not None
    planner, value = EventPlanner(known, known.events), np.asarray(model.events.value)
    start = Found(0.0, np.zeros(model.n_states), np.array(model.pair_start[:-1]))
    start = planner.best(value, value, start)
    rng = np.random.default_rng(0)
    moved = [value * np.exp(0.01 * rng.normal(size=len(value))) for _ in range(20)]
    return seconds(lambda: [planner.best(theta, theta, start) for theta in moved]) / len(moved) * 1e3


def main() -> None:
    cases = [(make("two-state"), 1.2), (birth_death(20), 2.5), (birth_death(1000), 2.5), (random_model(1000, 4, 8), 4.0)]
    print(f"{'CT-UCRL learning on':26s} {'ratio':>6s} {'at most':>8s} {'ns/step':>8s} {'draws':>6s}")
    for model, target in cases:
        found, step, base = ratio(model)
        verdict = "ok" if found <= target else "OVER"
        print(f"{model.name:26s} {found:6.2f} {target:8.1f} {step:8.2f} {base:6.2f}  {verdict}", flush=True)
    for name in ("events-psrl", "events-ucrl", "events-ce"):
        print(f"{name}: {event_speed(name):.2e} decisions per CPU second on the tandem, plans included", flush=True)
    for model in (make("tandem", capacity=31), make("criss-cross", capacity=40)):
        print(f"events: a warm plan at {model.n_states:,} states {warm_plan(model):.1f} ms", flush=True)
    used = replications()
    verdict = "ok" if used <= 6 else "OVER"
    print(f"50 replications of 10^7 decisions, two-state, delta 0.01: {used:.2f} CPU seconds (at most 6)  {verdict}")


if __name__ == "__main__":
    main()

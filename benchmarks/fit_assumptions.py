"""What `sojourn.fit` notices in logs of which its assumptions do not hold, and how often it does so where they hold.

    python benchmarks/fit_assumptions.py [--logs 2000] [--confidence 0.95] [--power-logs 200]

First *false alarms*: logs that fulfil every assumption, drawn without Sojourn's own walk, of several sizes and shapes, among them
trajectories cut short by the clock and the log of a learner that chose by what it saw; the share with any note must be at most
1 - confidence.  Then *power*: for each of a list of faults the visits of the faulty choice from which it is noticed in nine of ten
logs, on a grid of powers of the square root of two.
"""

import argparse
import json
from collections.abc import Callable

import numpy as np

import sojourn
from sojourn.control.assumptions import check_assumptions
from sojourn.control.log import read_log
from sojourn.model.knowledge import Knowledge

Columns = dict[str, list[object]]


# ---- logs that fulfil the assumptions --------------------------------------------------------------------------------


def chain(states: int, actions: int, successors: int, seed: int, loops: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return rates (S, A) over two powers of ten, and rows (S, A, S) on so many successors each; time stamps need no loops."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((states, actions, states))
    for k, row in enumerate(rows.reshape(-1, states)):
        there = [s for s in range(states) if loops or s != k // actions]
        row[rng.choice(there, successors, replace=False)] = rng.dirichlet(np.ones(successors))
    return 10 ** rng.uniform(-1, 1, (states, actions)), rows


def walked(rates: np.ndarray, rows: np.ndarray, n: int, rng: np.random.Generator) -> Columns:
    """A log of n sojourns under uniformly random choices."""
    to = rows.cumsum(axis=2)
    choices, u, tau = rng.integers(rates.shape[1], size=n), rng.random(n), rng.exponential(size=n)
    path = np.zeros(n + 1, dtype=int)
    for i in range(n):
        path[i + 1] = min(int(np.searchsorted(to[path[i], choices[i]], u[i])), len(rates) - 1)
    return {"state": path[:-1], "action": choices, "holding_time": tau / rates[path[:-1], choices], "next_state": path[1:]}


def cut(rates: np.ndarray, rows: np.ndarray, n: int, rng: np.random.Generator, end: float = 1.0) -> Columns:
    """Time stamps of n trajectories from state 0, each ended by the clock; its last row says when."""
    found: Columns = {"time": [], "state": [], "action": [], "trajectory": []}
    to = rows.cumsum(axis=2)
    for i in range(n):
        time, state = 0.0, 0
        while time < end:
            action = int(rng.integers(rates.shape[1]))
            for name, value in zip(found, (time, state, action, i)):
                found[name].append(value)
            time += rng.exponential() / rates[state, action]
            after = min(int(np.searchsorted(to[state, action], rng.random())), len(rates) - 1)
            state = after if time < end else state
        for name, value in zip(found, (end, state, "", i)):
            found[name].append(value)
    return found


def learned(n: int, seed: int) -> Columns:
    """The log of a learner that chose by what it saw."""
    model = sojourn.make("machine-repair:machines=4")
    path = sojourn.simulate(model, "ct-psrl", max_epochs=n, seed=seed, record=True).trajectory
    return {"state": path.state, "action": path.action, "holding_time": path.holding_time, "next_state": path.next_state}


# ---- logs with a fault -------------------------------------------------------------------------------------------------


def star(times: np.ndarray, ways: np.ndarray, back: np.ndarray) -> Columns:
    """A log that leaves "a" after `times`, for "b" or "c" as `ways` says, and comes back after `back`."""
    n = len(times)
    place = np.where(ways, "c", "b")
    state, after = np.empty(2 * n, dtype="<U1"), np.empty(2 * n, dtype="<U1")
    state[::2], state[1::2], after[::2], after[1::2] = "a", place, place, "a"
    tau = np.empty(2 * n)
    tau[::2], tau[1::2] = times, back
    return {"state": state, "action": np.full(2 * n, "x"), "holding_time": tau, "next_state": after}


def autocorrelated(n: int, rho: float, rng: np.random.Generator) -> np.ndarray:
    """Exponential times, each correlated with the last one (a Gaussian copula)."""
    from scipy.special import ndtr

    z = rng.normal(size=n)
    for i in range(1, n):
        z[i] = rho * z[i - 1] + np.sqrt(1 - rho**2) * z[i]
    return -np.log(ndtr(z))


def persistent(n: int, stay: float, rng: np.random.Generator) -> np.ndarray:
    """Ways of which each is that of the last time with probability `stay`."""
    return (rng.random() < 0.5) ^ (np.cumsum(rng.random(n) >= stay) % 2 == 1)


def _fault(law: Callable[[int, np.random.Generator], np.ndarray]) -> Callable[[int, np.random.Generator], Columns]:
    return lambda n, rng: star(law(n, rng), rng.random(n) < 0.5, rng.exponential(size=n))


def _ways(ways: Callable[[int, np.random.Generator], np.ndarray]) -> Callable[[int, np.random.Generator], Columns]:
    return lambda n, rng: star(rng.exponential(size=n), ways(n, rng), rng.exponential(size=n))


def by_successor(n: int, factor: float, rng: np.random.Generator) -> Columns:
    ways = rng.random(n) < 0.5
    return star(rng.exponential(size=n) * np.where(ways, factor, 1.0), ways, rng.exponential(size=n))


def by_state_before(n: int, factor: float, rng: np.random.Generator) -> Columns:
    ways = rng.random(n) < 0.5
    slow = np.concatenate([[False], ways[:-1]])
    return star(rng.exponential(size=n) * np.where(slow, factor, 1.0), ways, rng.exponential(size=n))


def by_time_before(n: int, factor: float, rng: np.random.Generator) -> Columns:
    back = rng.exponential(size=n)
    slow = np.concatenate([[False], back[:-1] > np.log(2)])
    return star(rng.exponential(size=n) * np.where(slow, factor, 1.0), rng.random(n) < 0.5, back)


FAULTS = {
    "lognormal, sigma 0.954 (the Gini of an exponential)": _fault(lambda n, rng: np.exp(0.954 * rng.normal(size=n))),
    "lognormal, sigma 1.2": _fault(lambda n, rng: np.exp(1.2 * rng.normal(size=n))),
    "Erlang, 2 phases": _fault(lambda n, rng: rng.gamma(2.0, size=n)),
    "Weibull, shape 1.2": _fault(lambda n, rng: rng.weibull(1.2, size=n)),
    "two kinds, means 1 and 3": _fault(lambda n, rng: rng.exponential(size=n) * np.where(rng.random(n) < 0.5, 3.0, 1.0)),
    "constant 0.1 before an exponential of mean 1": _fault(lambda n, rng: 0.1 + rng.exponential(size=n)),
    "rounded up to tenths of the mean": _fault(lambda n, rng: np.ceil(10 * rng.exponential(size=n)) / 10),
    "b and c strictly in turn": _ways(lambda n, rng: np.arange(n) % 2 == 1),
    "the last successor again in 7 of 10": _ways(lambda n, rng: persistent(n, 0.7, rng)),
    "the last successor again in 6 of 10": _ways(lambda n, rng: persistent(n, 0.6, rng)),
    "times that follow the last one here, correlation 0.5": _fault(lambda n, rng: autocorrelated(n, 0.5, rng)),
    "times that follow the last one here, correlation 0.2": _fault(lambda n, rng: autocorrelated(n, 0.2, rng)),
    "twice as long after a long sojourn": lambda n, rng: by_time_before(n, 2.0, rng),
    "twice as long after state c": lambda n, rng: by_state_before(n, 2.0, rng),
    "twice as long where it leads to c": lambda n, rng: by_successor(n, 2.0, rng),
    "1.3 times as long where it leads to c": lambda n, rng: by_successor(n, 1.3, rng),
    "twice as fast in the second half": _fault(lambda n, rng: rng.exponential(size=n) * np.where(np.arange(n) < n / 2, 1.0, 0.5)),
}
# ---- the two tables ----------------------------------------------------------------------------------------------------


def knowledge_of(log: Columns) -> tuple[object, Knowledge]:
    rows = read_log(log)
    wide = np.zeros((len(rows.states), len(rows.actions)))
    known = Knowledge.from_arrays(wide, (1e-6, 1e6), states=list(rows.states), actions=list(rows.actions))
    return rows, known


def noticed(log: Columns, level: float) -> list[str]:
    """Return the questions that are answered against the model."""
    rows, known = knowledge_of(log)
    return [question for question, _ in check_assumptions(rows, known, level).noticed]


def false_alarms(logs: int, level: float) -> None:
    small, wide, cycle = chain(3, 2, 2, 1), chain(30, 3, 5, 2), (np.array([[1.0], [2.0]]), np.eye(2)[::-1][:, None])
    dense, stamped = chain(5, 1, 5, 3), chain(3, 2, 2, 1, loops=False)
    kinds: dict[str, Callable[[np.random.Generator, int], Columns]] = {
        **{f"3 states, 2 actions; {n:,} rows": lambda rng, seed, n=n: walked(*small, n, rng) for n in (100, 1000, 10_000)},
        **{f"5 states, full rows; {n:,} rows": lambda rng, seed, n=n: walked(*dense, n, rng) for n in (100, 1000, 10_000)},
        **{f"30 states, 3 actions; {n:,} rows": lambda rng, seed, n=n: walked(*wide, n, rng) for n in (1000, 10_000)},
        "2 states in turn; 1,000 rows": lambda rng, seed: walked(*cycle, 1000, rng),
        **{f"{n:,} trajectories cut at time {end:g}": lambda rng, seed, n=n, end=end: cut(*stamped, n, rng, end)
           for n, end in ((500, 0.3), (500, 1.0), (100, 10.0))},
        **{f"a learner's own log; {n:,} rows": lambda rng, seed, n=n: learned(n, seed) for n in (300, 3000)},
    }
    for name, make in kinds.items():
        found: dict[str, int] = {}
        alarms = 0
        here = max(100, logs // (4 if "10,000" in name or "learner" in name else 1))
        for seed in range(here):
            said = set(noticed(make(np.random.default_rng(seed), seed), level))
            alarms += bool(said)
            for question in said:
                found[question] = found.get(question, 0) + 1
        print(json.dumps({"log": name, "logs": here, "stated": round(level, 4), "measured": alarms / here, "by": found}),
              flush=True)


def power(logs: int, level: float) -> None:
    sizes = [round(10 * 2 ** (k / 2)) for k in range(2, 22)]
    for name, make in FAULTS.items():
        needed, by = None, ""
        for n in sizes:
            hits: list[list[str]] = []
            for seed in range(logs):
                hits.append(noticed(make(n, np.random.default_rng(seed)), level))
                if len(hits) - sum(map(bool, hits)) > logs / 10:
                    break
            if len(hits) == logs and sum(map(bool, hits)) >= 0.9 * logs:
                first = [said[0] for said in hits if said]
                needed, by = n, max(set(first), key=first.count)
                break
        print(json.dumps({"fault": name, "visits": needed, "by": by}), flush=True)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--logs", type=int, default=2000)
    words.add_argument("--power-logs", type=int, default=200)
    words.add_argument("--confidence", type=float, default=0.95)
    said = words.parse_args()
    if said.logs:
        false_alarms(said.logs, 1 - said.confidence)
    if said.power_logs:
        power(said.power_logs, 1 - said.confidence)


if __name__ == "__main__":
    main()

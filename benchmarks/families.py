"""The default learner on instances drawn by seed from fifteen families, against the bound of what it knew.

    python benchmarks/families.py run families.jsonl --per-family 8 --seed 9001
    python benchmarks/families.py show families.jsonl

`run` appends one line per (instance, learner, supports) and passes over those already there: it can be stopped and taken up again.
Small instances: 20 replications at 10^6 decisions, 50 where the mean exceeds 0.6 of the bound; large ones (100 states and more)
10 at 10^5; with --replications N that many, and no more.  The bound is C(M) log N where the supports are known and C_u(M) log N
where they are not.  Replication i has learner seed i and world seed 10^6 + i.  `show` prints a row per family and names failures,
and with each whether the bound means something there at so many decisions: at least half of it can be paid (`payable_bound`),
and it is not less than the price of one look at every choice.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sojourn.instance.difficulty import difficulty
from sojourn.learn.catalogue import learner
from sojourn.model.ctmdp import CTMDP
from sojourn.simulation.simulate import simulate
from sojourn.solving.solve import solve
from sojourn.zoo.catalogue import make

LARGE = 100  # states
Draw = np.random.Generator


def dense(transition: np.ndarray, rate: np.ndarray, reward: np.ndarray, running: np.ndarray | None = None) -> CTMDP:
    """Return the model with rate bounds that say little more than the order of the rates."""
    return CTMDP.from_arrays(transition, rate, reward, running, rate_bounds=(float(rate.min()) / 2, 2 * float(rate.max())))


def lock(rng: Draw) -> CTMDP:
    """A combination lock: one action of each place leads on, the others back to the start, where a little can be had."""
    n, actions = int(rng.integers(5, 13)), int(rng.integers(2, 4))
    transition, reward = np.zeros((n, actions, n)), np.zeros((n, actions))
    slip = float(rng.uniform(0.02, 0.1))
    for s in range(n):
        right = int(rng.integers(actions))
        for a in range(actions):
            onward = (s + 1) % n if a == right else 0
            transition[s, a, onward] += 1 - slip
            transition[s, a, 0 if a == right else (s + 1) % n] += slip
        if s == n - 1:
            reward[s, right] = 1.0
    reward[0] += float(rng.uniform(0.0, 0.05)) * (np.arange(actions) == int(rng.integers(actions)))
    return dense(transition, np.exp(rng.uniform(0, math.log(4), (n, actions))), reward)


def grid(rng: Draw) -> CTMDP:
    """A k x k torus without wrapping, four directions, slips, one prize from which one is carried back to a corner."""
    k = int(rng.integers(3, 6))
    n, slip = k * k, float(rng.uniform(0.05, 0.2))
    transition, reward = np.zeros((n, 4, n)), np.zeros((n, 4))
    for x in range(k):
        for y in range(k):
            s = x * k + y
            to = [min(x + 1, k - 1) * k + y, max(x - 1, 0) * k + y, x * k + min(y + 1, k - 1), x * k + max(y - 1, 0)]
            for a in range(4):
                for b in range(4):
                    transition[s, a, to[b]] += 1 - slip if a == b else slip / 3
    transition[n - 1], reward[n - 1] = np.eye(n)[0], 1.0
    return dense(transition, np.exp(rng.uniform(0, math.log(3), (n, 4))), reward)


def two_ended(rng: Draw) -> CTMDP:
    """A line that pays at both ends, at one a little better than at the other."""
    n = int(rng.integers(5, 11))
    up = np.stack([rng.uniform(0.6, 0.9, n), rng.uniform(0.1, 0.4, n)], axis=1)
    transition, reward = line(up), np.zeros((n, 2))
    reward[0, 1], reward[n - 1, 0] = 1.0, float(rng.uniform(0.9, 1.1))
    return dense(transition, np.exp(rng.uniform(0, math.log(2), (n, 2))), reward)


def line(up: np.ndarray) -> np.ndarray:
    """Return the rows of a birth-death line: `up` (S, A) is the chance to go up, at the ends to stay."""
    n, actions = up.shape
    transition = np.zeros((n, actions, n))
    for s in range(n):
        for a in range(actions):
            transition[s, a, min(s + 1, n - 1)] += up[s, a]
            transition[s, a, max(s - 1, 0)] += 1 - up[s, a]
    return transition


def bandit(rng: Draw) -> CTMDP:
    """One state and several actions: only the rates are in doubt."""
    arms = int(rng.integers(2, 11))
    return dense(np.ones((1, arms, 1)), np.exp(rng.uniform(0, math.log(4), (1, arms))), rng.uniform(0.2, 1.0, (1, arms)))


def sparse(rng: Draw) -> CTMDP:
    """A random sparse model, irreducible through s -> s + 1."""
    n, actions, branching = int(rng.integers(3, 16)), int(rng.integers(2, 5)), int(rng.integers(1, 4))
    transition = np.zeros((n, actions, n))
    for s in range(n):
        for a in range(actions):
            support = rng.choice(n, size=min(n, branching), replace=False)
            transition[s, a, support] = 0.9 * rng.dirichlet(np.ones(len(support)))
            transition[s, a, (s + 1) % n] += 0.1
    rate = np.exp(rng.uniform(0.0, math.log(8.0), (n, actions)))
    return dense(transition, rate, rng.uniform(0, 1, (n, actions)), rng.uniform(-1, 1, (n, actions)))


def near_tie(rng: Draw) -> CTMDP:
    """A random sparse model in which every first action has a twin that pays one or two per cent less."""
    model = sparse(rng)
    whole, n = model.dense(), model.n_states
    transition, rate, reward, running = (whole[part] for part in ("transition", "rate", "reward", "running"))
    less = rng.uniform(0.01, 0.02, (n, 1))
    return dense(np.concatenate([transition, transition[:, :1]], axis=1), np.concatenate([rate, rate[:, :1]], axis=1),
                 np.concatenate([reward, reward[:, :1] - less], axis=1), np.concatenate([running, running[:, :1]], axis=1))


def rare(rng: Draw) -> CTMDP:
    """A random model with a few states that are seldom entered and pay or cost much."""
    n, actions, few = int(rng.integers(5, 11)), 3, 2
    transition = rng.dirichlet(np.ones(n), (n, actions))
    transition[:, :, -few:] *= float(rng.uniform(0.002, 0.01))
    transition[-few:] = rng.dirichlet(np.ones(n), (few, actions))
    transition /= transition.sum(axis=2, keepdims=True)
    reward = rng.uniform(0, 1, (n, actions))
    reward[-few:] += rng.uniform(-5, 5, (few, actions))
    return dense(transition, np.exp(rng.uniform(0, math.log(4), (n, actions))), reward)


def birth_death(rng: Draw) -> CTMDP:
    """A random birth-death line with running rewards."""
    n, actions = int(rng.integers(5, 16)), int(rng.integers(2, 4))
    up = rng.uniform(0.2, 0.8, (n, actions))
    rate = np.exp(rng.uniform(0, math.log(4), (n, actions)))
    return dense(line(up), rate, np.zeros((n, actions)), rng.uniform(-1, 1, (n, actions)))


def wide_rates(rng: Draw) -> CTMDP:
    """A random dense model whose rates lie two decades apart."""
    n, actions = int(rng.integers(3, 9)), 3
    rate = np.exp(rng.uniform(0, math.log(100.0), (n, actions)))
    return dense(rng.dirichlet(np.ones(n), (n, actions)), rate, np.zeros((n, actions)), rng.uniform(0, 1, (n, actions)))


def river(rng: Draw) -> CTMDP:
    """RiverSwim with another length, leak and small reward."""
    return make("river-swim", length=int(rng.integers(4, 10)), leak=float(rng.choice([0.01, 0.05])),
                small_reward=float(rng.uniform(0.005, 0.4)))


def maintenance(rng: Draw) -> CTMDP:
    """A machine that wears out."""
    return make("maintenance", levels=int(rng.integers(4, 9)), wear_rate=float(rng.uniform(0.2, 1.0)),
                failure_rate=float(rng.uniform(0.1, 0.8)), repair_cost=float(rng.uniform(1, 6)))


def epidemic(rng: Draw) -> CTMDP:
    """SIS epidemics of other sizes and rates."""
    return make("sis-epidemic", population=int(rng.integers(6, 13)), infection_rate=float(rng.uniform(1.5, 4.0)),
                import_rate=float(rng.uniform(0.02, 0.3)), treatment_cost=float(rng.uniform(1.0, 4.0)))


def queue(rng: Draw) -> CTMDP:
    """A long queue: whom to admit, 100 to 300 states."""
    return make("admission", capacity=int(rng.integers(100, 300)), arrival_rate=float(rng.uniform(0.6, 1.2)),
                reward=float(rng.uniform(2.0, 8.0)))


def speed(rng: Draw) -> CTMDP:
    """A long queue with adjustable speed, 100 to 200 states."""
    return make("service-rate", capacity=int(rng.integers(100, 200)), arrival_rate=float(rng.uniform(0.4, 0.9)))


def ways(rng: Draw) -> CTMDP:
    """A place from which two to four ways lead back to it, three to six states long, without a choice, that pay at their end.

    A time around each earns nearly the same, within some five per cent; the way taken is another than the one meant in a tenth.
    """
    many, length = int(rng.integers(2, 5)), int(rng.integers(3, 7))
    state, action, row, rate, reward = [0] * many, list(range(many)), [], [1.0] * many, [0.0] * many
    first = 1 + length * np.arange(many)
    for way in range(many):
        row.append(np.zeros(1 + many * length))
        row[way][first] = 0.1 / many
        row[way][first[way]] += 0.9
    for way in range(many):
        speeds = rng.uniform(1, 3, length)
        around = 1 + float((1 / (0.95 * speeds)).sum())
        for step, s in enumerate(range(first[way], first[way] + length)):
            jump = np.zeros(1 + many * length)
            jump[s], jump[s + 1 if step < length - 1 else 0] = 0.05, 0.95
            state, action, row, rate = [*state, s], [*action, 0], [*row, jump], [*rate, float(speeds[step])]
            reward.append(0.95 * around * float(rng.uniform(0.95, 1.05)) if step == length - 1 else 0.0)
    return CTMDP.from_pairs(state, action, np.array(row), rate, reward, rate_bounds=(min(rate) / 2, 2 * max(rate)))


FAMILIES: dict[str, Callable[[Draw], CTMDP]] = {
    f.__name__.replace("_", "-"): f for f in (lock, grid, two_ended, bandit, sparse, near_tie, rare, birth_death, wide_rates, river,
                                              maintenance, epidemic, queue, speed, ways)}


def instance(name: str) -> CTMDP:
    """Return the instance FAMILY-SEED."""
    family, _, seed = name.rpartition("-")
    return FAMILIES[family](np.random.default_rng([int(seed), list(FAMILIES).index(family)]))


def regrets(model: CTMDP, label: str, supports: bool, epochs: int, first: int, last: int,
            given: dict[str, Any] | None = None) -> list[float]:
    """Return the pseudo-regret of some replications."""
    solution, knowledge = solve(model), model.knowledge(supports=supports)
    return [float(simulate(model, learner(label, knowledge, seed=i, **(given or {})), max_epochs=epochs, seed=10**6 + i,
                           solution=solution, checkpoints=[epochs]).pseudo_regret[-1]) for i in range(first, last)]


def measured(name: str, label: str, supports: bool, replications: int | None = None) -> dict[str, Any] | None:
    """Return one row, of `replications` runs where that is said; None where the bound is 0."""
    model = instance(name)
    hard = difficulty(model)
    constant = float(hard.lower_bound_constant if supports else hard.lower_bound_constant_unknown)
    if constant == 0:
        return None
    epochs, runs = (10**5, 10) if model.n_states >= LARGE else (10**6, 20)
    bound, began = constant * math.log(epochs), time.perf_counter()
    found = regrets(model, label, supports, epochs, 0, replications or runs)
    if replications is None and model.n_states < LARGE and np.mean(found) > 0.6 * bound:
        found += regrets(model, label, supports, epochs, runs, 50)
    return {"instance": name, "learner": label, "supports": supports, "epochs": epochs, "states": model.n_states,
            "pairs": model.n_pairs, "constant": constant, "payable": hard.payable_bound(epochs, supports) / bound,
            "one_look": float(np.nansum(hard.gaps)) / bound, "regret": found, "seconds": round(time.perf_counter() - began, 1)}


def ratio(row: dict[str, Any]) -> np.ndarray:
    """Return each run's regret over the bound."""
    return np.array(row["regret"]) / (row["constant"] * math.log(row["epochs"]))


def speaks(row: dict[str, Any]) -> bool:
    """Return whether the bound means something: half of it can be paid, and it pays for one look at every choice."""
    return bool(row["payable"] >= 0.5 and row["one_look"] <= 1)


def run(path: Path, names: list[str], label: str, supports: list[bool], replications: int | None = None) -> None:
    """Append what is missing to `path`."""
    done = {(r["instance"], r["learner"], r["supports"]) for r in read(path)} if path.exists() else set()
    for name in names:
        for known in supports:
            row = None if (name, label, known) in done else measured(name, label, known, replications)
            if row is not None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
                print(f"{name} {label} {'known' if known else 'unknown'}: mean {ratio(row).mean():.2f}, worst "
                      f"{ratio(row).max():.2f}, {row['seconds']} s", flush=True)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


def show(path: Path) -> None:
    """Print a row per family and supports, and the instances that miss the goals."""
    print("| family | supports | instances | largest mean | share <= 0.8 | worst run |\n|---|---|---|---|---|---|")
    rows, missed = read(path), []
    for label in dict.fromkeys(r["learner"] for r in rows):
        for known in (True, False):
            groups = {family: [r for r in rows if r["instance"].rpartition("-")[0] == family and r["supports"] == known
                               and r["learner"] == label] for family in FAMILIES}
            groups[f"all ({label})"] = [r for group in groups.values() for r in group]
            groups["where the bound means something"] = [r for r in groups[f"all ({label})"] if speaks(r)]
            for family, group in groups.items():
                if group:
                    means, worst = np.array([ratio(r).mean() for r in group]), max(ratio(r).max() for r in group)
                    print(f"| {family} | {'known' if known else 'unknown'} | {len(group)} | {means.max():.2f} | "
                          f"{(means <= 0.8).mean():.0%} | {worst:.2f} |")
            missed += [r for r in groups[f"all ({label})"] if ratio(r).mean() > 1.5 or ratio(r).max() > 5]
    for r in missed:
        print(f"missed: {r['instance']} {'known' if r['supports'] else 'unknown'}: mean {ratio(r).mean():.2f}, worst "
              f"{ratio(r).max():.2f}; {r['payable']:.0%} of the bound can be paid, one look at every choice costs "
              f"{r['one_look']:.2g} of it")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    parser.add_argument("--per-family", type=int, default=8)
    parser.add_argument("--seed", type=int, default=9001)
    parser.add_argument("--learner", default="default")
    parser.add_argument("--supports", default="known,unknown")
    parser.add_argument("--replications", type=int, help="runs of every instance, instead of 10, 20 or 50")
    given = parser.parse_args()
    if given.what == "show":
        return show(given.path)
    names = [f"{family}-{given.seed + i}" for i in range(given.per_family) for family in given.families]
    return run(given.path, names, given.learner, [k == "known" for k in given.supports.split(",")], given.replications)


if __name__ == "__main__":
    main()

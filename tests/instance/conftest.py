"""Small models made so that gain, bias, gaps and ties are known exactly, as fractions."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from sojourn.model.ctmdp import CTMDP


def solve_exactly(matrix, right):
    """Solve a square system of fractions by Gauss and Jordan."""
    n = len(matrix)
    rows = [[*matrix[i], right[i]] for i in range(n)]
    for c in range(n):
        pivot = next(r for r in range(c, n) if rows[r][c] != 0)
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [x / rows[c][c] for x in rows[c]]
        for r in range(n):
            if r != c and rows[r][c] != 0:
                factor = rows[r][c]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[c])]
    return [row[n] for row in rows]


@dataclass
class Exact:
    """A model in fractions: per state a list of (row, rate, reward, running, gap)."""

    choices: list
    gain: Fraction
    bias: list

    def float_model(self) -> CTMDP:
        n, most = len(self.choices), max(len(c) for c in self.choices)
        transition, admissible = np.zeros((n, most, n)), np.zeros((n, most), dtype=bool)
        rate, reward, running = np.ones((n, most)), np.zeros((n, most)), np.zeros((n, most))
        for s, options in enumerate(self.choices):
            for a, (row, speed, lump, flow, _) in enumerate(options):
                transition[s, a], admissible[s, a] = [float(x) for x in row], True
                rate[s, a], reward[s, a], running[s, a] = float(speed), float(lump), float(flow)
        return CTMDP.from_arrays(
            transition, rate, reward, running, admissible, rate_bounds=(0.125, 16), normalize_rows=True
        )

    def policy_values(self):
        """Yield (policy, gain, mean holding time of a decision) of every policy, exactly."""
        n = len(self.choices)
        for policy in itertools.product(*[range(len(c)) for c in self.choices]):
            chosen = [self.choices[s][a] for s, a in enumerate(policy)]
            system = [[(chosen[s][0][t] - (s == t)) for s in range(n)] for t in range(n)]
            system[0] = [Fraction(1)] * n
            law = solve_exactly(system, [Fraction(1)] + [Fraction(0)] * (n - 1))
            time = sum(q / c[1] for q, c in zip(law, chosen))
            yield policy, sum(q * (c[2] + c[3] / c[1]) for q, c in zip(law, chosen)) / time, time


def exact_model(rng: np.random.Generator, n: int, suboptimal: int, tied: int, running: bool = False) -> Exact:
    """Return a model whose first action is optimal in every state; `tied` further actions in all tie exactly with it."""

    def fraction(lo: int, hi: int, parts: int) -> Fraction:
        return Fraction(int(rng.integers(lo * parts, hi * parts, endpoint=True)), parts)

    def row() -> list:
        weights = [int(w) for w in rng.integers(1, 8, n)]
        return [Fraction(w, sum(weights)) for w in weights]

    base = [(row(), fraction(1, 6, 4), fraction(0, 1, 20), fraction(0, 1, 4) if running else Fraction(0)) for _ in range(n)]
    # unknowns: gain, h(1..n-1); h(0) = 0
    system = [[1 / base[s][1]] + [(s == t) - base[s][0][t] for t in range(1, n)] for s in range(n)]
    answer = solve_exactly(system, [b[2] + b[3] / b[1] for b in base])
    gain, bias = answer[0], [Fraction(0), *answer[1:]]

    def choice(s: int, gap: Fraction):
        p, rate, flow = row(), fraction(1, 6, 4), fraction(0, 2, 4) if running else Fraction(0)
        lump = -gap - (flow - gain) / rate - sum(x * h for x, h in zip(p, bias)) + bias[s]
        return p, rate, lump, flow, gap

    choices = [[(*b, Fraction(0))] for b in base]
    for i in range(tied):
        choices[i % n].append(choice(i % n, Fraction(0)))
    for i in range(suboptimal):
        choices[i % n].append(choice(i % n, fraction(0, 1, 64) + Fraction(1, 64)))
    return Exact(choices, gain, bias)


@pytest.fixture(scope="session")
def make_exact():
    """A function (rng, states, suboptimal, tied, running) -> a model in fractions with known gain, bias and gaps."""
    return exact_model


@pytest.fixture(scope="session")
def random_model():
    """A function (rng, states, actions, successors) -> a model in which every policy is irreducible."""

    def build(
        rng: np.random.Generator, n: int, actions: int = 2, successors: int = 3, running: bool = False, ring: bool = True
    ) -> CTMDP:
        transition = np.zeros((n, actions, n))
        for s, a in itertools.product(range(n), range(actions)):
            some = rng.choice(n, min(successors, n), replace=False)
            if ring and (s + 1) % n not in some:
                some[0] = (s + 1) % n
            transition[s, a, some] = rng.dirichlet(np.ones(len(some)))
        return CTMDP.from_arrays(
            transition,
            rng.uniform(0.5, 4, (n, actions)),
            rng.random((n, actions)),
            rng.random((n, actions)) if running else None,
            rate_bounds=(0.25, 8),
            normalize_rows=True,
        )

    return build

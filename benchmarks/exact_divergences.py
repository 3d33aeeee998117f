"""K of every choice against 90 digits, on models whose rates and chances lie far apart: is every proved interval true?

Run: python benchmarks/exact_divergences.py [--models 1000] [--seed 0]

Three families: rates over some fifteen factors of ten ("rates"), rows that stay with a chance of 1 - 2^-k, k up to 42 ("loops"),
and both.  All probabilities are short binary fractions, so that rows sum to one exactly.  The judge has gain, bias and gaps in
fractions and solves the dual of each K by bisection in 90 digits (tests/exact_lower_bound.py).  A false interval is a K outside of
its bounds; there must be none.  A K that is off by more than 1e-9 must have an interval that says so.
"""

import argparse
import sys
import time
from decimal import Decimal
from pathlib import Path

import numpy as np

from sojourn.instance.difficulty import difficulty
from sojourn.model.ctmdp import CTMDP

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from exact_lower_bound import pairs_of

FAMILIES = {"rates": 15.0, "loops": 1.0, "both": 10.0}  # factors of ten over which rates are spread, about
DIGITS = 90


def drawn(family: str, seed: int, index: int) -> tuple[CTMDP, tuple[float, float]]:
    """Return a model that is irreducible under every policy, and rate bounds."""
    rng = np.random.default_rng([seed, index])
    n, actions = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    p = np.zeros((n, actions, n))
    for s, a in np.ndindex(n, actions):
        some = rng.choice(n, min(n, int(rng.integers(1, 4))), replace=False)
        if (s + 1) % n not in some:
            some[0] = (s + 1) % n
        p[s, a, some] = (1 + rng.multinomial(1024 - len(some), np.ones(len(some)) / len(some))) / 1024
        if family != "rates" and rng.random() < 0.7:
            leave = 2.0 ** -int(rng.integers(1, 43))
            p[s, a] *= leave
            p[s, a, s] += 1 - leave
    powers = int(FAMILIES[family] * 1.66)
    rate = 2.0 ** rng.integers(-powers, powers + 1, (n, actions)) * rng.integers(4, 8, (n, actions))
    reward = rng.integers(-64, 65, (n, actions)) / 64 * 2.0 ** (rng.integers(-20, 20, (n, actions)) * (rng.random() < 0.3))
    running = rng.integers(-64, 65, (n, actions)) * (rng.random((n, actions)) < 0.5) / 8.0
    model = CTMDP.from_arrays(p, rate, reward, running)
    low, high = model.bounds
    return model, (low, high) if rng.random() < 0.6 else (low / 2, high * 2)


def judged(model: CTMDP, bounds: tuple[float, float]) -> list[tuple[float, bool, float]]:
    """Return of every critical choice that falls short: how far K is off, whether its interval holds, and the interval's width."""
    found = difficulty(model, bounds, tie_tolerance=0.0).divergences
    answers = []
    for k, pair in enumerate(pairs_of(model, bounds)):
        if pair.gap <= 0 or pair.margin <= 0:
            if pair.gap > 0 and np.isfinite(found.k[k]):
                answers.append((np.inf, False, 0.0))  # not critical, and has a K
            continue
        truth = pair.least_divergence(DIGITS)
        low, high = float(found.low[k]), float(found.high[k])
        held = Decimal(low) <= truth and (high == np.inf or truth <= Decimal(high))
        off = abs(float(Decimal(float(found.k[k])) / truth - 1)) if np.isfinite(found.k[k]) else np.inf
        answers.append((off, held, high / low - 1 if low > 0 else np.inf))
    return answers


def campaign(family: str, seed: int, models: int) -> list[tuple[float, bool, float]]:
    """Return the answers of some models whose rows sum to one exactly."""
    return [answer for i in range(models) for answer in judged(*drawn(family, seed, i))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    head = f"{'family':<8} {'K':>6} {'false':>6} {'off > 1e-12':>12} {'> 1e-9':>7} {'unsaid':>7} {'worst said to hold':>19}"
    print(head, ' wide')
    wrong = 0
    for family in FAMILIES:
        began, answers = time.process_time(), campaign(family, given.seed, given.models)
        off, held, width = (np.array(column) for column in zip(*answers))
        unsaid, narrow = (off > 1e-9) & (width <= 1e-9), width <= 1e-9
        wrong += int((~held).sum() + unsaid.sum())
        print(f"{family:<8} {len(off):>6} {(~held).sum():>6} {(off > 1e-12).sum():>12} {(off > 1e-9).sum():>7} {unsaid.sum():>7} "
              f"{off[narrow].max():>19.1e} {(~narrow).sum():>5}   ({time.process_time() - began:.0f} s)")
    print(f"{wrong} false intervals or wrong K that claim to be right")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

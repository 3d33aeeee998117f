"""The criss-cross network against a published table: mean numbers of customers under the best policy, all six rows, each proved.

Dai and Gluzman (2022), Queueing network controls via deep reinforcement learning, Stochastic Systems 12(1), give these numbers by
dynamic programming: both classes arrive at rate a, station 1 serves at rate 2, station 2 at rate m.  Buffers have to be cut off
somewhere; here they grow until that does no harm.  A customer who finds a buffer full is lost, so the numbers rise with the
buffers, by steps that shrink by about the same factor: what is still to come is that geometric series.

    python benchmarks/criss_cross.py [ROW ...]           rows 1 to 6; 5 and 6 take some minutes and 8 GB
"""

import sys
import time
from itertools import pairwise

import sojourn
from sojourn.zoo.criss_cross import network

PUBLISHED = {(0.3, 1.5): 0.671, (0.3, 1.0): 0.843, (0.6, 1.5): 2.084, (0.6, 1.0): 2.829, (0.9, 1.5): 9.970, (0.9, 1.0): 15.228}
CAPACITIES = {(0.3, 1.5): [(c, c, c) for c in (6, 9, 12, 15)], (0.3, 1.0): [(c, c, c) for c in (6, 9, 12, 15)],
              (0.6, 1.5): [(c, c, c) for c in (15, 20, 25, 30)], (0.6, 1.0): [(c, c, c) for c in (15, 20, 25, 30)],
              (0.9, 1.5): [(c, 160, 50) for c in (80, 100, 120, 140, 160)] + [(160, 200, 60)],
              (0.9, 1.0): [(c, c, c) for c in (60, 80, 100, 120, 140)]}
TOLERANCE = 2e-6  # relative width of the proofs
HALF = 5e-4  # of the last digit that is printed


def customers(a: float, m: float, capacities: tuple[int, int, int]) -> sojourn.Solution:
    """Return the solution; minus the gain is the mean number of customers."""
    model = network(capacities, (a, a), (2.0, 2.0), m, (1.0, 1.0, 1.0), 0.0)
    return sojourn.solve(model, tolerance=TOLERANCE, progress=True)


def still_to_come(numbers: list[float]) -> float:
    """Return what is missing if the steps go on to shrink as the last two above the width of the proofs did."""
    steps = [later - before for before, later in pairwise(numbers) if later - before > TOLERANCE * later]
    if len(steps) < 2 or not 0 < steps[-1] < steps[-2]:
        return float("inf") if steps else 0.0
    factor = steps[-1] / steps[-2]
    return steps[-1] * factor / (1 - factor)


def main(wanted: list[str]) -> int:
    """Print a line for each row and capacity; return for how many rows more than half a digit is still to come."""
    unsettled = 0
    print(f"{'row':>4}{'a':>5}{'m':>5}{'published':>11}{'capacities':>17}{'states':>11}{'customers, proved':>26}{'step':>10}"
          f"{'method':>12}{'CPU s':>8}")
    for row, ((a, m), published) in enumerate(PUBLISHED.items(), 1):
        if wanted and str(row) not in wanted:
            continue
        numbers: list[float] = []
        for capacities in CAPACITIES[a, m]:
            began = time.process_time()
            found = customers(a, m, capacities)
            low, high = -found.gain_bounds[1], -found.gain_bounds[0]
            step = f"{-found.gain - numbers[-1]:.6f}" if numbers else ""
            numbers.append(-found.gain)
            print(f"{row:>4}{a:>5}{m:>5}{published:>11.3f}{capacities!s:>17}{len(found.policy):>11,}"
                  f"{f'[{low:.6f}, {high:.6f}]':>26}{step:>10}{found.method:>12}{time.process_time() - began:>8.1f}", flush=True)
        rest = still_to_come(numbers)
        unsettled += not rest <= HALF
        apart = numbers[-1] + rest - published
        print(f"{row:>4}  {numbers[-1]:.6f}, still to come about {rest:.1g}; published {published:.3f}"
              f"{'' if abs(apart) <= HALF + TOLERANCE * published else f', {apart:+.4f} apart'}", flush=True)
    return unsettled


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

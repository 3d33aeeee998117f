"""The criss-cross network against a published table: mean numbers of customers under the best policy, all six rows, each proved.

Dai and Gluzman (2022), Queueing network controls via deep reinforcement learning, Stochastic Systems 12(1), give these numbers by
dynamic programming: both classes arrive at rate a, station 1 serves at rate 2, station 2 at rate m.  Buffers are cut off at two
sets of capacities; where the numbers agree to the printed digits at both, the cut does no harm.

    python benchmarks/criss_cross.py [ROW ...]           rows 1 to 6; 5 takes a minute, 6 some minutes.  Not met yet: 5 and 6
"""

import sys
import time

import sojourn
from sojourn.zoo.criss_cross import network

PUBLISHED = {(0.3, 1.5): 0.671, (0.3, 1.0): 0.843, (0.6, 1.5): 2.084, (0.6, 1.0): 2.829, (0.9, 1.5): 9.970, (0.9, 1.0): 15.228}
CAPACITIES = {(0.3, 1.5): ((10, 10, 10), (15, 15, 15)), (0.3, 1.0): ((10, 10, 10), (15, 15, 15)),
              (0.6, 1.5): ((20, 20, 20), (30, 30, 30)), (0.6, 1.0): ((20, 20, 20), (30, 30, 30)),
              (0.9, 1.5): ((100, 110, 35), (120, 140, 40)), (0.9, 1.0): ((100, 100, 110), (124, 124, 140))}
CLOSE = {0.3: 1e-6, 0.6: 1e-6, 0.9: 2e-5}  # relative widths of the proofs
APART = 6e-4  # how far from the printed number a proved one may lie: half of its last digit, and the width of the proof


def customers(a: float, m: float, capacities: tuple[int, int, int]) -> sojourn.Solution:
    """Return the solution; minus the gain is the mean number of customers."""
    model = network(capacities, (a, a), (2.0, 2.0), m, (1.0, 1.0, 1.0), 0.0)
    return sojourn.solve(model, method="auto" if a < 0.9 else "sweeps", tolerance=CLOSE[a], progress=True)


def main(wanted: list[str]) -> int:
    """Print a line a row and capacity; return how many published numbers are missed."""
    missed = 0
    print(f"{'row':>4}{'a':>5}{'m':>5}{'published':>11}{'capacities':>16}{'states':>10}{'customers, proved':>26}{'method':>12}"
          f"{'CPU s':>8}")
    for row, ((a, m), published) in enumerate(PUBLISHED.items(), 1):
        if wanted and str(row) not in wanted:
            continue
        for capacities in CAPACITIES[a, m]:
            began = time.process_time()
            found = customers(a, m, capacities)
            low, high = -found.gain_bounds[1], -found.gain_bounds[0]
            print(f"{row:>4}{a:>5}{m:>5}{published:>11.3f}{capacities!s:>16}{len(found.policy):>10,}"
                  f"{f'[{low:.6f}, {high:.6f}]':>26}{found.method:>12}{time.process_time() - began:>8.1f}", flush=True)
        missed += not low - APART <= published <= high + APART
    return missed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

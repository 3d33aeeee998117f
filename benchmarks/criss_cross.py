"""The criss-cross network against a published table: mean numbers of customers under the best policy, all six rows, each proved.

Dai and Gluzman (2022), Queueing network controls via deep reinforcement learning, Stochastic Systems 12(1), give these numbers by
dynamic programming: both classes arrive at rate a, station 1 serves at rate 2, station 2 at rate m.  Buffers are cut off at two
capacities; where the numbers agree to the printed digits at both, the cut does no harm.
"""

import sys
import time

import sojourn

PUBLISHED = {(0.3, 1.5): 0.671, (0.3, 1.0): 0.843, (0.6, 1.5): 2.084, (0.6, 1.0): 2.829, (0.9, 1.5): 9.970, (0.9, 1.0): 15.228}
CAPACITIES = {0.3: (10, 15), 0.6: (20, 30), 0.9: (60, 90)}


def customers(a: float, m: float, capacity: int, tolerance: float) -> sojourn.Solution:
    """Return the solution; minus the gain is the mean number of customers."""
    model = sojourn.make("criss-cross", capacity=capacity, arrival_rates=(a, a), first_rates=(2.0, 2.0), second_rate=m,
                         loss_cost=0.0)
    return sojourn.solve(model, tolerance=tolerance, progress=True)


def main(tolerance: float) -> int:
    """Print a line a row and capacity; return how many published numbers are missed."""
    missed = 0
    print(f"{'a':>4}{'m':>5}{'published':>11}{'capacity':>10}{'states':>9}{'customers, proved':>30}{'method':>18}{'CPU s':>8}")
    for (a, m), published in PUBLISHED.items():
        for capacity in CAPACITIES[a]:
            began = time.process_time()
            found = customers(a, m, capacity, tolerance)
            low, high = -found.gain_bounds[1], -found.gain_bounds[0]
            print(f"{a:>4}{m:>5}{published:>11.3f}{capacity:>10}{(capacity + 1) ** 3:>9}{f'[{low:.6f}, {high:.6f}]':>30}"
                  f"{found.method:>18}{time.process_time() - began:>8.1f}", flush=True)
        missed += not low - 0.0006 <= published <= high + 0.0006
    return missed


if __name__ == "__main__":
    raise SystemExit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 1e-6))

"""The criss-cross network against a published table: mean numbers of customers under the best policy, all six rows, each proved.

Dai and Gluzman (2022), Queueing network controls via deep reinforcement learning, Stochastic Systems 12(1), give these numbers by
dynamic programming: both classes arrive at rate a, station 1 serves at rate 2, station 2 at rate m.  Buffers have to be cut off
somewhere; here they grow until that does no harm.  A customer who finds a buffer full is lost, so the numbers rise with the
buffers, by steps that shrink by about the same factor: what is still to come is that geometric series.

    python benchmarks/criss_cross.py [ROW ...]           rows 1 to 6; 5 and 6 take some minutes and 4 GB
    python benchmarks/criss_cross.py --walk ROW          the policy of the third capacity in a network with unlimited buffers

The second takes the policy (for longer queues, that of the longest it knows) through 2 x 10^9 events: an upper end that no buffer
cuts off, with the standard error of 100 batches.
"""

import sys
import time
from itertools import pairwise

import numpy as np

import sojourn
from sojourn.kernels.jit import kernel
from sojourn.zoo.criss_cross import network

PUBLISHED = {(0.3, 1.5): 0.671, (0.3, 1.0): 0.843, (0.6, 1.5): 2.084, (0.6, 1.0): 2.829, (0.9, 1.5): 9.970, (0.9, 1.0): 15.228}
CAPACITIES = {(0.3, 1.5): [(c, c, c) for c in (6, 9, 12, 15)], (0.3, 1.0): [(c, c, c) for c in (6, 9, 12, 15)],
              (0.6, 1.5): [(c, c, c) for c in (15, 20, 25, 30)], (0.6, 1.0): [(c, c, c) for c in (15, 20, 25, 30)],
              (0.9, 1.5): [(80, 160, 50), (100, 160, 50), (100, 200, 60), (120, 160, 50), (140, 160, 50)],
              (0.9, 1.0): [(c, c, c) for c in (60, 80, 100, 120)]}
TOLERANCE = 2e-6  # relative width of the proofs
WALK = 2_000_000_000  # events
HALF = 5e-4  # of the last digit that is printed


def customers(a: float, m: float, capacities: tuple[int, int, int]) -> sojourn.Solution:
    """Return the solution; minus the gain is the mean number of customers."""
    model = network(capacities, (a, a), (2.0, 2.0), m, (1.0, 1.0, 1.0), 0.0)
    return sojourn.solve(model, tolerance=TOLERANCE, progress=True)


@kernel
def walked(served: np.ndarray, a: float, m: float, events: int, batches: int, rng: np.random.Generator) -> np.ndarray:
    """Return mean numbers of customers, one a batch; `served` is the class that station 1 serves (0: none) for each state."""
    most = np.array(served.shape) - 1
    n = np.zeros(3, np.int64)
    means = np.zeros(batches)
    for batch in range(batches):
        total = 0
        for _ in range(events // batches):
            total += n[0] + n[1] + n[2]
            x = rng.random() * (2 * a + 2.0 + m)
            if x < 2 * a:
                n[0 if x < a else 1] += 1
            elif x < 2 * a + m:
                n[2] -= n[2] > 0
            else:
                k = served[min(n[0], most[0]), min(n[1], most[1]), min(n[2], most[2])]
                if k == 1 and n[0] > 0:
                    n[0] -= 1
                elif k == 2 and n[1] > 0:
                    n[1] -= 1
                    n[2] += 1
        means[batch] = total / (events // batches)
    return means


def walk(row: int) -> None:
    """Print what a policy costs in the network with unlimited buffers."""
    a, m = list(PUBLISHED)[row - 1]
    capacities = CAPACITIES[a, m][2]
    found = customers(a, m, capacities)
    classes = {"idle": 0, "serve 1": 1, "serve 2": 2}
    code = np.array([classes[str(action)] for action in found.model.actions], dtype=np.int8)
    served = code[np.asarray(found.policy)].reshape([c + 1 for c in capacities])
    means = walked(served, a, m, WALK, 100, np.random.default_rng(1))
    print(f"row {row}: the best policy for {capacities}, unlimited buffers: {means.mean():.4f} +- {means.std() / 10:.4f} customers "
          f"({WALK:.0e} events); published {PUBLISHED[a, m]}")


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
    if "--walk" in sys.argv:
        walk(int(sys.argv[-1]))
    else:
        raise SystemExit(main(sys.argv[1:]))

"""Other programs on the same models: run with the Python of an environment that holds them, never imported by anything here.

    PYTHON benchmarks/_peers.py PEER FILE TOLERANCE SCALE

`FILE` is a `.drn` file for Storm, and an `.npz` file with the uniformized model for the others.  `TOLERANCE` is relative; for
packages whose tolerance is absolute it is multiplied by `SCALE`, about the average cost.  Prints one JSON object: gain (a cost, to
be made small), seconds and CPU seconds of building and of solving, peak memory in MB.
"""

import json
import resource
import sys
import time
from itertools import pairwise
from types import SimpleNamespace

import numpy as np

REPEATS, SHORT = 3, 2.0  # solving that takes fewer seconds is timed so many times, and the best counts


class Watch:
    """Wall and CPU seconds since it was made."""

    def __init__(self):
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self):
        return time.perf_counter() - self.wall, time.process_time() - self.cpu


def best_of(solve, prepare=lambda: None):
    """Return (what `solve` makes of what `prepare` made, its best wall and CPU seconds)."""
    times = []
    while len(times) < REPEATS and not (times and times[0][1] > SHORT):
        ready = prepare()
        watch = Watch()
        found = solve(ready)
        times.append(watch.read())
    return found, min(times, key=lambda seconds: seconds[1])


def storm(path, tolerance, scale):
    """Storm's default method for long-run averages; its default precision is 1e-6, relative, and the binding offers no other."""
    import stormpy

    if tolerance != 1e-6:
        raise SystemExit("Storm is asked through its Python binding, which offers the precision 1e-6 only")
    watch = Watch()
    model = stormpy.build_model_from_drn(path)
    built = watch.read()
    formula = stormpy.parse_properties('R{"cost"}min=? [ LRA ]')[0]
    gain, solved = best_of(
        lambda _: stormpy.model_checking(model, formula, only_initial_states=True).get_value(model.initial_states[0]))
    return float(gain), built, solved


def arrays(path):
    with np.load(path) as file:
        return SimpleNamespace(**{name: file[name] for name in file.files})


def mdpsolver(path, tolerance, scale):
    """mdpsolver, criterion average, its modified policy iteration, one thread."""
    import mdpsolver as package

    m = arrays(path)
    scale /= float(m.uniform)
    watch = Watch()
    bounds = m.row_start.tolist()
    probability, column, cost = m.probability.tolist(), m.next_state.tolist(), m.cost.tolist()
    pairs = m.pair_start.tolist()
    chosen = [range(a, b) for a, b in pairwise(pairs)]

    def build():
        model = package.model()
        model.mdp(rewards=[[-cost[k] for k in ks] for ks in chosen],
                  tranMatProbs=[[probability[bounds[k]:bounds[k + 1]] for k in ks] for ks in chosen],
                  tranMatColumns=[[column[bounds[k]:bounds[k + 1]] for k in ks] for ks in chosen])
        return model

    def solve(model):
        model.solve(algorithm="mpi", criterion="average", tolerance=tolerance * scale, parallel=False, postProcessing=False,
                    makeFinalCheck=False)
        return model

    made = [build()]
    built = watch.read()
    model, solved = best_of(solve, lambda: made.pop() if made else build())  # one that is solved would begin at the end
    return float(m.uniform) * gain_of(m, model.getPolicy(), tolerance * scale), built, solved


def gain_of(m, policy, width):
    """The gain per step of a policy, as it gives no gain of its own: by sweeps, outside the time that is measured."""
    from scipy.sparse import csr_matrix

    pairs = m.pair_start[:-1] + np.asarray(policy)
    matrix = csr_matrix((m.probability, m.next_state, m.row_start), shape=(len(m.cost), len(m.pair_start) - 1))[pairs]
    u = np.zeros(matrix.shape[0])
    for _ in range(200_000):
        new = m.cost[pairs] + matrix @ u
        low, high = (new - u).min(), (new - u).max()
        u = new - new[0]
        if high - low < width:
            break
    return (low + high) / 2


def pymdptoolbox(path, tolerance, scale):
    """pymdptoolbox, relative value iteration on one sparse matrix an action."""
    import scipy.sparse as sparse
    from mdptoolbox.mdp import RelativeValueIteration

    m = arrays(path)
    scale /= float(m.uniform)
    watch = Watch()
    n, count = len(m.pair_start) - 1, int(np.diff(m.pair_start).max())
    matrix = sparse.csr_matrix((m.probability, m.next_state, m.row_start), shape=(len(m.cost), n))
    rows = [np.minimum(m.pair_start[:-1] + a, m.pair_start[1:] - 1) for a in range(count)]  # a missing action repeats the last
    transition = [matrix[r] for r in rows]
    reward = -np.column_stack([m.cost[r] for r in rows])
    made = [RelativeValueIteration(transition, reward, epsilon=tolerance * scale, max_iter=10**9)]
    built = watch.read()

    def solve(problem):
        problem.run()
        return problem.average_reward

    gain, solved = best_of(solve, lambda: made.pop() if made else RelativeValueIteration(
        transition, reward, epsilon=tolerance * scale, max_iter=10**9))
    return -float(m.uniform) * float(gain), built, solved


if __name__ == "__main__":
    peer, path, tolerance = sys.argv[1], sys.argv[2], float(sys.argv[3])
    program = {"storm": storm, "mdpsolver": mdpsolver, "pymdptoolbox": pymdptoolbox}[peer]
    gain, built, solved = program(path, tolerance, float(sys.argv[4]))
    print(json.dumps({"gain": gain, "build": built, "solve": solved,
                      "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))

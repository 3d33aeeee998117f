"""Policy iteration with multigrid, begun on smaller models: for grids and other models whose chains forget slowly.

A large model is first solved roughly on groups of four states, that one on groups again, and so on; each answer is where the next
larger model starts.  A policy is evaluated only as far as the next improvement needs, and never less exactly than the best Bellman
step so far allows; where evaluations do not get there (heavy load on long grids), `ended` is False.
"""

from __future__ import annotations

import numpy as np

from sojourn.kernels import coarse_model, multigrid
from sojourn.model.progress import Progress
from sojourn.solving.arrays import Arrays
from sojourn.solving.embedded import Guess, bellman, scale_of, smooth, swept
from sojourn.solving.multigrid import Multigrid

SMALLEST = 300  # states of a model that is not made smaller any more
SWEEPS = 3000  # for the smallest
ROUGH = 1e-3  # relative width at which a smaller model is left
ROUGH_ROUNDS = 3  # policies of a smaller model at most
LAWS = (2, 0, 12)  # sweeps for the weights of a group's states, tried in this order: no number of them suits every model
ROUNDS = 60  # policies of the model itself at most
CLOSER = 0.1  # an evaluation ends when its residual is this share of the one before, or of the best Bellman step
DEEPER = 0.2  # the same once the gain is known well enough: a last evaluation, unless it is as exact, so that ties are seen as such
SMOOTH = 4  # sweeps of the Bellman equation after an evaluation
CYCLES = 30  # of one evaluation at most
FAILURES = 3  # evaluations that may need all of these without a Bellman step half as wide as the best before


def nested(model: Arrays, n_actions: int, tolerance: float, progress: Progress, brief: bool = False) -> Guess:
    """Return the guess whose Bellman step is at most `tolerance` wide, relative to the gain, or how far it got.

    `brief`: leave it at the first evaluation that does not converge.
    """
    best: Guess | None = None
    for law in LAWS[:1] if brief else LAWS:
        guess = _start(model, n_actions, law, progress)
        guess.start, guess.ended = guess.pairs.copy(), guess.width <= tolerance * scale_of(model, guess)  # so far it was rough
        _iterate(model, guess, tolerance, law, ROUNDS, progress, 1 if brief else FAILURES)
        best = guess if best is None or guess.ended or guess.width < best.width else best
        if guess.ended:
            break
    assert best is not None
    return best


def _start(model: Arrays, n_actions: int, law: int, progress: Progress) -> Guess:
    """Return the answer of the smaller model, as a policy and a bias of this one."""
    if model.n_states <= SMALLEST:
        return swept(model, ROUGH / 10, SWEEPS, progress)
    guess = Guess(np.full(model.n_states, -1, dtype=np.int64), 0.0, np.zeros(model.n_states))
    bellman(model, guess, 0.0)
    group, small = _smaller(model, guess.pairs, n_actions)
    if small.n_states > 0.7 * model.n_states:
        return guess
    found = _start(small, n_actions, law, progress)
    if small.n_states > SMALLEST:
        _iterate(small, found, ROUGH, law, ROUGH_ROUNDS, progress)
    coarse_model.spread_policy(model.pair_start, model.pair_action, group, small.pair_action[found.pairs], guess.pairs)
    guess.gain, guess.u = found.gain, found.u[group]
    return guess


def _smaller(model: Arrays, usual: np.ndarray, n_actions: int) -> tuple[np.ndarray, Arrays]:
    """Return (group of each state, the model of the groups); states are joined as all actions together tie them."""
    start, to, q, _ = coarse_model.mixed_rows(model.pair_start, model.row_start, model.next_state, model.probability, model.rate)
    group, head, link = multigrid.joined(start, to, q, np.ones(model.n_states))
    start, to, q, _ = multigrid.summed_rows(start, to, q, np.ones(model.n_states), group, head, link)
    above, head, _ = multigrid.joined(start, to, q, np.ones(len(head)))
    group = multigrid.composed(group, above)
    head, link = coarse_model.members(group, len(head))
    return group, Arrays(*coarse_model.coarse_model(*model, group, head, link, n_actions, usual))


def _iterate(model: Arrays, guess: Guess, tolerance: float, law: int, rounds: int, progress: Progress,
             patience: int = FAILURES) -> None:
    """Improve `guess` in place until its Bellman step is narrow enough, or `rounds` policies were tried."""
    best, failures, changes = np.inf, 0, 1
    levels: Multigrid | None = None
    for _ in range(rounds):
        if changes or levels is None:
            rows = multigrid.generator_rows(model.row_start, model.next_state, model.probability, model.rate, guess.pairs)
            levels = Multigrid(rows, law)
            if not levels.usable:
                return
        goal = tolerance / 4 * scale_of(model, guess)
        evaluation = Evaluation(best, goal if not guess.ended else DEEPER * goal)
        guess.gain = levels.improve(model.income[guess.pairs], guess.u, guess.gain, evaluation.enough)
        if not np.isfinite(guess.gain):
            return
        guess.sweeps += evaluation.cycles
        before = guess.pairs.copy()
        smooth(model, guess, SMOOTH)
        bellman(model, guess, 1.0)
        changes = int(np.count_nonzero(guess.pairs != before))
        failures += evaluation.failed and not guess.width < best / 2
        best = min(best, guess.width)
        goal = tolerance * scale_of(model, guess)
        progress.show(f"multigrid on {model.n_states:,} states", guess.sweeps, guess.width, goal)
        deepened, guess.ended = guess.ended, guess.width <= goal
        if (guess.ended and (deepened or guess.width <= DEEPER * goal)) or failures >= patience:
            return


class Evaluation:
    """Says when a policy is evaluated well enough."""

    def __init__(self, best: float, goal: float):
        self.best, self.goal, self.cycles, self.failed = best, goal, 0, False

    def enough(self, least: float, most: float, cycles: int) -> bool:
        width = most - least
        if cycles == 0:
            self.target = max(CLOSER * min(width, self.best), self.goal)
        self.cycles = cycles
        self.failed = cycles >= CYCLES
        return cycles > 0 and (width <= self.target or self.failed or not width < np.inf)

"""Modified policy iteration at the jumps of the model: a Bellman step, then sweeps of the policy it chose, and so on.

The gain comes out of the sweeps as reward per sweep over time per sweep, so that rates need not be made alike, and each sweep uses
what it has just found (Gauss-Seidel), two in ascending order, one in descending.  Fast wherever chains forget where they came
from within some hundred jumps; where they do not, it is seen early and `ended` is False.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sojourn.kernels import embedded as kernels
from sojourn.model.progress import Progress
from sojourn.solving.arrays import Arrays, unsigned
from sojourn.solving.parts import in_parts

CLOSER = 0.2  # sweeps of a policy end when their residual is this share of what it was
DEEPER = 0.2  # the same for the last policy, unless it is as exact, so that ties are seen as such
IN_A_ROW = 10  # sweeps of a policy at most
SETTLED, LONGER = 0.01, 3  # where it changed in a smaller share of the states, so many times as many, and half the residual
TRIAL, FEW = 80, 50_000  # sweeps, and FEW / states more, after which (or after a 20th of all) the pace must promise an end
AHEAD = 400  # more sweeps that the pace may ask for: about what other ways take
STRETCH = 1.35  # of each change, once sweeps are many: on grids fewer than half of them
LESS = 0.7  # of it, each time that makes things worse
SOME, MANY, FAR = 20, 40, 100  # sweeps after which that begins if no end before `FAR` is in sight, and in any case
EPSILON = float(np.finfo(float).eps)
Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass
class Guess:
    """A policy (pair per state), gain and bias on the way to the optimum, and what one Bellman step says of them."""

    pairs: np.ndarray
    gain: float
    u: np.ndarray
    low: float = -np.inf
    high: float = np.inf
    sweeps: int = 0
    ended: bool = False
    deepened: bool = False  # evaluated further than its own gain needs, so that ties are seen as such
    start: np.ndarray | None = None  # a policy that is better to start from, where this one got lost
    widths: list[tuple[int, float]] = field(default_factory=list)

    @property
    def width(self) -> float:
        return self.high - self.low


def bellman(model: Arrays, guess: Guess, slack: float) -> int:
    """Improve the policy of `guess` where that pays at its (gain, u), and set low and high; return the number of changes.

    With `slack`, a pair must gain more than that multiple of what the state's own equation is off by.
    """
    rows = model.fast

    def part(first: int, last: int) -> tuple[float, float, int]:
        low, high, changes = kernels.best_step(*rows, guess.gain, guess.u, slack, first, last, guess.pairs)
        return float(low), float(high), int(changes)

    found = in_parts(part, model.n_states, len(model.next_state))
    guess.low, guess.high = min(low for low, _, _ in found), max(high for _, high, _ in found)
    return sum(changes for _, _, changes in found)


def smooth(model: Arrays, guess: Guess, most: int) -> None:
    """Sweep the Bellman equation itself, at the gain of `guess`, up to `most` times: u and pairs follow each other step by step.

    Where u solves the equations of a policy, u <= T u, and sweeps keep that: the gain of the new policy is no less.
    """
    for sweep in range(most):
        changes = kernels.best_sweep(*model.fast, guess.gain, guess.u, sweep % 2 == 1, guess.pairs)
        if sweep % 2 and not changes:
            return


def scale_of(model: Arrays, guess: Guess) -> float:
    """Return |gain|, or the mean distance of incomes from it if that is less: a constant income must not hide the rest."""
    return float(min(abs(guess.gain), np.abs(model.income[guess.pairs] - guess.gain).mean()))


def swept(model: Arrays, tolerance: float, most: int, progress: Progress) -> Guess:
    """Return the guess whose Bellman step is at most `tolerance` wide, relative to the gain.

    `ended` is False where `most` sweeps will not do.
    """
    n = model.n_states
    guess = Guess(np.full(n, -1, dtype=np.int64), 0.0, np.zeros(n))
    visit = model.income / model.rate
    xy, grown = np.zeros((n, 2)), np.empty((n, 2))
    highest = float(np.abs(model.income).max())
    rows, in_rows, stretch, foreseen = None, False, 1.0, 0.0
    while True:
        before = guess.width
        changes = bellman(model, guess, 0.0)
        goal = tolerance * abs(guess.gain)
        if guess.width <= goal:
            goal = tolerance * scale_of(model, guess)
        guess.widths.append((guess.sweeps, guess.width))
        progress.show("sweeps", guess.sweeps, guess.width, goal)
        guess.ended = guess.width <= goal
        enough = guess.ended and (guess.deepened or guess.width <= DEEPER * goal)
        if enough or guess.sweeps >= most or guess.width <= EPSILON * highest:
            return guess
        expected = _expected_end(guess.widths, goal)
        if guess.sweeps >= max(TRIAL + FEW // n, most // 20) and not min(expected, foreseen) <= min(most, guess.sweeps + AHEAD):
            return guess
        if changes or rows is None:
            rows = _rows(model, visit, guess.pairs)
            in_rows = kernels.stand_in_rows(rows[0], rows[1])
        foreseen = expected
        if guess.sweeps >= MANY or (guess.sweeps >= SOME and expected > FAR):
            stretch = STRETCH if stretch == 1.0 else 1.0 + (stretch - 1.0) * (LESS if guess.width > 2 * before else 1.0)
        settled = changes <= SETTLED * n
        share, row = (CLOSER / 2, LONGER * IN_A_ROW) if settled else (CLOSER, IN_A_ROW)
        guess.deepened = guess.ended
        guess.gain, made = kernels.sweep_on(*rows, xy, grown, guess.sweeps, max(1, min(row, most - guess.sweeps)),
                                            DEEPER if guess.ended else share, stretch, in_rows)
        guess.sweeps += made
        kernels.settled(xy, guess.gain, guess.u)


def _rows(model: Arrays, visit: np.ndarray, pairs: np.ndarray) -> Rows:
    """Return (start, next, probability, reward, time) of the chain of a policy."""
    start, to, p, reward, time = kernels.chosen_rows(model.row_start, model.next_state, model.probability, model.rate, visit, pairs)
    return unsigned(start), unsigned(to), p, reward, time


def _expected_end(widths: list[tuple[int, float]], goal: float) -> float:
    """Return the sweep at which the width reaches `goal` if it goes on as over the last half."""
    (first, before), (last, now) = widths[len(widths) // 2], widths[-1]
    if len(widths) < 3 or last == first:
        return 0.0
    if not 0 < now < before:
        return np.inf
    return last + (last - first) * float(np.log(now / max(goal, 1e-300)) / np.log(before / now))

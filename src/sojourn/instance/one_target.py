"""The least (or the largest) expected costs of reaching one target, with a proof.

Policy iteration on numbers that keep their digits.  A policy's costs are written V = V(b) P(b before t) + (cost until b or t)
with b a busy state: the three are computed without a subtraction (`sojourn.kernels.hitting`), and a difference V(j) - V(s)
then has an error relative to its own parts, not to V, which may be 1e30 times larger.

The policy's own costs bound the least ones from above.  From below: if every choice has
cost + Σ p (V(j) - V(s)) >= -η (cost + Σ p |V(j) - V(s)|), then V is the least cost of a model whose numbers differ by a
factor within 1 ± η, and by the Markov chain tree theorem the least costs of the two models differ by a factor of at most
Π_s (1 + η_s)/(1 - η_s), η_s the largest η of a choice of s.  For the largest costs above and below change places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sojourn.errors import ToleranceError
from sojourn.instance.first_passage import EPSILON, Passage
from sojourn.kernels.hitting import band_passage, passage_advantages

CHEAP = 3e7  # multiplications up to which elimination in band order is used without asking
MOST = 5e9  # and those that it may take where an ordinary factorization proves too little
TIGHT = 1e-10  # a proof from residuals that is tighter than this is good enough
LIMIT = 1000
BLIND = 30  # steps of policy iteration on numbers that left the range of floats


@dataclass(frozen=True, eq=False)
class Reached:
    """Costs `value` of reaching a target and the `choice` of each state; the best costs are value·exp(-below .. above).

    `steps` is how many eliminations it took, where elimination was used.
    """

    value: np.ndarray
    choice: np.ndarray
    below: float
    above: float
    steps: int = 0

    def low(self) -> np.ndarray:
        """Return proved lower bounds of the best costs."""
        below: np.ndarray = self.value * (np.exp(-self.below) * (1 - 4 * EPSILON))
        return below

    def high(self) -> np.ndarray:
        """Return proved upper bounds of the best costs."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(self.value > 0, self.value * (np.exp(min(self.above, 1e3)) * (1 + 4 * EPSILON)), 0.0)


def reached(passage: Passage, target: int, start: np.ndarray) -> Reached:
    """Return the best costs of reaching `target`, by policy iteration from a policy that gets there."""
    if float(passage.n_states) * (passage.band + 1.0) ** 2 <= CHEAP:
        return _accurate(passage, target, start)
    found = _plain(passage, target, start)
    if found is not None and found.below + found.above <= TIGHT:
        return found
    work = float(passage.n_states) * (passage.band + 1.0) ** 2
    if work > MOST and (found is not None or passage.n_states > 3000):  # too large to be done carefully
        if found is None:
            raise ToleranceError(
                f"state {target} is reached only after so many jumps that double precision cannot resolve them, and the model "
                f"of {passage.n_states} states is too large for a slower way. Leave out states that are practically never visited.",
                best=None,
            )
        return found
    better = _accurate(passage, target, start if found is None else found.choice)
    return better if found is None or better.below + better.above < found.below + found.above else found


def careful(passage: Passage, target: int, start: np.ndarray) -> Reached:
    """Return the best costs of reaching `target` by elimination in order, whatever that costs: for models with short jumps."""
    return _accurate(passage, target, start)


def _plain(passage: Passage, target: int, start: np.ndarray) -> Reached | None:
    """Return the best costs by ordinary factorization, proved by their residuals; None where they are not positive."""
    try:
        value, choice = passage.solve(target, start)
    except ToleranceError:
        return None
    return Reached(value, choice, *_residuals(passage, target, value, choice))


def _residuals(passage: Passage, target: int, value: np.ndarray, choice: np.ndarray) -> tuple[float, float]:
    """Return (below, above) of a `Reached` as the residuals of its values prove them."""
    column, at = value[:, None], np.array([target])
    own = Passage(passage.matrix[choice], np.arange(passage.n_states), passage.cost[choice])
    if passage.sign > 0:
        over, under = own.excess_above(column, at)[0], passage.excess_below(column, at)[0]
    else:
        over, under = passage.excess_above(column, at)[0], own.excess_below(column, at)[0]
    return float(np.log1p(under)), float(-np.log1p(-over)) if over < 1 else np.inf


def _accurate(passage: Passage, target: int, choice: np.ndarray) -> Reached:
    """Return the best costs by elimination without a subtraction."""
    busy = 1 if target == 0 else 0
    arrays = passage._arrays[:4]
    pick = np.arange(passage.n_states)
    moved, changed, blind, steps = False, True, 0, 0
    for _ in range(LIMIT):
        steps += 1
        solution, far, error, visits = band_passage(
            *arrays, choice, passage.place, passage.band, target, busy, passage.cost[choice]
        )
        likely = int(np.argmax(np.nan_to_num(visits, posinf=np.finfo(float).max)))
        if likely != target and visits[likely] > 4 * visits[busy] and (changed or not moved):
            busy, moved, changed = likely, True, False
            continue
        value, bound, size = passage_advantages(
            *arrays, passage.state, choice, target, solution, far, error if np.isfinite(error) else 1e-9
        )
        signed = passage.sign * value
        best = passage.first_least(np.where(passage.state == target, 0.0, signed))
        better = (signed[best] < -bound[best]) & (best != choice) & (pick != target)
        blind += not np.isfinite(error)
        if not better.any() or blind > BLIND:
            break
        choice, changed = np.where(better, best, choice), True
    costs = np.where(pick == target, 0.0, far * solution[:, 1] + solution[:, 2])
    own = 2 * error + 8 * EPSILON
    slack = _slack(passage, signed - bound, size - bound, choice) if np.isfinite(error) else np.inf
    below, above = (own + slack, own) if passage.sign > 0 else (own, own + slack)
    if below + above > TIGHT and costs.max() < 1e13 * passage.cost.min():  # elsewhere values are too long for their residuals
        other = _residuals(passage, target, costs, choice)
        below, above = min(below, other[0]), min(above, other[1])
    return Reached(costs, choice, below, above, steps)


def _slack(passage: Passage, least: np.ndarray, size: np.ndarray, choice: np.ndarray) -> float:
    """Return Σ_s log (1 + η_s)/(1 - η_s): by how much, in logarithms, the best costs may be better than the policy's."""
    others = np.ones(len(least), dtype=bool)
    others[choice] = False
    size = np.maximum(size, passage.cost)
    eta = np.where(others & (least < 0), -least / size, 0.0) * (1 + 1e-12)
    worst = np.maximum.reduceat(eta, passage.start)
    return float(2 * np.arctanh(worst).sum()) * (1 + 1e-12) if worst.max() < 1 else np.inf

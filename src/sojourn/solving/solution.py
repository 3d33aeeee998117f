"""What solving gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.errors import ModelError, ParameterError, require
from sojourn.model.ctmdp import CTMDP
from sojourn.model.numbers import shown
from sojourn.model.words import html_card, left_over

SHOWN = 12
DECIDING = ("pair_start", "pair_action", "row_start", "next_state", "probability", "rate", "reward", "running", "transition_reward")


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The optimal gain (reward per unit time), a bias (reward, 0 in state 0), an optimal policy, and the proof.

    `gain` and `bias` solve  h(s) = max_a r(s,a) + (c(s,a) - ρ)/λ(s,a) + Σ_j p(j|s,a) h(j)  (eq:opt-eqn); `policy` takes
    the lowest action index that attains the maximum: up to 200 states that of the numbers as stored, told apart with 32 digits;
    above, to within a tenth of the tolerance.  The optimal gain lies in `gain_bounds` for certain.  `method` is the one whose
    policy this is: policy iteration also where it improved what another one had begun.  `note` says what else one should know,
    such as that floats cannot prove more.
    """

    gain: float
    bias: np.ndarray
    policy: np.ndarray
    gain_bounds: tuple[float, float]
    method: str
    iterations: int
    seconds: float
    model: CTMDP
    note: str = ""

    @property
    def policy_labels(self) -> dict[Any, Any]:
        """The policy as {state: action}, both as the user calls them."""
        return {s: self.model.actions[a] for s, a in zip(self.model.states, self.policy)}

    def rows(self, most: int) -> list[tuple[str, str, float]]:
        """Return (state, action, bias) of the first `most` states, as texts to show."""
        states, actions = self.model.states, self.model.actions
        return [(states.label(s), actions.label(self.policy[s]), float(self.bias[s])) for s in range(min(most, len(states)))]

    def frame(self) -> Any:
        """Return one row per state (state, action, bias), the first two as the user calls them, as a pandas DataFrame (needs the
        extra `frame`)."""
        pandas: Any = require("pandas", "frame")
        chosen = [self.model.actions[a] for a in self.policy]
        return pandas.DataFrame({"state": list(self.model.states), "action": chosen, "bias": self.bias})

    def __repr__(self) -> str:
        lo, hi = self.gain_bounds
        rows = [f"{s} -> {a}" for s, a, _ in self.rows(SHOWN)]
        more = ", ..." if self.model.n_states > SHOWN else ""
        return (f"<Solution: gain {self.gain:.12g} per unit time, proved in [{lo:.15g}, {hi:.15g}], by {self.method} in "
                f"{self.iterations} iterations; policy {', '.join(rows)}{more}>")

    def _repr_html_(self) -> str:
        lo, hi = self.gain_bounds
        rows = [(s, a, f"{h:.6g}") for s, a, h in self.rows(SHOWN)]
        more = f"and {left_over(self.model.n_states - SHOWN, 'state')}" if self.model.n_states > SHOWN else ""
        return html_card(f"gain {self.gain:.12g} per unit time, proved in [{lo:.15g}, {hi:.15g}] ({self.method}, "
                         f"{self.iterations} iterations)", ("state", "action", "bias"), rows, more)


def require_solution_of(model: CTMDP, solution: Any) -> None:
    """Raise unless `solution` (None is fine) is a solution of `model`, or of one with the same numbers; names may differ."""
    if solution is None:
        return
    if not isinstance(solution, Solution):
        raise ParameterError(f"solution is {shown(solution)} (a {type(solution).__name__}); it must be what `sojourn.solve(model)` "
                             "returns. Leave it out to have the model solved.")
    if solution.model is model:
        return
    for field in DECIDING:
        mine, theirs = getattr(model, field), getattr(solution.model, field)
        if mine is theirs:
            continue
        if mine is None or theirs is None or mine.shape != theirs.shape:
            where = f"{field} has {0 if theirs is None else theirs.size} entries there and {0 if mine is None else mine.size} here"
        elif not np.array_equal(mine, theirs):
            i = int(np.flatnonzero(mine != theirs)[0])
            where = f"{field}[{i}] is {shown(theirs[i])} there and {shown(mine[i])} here"
        else:
            continue
        raise ModelError(f"the solution is of another model: {where}. Pass solution=sojourn.solve(model) of this model, "
                         "or leave it out.")

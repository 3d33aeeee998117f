"""What solving gives back."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from sojourn.model.ctmdp import CTMDP

SHOWN = 12


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The optimal gain (reward per unit time), a bias (reward, 0 in state 0), an optimal policy, and the proof.

    `gain` and `bias` solve  h(s) = max_a r(s,a) + (c(s,a) - ρ)/λ(s,a) + Σ_j p(j|s,a) h(j)  (eq:opt-eqn); `policy` takes
    the lowest action index that attains the maximum.  The optimal gain lies in `gain_bounds` for certain.  `remark` says what else
    one should know, such as that floats cannot prove more.
    """

    gain: float
    bias: np.ndarray
    policy: np.ndarray
    gain_bounds: tuple[float, float]
    method: str
    iterations: int
    seconds: float
    model: CTMDP
    remark: str = ""

    @property
    def policy_labels(self) -> dict[str, str]:
        """The policy as {state label: action label}."""
        return {s: self.model.actions[a] for s, a in zip(self.model.states, self.policy)}

    def __repr__(self) -> str:
        lo, hi = self.gain_bounds
        rows = [f"{s} -> {a}" for s, a in list(self.policy_labels.items())[:SHOWN]]
        more = ", ..." if self.model.n_states > SHOWN else ""
        return (f"<Solution: gain {self.gain:.12g} per unit time, proved in [{lo:.15g}, {hi:.15g}], by {self.method} in "
                f"{self.iterations} iterations; policy {', '.join(rows)}{more}>")

    def _repr_html_(self) -> str:
        lo, hi = self.gain_bounds
        labels = list(self.policy_labels.items())[:SHOWN]
        body = "".join(f"<tr><td>{escape(s)}</td><td>{escape(a)}</td><td>{h:.6g}</td></tr>"
                       for (s, a), h in zip(labels, self.bias))
        more = f"<p>and {self.model.n_states - SHOWN} more states</p>" if self.model.n_states > SHOWN else ""
        return (f"<div><b>gain {self.gain:.12g}</b> per unit time, proved in [{lo:.15g}, {hi:.15g}] ({escape(self.method)}, "
                f"{self.iterations} iterations)<table><tr><th>state</th><th>action</th><th>bias</th></tr>{body}"
                f"</table>{more}</div>")

"""What is proved of a policy: what it earns at least, and what no policy exceeds.  Made by learn/stopping.py."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sojourn.errors import ModelError
from sojourn.learn.policies import policy_pairs
from sojourn.model.closeness import Within
from sojourn.model.knowledge import Knowledge


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """What is proved of a policy, with probability 1 - `delta`; true where that is as close to the best as was asked for.

    The policy earns at least `low`, no policy more than `high`, and no other policy more than `others` (which is `high` where
    nothing less is known), reward per unit of time.  `epsilon` is the shortfall that was allowed, in the same unit (NaN where
    nothing was asked for).  `policy` holds positions, one per state; all of its choices were
    tried.  It is None while some state has no choice that was tried.  `note` says where one may wait for a certificate in vain.
    """

    knowledge: Knowledge
    policy: np.ndarray | None
    low: float
    high: float
    others: float
    epsilon: float
    delta: float
    epochs: int
    wanted: Within | None = None
    note: str = ""
    doubt: str = ""  # why nothing is proved: what was told does not fit what was seen

    @property
    def certified(self) -> bool:
        """Whether the policy is within `epsilon` of the best."""
        return self.policy is not None and self.gap <= self.epsilon and not self.doubt

    @property
    def gap(self) -> float:
        """What the policy may fall short of the best gain at most: `others` - `low`; 0 where it is proved to be the best one."""
        return self.others - self.low

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the best gain's absolute value, at most; infinite while the best gain may be 0."""
        least = max(self.low, -self.high, 0.0)
        return self.gap / least if least > 0 else np.inf

    @property
    def policy_labels(self) -> dict[Any, Any]:
        """The policy as {state: action}, both as the user calls them; empty while there is none."""
        return {} if self.policy is None else {s: self.knowledge.actions[a] for s, a in zip(self.knowledge.states, self.policy)}

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON; None where a number is not finite."""
        known = self.knowledge
        chosen = [] if self.policy is None else list(enumerate(self.policy))
        policy = [[known.states.label(s), known.actions.label(a)] for s, a in chosen] or None
        numbers = {"low": self.low, "high": self.high, "others": self.others, "gap": self.gap, "relative_gap": self.relative_gap,
                   "epsilon": self.epsilon}
        return {"certified": self.certified, "policy": policy, **{k: v if np.isfinite(v) else None for k, v in numbers.items()},
                "delta": self.delta, "decisions": self.epochs, "asked": self.wanted.text if self.wanted else None,
                "sentence": str(self)}

    def tree(self) -> dict[str, Any]:
        """Return it without the knowledge as arrays, numbers and texts, from which `from_tree` makes it again."""
        ends = np.array([self.low, self.others, self.high])
        return {"policy": self.policy, "ends": ends, "delta": self.delta, "epochs": self.epochs,
                "wanted": None if self.wanted is None else asdict(self.wanted), "note": self.note, "doubt": self.doubt}

    @classmethod
    def from_tree(cls, tree: dict[str, Any], knowledge: Knowledge) -> Certificate:
        """Return the certificate that `tree()` described; one that cannot be is refused."""
        ends, policy, wanted = np.asarray(tree["ends"], dtype=float), tree["policy"], tree["wanted"]
        low, others, high = map(float, ends)
        if not low <= others <= high:
            raise ModelError(f"its certificate has the gains {low}, {others} and {high}; none must be above the next.")
        if policy is not None:
            policy_pairs(policy.ravel(), knowledge)
        asked = None if wanted is None else Within(float(wanted["epsilon"]), bool(wanted["relative"]), float(wanted["delta"]))
        epsilon = float("nan") if asked is None else asked.allowed(low, high)
        return cls(knowledge, policy, low, high, others, epsilon, float(tree["delta"]), int(tree["epochs"]), asked,
                   str(tree["note"]), str(tree["doubt"]))

    def __bool__(self) -> bool:
        return self.certified

    def __str__(self) -> str:
        after = f"after {self.epochs:,} decision{'s' * (self.epochs != 1)}"
        note = f" {self.note}" if self.note and not self.certified else ""
        if self.doubt:
            return f"Not certified {after}: {self.doubt}"
        if self.policy is None:
            return f"Not certified {after}: in some state no choice was tried yet.{note}"
        share = f" ({100 * self.relative_gap:.3g} %)" if np.isfinite(self.relative_gap) else ""
        other = f", no other one more than {self.others:.6g}" if self.low < self.others < self.high else ""
        ends = (f"it earns at least {self.low:.6g} per unit of time and no policy more than {self.high:.6g}{other}, with "
                f"{100 * (1 - self.delta):.6g} % confidence")
        close = f"within {self.gap:.4g}{share} of the best" if self.gap else "the best one"
        if self.wanted is None:
            return f"The policy is {close} {after}: {ends}.{note}"
        if self.certified:
            return f"Certified {after}: the policy is {close}; {ends}."
        asked = f"{self.wanted.text} of the best gain" if self.wanted.relative else f"{self.epsilon:.4g}"
        return f"Not certified {after}: the policy is {close}, and {asked} is asked for; {ends}.{note}"

    def __repr__(self) -> str:
        return f"<Certificate: {self}>"

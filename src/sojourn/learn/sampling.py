"""What every learner that samples from its posterior shares: plans made by one compiled planner."""

from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar

import numpy as np

from sojourn.kernels.pooled_plan import POOLED_PLANNERS, PairRows, Pooled
from sojourn.kernels.sampled_plan import BK, NO_INDEX, PLANNERS, Copies, Rows, Sampler
from sojourn.kernels.swept_planning import DENSE
from sojourn.kernels.swept_planning import WORK as SWEPT
from sojourn.learn.ct_kl_ucrl import MAX_STEPS
from sojourn.learn.kl_set import kl_set
from sojourn.learn.learner import Learner, Plan
from sojourn.learn.posterior import Posterior
from sojourn.learn.untried import trying

LEAST = 3  # draws per row, if more than that are allowed; where the supports are known no more are taken
MOST_PLANS = 1024  # in one compiled call
UNBOUNDED = (1e-150, 1e150)  # rates where no bounds are told, so that nothing is divided by 0
WORK = 10**8  # of the plans in one compiled call, in steps of about a nanosecond


class SamplingLearner(Learner):
    """Follows the best policies of models drawn from the posterior, for an episode each; an index may override them.

    A class that may lack rate bounds tries every pair first where none are told; then the posterior of each rate is a Gamma law.
    """

    exposes: ClassVar[bool] = True
    index: ClassVar[int] = NO_INDEX  # of kernels/sampled_plan.py
    compiled_plan = PLANNERS[NO_INDEX]

    def __init_subclass__(cls, **more: Any) -> None:
        if "index" in vars(cls) and "compiled_plan" not in vars(cls):
            cls.compiled_plan = PLANNERS[cls.index]
        super().__init_subclass__(**more)

    def sample_from(self, belief: Posterior, samples: int, most: int = 1, tsde: bool = True, depth: float = 0.0) -> None:
        """Draw `samples` models per plan from `belief`, with up to `most` draws per row; `depth` is when the index is heard.

        With `tsde` a plan is at most one epoch longer than the last; with the index of CT-IMED it may last longer (`set_length`).
        """
        b = self.belief = belief
        first = self.knowledge.pair_start[:-1]
        self.info_names = ("estimated_gain",) * (self.index != NO_INDEX) + ("sampled_gain",) * (samples > 0)
        kept = np.array(first, dtype=np.int64), np.array(first, dtype=np.int64), np.ones(1, dtype=np.int64)
        law = b.shape, b.time, *((b.rate_min, b.rate_max) if self.knowledge.rates_told else UNBOUNDED)
        self.sampler: Sampler | Pooled
        if b.pooled:
            rows = PairRows(b.pair_start, b.reward, b.running)
            self.sampler = Pooled(self.index, samples, tsde, depth, rows, *law, b.weight, max(most, 1), *kept, b.fades)
        else:
            self.sampler = Sampler(self.index, samples, tsde, depth, rows_of(b), *law, copies_of(b, most), b.count, *kept, b.fades)
        self.plans_per_call = self._plans_per_call()

    @property
    def untried(self) -> bool:
        """Whether some pair has no posterior yet: no rate bounds are told, and it was never tried."""
        return not (self.knowledge.rates_told or self.counts.visits.all())

    def plan(self) -> Plan:
        """Return the plan of `compiled_plan`; while pairs must be tried first, the way to them over the sets of ct-kl-ucrl."""
        if not self.untried:
            return super().plan()
        self.sampler.planned[0] = now = self.counts.epoch
        known = kl_set(self.counts, Posterior(self.knowledge), 1 / (2 * self.knowledge.n_pairs * now))
        quota = np.maximum(1, self.counts.visits)
        return trying(known.iteration(), self.knowledge, self.counts.visits == 0, quota, self.counts, 1 / sqrt(now), MAX_STEPS)

    def compiled(self) -> Any:
        if self.untried:
            return None  # planned in Python
        kernel = super().compiled()
        return POOLED_PLANNERS[self.index] if self.belief.pooled and kernel is PLANNERS[self.index] else kernel

    def planner_state(self) -> Sampler | Pooled:
        return self.sampler

    def explain(self) -> None:
        self.belief.update(self.counts)

    def remembered(self) -> dict[str, Any]:
        """Return the policies from which the next ones are searched, and when the last plan was made."""
        q = self.sampler
        return {"sampled_pair": q.sampled.copy(), "greedy_pair": q.greedy.copy(), "planned_epoch": int(q.planned[0])}

    def recall(self, state: dict[str, Any]) -> None:
        """Take back what `remembered` returned; format 1 kept the time of the last plan in its episode."""
        sampled = state["policy_pair"] if "policy_pair" in state else state["sampled_pair"]
        self.sampler.sampled[:] = sampled
        self.sampler.greedy[:] = state.get("greedy_pair", sampled)
        before = int(state["episode"]["epochs"]) if state.get("episode") else 0
        self.sampler.planned[0] = int(state.get("planned_epoch", self.counts.epoch - before))

    def _plans_per_call(self) -> int:
        """Return how many plans make about 0.1 s: a draw per possible successor, some policies to evaluate, and the index."""
        q, n_states = self.sampler, self.knowledge.n_states
        policies = 4 * n_states**3 if n_states <= DENSE else SWEPT
        if isinstance(q, Pooled):
            return 1
        steps = q.samples * (100 * len(q.copies.entry) + policies)
        if q.watch != NO_INDEX:
            steps += (1000 if q.watch == BK else 100) * len(q.counted) + policies
        return min(max(1, WORK // steps), MOST_PLANS)


def rows_of(belief: Posterior) -> Rows:
    """Return what is possible in each pair, and paid."""
    return Rows(*(getattr(belief, name) for name in Rows._fields))


def copies_of(belief: Posterior, most: int) -> Copies:
    """Return every pair several times over: as often as any of the states may follow, at least LEAST and at most `most` times.

    Where the supports are known, LEAST times: a row has then no unlikely successor that only many draws would ever make likely.
    Once where a state has no other action: there is nothing to be tried, and the best of several draws, in row after row of a way
    without choices, would make the way look better than any one draw of it.
    """
    size, choices = np.diff(belief.row_start), np.diff(belief.pair_start)
    least = min(LEAST, most)
    draws = np.clip(size, least, least if belief.knowledge.supports_known else most)
    draws = np.where(np.repeat(choices, choices) > 1, draws, 1)
    first = np.concatenate([[0], np.cumsum(draws)])
    pair = np.repeat(np.arange(len(size)), draws)
    size = size[pair]
    row_start = np.concatenate([[0], np.cumsum(size)])
    entry = np.arange(row_start[-1]) + np.repeat(belief.row_start[pair] - row_start[:-1], size)
    rows = Rows(first[belief.pair_start], row_start, belief.next_state[entry], belief.reward[pair], belief.running[pair],
                belief.weight[pair])
    return Copies(pair, entry, first, rows, np.ones(len(pair), dtype=np.bool_))

"""A learner whose regret is proved to be C(M) log N + o(log N), the least possible (docs/attained.md).  Do not use it."""

import numpy as np

from sojourn.errors import ParameterError
from sojourn.kernels.least_divergence import least_divergence_row
from sojourn.kernels.planning import best_policy
from sojourn.learn import Learner, Plan
from sojourn.learn.posterior import Posterior


class Attains(Learner):
    """Tries pairs until all have N K >= log t + (k + 1) log(1 + log t), then plays the best policy of the fitted model."""

    knows = "rewards, rate bounds, supports"
    proved = "attains C(M) where every policy is irreducible and the supports are told"
    source = "decoupled OSSB (Combes, Magureanu, Proutiere 2017) in continuous time; docs/attained.md"
    memory = ("explored", "greedy")

    def __init__(self, knowledge, seed=0, margin=0.01):
        super().__init__(knowledge, seed)
        self.fitted = Posterior(knowledge)  # rows (n_y + 1/k)/(n + 1), rates n/T within the bounds
        if self.fitted.pooled:  # the fitted model of more than 200 states has one state more
            raise ParameterError(f"{knowledge.n_states} states and no supports; tell the supports (supports=True).")
        income = [knowledge.reward * rate + knowledge.running for rate in (knowledge.rate_min, knowledge.rate_max)]
        self.margin = float(margin) * np.ptp(income) / knowledge.rate_max  # of zeta, in units of reward
        self.explored = 0  # exploring plans so far
        self.greedy = np.array(knowledge.pair_start[:-1])

    def plan(self):
        visits, states, log = self.counts.visits, self.knowledge.n_states, np.log(self.counts.epoch)
        self.fitted.update(self.counts)
        model = self.fitted.mean()
        few = visits < 1 + np.sqrt(self.explored)
        if few.any():  # forcing: each pair is tried once, and again as exploring goes on
            wanted = model._replace(reward=few.astype(float), running=np.zeros(len(few)))
            return self.play(best_policy(wanted, self.fitted.every, self.least_tried(visits))[2], states)
        gain, bias, self.greedy = best_policy(model, self.fitted.every, self.greedy)
        zeta, q = self.margin / (1 + log) ** 0.125, np.empty(len(model.next_state))
        due = np.zeros(len(visits), dtype=bool)
        for p in np.setdiff1d(np.arange(len(visits)), self.greedy):
            a, b = model.row_start[p:p + 2]
            nats, _ = least_divergence_row(model.probability[a:b], bias[model.next_state[a:b]], bias[self.knowledge.pair_state[p]],
                                           model.rate[p], model.reward[p] - zeta, model.running[p], gain, self.fitted.rate_min,
                                           self.fitted.rate_max, q[a:b])
            due[p] = visits[p] * nats < log + (b - a + 1) * np.log1p(log)
        if not due.any():  # exploiting
            return self.play(self.greedy, max(states, visits[self.greedy].min()), gain)
        self.explored += 1
        tried = self.least_tried(np.where(due, visits, np.inf))
        return self.play(np.where(due[tried], tried, self.greedy), states, gain)

    def least_tried(self, visits):
        """Return per state its pair with the fewest visits."""
        return np.array([a + np.argmin(visits[a:b]) for a, b in zip(*self.ends, strict=True)])

    @property
    def ends(self):
        return self.knowledge.pair_start[:-1], self.knowledge.pair_start[1:]

    def play(self, pairs, decisions, gain=np.nan):
        return Plan(self.knowledge.pair_action[pairs], max_epochs=int(decisions), info={"estimated_gain": gain})

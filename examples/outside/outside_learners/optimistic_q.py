"""Optimistic average-reward Q-learning: no model, one number per pair, and a bonus for what was tried little."""

import numpy as np

from sojourn.learn import Learner


class OptimisticQ(Learner):
    """Relative Q-learning per unit of time with the bonus scale x sqrt(log t / visits); acts anew at every epoch."""

    knows = "rewards, rate bounds"
    proved = "nothing in continuous time"
    source = "after Wei et al. 2020 (optimistic Q-learning for average reward)"
    memory = ("q", "gain")

    def __init__(self, knowledge, seed=0, scale=1.0):
        super().__init__(knowledge, seed)
        known = knowledge.reward + knowledge.running / knowledge.rate_min
        self.scale = float(scale) * max(1.0, float(np.ptp(known)))
        self.q = np.zeros(knowledge.n_pairs)
        self.gain = 0.0

    def pairs(self, state):
        return slice(*self.knowledge.pair_start[state:state + 2])

    def act(self, state):
        here = self.pairs(state)
        bonus = self.scale * np.sqrt(np.log(self.counts.epoch + 1) / np.maximum(1, self.counts.visits[here]))
        return int(self.knowledge.pair_action[here][np.argmax(self.q[here] + bonus)])

    def observe(self, history):
        super().observe(history)
        rows = zip(history.state, history.action, history.holding_time, history.next_state, history.reward, strict=True)
        for state, action, held, arrived, paid in rows:
            here = self.pairs(state)
            pair = here.start + int(np.flatnonzero(self.knowledge.pair_action[here] == action)[0])
            error = paid - self.gain * held + self.q[self.pairs(arrived)].max() - self.q[pair]
            self.q[pair] += error / (1 + self.counts.visits[pair]) ** 0.6
            self.gain += error / (1 + self.counts.epoch) ** 0.8

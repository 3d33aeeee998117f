"""UCRL2 (Jaksch, Ortner, Auer 2010) on the uniformised process: a discrete-time chain that steps at the rate rate_max."""

import numpy as np

from sojourn.learn import Learner, Plan


class UniformizedUCRL2(Learner):
    """Plans by optimism over L1 balls around the uniformised empirical chain; replans when a count doubles."""

    knows = "rewards, rate bounds"
    proved = "nothing in continuous time"
    source = "Jaksch, Ortner, Auer 2010, on the uniformised process"

    def __init__(self, knowledge, seed=0, delta=0.05):
        super().__init__(knowledge, seed)
        self.delta = float(delta)

    def plan(self):
        known, counts = self.knowledge, self.counts
        visits = np.maximum(1, counts.visits)
        pace = np.clip(visits / np.maximum(counts.holding_sum, 1e-300), known.rate_min, known.rate_max) / known.rate_max
        start, successor, seen = counts.rows()
        rows = np.zeros((known.n_pairs, known.n_states))
        rows[np.repeat(np.arange(known.n_pairs), np.diff(start)), successor] = seen
        rows *= (pace / visits)[:, None]
        rows[np.arange(known.n_pairs), known.pair_state] += 1 - rows.sum(axis=1)  # what uniformising adds: staying
        log = np.log(2 * known.n_pairs * counts.epoch / self.delta)
        radius = np.minimum(2, np.sqrt(14 * known.n_states * log / visits))
        reward, u = known.reward * pace + known.running / known.rate_max, np.zeros(known.n_states)
        for _ in range(2000):
            q = reward + np.minimum(rows @ u + radius / 2 * np.ptp(u), u.max())
            new = (np.maximum.reduceat(q, known.pair_start[:-1]) + u) / 2  # half a step: no period
            done, u = 2 * np.ptp(new - u) < 1 / np.sqrt(counts.epoch), new - new.min()
            if done:
                break
        best = [a + np.argmax(q[a:b]) for a, b in zip(known.pair_start[:-1], known.pair_start[1:], strict=True)]
        return Plan(known.pair_action[best], quota=np.maximum(1, counts.visits))

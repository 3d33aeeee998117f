"""A network that no table could learn: the criss-cross network at medium load, from unknown rates.

    python benchmarks/events_network.py --capacity 40 --epochs 2e5

Arrivals 0.6 and 0.6, service 2 and 2 at station 1 and 1.0 at station 2 (Dai and Gluzman 2022, balanced medium load: least cost
2.829 customers).  Prints, whenever the learner has replanned, the average cost of its policy under the true rates against the least
cost, and at the end from when on it stayed within 1 %, with the seconds of processor time that learning took (evaluation apart).
"""

import argparse
import time

import numpy as np

from sojourn.kernels.event_planning import event_sweeps
from sojourn.learn.catalogue import learner_for
from sojourn.learn.event_planner import EventPlanner
from sojourn.learn.learner import History
from sojourn.zoo.catalogue import make


def cost(planner, table, pair, bias, tolerance):
    """Return the average cost of a policy under the true rates (the middle of a proved interval), and a bias to go on from."""
    rows = planner.rows
    only = rows._replace(
        pair_start=np.arange(len(pair) + 1),
        row_start=np.concatenate([[0], np.cumsum(np.diff(rows.row_start)[pair])]),
        reward=rows.reward[pair], running=rows.running[pair],
        **{name: np.concatenate([getattr(rows, name)[rows.row_start[i]:rows.row_start[i + 1]] for i in pair])
           for name in ("next_state", "event", "coefficient", "payment")})
    uniform = 1.0001 * float(table.rate(table.value).max())
    least, most, bias, _ = event_sweeps(only, table.value, table.value, bias, uniform, 20_000, tolerance)
    return -(least + most) / 2, bias


class World:
    """The network, simulated epoch by epoch from its event table: solving so large a model, which a Walk does, takes minutes."""

    def __init__(self, model, knowledge, seed):
        table = self.table = model.events
        self.start, self.after, self.event = table.row_start, table.next_state, table.event
        self.intensity, self.knowledge = table.intensity(table.value), knowledge
        self.rng, self.state, self.epoch = np.random.default_rng(seed), 0, 0

    def follow(self, plan, until):
        """Return what happened until the plan was over, or `until` decisions were taken."""
        pair_of = self.knowledge.pair_table[np.arange(len(plan.policy)), plan.policy].astype(int)
        left, rows = plan.quota.copy(), []
        most = min(plan.max_epochs or until, max(1, until - self.epoch))
        while len(rows) < most and left[pair_of[self.state]] > 0:
            pair = pair_of[self.state]
            left[pair] -= 1
            mine = slice(self.start[pair], self.start[pair + 1])
            flow, jumps = self.intensity[mine], self.after[mine] >= 0
            total = flow[jumps].sum()
            tau = self.rng.exponential(1 / total)
            row = mine.start + int(np.flatnonzero(jumps)[np.searchsorted(np.cumsum(flow[jumps]), self.rng.random() * total)])
            silent = np.zeros(len(self.table.silent), dtype=np.int64)
            for r in np.flatnonzero(~jumps) + mine.start:
                silent[np.searchsorted(self.table.silent, self.event[r])] = self.rng.poisson(self.intensity[r] * tau)
            rows.append((self.state, plan.policy[self.state], tau, int(self.after[row]), 0.0, int(self.event[row]), silent))
            self.state = int(self.after[row])
        self.epoch += len(rows)
        state, action, tau, after, paid, event, silent = (np.array(column) for column in zip(*rows))
        return History(state, action, tau, after, paid, event=event, silent=silent)


def main(capacity, epochs, name, seed, parameters):
    """Walk and print."""
    model = make("criss-cross", capacity=capacity, arrival_rates=(0.6, 0.6), first_rates=(2.0, 2.0), second_rate=1.0,
                 costs=(1.0, 1.0, 1.0))
    table = model.events
    learner = learner_for(model, name, seed=seed, parameters=parameters)
    planner = EventPlanner(learner.knowledge, learner.table)
    uniform = 1.0001 * float(model.rate.max())
    least, most, bias, _ = event_sweeps(planner.rows, table.value, table.value, np.zeros(model.n_states), uniform, 50_000, 1e-4)
    best = -(least + most) / 2
    print(f"{model.n_states:,} states, {model.n_pairs:,} pairs, {table.n_events} unknown rates; least cost in "
          f"[{-most:.4f}, {-least:.4f}]", flush=True)
    world, marks = World(model, learner.knowledge, seed), np.unique(np.geomspace(30, epochs, 24).astype(int)).tolist()
    spent, since, last, played = 0.0, None, None, np.inf
    while marks:
        began = time.process_time()
        plan = learner.plan()
        learner.observe(world.follow(plan, marks[0]))
        spent += time.process_time() - began
        if last is None or not np.array_equal(last, learner.found.pair):
            last = learner.found.pair.copy()
            played, bias = cost(planner, table, last, bias, 1e-3)
            within = played <= 1.01 * best
            since = (since if since is not None else world.epoch) if within else None
            print(f"{world.epoch:8,} decisions, {spent:7.1f} s: cost {played:.4f}, {100 * (played / best - 1):6.2f} % above it",
                  flush=True)
        while marks and world.epoch >= marks[0]:
            marks.pop(0)
    print(f"{world.epoch:,} decisions in {spent:.1f} s; ", end="")
    print(f"within 1 % from {since} decisions on" if since else "not within 1 % at the end")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--capacity", type=int, default=40)
    parser.add_argument("--epochs", type=float, default=1e5)
    parser.add_argument("--learner", default="events-ce", help="events-psrl plans five times as often")
    parser.add_argument("--growth", type=float, default=0.5, help="by how much exposures grow until the next plan")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    main(given.capacity, int(given.epochs), given.learner, given.seed, {"growth": given.growth})

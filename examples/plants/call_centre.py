"""A call centre in SimPy: callers queue, lose patience and hang up; a third agent can be called in for a fee.

A process of its own, which knows nothing of Sojourn.  It speaks lines of JSON: first `{"state": 0}`, then for every change of the
number of calls `{"holding_time": 0.31, "next_state": 1, "event": "call"}`; after each line it reads one line with the action,
`{"action": "extra"}`.
"""

import json
import random
import sys

import simpy

ARRIVALS, SERVICE, PATIENCE, AGENTS, LINES = 2.0, 1.0, 0.25, 2, 8
WAITING, FEE = 1.0, 1.6  # costs per unit of time: of each waiting caller, of the third agent


class CallCentre:
    """Two agents and one who can be called in; at most LINES calls in the house."""

    def __init__(self, env: simpy.Environment, chance: random.Random):
        self.env, self.chance = env, chance
        self.calls, self.queue, self.since = 0, [], 0.0
        self.work = env.event()  # succeeds when there is something to do
        self.extra = env.process(self.agent(self.third))
        self.busy = False  # the third agent
        self.action = told({"state": 0})
        for _ in range(AGENTS):
            env.process(self.agent(lambda: True))
        env.process(self.arrivals())

    def third(self) -> bool:
        """Whether the third agent is there."""
        return self.action == "extra"

    def changed(self, by: int, event: str) -> None:
        """The number of calls has changed: report it, and do what is answered."""
        self.calls += by
        self.action = told({"holding_time": self.env.now - self.since, "next_state": self.calls, "event": event})
        self.since = self.env.now
        if self.busy and not self.third():
            self.extra.interrupt()
        self.wake()

    def wake(self) -> None:
        """Let idle agents look at the queue."""
        done, self.work = self.work, self.env.event()
        done.succeed()

    def arrivals(self):
        while True:
            yield self.env.timeout(self.chance.expovariate(ARRIVALS))
            if self.calls < LINES:
                self.env.process(self.caller())

    def caller(self, handed_back: bool = False):
        """Wait for an agent, or hang up."""
        picked = self.env.event()
        self.queue.insert(0 if handed_back else len(self.queue), picked)
        if not handed_back:
            self.changed(+1, "call")
        yield picked | self.env.timeout(self.chance.expovariate(PATIENCE))
        if not picked.triggered:
            self.queue.remove(picked)
            self.changed(-1, "hang up")

    def agent(self, here):
        """Serve callers while one is `here`; the third agent hands a call back when it is sent away."""
        third = here == self.third
        while True:
            while not (self.queue and here()):
                yield self.work
            self.queue.pop(0).succeed()
            self.busy = third or self.busy
            try:
                yield self.env.timeout(self.chance.expovariate(SERVICE))
            except simpy.Interrupt:
                self.busy = False
                self.env.process(self.caller(handed_back=True))
                self.wake()
                continue
            self.busy = self.busy and not third
            self.changed(-1, "serve")


def told(line: dict) -> str:
    """Say what happened; return the action to take."""
    print(json.dumps(line), flush=True)
    answer = sys.stdin.readline()
    if not answer:
        sys.exit(0)  # nobody listens any more
    return json.loads(answer)["action"]


if __name__ == "__main__":
    world = simpy.Environment()
    CallCentre(world, random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
    world.run()

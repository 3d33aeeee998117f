"""A queueing network in Ciw: customers enter and are sent to a fast or to a slow server, each with room for four.

A process of its own, which knows nothing of Sojourn.  It speaks lines of JSON: first `{"state": [0, 0]}`, then for every change
`{"holding_time": 0.31, "next_state": [1, 0]}`; after each line it reads one line with the action, `{"action": "fast"}`: where the
next customer is to go.
"""

import json
import sys

import ciw

ARRIVALS, FAST, SLOW, ROOM = 1.2, 1.0, 0.6, 4
STAYS = {"fast": 2, "slow": 3}  # the node of each server; node 1 is the entrance


class ByAction(ciw.routing.NodeRouting):
    """Sends whoever comes through the entrance where the action says; away where there is no room anywhere."""

    def next_node(self, ind):
        sent = self.simulation.nodes[STAYS[self.simulation.action]]
        return sent if sent.number_of_individuals < ROOM else self.simulation.nodes[-1]


class Controlled(ciw.Simulation):
    """Reports every change of (customers at the fast server, at the slow one), and does what is answered."""

    def begin(self) -> None:
        self.action, self.seen, self.since = told({"state": [0, 0]}), [0, 0], 0.0

    def event_and_return_nextnode(self, next_active_node):
        found = super().event_and_return_nextnode(next_active_node)
        now = [self.nodes[node].number_of_individuals for node in STAYS.values()]
        if now != self.seen:
            self.action = told({"holding_time": self.current_time - self.since, "next_state": now})
            self.seen, self.since = now, self.current_time
        return found


def told(line: dict) -> str:
    """Say what happened; return the action to take."""
    print(json.dumps(line), flush=True)
    answer = sys.stdin.readline()
    if not answer:
        sys.exit(0)  # nobody listens any more
    return json.loads(answer)["action"]


if __name__ == "__main__":
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(ARRIVALS), None, None],
        service_distributions=[ciw.dists.Deterministic(0.0), ciw.dists.Exponential(FAST), ciw.dists.Exponential(SLOW)],
        number_of_servers=[float("inf"), 1, 1],
        routing=ciw.routing.NetworkRouting(routers=[ByAction(), ciw.routing.Leave(), ciw.routing.Leave()]))
    ciw.seed(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    world = Controlled(network)
    world.begin()
    world.simulate_until_max_time(float("inf"))

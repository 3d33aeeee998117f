"""Run a plant that Sojourn did not make, with a durable controller; kill both with -9 on the way, and compare with the optimum.

    python examples/plants/run.py call_centre --decisions 20000 --kills 20 [--folder FOLDER] [--learner events-psrl]
    python examples/plants/run.py network --decisions 20000 --kills 20

Three processes: the plant (call_centre.py in SimPy, network.py in Ciw), the controller (`sojourn control report PATH --lines`),
and this one, which carries lines between them.  When the controller is killed, it is started again and told the last report once
more, since nobody knows whether it arrived.  When the plant is killed, it starts anew and empty, and the controller is told that
an event was missed.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import call_centre
import network

import sojourn
from sojourn import Choice, Rate

HERE = Path(__file__).parent


def call_centre_model() -> sojourn.CTMDP:
    """What happens in call_centre.py, as a model: the number of calls; whether the third agent is there."""
    c = call_centre
    call, serve, hang_up = Rate("call", c.ARRIVALS), Rate("serve", c.SERVICE), Rate("hang up", c.PATIENCE)

    def choices(calls: int) -> dict[str, Choice]:
        found = {}
        for action, agents in (("usual", c.AGENTS), ("extra", c.AGENTS + 1)):
            rates = {calls + 1: call} if calls < c.LINES else {}
            if calls:
                waiting = max(0, calls - agents)
                rates[calls - 1] = min(calls, agents) * serve + waiting * hang_up if waiting else calls * serve
            cost = c.WAITING * max(0, calls - agents) + c.FEE * (action == "extra")
            found[action] = Choice(rates=rates, running_cost=cost)
        return found

    return sojourn.CTMDP.explore(0, choices, rate_bounds=(1.0, 8.0))


def network_model() -> sojourn.CTMDP:
    """What happens in network.py, as a model: (customers at the fast server, at the slow one); where the next one goes."""
    n = network
    arrive, fast, slow = Rate("arrive", n.ARRIVALS), Rate("fast", n.FAST), Rate("slow", n.SLOW)

    def choices(state: tuple[int, int]) -> dict[str, Choice]:
        found = {}
        for i, action in enumerate(("fast", "slow")):
            if state[i] == n.ROOM and min(state) < n.ROOM:
                continue  # not to where there is no room, while there is some
            rates = {tuple(k + (j == i) for j, k in enumerate(state)): arrive} if state[i] < n.ROOM else {}
            for j, speed in enumerate((fast, slow)):
                if state[j]:
                    rates[tuple(k - (m == j) for m, k in enumerate(state))] = speed
            found[action] = Choice(rates=rates, running_cost=float(sum(state)))
        return found

    return sojourn.CTMDP.explore((0, 0), choices, rate_bounds=(1.0, 3.0))


MODELS = {"call_centre": call_centre_model, "network": network_model}


class Talk:
    """A process that answers lines."""

    def __init__(self, *command: str):
        self.process = subprocess.Popen([sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def hear(self) -> dict | None:
        """Return its next line; None if it is dead."""
        line = self.process.stdout.readline()
        return json.loads(line) if line.endswith("\n") else None

    def say(self, line: dict) -> None:
        try:
            self.process.stdin.write(json.dumps(line) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it is dead, which `hear` will tell

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def run(plant_name: str, path: Path, decisions: int, kills: int, learner: str = "events-psrl", seed: int = 1) -> dict:
    """Make a controller at `path`, let it run the plant, kill both on the way; return the figures."""
    model, chance = MODELS[plant_name](), random.Random(seed)
    start = model.states[0]
    # it is told which jumps are possible and what a state costs, a learner of events also which jumps have the same cause; never
    # how fast anything is
    known = model.knowledge(events=True) if learner.startswith("events") else model.knowledge(supports=True)
    sojourn.Controller.create(path, known, learner, start).close()
    deaths = {at: chance.choice(["controller", "controller", "plant"]) for at in chance.sample(range(1, decisions), kills)}
    control = Talk("-m", "sojourn", "control", "report", str(path), "--lines")
    plant, lives = Talk(str(HERE / f"{plant_name}.py"), str(seed)), 1
    plant.hear()

    def answered(line: dict) -> dict:
        """Say it until it is answered: the same report again gets the same answer."""
        nonlocal control
        while True:
            control.say(line)
            heard = control.hear()
            if heard is not None:
                assert "error" not in heard, heard
                return heard
            control.kill()
            control = Talk("-m", "sojourn", "control", "report", str(path), "--lines")

    action = answered({"ask": "status"})["action"]
    for seq in range(1, decisions + 1):
        plant.say({"action": action})
        line = plant.hear()
        report = {"seq": seq, **line}
        death = deaths.get(seq)
        if death == "controller":
            if chance.random() < 0.5:
                control.say(report)  # it may die before, while or after it writes
            control.kill()
        action = answered(report)["action"]
        if death == "plant":
            plant.kill()
            lives += 1
            plant = Talk(str(HERE / f"{plant_name}.py"), str(seed + lives))
            plant.hear()
            action = answered({"missed": start if not isinstance(start, tuple) else list(start)})["action"]
    control.process.stdin.close()
    control.process.wait()
    plant.kill()
    return figures(model, path, decisions, kills, lives - 1)


def figures(model: sojourn.CTMDP, path: Path, decisions: int, kills: int, plants_killed: int) -> dict:
    """Return what was reached: the gain of the policy that is followed now, exact, and what was earned in the second half."""
    best = sojourn.solve(model)
    with sojourn.Controller.open(path) as controller:
        checked = controller.verify()
        rows = list(controller.observations())
        advised = {row.next_state: row.advised for row in rows}
        second = rows[decisions // 2:]
        running = {(s, a): r for s, a, r in zip(model.pair_state.tolist(), model.pair_action.tolist(), model.running.tolist())}
        paid = sum(running[model.states.position(o.state), model.actions.position(o.action)] * o.holding_time for o in second)
        status = controller.status()
    policy = {state: advised.get(state, best.policy_labels[state]) for state in model.states}
    followed = sojourn.evaluate(model, policy).gain
    return {"decisions": len(rows), "counted": status["epochs"], "reports_in_the_journal": checked["reports"], "kills": kills,
            "of_them_plants": plants_killed, "optimal_gain": best.gain, "gain_of_the_policy_now": followed,
            "earned_in_the_second_half": paid / sum(o.holding_time for o in second),
            "states_never_seen": len(policy) - len(advised)}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("plant", choices=sorted(MODELS))
    words.add_argument("--decisions", type=int, default=20_000)
    words.add_argument("--kills", type=int, default=20)
    words.add_argument("--learner", default="events-psrl")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--folder", type=Path)
    said = words.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = said.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{said.plant}.control"
        print(json.dumps(run(said.plant, path, said.decisions, said.kills, said.learner, said.seed), indent=2))


if __name__ == "__main__":
    main()

"""A small plant for the controller's tests: the repair of one machine, simulated here without Sojourn's own walk."""

from typing import Any

import numpy as np

import sojourn
from sojourn import Choice
from sojourn.control.controller import Controller


def machine() -> sojourn.CTMDP:
    """Up, worn or down; states are tuples, actions texts."""
    def choices(state: tuple[str, int]) -> dict[str, Choice]:
        if state == ("up", 0):
            return {"run": Choice(rates={("up", 1): 0.6, ("down", 0): 0.1}, running=1.0)}
        if state == ("up", 1):
            return {"run": Choice(rates={("down", 0): 0.9}, running=0.8), "service": Choice(rates={("up", 0): 2.0}, reward=-0.5)}
        return {"repair": Choice(rates={("up", 0): 0.5}, reward=-2.0),
                "rush": Choice(rates={("up", 0): 1.5, ("up", 1): 0.5}, reward=-4.0)}

    return sojourn.CTMDP.explore(("up", 0), choices, rate_bounds=(0.3, 3.0))


MODEL = machine()


class Plant:
    """What happens in `model`: (holding time, next state) of an action in the state it is in."""

    def __init__(self, model: sojourn.CTMDP, state: Any, seed: int = 1):
        self.model, self.state, self.rng = model, state, np.random.default_rng(seed)

    def step(self, action: Any) -> tuple[float, Any]:
        model = self.model
        s, a = model.states.position(self.state), model.actions.position(action)
        pair = next(k for k in range(model.pair_start[s], model.pair_start[s + 1]) if model.pair_action[k] == a)
        row = slice(model.row_start[pair], model.row_start[pair + 1])
        j = int(self.rng.choice(model.next_state[row], p=model.probability[row]))
        tau = float(self.rng.exponential(1 / model.rate[pair]))
        self.state = model.states[j]
        return tau, self.state


def drive(controller: Controller, plant: Plant, n: int) -> None:
    """Carry out `n` actions and report each."""
    for _ in range(n):
        tau, state = plant.step(controller.action)
        controller.report(controller.status()["next_seq"], tau, state)

"""What the campaigns against the controller share: a plant whose every event is a function of its number, and the judgement.

So what was reported under a number can be computed again at any time, in any process, however often everything was killed.
"""

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn.control.controller import Controller
from sojourn.control.journal import Journal
from sojourn.errors import SojournError
from sojourn.model.ctmdp import CTMDP
from sojourn.model.explore import Choice


def machine() -> CTMDP:
    """Return a small repair model: up, worn or down."""
    def choices(state: tuple[str, int]) -> dict[str, Choice]:
        if state == ("up", 0):
            return {"run": Choice(rates={("up", 1): 0.6, ("down", 0): 0.1}, running=1.0)}
        if state == ("up", 1):
            return {"run": Choice(rates={("down", 0): 0.9}, running=0.8), "service": Choice(rates={("up", 0): 2.0}, reward=-0.5)}
        return {"repair": Choice(rates={("up", 0): 0.5}, reward=-2.0),
                "rush": Choice(rates={("up", 0): 1.5, ("up", 1): 0.5}, reward=-4.0)}

    return CTMDP.explore(("up", 0), choices, rate_bounds=(0.3, 3.0))


MODEL = machine()
START = ("up", 0)
_ROWS = {}
for _k in range(MODEL.n_pairs):
    _row = slice(MODEL.row_start[_k], MODEL.row_start[_k + 1])
    _ROWS[MODEL.states[int(MODEL.pair_state[_k])], MODEL.actions[int(MODEL.pair_action[_k])]] = (
        float(MODEL.rate[_k]), [(float(p), MODEL.states[int(j)]) for p, j in zip(MODEL.probability[_row], MODEL.next_state[_row])])


def event(seq: int, state: Any, action: Any) -> tuple[float, Any]:
    """Return (holding time, next state) of report `seq`: always the same for the same state and action."""
    bits = hashlib.blake2b(str(seq).encode(), digest_size=16).digest()
    u, v = ((int.from_bytes(bits[i:i + 8], "big") + 1) / (2**64 + 1) for i in (0, 8))
    rate, row = _ROWS[state, action]
    where, total = 0, row[0][0]
    while v > total and where < len(row) - 1:
        where += 1
        total += row[where][0]
    return -math.log(u) / rate, row[where][1]


def create(path: Path, learner: str = "ct-ucrl", max_late: int = 0) -> None:
    """Make a controller of the plant."""
    parameters = {"delta": 0.01} if learner == "ct-ucrl" else {}
    Controller.create(path, MODEL.knowledge(), learner, START, parameters=parameters, max_late=max_late).close()


def drive(controller: Controller, most: int, said: Callable[[str], None], batch: int = 1) -> None:
    """Carry out at most `most` actions; after each acknowledgement say `seq answer`."""
    for _ in range(most):
        status = controller.status()
        seq = status["next_seq"]
        tau, after = event(seq, status["state"], status["action"])
        answer = controller.report(seq, tau, after)
        said(f"{seq} {answer}\n")


def missing(path: Path, acknowledged: dict[int, str]) -> list[str]:
    """Return what is wrong with the acknowledged reports alone, by reading the file as it is."""
    try:
        journal = Journal(path, write=False)
        try:
            last = journal.head.seq
            lost = [f"lost: {seq} was acknowledged, the journal ends with {last}" for seq in acknowledged if seq > last]
            if lost:
                return lost[:1]
            return [f"report {seq} was answered {answer}, the journal says another" for seq, answer in acknowledged.items()
                    if journal.report(seq).answer != json.dumps(answer)]
        finally:
            journal.close()
    except SojournError as error:
        return [f"{type(error).__name__}: {error}"]


def judge(path: Path, acknowledged: dict[int, str]) -> list[str]:
    """Return everything that is wrong with the file at `path`, given what was acknowledged."""
    wrong = []
    try:
        with Controller.open(path) as controller:
            last = controller.status()["next_seq"] - 1
            if max(acknowledged, default=0) > last:
                wrong.append(f"lost: {max(acknowledged)} was acknowledged, the journal ends with {last}")
            state, count = START, 0
            controller.verify()
            for row in controller.observations():
                count += 1
                if row.seq != count or row.state != state:
                    wrong.append(f"report {row.seq} stands at place {count}, in state {row.state} after {state}")
                if (row.holding_time, row.next_state) != event(row.seq, row.state, row.action):
                    wrong.append(f"report {row.seq} holds what was never reported")
                if acknowledged.get(row.seq, row.advised) != row.advised:
                    wrong.append(f"report {row.seq} was answered {acknowledged[row.seq]}, the journal says {row.advised}")
                state = row.next_state
            if controller.status()["epochs"] != count:
                wrong.append(f"{controller.status()['epochs']} epochs were counted of {count} reports")
    except SojournError as error:
        wrong.append(f"{type(error).__name__}: {error}")
    return wrong


def parsed(text: str) -> dict[int, str]:
    """Return {seq: answer} from the lines that `drive` said; a line that was cut off is left out."""
    lines = [line.split() for line in text.split("\n")[:-1]]
    return {int(line[0]): line[1] for line in lines if len(line) == 2}

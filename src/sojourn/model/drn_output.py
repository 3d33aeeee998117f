"""A model written as Storm's explicit text, `.drn` (`drn_file` says what stands in one)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

from sojourn.model.ctmdp import CTMDP
from sojourn.model.drn_file import OURS
from sojourn.model.names import encoded


def write_drn(model: CTMDP, stream: IO[bytes]) -> None:
    """Write a model: a discrete-time one as an MDP; any other as a Markov automaton, one immediate state per state and one timed
    state per choice.  Rewards on transitions are written as their mean; where no reward is positive, they are given as `cost` too.
    """
    discrete = model.holding == "unit"
    costs = bool((model.expected_reward <= 0).all() and (model.running <= 0).all())
    own = {"names": _names(model), "name": model.name, "rate_bounds": model.rate_bounds}
    count = model.n_states if discrete else model.n_states + model.n_pairs
    choices = model.n_pairs if discrete else 2 * model.n_pairs
    kind = "MDP" if discrete else "Markov Automaton"
    stream.write((f"{OURS}{json.dumps(own)}\n@type: {kind}\n@parameters\n\n@reward_models\nreward{' cost' if costs else ''}\n"
                  f"@nr_states\n{count}\n@nr_choices\n{choices}\n@model\n").encode())
    stream.writelines(line.encode() for line in (_discrete(model, costs) if discrete else _timed(model, costs)))


def _names(model: CTMDP) -> list[Any]:
    return [len(names) if isinstance(names.values, range) else encoded(names) for names in (model.states, model.actions)]


def _paid(value: float, costs: bool) -> str:
    return f"[{value!r}, {-value!r}]" if costs else f"[{value!r}]"


def _discrete(model: CTMDP, costs: bool) -> Iterator[str]:
    none = _paid(0.0, costs)
    for s in range(model.n_states):
        yield f"state {s} {none}{' init' if s == 0 else ''}\n"
        for k in range(model.pair_start[s], model.pair_start[s + 1]):
            earned = float(model.expected_reward[k] + model.running[k])
            yield f"\taction {model.pair_action[k]} {_paid(earned, costs)}\n{_jumps(model, k)}"


def _timed(model: CTMDP, costs: bool) -> Iterator[str]:
    none, n = _paid(0.0, costs), model.n_states
    for s in range(n):
        yield f"state {s} !0 {none}{' init' if s == 0 else ''}\n"
        for k in range(model.pair_start[s], model.pair_start[s + 1]):
            yield f"\taction {model.pair_action[k]} {_paid(float(model.expected_reward[k]), costs)}\n\t\t{n + k} : 1\n"
    for k in range(model.n_pairs):
        yield (f"state {n + k} !{float(model.rate[k])!r} {_paid(float(model.running[k]), costs)}\n\taction 0 {none}\n"
               f"{_jumps(model, k)}")


def _jumps(model: CTMDP, k: int) -> str:
    row = slice(model.row_start[k], model.row_start[k + 1])
    jumps = zip(model.next_state[row].tolist(), model.probability[row].tolist(), strict=True)
    return "".join(f"\t\t{j} : {p!r}\n" for j, p in jumps)

"""Logs whose trajectories were cut by the clock, drawn from known models without Sojourn's own walk, as time stamps."""

import numpy as np

import sojourn


def stamped(model: sojourn.CTMDP, ends: np.ndarray, seed: int) -> dict[str, list[object]]:
    """Trajectories of `model` from states and under choices drawn at random, each cut at its end, as time stamps."""
    rng, table = np.random.default_rng(seed), model.events
    silent = [] if table is None else [table.names[k] for k in table.silent]
    names = ["trajectory", "time", "state", "action", *(["event"] if table is not None else []), *(f"silent:{e}" for e in silent)]
    rows: list[list[object]] = []
    for number, end in enumerate(ends):
        time, state, event = 0.0, int(rng.integers(model.n_states)), ""
        while True:
            pair = int(rng.integers(model.pair_start[state], model.pair_start[state + 1]))
            row = slice(model.row_start[pair], model.row_start[pair + 1])
            after = int(rng.choice(model.next_state[row], p=model.probability[row]))
            tau = float(rng.exponential(1 / model.rate[pair]))
            head = [number, time, model.states[state], model.actions[model.pair_action[pair]]]
            lost = [int(rng.poisson(silent_rate(model, pair, e) * min(tau, end - time))) for e in silent]
            if table is not None:
                event = event_of(model, pair, after, rng)
            rows.append([*head, *([event] if table is not None else []), *lost])
            if time + tau >= end:
                last = [number, end, model.states[state], None]
                rows.append([*last, *([None] if table is not None else []), *[0 for _ in silent]])
                break
            time, state = time + tau, after
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def silent_rate(model: sojourn.CTMDP, pair: int, event: str) -> float:
    table, here = model.events, slice(*model.events.row_start[pair:pair + 2])
    mine = ~table.jumps[here] & (table.event[here] == table.names.index(event))
    return float((table.coefficient[here] * table.value[table.event[here]])[mine].sum())


def event_of(model: sojourn.CTMDP, pair: int, after: int, rng: np.random.Generator) -> str:
    table, here = model.events, slice(*model.events.row_start[pair:pair + 2])
    weight = (table.coefficient[here] * table.value[table.event[here]]) * (table.next_state[here] == after)
    return table.names[table.event[here][rng.choice(len(weight), p=weight / weight.sum())]]


def two_state(n: int, end: float, seed: int = 1) -> dict[str, list[object]]:
    """`n` trajectories from "up" (left at rate 0.5; "down" at 2), each cut at `end`."""
    rng, rows = np.random.default_rng(seed), []
    for number in range(n):
        time, state = 0.0, "up"
        while True:
            tau = rng.exponential(2.0 if state == "up" else 0.5)
            rows.append((number, time, state, "x"))
            if time + tau >= end:
                rows.append((number, end, state, None))
                break
            time, state = time + tau, "down" if state == "up" else "up"
    return {name: [row[i] for row in rows] for i, name in enumerate(("trajectory", "time", "state", "action"))}

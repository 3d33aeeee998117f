"""What a controller was created with: written once into its file, and from then on the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sojourn.control.values import read, written
from sojourn.errors import ParameterError
from sojourn.learn.catalogue import LEARNERS, built_in_class, is_named, said_name
from sojourn.learn.learner import checked_knowledge
from sojourn.learn.saving import meant_parameters, saved_parameters
from sojourn.model.knowledge import Knowledge
from sojourn.model.knowledge_file import knowledge_from, knowledge_tree
from sojourn.model.numbers import shown
from sojourn.model.pack import pack, unpack
from sojourn.model.scalars import is_whole

KINDS = {"learner": str, "parameters": dict, "seed": int, "shadow": bool, "window": int, "false_alarms": float, "max_late": int}


@dataclass(frozen=True, eq=False)
class Setting:
    """The learner, what it is told, where it starts, and what keeps it safe.

    `knowledge` is everything that can be reported; `forbidden` are (state, action) positions that are never advised.
    """

    knowledge: Knowledge
    learner: str
    parameters: dict[str, Any]
    seed: int
    start: Any
    safe_action: Any = None
    forbidden: tuple[tuple[int, int], ...] = ()
    shadow: bool = False
    window: int = 100
    false_alarms: float = 0.01
    max_late: int = 0

    def to_bytes(self) -> bytes:
        plain = {name: getattr(self, name) for name in ("learner", "parameters", "seed", "shadow", "window", "false_alarms",
                                                      "max_late")}
        return pack({**plain, "forbidden": np.array(self.forbidden, dtype=np.int64).reshape(-1, 2), "start": written(self.start),
                     "safe_action": written(self.safe_action, "safe_action"), "knowledge": knowledge_tree(self.knowledge)})

    @classmethod
    def from_bytes(cls, data: bytes) -> Setting:
        found = unpack(data)
        found["knowledge"] = knowledge_from(found["knowledge"])
        found["start"], found["safe_action"] = read(found["start"]), read(found["safe_action"])
        found["forbidden"] = tuple((int(s), int(a)) for s, a in found["forbidden"])
        for name, kind in KINDS.items():
            if name in found and type(found[name]) is not kind:
                raise ParameterError(f"the setting {name} is {shown(found[name])}; its type must be {kind.__name__}.")
        own = built_in_class(found.get("learner", ""))
        if own is not None and "parameters" in found:
            found["parameters"] = meant_parameters(own, found["parameters"])
        return cls(**found)

    def allowed(self) -> Knowledge:
        """Return what the learner is told: the knowledge without the forbidden pairs."""
        if not self.forbidden:
            return self.knowledge
        known = self.knowledge
        keep = np.ones(known.n_pairs, dtype=bool)
        keep[[known.pair_table[s, a] for s, a in self.forbidden]] = False
        start = np.concatenate([[0], np.cumsum(np.add.reduceat(keep.astype(np.int64), known.pair_start[:-1]))])
        bare = np.flatnonzero(np.diff(start) == 0)
        if bare.size:
            raise ParameterError(f"every action of state {known.states[int(bare[0])]!r} is forbidden; leave it at least one.")
        told: dict[str, Any] = {}
        if known.support_start is not None and known.support_state is not None:
            length = np.diff(known.support_start)
            told = {"support_start": np.concatenate([[0], np.cumsum(length[keep])]),
                    "support_state": known.support_state[np.repeat(keep, length)]}
        if known.events is not None:
            told["events"] = known.events.of_pairs(keep)
        return replace(known, pair_start=start, pair_action=known.pair_action[keep], reward=known.reward[keep],
                       running=known.running[keep], **told)


def checked_setting(knowledge: Any, learner: Any, start: Any, seed: int, parameters: Mapping[str, Any] | None, safe_action: Any,
                    forbidden: Any, shadow: bool, window: int, false_alarms: float, max_late: int) -> Setting:
    """Return the setting, or say which part of it cannot be."""
    known = checked_knowledge(knowledge)
    if not is_named(learner):
        raise ParameterError(f"learner is {learner!r}; a controller makes its learner anew when it is opened, so name it: "
                             "learner='ct-ucrl', parameters={'delta': 0.01}.")
    if safe_action is not None:
        known.actions.position(safe_action, "safe_action", ParameterError)
    if not isinstance(window, int) or window < 10:
        raise ParameterError(f"window is {window!r}; it must be at least 10 observations of a pair.")
    if not 0 <= false_alarms < 1:
        raise ParameterError(f"false_alarms is {false_alarms!r}; it must be a probability below 1 (0: no alarm on drifting rates).")
    for part, names in ((known.states, "state"), (known.actions, "action")):
        for value in part if not isinstance(part.values, range) else ():
            written(value, names)
    if not is_whole(max_late) or max_late < 0:
        raise ParameterError(f"max_late is {max_late!r}; it must be a number of answers, 0 (none: wait for every plan) or more.")
    if max_late and said_name(learner) not in LEARNERS:
        raise ParameterError(f"max_late is {max_late} and the learner is {said_name(learner)!r}; only plans of the catalogue's own "
                             "learners (`sojourn learners`) can be made by another process. Leave max_late at 0.")
    own = built_in_class(said_name(learner))
    given = dict(parameters or {}) if own is None else saved_parameters(own, parameters or {})
    try:
        json.dumps(given, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"parameters are {given!r}; a controller's file holds numbers, texts and lists ({error}).") from None
    pairs = _forbidden_pairs(known, forbidden)
    _check_safe(known, safe_action, pairs)
    first = known.states[known.states.position(start, "start", ParameterError)]
    return Setting(known, said_name(learner), given, int(seed), first, safe_action, pairs,
                   bool(shadow), window, float(false_alarms), int(max_late))


def _check_safe(known: Knowledge, safe_action: Any, forbidden: tuple[tuple[int, int], ...]) -> None:
    """Refuse a safe action that is forbidden wherever it could be done: it would be advised all the same."""
    if safe_action is None:
        return
    a = known.actions.position(safe_action)
    banned = {s for s, action in forbidden if action == a}
    if banned and banned == set(np.flatnonzero(known.pair_table[:, a] >= 0).tolist()):
        raise ParameterError(f"safe_action is {safe_action!r}, which is forbidden everywhere, but would be advised in a state that "
                             "the model does not have; choose another one.")


def _forbidden_pairs(known: Knowledge, forbidden: Any) -> tuple[tuple[int, int], ...]:
    """Return (state, action) positions from {state: actions}, or from a list of actions that are forbidden everywhere."""
    if not forbidden:
        return ()
    if not isinstance(forbidden, Mapping):
        forbidden = {state: forbidden for state in known.states}
        everywhere = True
    else:
        everywhere = False
    found = []
    for state, actions in forbidden.items():
        s = known.states.position(state, "forbidden", ParameterError)
        for action in [actions] if isinstance(actions, str) else actions:
            a = known.actions.position(action, "forbidden", ParameterError)
            if known.pair_table[s, a] >= 0:
                found.append((s, a))
            elif not everywhere:
                raise ParameterError(f"forbidden is {action!r} in state {state!r}, which is not among its actions anyway; "
                                     "name actions that exist.")
    return tuple(sorted(set(found)))

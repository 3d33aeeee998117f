"""The learners by name: one line each, and the contracts, the docs table and the command line pick it up.

Learners of other packages are found by entry points (group `sojourn.learners`); built-in names win.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, overload

from sojourn.errors import ParameterError, unknown_name
from sojourn.learn.streams import Seed
from sojourn.model.knowledge import Bounds, Knowledge
from sojourn.outside import brought, first_line, object_at

if TYPE_CHECKING:
    from sojourn.learn.learner import Learner
    from sojourn.model.ctmdp import CTMDP

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Entry:
    """One learner: where it lives, and what a table of results must say about it."""

    name: str
    home: str  # "module:Class"
    summary: str
    knows: str
    proved: str
    source: str
    upper_bound: str = ""  # the theorem that bounds its regret: thm:UCRL2, or Theorem 1 or 2 of docs/learners-proofs.md
    sets: str = ""  # and the confidence sets it is about, as instance/optimism_bound.py calls them
    proved_untold: str = ""  # what is proved where no rate bounds are told, if that is something else
    shown_the_model: bool = False  # wins by definition
    built_in: bool = True


_ENTRIES = [
    Entry("default", "sojourn.learn.ct_imed:CTIMED",
          "ct-imed with its standard setting: low regret, robust in the tail, nothing to tune",
          "rewards; rate bounds and supports if told", "nothing in continuous time; measured in docs/learners.md",
          "decisions: the default learner"),
    Entry("ct-ucrl", "sojourn.learn.ct_ucrl:CTUCRL", "optimism over L1 and truncated-mean confidence sets, as printed",
          "rewards, rate bounds; supports if told",
          "regret O(log N) with delta = 1/N (thm:UCRL), and at delta = 0.01 up to N = 10^2500 (docs/learners-proofs.md, Theorem 2)",
          "Gao and Zhou, alg: CTUCRL", upper_bound="Theorem 2", sets="printed"),
    Entry("ct-ucrl-doubling", "sojourn.learn.doubling:DoublingCTUCRL", "CT-UCRL restarted at 2^(2^i) epochs, any horizon",
          "rewards, rate bounds; supports if told",
          "regret O(log N) for every N (thm:UCRL2); ct-ucrl has less, as it forgets nothing", "Gao and Zhou, thm:UCRL2",
          upper_bound="thm:UCRL2"),
    Entry("ct-ucrl-unknown-rates", "sojourn.learn.unknown_bounds:UnknownRatesCTUCRL",
          "uniform exploration, then CT-UCRL with rate bounds read off the estimates", "rewards",
          "nothing", "Gao and Zhou, remark after alg: CTUCRL"),
    Entry("ct-kl-ucrl", "sojourn.learn.ct_kl_ucrl:CTKLUCRL",
          "optimism over KL balls and exponential-KL intervals at level 1/t, in short plans",
          "rewards; rate bounds and supports if told",
          "regret O(log N) for every N (docs/learners-proofs.md, Theorem 1); at a fixed delta with probability 1 - delta",
          "Filippi, Cappe, Garivier 2010; Gao and Zhou, alg: CTUCRL", upper_bound="Theorem 1", sets="kl",
          proved_untold="without rate bounds regret O(log N) for every N (docs/learners-proofs.md, Theorem 3)"),
    Entry("ct-joint-ucrl", "sojourn.learn.ct_joint_ucrl:CTJointUCRL",
          "optimism over one set per pair for row and rate together at level 1/t, in short plans",
          "rewards; rate bounds and supports if told",
          "regret O(log N) for every N (docs/learners-proofs.md, Theorem 1); at a fixed delta with probability 1 - delta",
          "Robbins 1970 (mixtures); Gao and Zhou, alg: CTUCRL", upper_bound="Theorem 1", sets="joint",
          proved_untold="nothing without rate bounds (a sketch in docs/learners-proofs.md)"),
    Entry("ct-psrl", "sojourn.learn.ct_psrl:CTPSRL", "follows the best policy of a model drawn from a Dirichlet x Gamma posterior",
          "rewards; rate bounds and supports if told", "nothing in continuous time; heavy tail seen",
          "Osband, Russo, Van Roy 2013; Ouyang, Gagrani, Nayyar, Jain 2017 (TSDE)"),
    Entry("ct-imed", "sojourn.learn.ct_imed:CTIMED",
          "optimistic posterior sampling; the index N K + log N insists on what it neglects",
          "rewards; rate bounds and supports if told", "nothing in continuous time; aims at C(M) (eq:CM)",
          "Honda and Takemura 2015; Pesquerel and Maillard 2022; Agrawal and Jia 2017"),
    Entry("ct-bk", "sojourn.learn.ct_bk:CTBK",
          "optimistic posterior sampling; the index of largest worth within N KL <= log t insists",
          "rewards, rate bounds; supports if told", "nothing in continuous time; aims at C(M) (eq:CM)",
          "Burnetas and Katehakis 1997; Tewari and Bartlett 2008"),
    Entry("ct-ce", "sojourn.learn.ct_ce:CTCE", "certainty equivalence with forced logarithmic exploration; a yardstick",
          "rewards, rate bounds; supports if told", "nothing here", "Lai and Robbins 1985 (forcing)"),
    Entry("events-psrl", "sojourn.learn.events_psrl:EventsPSRL",
          "follows the best policy of the best of five draws of the events' rates", "events (coefficients, payments)",
          "nothing", "Thompson 1933; Ouyang, Gagrani, Nayyar, Jain 2017; Agrawal and Jia 2017"),
    Entry("events-ucrl", "sojourn.learn.events_ucrl:EventsUCRL",
          "optimism over intervals for the events' rates that hold at all times", "events (coefficients, payments)",
          "regret O(log N) for every N where all policies are irreducible (docs/events-proofs.md)",
          "Jaksch, Ortner, Auer 2010; Robbins 1970 (mixtures)"),
    Entry("events-ce", "sojourn.learn.events_ce:EventsCE", "the best policy at the estimated rates of the events; a yardstick",
          "events (coefficients, payments)", "nothing: linear regret where an event is hidden", "folklore of adaptive control"),
    Entry("smdp-ucrl", "sojourn.learn.smdp_ucrl:SMDPUCRL",
          "UCRL2 for semi-Markov processes: plain means of holding times; mended (smaller) radii",
          "rewards, rate bounds; supports if told", "regret O(sqrt(n)) with radius_scale = 1 (Fruit and Lazaric)",
          "Fruit and Lazaric 2017"),
    Entry("ucrl2", "sojourn.learn.ucrl2:UCRL2",
          "UCRL2 on the uniformised process, or looked at every `step` of time; mended (smaller) radii",
          "rewards' range, rate bounds; supports if told", "in discrete time with radius_scale = 1 (Jaksch et al.); nothing here",
          "Jaksch, Ortner, Auer 2010"),
    Entry("kl-ucrl", "sojourn.learn.kl_ucrl:KLUCRL", "UCRL2 with KL balls on the uniformised process; mended (smaller) radii",
          "rewards' range, rate bounds; supports if told", "in discrete time with radius_scale = 1 (Filippi et al.); nothing here",
          "Filippi, Cappe, Garivier 2010"),
    Entry("scal", "sojourn.learn.scal:SCAL", "UCRL2 that believes no model whose values lie further apart than a span",
          "rewards' range, rate bounds, a bound of the span; supports if told", "in discrete time (Fruit et al.); nothing here",
          "Fruit, Pirotta, Lazaric, Ortner 2018; Bartlett and Tewari 2009"),
    Entry("smart", "sojourn.learn.smart:SMART", "average-reward Q-learning with holding times, search-then-converge schedules",
          "the admissible pairs", "nothing", "Das, Gosavi, Mahadevan, Marchalleck 1999; Bradtke and Duff 1995"),
    Entry("rvi-q", "sojourn.learn.rvi_q:RVIQ", "relative-value Q-learning with holding times, epsilon-greedy",
          "rate bounds", "Q converges if all pairs are tried for ever in comparable numbers; no regret bound",
          "Abounadi, Bertsekas, Borkar 2001; Wan, Yu, Sutton 2024"),
    Entry("optimistic-q", "sojourn.learn.optimistic_q:OptimisticQ",
          "discounted Q-learning with a bonus, its discount close to none; a mended (smaller) bonus",
          "rewards, rate bounds", "regret O(T^(2/3)) in discrete time with the printed bonus; nothing here",
          "Wei, Jafarnia-Jahromi, Luo, Sharma, Jain 2020"),
    Entry("oracle", "sojourn.learn.oracle:Oracle", "plays an optimal policy from the start; a yardstick", "the model",
          "pseudo-regret 0", "by definition", shown_the_model=True),
    Entry("random", "sojourn.learn.random_actions:RandomActions", "every admissible action equally likely; a yardstick",
          "the admissible pairs", "linear regret unless all policies are optimal", "by definition"),
    Entry("fixed", "sojourn.learn.fixed:Fixed", "one given policy for ever; a yardstick", "the admissible pairs",
          "regret (gain gap) x time", "by definition"),
]


class Catalogue(Mapping[str, Entry]):
    """{name: Entry}: our own learners, and after them those of other packages, which are looked up when first needed."""

    def __init__(self, built_in: list[Entry]):
        self.built_in = {entry.name: entry for entry in built_in}

    @cached_property
    def brought(self) -> dict[str, Entry]:
        """The learners that other packages bring (entry points in the group `sojourn.learners`)."""
        return brought("sojourn.learners", self.built_in, entry_from)

    def __getitem__(self, name: str) -> Entry:
        return self.built_in[name] if name in self.built_in else self.brought[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self.built_in, *self.brought])

    def __len__(self) -> int:
        return len(self.built_in) + len(self.brought)


def entry_from(name: str, kind: Any, home: str) -> Entry:
    """Return the catalogue line of a class: its docstring's first line, and what it says in `knows`, `proved` and `source`."""
    if not isinstance(kind, type) or not (hasattr(kind, "plan") or hasattr(kind, "act")):
        raise ParameterError(f"{home} is {kind!r}; a learner is a class with plan() or act(state).")
    words = {part: str(getattr(kind, part, default)) for part, default in UNSAID.items()}
    return Entry(name, home, first_line(kind) or f"{home}, which has no docstring", **words, built_in=False,
                 shown_the_model=bool(getattr(kind, "shown_the_model", False)))


UNSAID = {"knows": "rewards, rate bounds; supports if told", "proved": "nothing is known to this program", "source": "not given"}
LEARNERS = Catalogue(_ENTRIES)


def learner_class(which: str | type, folder: Path | None = None) -> type:
    """Return the class of a learner: by name, by "module:Class" (a file `module.py` in `folder` comes first), or itself."""
    if isinstance(which, type):
        return which
    if isinstance(which, str) and which in LEARNERS:
        found: type = object_at(LEARNERS[which].home)
    elif isinstance(which, str) and ":" in which:
        found = object_at(which, folder)
        if not isinstance(found, type):
            raise ParameterError(f"class is {which!r}, which is {found!r}; it must be a class with plan() or act(state).")
    else:
        raise ParameterError(unknown_name("learner", which, LEARNERS))
    return found


def built_in_class(name: str) -> type | None:
    """Return the class of a learner of our own, None for any other: nothing is imported that is not ours."""
    return learner_class(name) if name in LEARNERS.built_in else None


def is_named(value: Any) -> TypeGuard[str | type]:
    """Return whether `value` says which learner to make: a name, "module:Class", or a class."""
    return isinstance(value, (str, type))


@overload
def learner(which: str, knowledge: Knowledge, seed: Seed = 0, folder: Path | None = None, **parameters: Any) -> Learner: ...
@overload
def learner(which: type[Kind], knowledge: Knowledge, seed: Seed = 0, folder: Path | None = None, **parameters: Any) -> Kind: ...
def learner(which: str | type, knowledge: Knowledge, seed: Seed = 0, folder: Path | None = None, **parameters: Any) -> Any:
    """Return a new learner: by name, by "module:Class" or by its class; `seed` is its own, `parameters` its constructor's."""
    kind = learner_class(which, folder)
    allowed = inspect.signature(kind).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in allowed.values())
    if "seed" in allowed or takes_all:
        parameters["seed"] = seed
    wrong = [p for p in parameters if p not in allowed and not takes_all]
    if wrong:
        known = [p for p in allowed if p not in ("knowledge", "seed")]
        raise ParameterError(f"{said_name(which)}: " + unknown_name("parameter", wrong[0], known))
    made = kind(knowledge, **parameters)
    with suppress(AttributeError):  # a class of others may have no room for it
        made.called = said_name(which)
    return made


def needed_knowledge(model: CTMDP, kind: type, rate_bounds: Bounds | None = None, supports: bool = False) -> Knowledge:
    """Return what a learner of this class says it needs: the events of the model, or else bounds and, if so wished, supports."""
    if getattr(kind, "needs_events", False):
        return model.knowledge(rate_bounds, events=True)
    return model.knowledge(rate_bounds, supports)


def learner_for(model: CTMDP, which: str | type, *, knowledge: Knowledge | None = None, seed: Seed = 0,
                parameters: Mapping[str, Any] | None = None, folder: Path | None = None) -> Learner:
    """Return a new learner for `model`, told `knowledge` (by default the model's); one that must be shown the model is."""
    given = dict(parameters or {})
    kind = learner_class(which, folder)
    if "model" in inspect.signature(kind).parameters:
        given.setdefault("model", model)
    if knowledge is None:
        knowledge = needed_knowledge(model, kind)
    return learner(which, knowledge, seed, folder, **given)


def said_name(which: str | type) -> str:
    """Return how a learner is called in words: its name in the catalogue, or "module:Class".

    >>> said_name("default"), said_name(learner_class("ct-ucrl"))
    ('default', 'ct-ucrl')
    """
    if isinstance(which, str):
        return which
    home = f"{which.__module__}:{which.__qualname__}"
    named = [entry.name for entry in LEARNERS.values() if entry.home == home]
    return named[-1] if named else home  # of `default` and the learner it stands for, the latter


def proved_bound(name: str, parameters: Mapping[str, Any], epochs: float) -> str:
    """Return the theorem that bounds the regret of this learner after `epochs` decisions, or nothing.

    `parameters` are those in use, defaults included.  thm:UCRL (delta = 1/N only) and thm:UCRL2 are the paper's, Theorem 1 and 2
    those of docs/learners-proofs.md.  All hold for sets that are not scaled down; Theorem 1 at the level 1/t or at delta <= 1/N.
    None is for a learner that is told no rate bounds (`rate_bounds` = "unknown" beside the parameters).
    Where no `growth` is named the parameters are of before it was one: then delta stood still.

    >>> proved_bound("ct-ucrl", {"horizon": 1e6}, 10**6), proved_bound("ct-ucrl", {"delta": 0.01}, 10**6)
    ('thm:UCRL', 'Theorem 2')
    >>> proved_bound("ct-ucrl-doubling", {}, 10**6), proved_bound("ct-ucrl-doubling", {"radius_scale": 0.05}, 10**6)
    ('thm:UCRL2', '')
    >>> proved_bound("ct-kl-ucrl", {"growth": 0.1}, 10**6), proved_bound("ct-kl-ucrl", {"growth": 0.1, "delta": 0.01}, 10**6)
    ('Theorem 1', '')
    """
    bound = LEARNERS.built_in[name].upper_bound if name in LEARNERS.built_in else ""
    printed = {"radius_scale": 1, "estimator": "truncated", "unknown_rewards": False, "rate_bounds": "told"}
    if not bound or any(parameters.get(key, value) != value for key, value in printed.items()):
        return ""
    delta, horizon = parameters.get("delta"), parameters.get("horizon")
    told_epochs = horizon == epochs or isclose((delta or 0) * epochs, 1)
    if bound == "Theorem 1":
        level = 1 / horizon if horizon is not None else delta
        small = level * epochs <= 1 + 1e-9 if level is not None else "growth" in parameters
        return bound if small else ""
    if bound == "Theorem 2":
        return "thm:UCRL" if told_epochs else bound
    return bound


def may_stay_wrong(name: str, parameters: Mapping[str, Any]) -> float:
    """Return the probability with which this learner may stay wrong for good by design, so that C(M) need not bind it; else 0.

    That is a level that stands still, of the learners of Theorem 1 in docs/learners-proofs.md; `parameters` are those in use.

    >>> may_stay_wrong("ct-kl-ucrl", {"delta": 0.05}), may_stay_wrong("ct-kl-ucrl", {"growth": 0.1})
    (0.05, 0.0)
    >>> may_stay_wrong("ct-ucrl", {"delta": 0.05})  # its radii hold log t
    0.0
    """
    if name not in LEARNERS.built_in or LEARNERS.built_in[name].upper_bound != "Theorem 1" or parameters.get("delta") is None:
        return 0.0
    return float(parameters["delta"])

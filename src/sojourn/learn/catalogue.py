"""The learners by name: one line each, and the contracts, the docs table and the command line pick it up."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sojourn.errors import ParameterError, unknown_name
from sojourn.model.knowledge import Knowledge

if TYPE_CHECKING:
    from sojourn.learn.learner import Learner


@dataclass(frozen=True)
class Entry:
    """One learner: where it lives, and what a table of results must say about it."""

    name: str
    home: str  # "module:Class"
    summary: str
    knows: str
    proved: str
    source: str


_ENTRIES = [
    Entry("default", "sojourn.learn.ct_imed:CTIMED",
          "ct-imed with its standard setting: low regret, robust in the tail, nothing to tune",
          "rewards, rate bounds; supports if told", "nothing in continuous time; measured in docs/learners.md",
          "decisions: the default learner"),
    Entry("ct-ucrl", "sojourn.learn.ct_ucrl:CTUCRL", "optimism over L1 and truncated-mean confidence sets, as printed",
          "rewards, rate bounds; supports if told", "regret O(log N) with delta = 1/N (thm:UCRL)", "Gao and Zhou, alg: CTUCRL"),
    Entry("ct-ucrl-doubling", "sojourn.learn.doubling:DoublingCTUCRL", "CT-UCRL restarted at 2^(2^i) epochs, any horizon",
          "rewards, rate bounds; supports if told", "regret O(log N) for every N (thm:UCRL2)", "Gao and Zhou, thm:UCRL2"),
    Entry("ct-ucrl-unknown-rates", "sojourn.learn.unknown_bounds:UnknownRatesCTUCRL",
          "uniform exploration, then CT-UCRL with rate bounds read off the estimates", "rewards",
          "nothing", "Gao and Zhou, remark after alg: CTUCRL"),
    Entry("ct-kl-ucrl", "sojourn.learn.ct_kl_ucrl:CTKLUCRL",
          "optimism over KL balls and exponential-KL intervals, CT-UCRL's episodes",
          "rewards, rate bounds; supports if told", "confidence 1 - delta at all times, hence optimism; no regret bound of its own",
          "Filippi, Cappe, Garivier 2010; Gao and Zhou, alg: CTUCRL"),
    Entry("ct-psrl", "sojourn.learn.ct_psrl:CTPSRL", "follows the best policy of a model drawn from a Dirichlet x Gamma posterior",
          "rewards, rate bounds; supports if told", "nothing in continuous time; heavy tail seen",
          "Osband, Russo, Van Roy 2013; Ouyang, Gagrani, Nayyar, Jain 2017 (TSDE)"),
    Entry("ct-imed", "sojourn.learn.ct_imed:CTIMED",
          "optimistic posterior sampling; the index N K + log N insists on what it neglects",
          "rewards, rate bounds; supports if told", "nothing in continuous time; aims at C(M) (eq:CM)",
          "Honda and Takemura 2015; Pesquerel and Maillard 2022; Agrawal and Jia 2017"),
    Entry("ct-bk", "sojourn.learn.ct_bk:CTBK",
          "optimistic posterior sampling; the index of largest worth within N KL <= log t insists",
          "rewards, rate bounds; supports if told", "nothing in continuous time; aims at C(M) (eq:CM)",
          "Burnetas and Katehakis 1997; Tewari and Bartlett 2008"),
    Entry("ct-ce", "sojourn.learn.ct_ce:CTCE", "certainty equivalence with forced logarithmic exploration; a yardstick",
          "rewards, rate bounds; supports if told", "nothing here", "Lai and Robbins 1985 (forcing)"),
    Entry("oracle", "sojourn.learn.oracle:Oracle", "plays an optimal policy from the start; a yardstick", "the model",
          "pseudo-regret 0", "by definition"),
    Entry("random", "sojourn.learn.random_actions:RandomActions", "every admissible action equally likely; a yardstick",
          "the admissible pairs", "linear regret unless all policies are optimal", "by definition"),
    Entry("fixed", "sojourn.learn.fixed:Fixed", "one given policy for ever; a yardstick", "the admissible pairs",
          "regret (gain gap) x time", "by definition"),
]
LEARNERS: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}


def learner_class(name: str) -> type:
    """Return the class of the learner called `name`."""
    if not isinstance(name, str) or name not in LEARNERS:
        raise ParameterError(unknown_name("learner", name, LEARNERS))
    module, _, attribute = LEARNERS[name].home.partition(":")
    found: type = getattr(import_module(module), attribute)
    return found


def learner(name: str, knowledge: Knowledge, seed: int = 0, **parameters: Any) -> Learner:
    """Return a new learner by name; `seed` is its own stream, `parameters` are its constructor's."""
    kind = learner_class(name)
    try:
        made: Learner = kind(knowledge, seed=seed, **parameters)
        return made
    except TypeError as error:
        if "unexpected keyword argument" not in str(error) and "missing" not in str(error):
            raise
        import inspect

        allowed = [p for p in inspect.signature(kind).parameters if p not in ("knowledge", "seed")]
        wrong = [p for p in parameters if p not in allowed]
        if not wrong:
            raise
        raise ParameterError(f"{name}: " + unknown_name("parameter", wrong[0], allowed)) from None

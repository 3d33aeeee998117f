"""How long a sojourn lasts: exponential, one unit, or any of a few named laws per pair, always with mean 1/rate.

A law is written `"gamma:shape=2"`.  Other laws than the exponential make the process semi-Markov (the paper's remark): the
gain, the bias and the gaps depend on the means only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import gamma, isfinite, log1p, sqrt
from typing import Any

import numpy as np

from sojourn.errors import ParameterError, unknown_name
from sojourn.kernels import walk as kernels
from sojourn.model.ctmdp import CTMDP

HoldingTimes = str | Mapping[tuple[Any, Any], str] | None  # a law for all pairs, laws by (state, action), or what the model says


def _positive(name: str, value: float, above: float = 0.0, below: float = float("inf")) -> float:
    if not above < value < below:
        upper = "" if below == float("inf") else f" and below {below:g}"
        raise ParameterError(f"holding time law: {name} is {value:g}; it must be above {above:g}{upper}.")
    return value


def _gamma(shape: float) -> tuple[int, float, float]:
    return kernels.GAMMA, _positive("shape", shape), 0.0


def _erlang(stages: float) -> tuple[int, float, float]:
    if stages != int(stages):
        raise ParameterError(f"holding time law: stages is {stages:g}; an Erlang law has a whole number of stages >= 1.")
    return kernels.GAMMA, _positive("stages", stages), 0.0


def _uniform(spread: float = 1.0) -> tuple[int, float, float]:
    if not 0 <= spread <= 1:
        raise ParameterError(f"holding time law: spread is {spread:g}; it must lie in [0, 1]: times are mean·(1 ± spread).")
    return kernels.UNIFORM, spread, 0.0


def _lognormal(cv: float = 1.0) -> tuple[int, float, float]:
    variance = log1p(_positive("cv", cv, below=1e100) ** 2)
    return kernels.LOGNORMAL, sqrt(variance), variance / 2


def _weibull(shape: float) -> tuple[int, float, float]:
    inverse = 1.0 / _positive("shape", shape, above=0.05)
    return kernels.WEIBULL, inverse, gamma(1.0 + inverse)


def _hyperexponential(probability: float = 0.5, mean: float = 0.5) -> tuple[int, float, float]:
    _positive("probability", probability, below=1.0)
    return kernels.HYPEREXPONENTIAL, probability, _positive("mean", mean, below=1.0 / probability)


def _pareto(shape: float) -> tuple[int, float, float]:
    return kernels.PARETO, _positive("shape", shape, above=1.0), (shape - 1.0) / shape


def _plain(code: int) -> Callable[[], tuple[int, float, float]]:
    return lambda: (code, 1.0, 0.0)


LAWS: dict[str, Callable[..., tuple[int, float, float]]] = {
    "exponential": _plain(kernels.EXPONENTIAL), "deterministic": _plain(kernels.DETERMINISTIC),
    "unit": _plain(kernels.DETERMINISTIC), "gamma": _gamma, "erlang": _erlang, "uniform": _uniform, "lognormal": _lognormal,
    "weibull": _weibull, "hyperexponential": _hyperexponential, "pareto": _pareto,
}
_PARAMETERS = {"gamma": ("shape",), "erlang": ("stages",), "uniform": ("spread",), "lognormal": ("cv",), "weibull": ("shape",),
               "hyperexponential": ("probability", "mean"), "pareto": ("shape",)}


def law_of(text: Any) -> tuple[int, float, float]:
    """Return (number, first, second) of a law written `"name"` or `"name:key=value,key=value"`.

    >>> law_of("erlang:stages=3")
    (2, 3.0, 0.0)
    """
    if not isinstance(text, str):
        raise ParameterError(f"holding time law {text!r} is a {type(text).__name__}; write it as a string like 'gamma:shape=2'.")
    name, _, rest = text.partition(":")
    if name not in LAWS:
        raise ParameterError(unknown_name("holding time law", name, LAWS))
    known, given = _PARAMETERS.get(name, ()), {}
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        if key.strip() not in known:
            raise ParameterError(f"holding time law {text!r}: " + unknown_name("parameter", key.strip(), known))
        try:
            given[key.strip()] = float(value)
        except ValueError:
            given[key.strip()] = float("nan")
        if not isfinite(given[key.strip()]):
            raise ParameterError(f"holding time law {text!r}: {key.strip()} is {value!r}; it must be a finite number.")
    try:
        return LAWS[name](**given)
    except TypeError:
        needs = ", ".join(f"{key}=..." for key in known)
        raise ParameterError(f"holding time law {text!r} lacks a parameter; write {name}:{needs}.") from None


def holding_laws(model: CTMDP, holding_times: HoldingTimes = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (law, first, second) per pair.

    `holding_times` is None (what the model says), a law for every pair, or a mapping {(state, action): law} with the model's
    own law elsewhere.
    """
    own = own_law(model)
    if isinstance(holding_times, Mapping):
        laws = [law_of(own)] * model.n_pairs
        for key, text in holding_times.items():
            if not isinstance(key, tuple) or len(key) != 2:
                raise ParameterError(f"holding_times has the key {key!r}; keys are pairs (state, action).")
            laws[model.pair(*key)] = law_of(text)
    else:
        chosen = own if holding_times is None else holding_times
        laws = [law_of(chosen)] * model.n_pairs
        if chosen == "unit" and not (model.rate == 1.0).all():
            k = int(np.flatnonzero(model.rate != 1.0)[0])
            raise ParameterError(f"holding_times is 'unit' but pair {k} has rate {model.rate[k]:g}; unit times need every rate 1. "
                                 "Use 'deterministic' for constant times 1/rate.")
    columns = list(zip(*laws))
    return np.array(columns[0], dtype=np.int64), np.array(columns[1], dtype=float), np.array(columns[2], dtype=float)


def own_law(model: CTMDP) -> str:
    """Return the law that the model says, and that its bounds on regret are for."""
    return "unit" if model.holding == "unit" else "exponential"


def other_law(model: CTMDP, holding_times: HoldingTimes) -> str:
    """Return in words the law that stands in the place of the model's own; nothing where none does.

    >>> from sojourn.zoo.catalogue import make
    >>> other_law(make("two-state"), "erlang:stages=3"), other_law(make("two-state"), "exponential")
    ('erlang:stages=3', '')
    """
    own = own_law(model)
    if not isinstance(holding_times, Mapping):
        return "" if holding_times is None or law_of(holding_times) == law_of(own) else holding_times
    others = [text for text in holding_times.values() if law_of(text) != law_of(own)]
    return f"{', '.join(dict.fromkeys(others))} in {len(others)} of {model.n_pairs} pairs" if others else ""


UNTOLD = "no rate bounds are told, and the bounds are for learners that are told some"


def no_bounds(model: CTMDP, other: str) -> str:
    """Return why the bounds on regret are not set beside holding times of another law than the model's own."""
    return f"holding times are drawn as {other}, and the bounds are for {own_law(model)} ones"

"""What to keep in mind when using the constants of a model, in sentences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import SojournError
from sojourn.instance.lower_bound import visits_needed
from sojourn.instance.proof import REFINED_STATES

if TYPE_CHECKING:
    from sojourn.instance.difficulty import Difficulty

USUAL = 1e6  # decisions of an ordinary study
RARE = 0.1  # share of decisions below which good play "hardly ever" visits a state
DIGITS = 1e-9  # relative width of a proved interval above which the reader is told
PART = 0.1  # of what cannot be paid, below which a reason is not named


def value_or_none(read: Callable[[], Any]) -> Any:
    """Return the value, or None where it is refused or not finite."""
    try:
        value = read()
    except SojournError:
        return None
    if isinstance(value, tuple):
        return [v if np.isfinite(v) else None for v in value]
    return value if not isinstance(value, float) or np.isfinite(value) else None


def warnings_of(d: Difficulty) -> list[str]:
    """Return the sentences that belong beside the numbers."""
    parts = _rates, _rewards, _structure, _lower, digits_of_k, _gap, _diameter, _upper
    return [sentence for part in parts for sentence in part(d)]


def _rates(d: Difficulty) -> list[str]:
    lo, hi = d.rate_bounds
    if d.model.holding == "unit":
        return [
            "Every holding time is one unit (a discrete-time model), so the rates count as known and K is the "
            "divergence of the jump."
        ]
    if d.bounds_defaulted:
        return [
            f"No rate bounds were given, so the range of the model's own rates, [{lo:g}, {hi:g}], is used: K, C(M) "
            f"and the upper bounds "
            "depend on it. Pass rate_bounds= (command line: --rate-bounds LO HI) with what the learner really knows."
        ]
    return []


def _rewards(d: Difficulty) -> list[str]:
    found = []
    low, high = float(d.model.reward.min()), float(d.model.reward.max())
    if d.model.transition_reward is not None:
        low, high = low + float(d.model.transition_reward.min()), high + float(d.model.transition_reward.max())
        found += _told_the_mean(d)
    if low < 0 or high > 1:
        found.append(
            f"Lump sums range over [{low:g}, {high:g}]; the upper bounds assume [0, 1] and are no guarantee here. "
            f"Divide rewards by "
            "a scale; do not shift them, which would change the problem where holding times differ."
        )
    if (d.model.running != 0).any():
        found.append("The model pays running rewards; the upper bounds are stated for lump sums in [0, 1] only.")
    if d.rewards == "bernoulli":
        found.append(
            "The mean rewards count as unknown (0/1 rewards): K includes the divergence of the reward; the upper bounds do not."
        )
    return found


def _told_the_mean(d: Difficulty) -> list[str]:
    """Return what a learner is set against that is told what a choice pays on average, as those of this package are."""
    known = value_or_none(lambda: d.as_told.lower_bound_constant)
    unknown = value_or_none(lambda: d.as_told.lower_bound_constant_unknown)
    if known is None or unknown is None:
        return []
    return ["Jumps pay: K and C(M) are for a learner that is told what each jump pays. Learners here are told what a choice pays "
            f"on average; for them C(M) is {known:.6g} and C_u(M) {unknown:.6g} (`as_told`)."]


def _structure(d: Difficulty) -> list[str]:
    if d.irreducible:
        return []
    try:
        rest = "g was found by enumerating all policies" if np.isfinite(d.gain_gap) else "no policy falls short, so g is infinite"
    except SojournError:
        rest = "g is not available either"
    return [
        f"Not every policy is irreducible (assume-transition fails): {d.irreducible.statement} So K, B(M), C(M) and "
        f"the lower bound are "
        f"not given; gain, bias, gaps and the diameter remain valid, and {rest}."
    ]


def _lower(d: Difficulty) -> list[str]:
    if d.optimum.optimal.all():
        lower = "C(M) = 0 and " if d.irreducible else ""
        return [f"All policies are optimal: there is nothing to learn, {lower}g is infinite."]
    if d.irreducible and not d.divergences.critical.any():
        return [
            "No pair is critical: no admissible row and rate would make a suboptimal action optimal, so C(M) = 0 "
            "and the lower bound "
            "says nothing."
        ]
    return too_early(d)


def digits_of_k(d: Difficulty) -> list[str]:
    """Return which K are proved to less than nine digits (above 3,000 states none is, as the documentation says)."""
    if not d.irreducible or d.optimum.optimal.all() or d.model.n_states > REFINED_STATES or d.rewards != "known":
        return []
    found, best = d.divergences, d.optimum
    wide, words = found.critical & ~(found.high <= found.low * (1 + DIGITS)), []
    if wide.any():
        i = int(np.flatnonzero(wide)[np.argmax(found.high[wide] / np.maximum(found.low[wide], 1e-300))])
        words.append(f"{_choices(int(wide.sum()))} a K proved to less than nine digits, because rates or chances lie so far "
                     f"apart: {_of_pair(d, i)} = {found.k[i]:.6g} lies in [{found.low[i]:.6g}, {found.high[i]:.6g}].")
    open_ = ~best.optimal & ~found.critical & np.isfinite(found.low)
    if open_.any():
        i = int(np.flatnonzero(open_)[0])
        words.append(f"{_choices(int(open_.sum()))} so little to gain under the best row and rate that it counts as nothing (not "
                     f"critical), though {_of_pair(d, i)} may be {found.low[i]:.6g} or more; the proved interval of C(M) reckons "
                     "with that.")
    return words


def _choices(count: int) -> str:
    return "1 choice has" if count == 1 else f"{count} choices have"


def _of_pair(d: Difficulty, pair: int) -> str:
    return f"K({d.model.states.label(d.model.pair_state[pair])}, {d.model.actions.label(d.model.pair_action[pair])})"


def too_early(d: Difficulty) -> list[str]:
    """Return from how many decisions on C(M) log N means something, where that is more than a study usually has."""
    if not d.irreducible or d.meaningful_epochs() <= USUAL:
        return []
    most, bound = d.payable_bound(USUAL), d.lower_bound(epochs=USUAL)
    known, asked = d.bounds_at.get((USUAL, True, None, False)), "epochs" if d.model.events is None else "epochs, events=False"
    instead = f"before `bound_at({asked})` (command line: --epochs N)" + ("" if known is None else f", here {known:.4g}")
    return [
        f"C(M) log N means nothing yet at {USUAL:.0e} decisions: it is {bound:.4g}, of which only {most:.4g} can be paid, because "
        f"{_unpaid(d)}. Use it from about {d.meaningful_epochs():.0e} decisions on, and {instead}."
    ]


def _unpaid(d: Difficulty) -> str:
    """Return why part of C(M) log N cannot be paid: states that are rarely met, or choices that take very many tries to judge."""
    k, share = d.divergences.k, d.visit_shares[d.model.pair_state]
    tries = visits_needed(d.divergences, USUAL)
    left = d.optimum.gap * np.maximum(tries - USUAL * share, 0.0)
    rare = (share < RARE) & (tries <= USUAL)  # the others would take more tries than they get even in states that are often met
    part = float(left[rare].sum() / left.sum())
    if part > 1 - PART:
        return "good play hardly ever visits the states where the rest would be tried"
    seldom = "good play hardly ever visits the states where part of the rest would be tried, and " if part >= PART else ""
    least = float(k[~rare & (left > 0)].min())
    return (f"{seldom}{'part' if seldom else 'the rest'} is for choices so hard to tell from the best (K down to {least:.2g} nats "
            "per visit) that it takes more tries than good play brings visits to their states")


def _gap(d: Difficulty) -> list[str]:
    try:
        found = d.gain_gaps
    except SojournError as error:
        return [] if not d.irreducible else [f"The gain gap is not available: {error}"]
    if found.exact:
        return []
    doubtful, (low, high) = int(d.optimum.doubtful.sum()), found.bounds
    if doubtful:
        return [
            f"{doubtful} choices fall short of the best by less than the tolerance of ties, though by more than nothing: they "
            f"count as optimal in g = {found.value:.6g}; the proved interval [{low:.6g}, {high:.6g}] holds either way."
        ]
    if not d.optimum.decided:
        return [
            f"Floats cannot tell which policies are optimal, because some states are so rarely met: g = {found.value:.6g} and C(M) "
            f"are computed, and nothing about them is proved."
        ]
    end = "from below double precision proves nothing" if low == 0 else f"proved in [{low:.6g}, {high:.6g}]"
    return [f"The gain gap g = {found.value:.6g} is not proved to nine digits: it is attained, and {end}."]


def _diameter(d: Difficulty) -> list[str]:
    try:
        found = d.diameters
    except SojournError as error:
        return [f"The diameter is not available: {error}"]
    if np.isinf(found.value):
        s, t = (d.model.states.label(d.model.state(s)) for s in found.pair)
        return [f"The diameter is infinite: no policy leads from {s!r} to {t!r}."]
    if np.isinf(found.bounds[1]):
        return [
            f"The diameter is at least {found.bounds[0]:.6g} (proved); its upper end is open, because the longest times are beyond "
            f"what floats can hold or the model is so large."
        ]
    if not found.exact:
        return [
            f"With {d.model.n_states} states the diameter is bracketed: {found.value:.6g} is attained, and the proved interval is "
            f"[{found.bounds[0]:.6g}, {found.bounds[1]:.6g}]."
        ]
    return []


def _upper(d: Difficulty) -> list[str]:
    hi, found = d.rate_bounds[1], []
    if hi > 1:
        found.append(
            f"rate_max is {hi:g} > 1: the upper bound as printed (thm:UCRL) is not a guarantee, because it divides "
            f"by g per unit of "
            "time where the proof needs a gap per decision. Use the consistent one."
        )
    gap, lower = value_or_none(lambda: d.gain_gap), value_or_none(lambda: d.lower_bound_constant)
    constant = value_or_none(lambda: d.upper_bound_constant)
    if None not in (gap, lower, constant) and 4 * constant / gap < lower:
        found.append(
            f"Here the printed bound even falls below the lower bound: 4C/g = {4 * constant / gap:.6g} < C(M) = {lower:.6g}."
        )
    return found

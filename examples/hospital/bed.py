"""A hospital bed, from a real log: how fast patients worsen, improve, go home and die, and whether a closer watch would pay.

    python examples/hospital/bed.py

From the data (stays.csv): the rates of six events under the care that was given, and which patients come in how.  Assumed, since no
log of what was done can tell it: that a watched patient worsens at a given fraction of that rate and is otherwise as the others;
how fast a free bed is taken again; and every price.
"""

import csv
from pathlib import Path

import sojourn
from sojourn import Choice, Rate
from sojourn.results import Fit

STAYS = Path(__file__).parent / "stays.csv"
WARD_DAY, INTENSIVE_DAY, WATCH_DAY, GOES_HOME = 1.0, 4.0, 0.5, 20.0  # assumed prices, in days on the ward
FILLED = 2.0  # assumed: a free bed is taken again after half a day, on average


def log() -> dict[str, list]:
    """Return the stays as columns; what was done with all patients is called "usual"."""
    with open(STAYS, encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    found = {name: [row[name] for row in rows] for name in ("trajectory", "state", "event")}
    done = ["usual" if state != "empty" else "" for state in found["state"]]
    return {**found, "time": [float(row["time"]) for row in rows], "action": done}


def bed(effect: float, severe: float = 0.073) -> sojourn.CTMDP:
    """Return the structure: watching a patient takes the fraction `effect` off the rate of worsening.

    The values of the six unknown rates are placeholders, which `knowledge(events=True)` does not tell; `severe` is the share of
    patients who come in severely ill.
    """
    worsen, improve, home, early, die, die_severe = (
        Rate(name, 0.1) for name in ("worsen", "improve", "go home", "go home early", "die", "die severe"))
    mild_comes = Rate("comes mild", FILLED * (1 - severe), known=True)
    severe_comes = Rate("comes severe", FILLED * severe, known=True)

    def choices(state: str) -> dict[str, Choice]:
        if state == "empty":
            return {"usual": Choice(rates={"mild": mild_comes, "severe": severe_comes})}
        if state == "severe":
            return {"usual": Choice(rates={"mild": improve, "empty": early + die_severe}, running_cost=INTENSIVE_DAY,
                                    transition_rewards={"empty": {early: GOES_HOME, die_severe: 0.0}})}
        pay = {"empty": {home: GOES_HOME, die: 0.0}}
        return {"usual": Choice(rates={"severe": worsen, "empty": home + die}, running_cost=WARD_DAY, transition_rewards=pay),
                "watch": Choice(rates={"severe": (1 - effect) * worsen, "empty": home + die}, running_cost=WARD_DAY + WATCH_DAY,
                                transition_rewards=pay)}

    return sojourn.CTMDP.explore("empty", choices)


def worth(effect: float, stays: dict[str, list]) -> tuple[Fit, float, float]:
    """Return the fit under an assumed effect, and what the usual and the watched bed earn a day at the likeliest rates."""
    found = sojourn.fit(stays, knowledge=bed(effect).knowledge(events=True))
    policies = [{"empty": "usual", "mild": action, "severe": "usual"} for action in ("usual", "watch")]
    usual, watched = (sojourn.evaluate(found.model, policy).gain for policy in policies)
    return found, usual, watched


def break_even(stays: dict[str, list]) -> float:
    """Return the effect from which on watching pays, at the likeliest rates."""
    low, high = 0.0, 0.99
    for _ in range(20):
        middle = (low + high) / 2
        _, usual, watched = worth(middle, stays)
        low, high = (low, middle) if watched > usual else (middle, high)
    return high


def main() -> None:
    stays = log()
    found, usual, _ = worth(0.5, stays)
    whole, cut = len(found.log), len(found.log.censored_time)
    print(f"{whole:,} complete sojourns and {cut} unfinished ones of {found.log.trajectories:,} stays")
    for name, rate, (low, high) in zip(found.estimate.names, found.estimate.rate, found.event_bounds):
        if not name.startswith("comes"):
            print(f"{name:14s} {rate:.4f} a day ({low:.4f} to {high:.4f})")
    print(f"a bed under usual care earns {usual:.4f} a day at these rates")
    for effect in (0.1, 0.3, 0.5, 0.7, 0.9):
        found, usual, watched = worth(effect, stays)
        low, high = found.gain_bounds
        print(f"if watching prevents {effect:.0%} of worsening: {watched:.4f}; best now: {found.policy['mild']}, which earns "
              f"at least {low:.4f}; nothing earns more than {high:.4f}")
    print(f"watching pays if it prevents more than {break_even(stays):.1%}")
    print("\n".join(found.notes))


if __name__ == "__main__":
    main()

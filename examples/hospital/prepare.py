"""Make stays.csv from pymsm's covid_hosp_data.csv: one trajectory per stay in hospital, one row per change of state.

    pip install pymsm==0.1.7        # in an environment of its own: it asks for older versions of numpy and pandas
    python examples/hospital/prepare.py PATH/TO/site-packages/pymsm/datasets/covid_hosp_data.csv

Days are those of the source; a change on the same day counts as one day, as pymsm's own preparation has it.  A stay ends when the
patient goes home or dies; one who comes back begins another.  The last row of a stay says when the bed was free, or, for a patient
who was still there when the data end, repeats the state on that day.
"""

import csv
import sys
from pathlib import Path

STATES = {"16": "home", "23": "mild", "4": "severe", "5": "dead"}
EVENTS = {("mild", "severe"): "worsen", ("severe", "mild"): "improve", ("mild", "home"): "go home",
          ("severe", "home"): "go home early", ("mild", "dead"): "die", ("severe", "dead"): "die severe"}


def path_of(row: dict[str, str]) -> tuple[list[str], list[float]]:
    """Return the states of a patient and the days spent in each; the last one is censored, or final."""
    times = [row[f"new_time{i}"] for i in range(1, 11)]
    known = next((i for i, text in enumerate(times) if text in ("", "nan")), 10)
    states = [STATES.get(row[f"new_type{i}"], "") for i in range(known + 1)]
    days = [max(1.0, float(text)) for text in times[:known]]
    rest = float(row["current_time"]) - sum(float(text) for text in times[:known])
    return states, [*days, max(1.0, rest)]


def stays(row: dict[str, str]) -> list[list[tuple[float, str, str]]]:
    """Return the stays of a patient, each as rows of (day, state, event that ended it)."""
    states, days = path_of(row)
    found: list[list[tuple[float, str, str]]] = []
    for i, (state, length) in enumerate(zip(states, days)):
        if state not in ("mild", "severe"):
            continue
        if i == 0 or states[i - 1] not in ("mild", "severe"):
            found.append([])
            day = 0.0
        after = states[i + 1] if i + 1 < len(states) else ""
        found[-1].append((day, state, EVENTS.get((state, after), "")))
        day += length
        if after in ("home", "dead"):
            found[-1].append((day, "empty", ""))
        elif not after:
            found[-1].append((day, state, ""))
    return found


def main(source: Path, target: Path) -> None:
    with open(source, encoding="utf-8", newline="") as stream, open(target, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["trajectory", "time", "state", "event"])
        number = 0
        for row in csv.DictReader(stream):
            for stay in stays(row):
                number += 1
                writer.writerows((number, f"{day:g}", state, event) for day, state, event in stay)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parent / "stays.csv")

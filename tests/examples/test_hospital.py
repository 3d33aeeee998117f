"""The worked example on a real log: its rates are counts over time, taken from the file by hand here."""

import csv
import importlib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

HOSPITAL = Path(__file__).parents[2] / "examples" / "hospital"


def test_the_rates_of_the_hospital_bed_are_counts_over_days(monkeypatch):
    monkeypatch.syspath_prepend(str(HOSPITAL))
    bed = importlib.import_module("bed")
    seen, days = Counter(), Counter()
    for row, after in pairwise(csv.DictReader((HOSPITAL / "stays.csv").read_text(encoding="utf-8").splitlines())):
        if row["trajectory"] == after["trajectory"]:
            days[row["state"]] += float(after["time"]) - float(row["time"])
            seen[row["event"]] += 1
    found, usual, watched = bed.worth(0.9, bed.log())
    for event, state in {"worsen": "mild", "go home": "mild", "die": "mild", "improve": "severe", "die severe": "severe"}.items():
        assert found.estimate.rate_of(event)[1] == pytest.approx(seen[event] / days[state], rel=2e-3)  # but the first stay
    assert seen["worsen"] == 275 and found.policy["mild"] == "watch" and watched > usual
    assert found.gain_bounds[0] < watched < found.gain_bounds[1]

"""The plants that others made: a SimPy call centre and a Ciw network, controlled, killed and restarted."""

import subprocess
import sys
from pathlib import Path

import pytest

PLANTS = Path(__file__).parents[2] / "examples" / "plants"


@pytest.mark.slow
@pytest.mark.parametrize(("plant", "library", "near"), [("call_centre", "simpy", 0.05), ("network", "ciw", 0.15)])
def test_a_plant_is_controlled_across_kills_and_comes_near_the_optimum(tmp_path, plant, library, near):
    pytest.importorskip(library)
    import json

    command = [sys.executable, str(PLANTS / "run.py"), plant, "--decisions", "1500", "--kills", "3", "--folder", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["decisions"] == found["reports_in_the_journal"] == 1500 and found["kills"] == 3
    optimum = found["optimal_gain"]
    assert abs(found["gain_of_the_policy_now"] - optimum) <= near * abs(optimum)

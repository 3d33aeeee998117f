"""The plants that others made: a SimPy call centre and a Ciw network, controlled, killed and restarted."""

import subprocess
import sys
from pathlib import Path

import pytest

PLANTS = Path(__file__).parents[2] / "examples" / "plants"


@pytest.mark.slow
@pytest.mark.parametrize(("plant", "library"), [("call_centre", "simpy"), ("network", "ciw")])
def test_a_plant_is_controlled_across_kills_and_ends_near_the_optimum_of_its_model(tmp_path, plant, library):
    """The short form of `python examples/plants/run.py`: 1,500 decisions, in which the controller and the plant are killed."""
    pytest.importorskip(library)
    import json

    words = ["--decisions", "1500", "--kills", "4", "--seed", "3", "--folder", str(tmp_path)]
    command = [sys.executable, str(PLANTS / "run.py"), plant, *words]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["decisions"] == found["reports_in_the_journal"] == 1500 and found["kills"] == 4 and found["of_them_plants"] >= 1
    best = found["optimal_gain"]
    assert best - 0.03 * abs(best) <= found["gain_of_the_policy_now"] <= best + 1e-9

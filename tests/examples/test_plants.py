"""The plants that others made: a SimPy call centre and a Ciw network, controlled, killed and restarted."""

import subprocess
import sys
from pathlib import Path

import pytest

PLANTS = Path(__file__).parents[2] / "examples" / "plants"


@pytest.mark.slow
@pytest.mark.parametrize(("plant", "library"), [("call_centre", "simpy"), ("network", "ciw")])
def test_a_plant_is_controlled_across_kills_and_nothing_is_lost_or_counted_twice(tmp_path, plant, library):
    """The short form: a policy near the optimum takes some 20,000 decisions (python examples/plants/run.py)."""
    pytest.importorskip(library)
    import json

    command = [sys.executable, str(PLANTS / "run.py"), plant, "--decisions", "1500", "--kills", "3", "--folder", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["decisions"] == found["reports_in_the_journal"] == 1500 and found["kills"] == 3
    assert found["gain_of_the_policy_now"] <= found["optimal_gain"] + 1e-9

"""What a newcomer does first, with the installed package and nothing of the repository: `python installed.py` in an empty folder.

`make dist` runs it on the wheel and on the source archive, each in an environment of its own.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import sojourn

STUDY = """
[study]
name = "first"
epochs = 2_000
replications = 2

[[models]]
zoo = "three-state"

[[learners]]
name = "ct-kl-ucrl"

[[learners]]
name = "random"
"""


def command(*words: str) -> str:
    """Return what `sojourn ...` prints: the script of this environment, or the module where there is none."""
    script = shutil.which("sojourn", path=str(Path(sys.executable).parent))
    done = subprocess.run([*([script] if script else [sys.executable, "-m", "sojourn"]), *words], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def main() -> None:
    home = Path(sojourn.__file__).resolve()
    assert not (home.parents[2] / "pyproject.toml").exists(), f"{home} is the repository, not an installed package"
    assert "Usage: sojourn" in command("--help") and "three-state" in command("zoo") and "default" in command("learners")
    solved = json.loads(command("solve", "customer-selection:servers=5,classes=3", "--json"))
    assert abs(solved["gain"] - 1.8853761506) < 1e-9, solved["gain"]
    learned = command("learn", "three-state", "--learner", "ct-kl-ucrl", "--epochs", "3000", "--plot", "run.svg")
    assert "pseudo-regret" in learned and Path("run.svg").read_text(encoding="utf-8").startswith("<?xml")
    Path("study.toml").write_text(STUDY, encoding="utf-8")
    command("study", "run", "study.toml", "--report", "report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    assert "<svg" in page and "What follows" in page and "<script" not in page
    run = sojourn.simulate(sojourn.make("three-state"), "ct-kl-ucrl", max_epochs=2_000, seed=1)
    assert run.plot()._repr_png_()[0][:8] == b"\x89PNG\r\n\x1a\n"  # what a notebook asks for
    assert "slope / bound" in str(sojourn.Study.open("study.sqlite").summary())
    print(f"sojourn {sojourn.__version__} on Python {sys.version.split()[0]} in {home.parent}: solves, learns, studies, draws")


if __name__ == "__main__":
    import os

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()

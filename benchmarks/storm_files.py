"""Gains beside Storm's, through `.drn` files in both directions.

    python benchmarks/storm_files.py --peers PYTHON [--random 100] [--seed 1] [--folder FOLDER]

PYTHON is the interpreter of an environment with `stormpy`.  Every family of the zoo and random models (continuous and discrete
time) are written as `.drn`; Storm reads them, says its long-run average and writes them anew, and what Storm wrote is read and
solved again.  PRISM programs below are built by Storm and its files are read, every reward model, least and greatest.  FOLDER may
hold further `.drn` files, such as those of Storm's own tests.  Exit code 1 where two gains differ by more than 1e-6 relative.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import sojourn
from sojourn.errors import SojournError
from sojourn.model.ctmdp import CTMDP
from sojourn.zoo.catalogue import families

TOLERANCE = 1e-6  # relative; Storm's own precision
SMALL = 1e-3  # gains below this are compared absolutely, as if they were this

PROGRAMS = {
    "ma-switching": """ma
const int N = 4;
module queue
  q : [0..N] init 0;  on : bool init true;  deciding : bool init false;
  <> !deciding & on & q < N -> 1.7 : (q'=q+1) & (deciding'=true) + (q > 0 ? 2.1 : 0.3) : (q'=max(0,q-1)) & (deciding'=true);
  <> !deciding & on & q = N -> 2.1 : (q'=q-1) & (deciding'=true);
  <> !deciding & !on & q < N -> 1.7 : (q'=q+1) & (deciding'=true);
  <> !deciding & !on & q = N -> 1.1 : (deciding'=true);
  [keep] deciding -> 1 : (deciding'=false);
  [switch] deciding -> 0.8 : (deciding'=false) & (on'=!on) + 0.2 : (deciding'=false);
endmodule
rewards "held" true : q; endrewards
rewards "energy" on : 1.5; [switch] true : 0.4; endrewards
""",
    "ma-back-at-once": """ma
module main
  x : [0..3];
  [try] x=0 -> 1/3 : (x'=0) + 1/3 : (x'=1) + 1/3 : (x'=2);
  [go] x=0 -> 1 : (x'=2);
  <> x=1 -> 6 : (x'=2) + 4 : (x'=3);
  <> x=2 -> 5 : (x'=2) + 5 : (x'=3);
  [home] x=3 -> 0.3 : (x'=2) + 0.7 : (x'=1);
  [wait] x=3 -> 0.6 : (x'=1) + 0.4 : (x'=2);
endmodule
rewards true : x; [try] true : 2; [wait] true : 0.5; endrewards
""",
    "ma-two-servers": """ma
module servers
  a : [0..3]; b : [0..3]; came : bool init false;
  <> !came & a < 3 & b < 3 -> 2.5 : (came'=true) + (a > 0 ? 2 : 0.1) : (a'=max(0,a-1)) + (b > 0 ? 1 : 0.1) : (b'=max(0,b-1));
  <> !came & a < 3 & b = 3 -> 2.5 : (came'=true) + (a > 0 ? 2 : 0.1) : (a'=max(0,a-1)) + 1 : (b'=b-1);
  <> !came & a = 3 & b < 3 -> 2.5 : (came'=true) + 2 : (a'=a-1) + (b > 0 ? 1 : 0.1) : (b'=max(0,b-1));
  <> !came & a = 3 & b = 3 -> 2 : (a'=a-1) + 1 : (b'=b-1);
  [] came & a < 3 -> 1 : (a'=a+1) & (came'=false);
  [] came & b < 3 -> 0.9 : (b'=b+1) & (came'=false) + 0.1 : (came'=false);
endmodule
rewards "held" true : a + b; endrewards
rewards "busy" a > 0 : 1; endrewards
""",
    "ctmc-tandem": """ctmc
module line
  a : [0..5]; b : [0..4];
  [] a < 5 -> 3/2 : (a'=a+1);
  [move] a > 0 & b < 4 -> 2 : (a'=a-1) & (b'=b+1);
  [] b > 0 -> 7/3 : (b'=b-1);
endmodule
rewards "held" true : a + 2 * b; endrewards
rewards "moved" [move] true : 1; endrewards
""",
    "mdp-walk": """mdp
module walk
  x : [0..9] init 0;
  [a] x < 9 -> 1/3 : (x'=x+1) + 2/3 : (x'=max(0,x-1));
  [b] x > 0 -> 1/7 : (x'=0) + 6/7 : (x'=min(9,x+2));
  [] x = 0 | x = 9 -> 1 : (x'=5);
endmodule
rewards "r" x > 4 : x / 3; [a] true : 0.1; [b] x > 5 : 1e-3; endrewards
rewards "s" true : 1; endrewards
""",
    "dtmc-ring": """dtmc
module ring
  x : [0..6];
  [] true -> 0.7 : (x'=mod(x+1,7)) + 0.2 : (x'=x) + 0.1 : (x'=0);
endmodule
rewards true : x * x; endrewards
""",
}


def random_model(rng: np.random.Generator, discrete: bool) -> CTMDP:
    """A model of 2 to 11 states in which state 0 can be reached from everywhere, small jumps cut off, costs of two kinds."""
    n, actions = int(rng.integers(2, 12)), int(rng.integers(1, 4))
    rows = rng.dirichlet(np.full(n, 0.5), (n, actions))
    rows[rows < 0.02] = 0
    rows[:, :, 0] += 0.05
    rows /= rows.sum(axis=-1, keepdims=True)
    paid = -rng.uniform(0, 3, (n, actions))
    if discrete:
        return CTMDP.from_mdp(rows, paid, normalize_rows=True)
    rates = 10.0 ** rng.uniform(-2, 2, (n, actions))
    return CTMDP.from_arrays(rows, rates, paid, -rng.uniform(0, 3, (n, actions)), normalize_rows=True)


def write_all(folder: Path, count: int, seed: int) -> dict[str, float]:
    """Write our models as `ours-*.drn` and the programs; return the gain of each model."""
    rng = np.random.default_rng(seed)
    models = {f"ours-{name}": sojourn.make(name) for name in families()}
    models |= {f"ours-random-{k}": random_model(rng, discrete=k % 4 == 3) for k in range(count)}
    for name, text in PROGRAMS.items():
        (folder / f"{name}.prism").write_text(text)
    for name, model in models.items():
        model.save(folder / f"{name}.drn")
    return {name: sojourn.solve(model).gain for name, model in models.items()}


def ours(path: Path, reward: str, aim: str) -> float:
    """Return our greatest or least gain of a file."""
    model = sojourn.load(path, reward=reward)
    if aim == "max":
        return sojourn.solve(model).gain
    return -sojourn.solve(model.replace(reward=-model.reward, running=-model.running)).gain


def apart(mine: float, storms: float) -> float:
    return abs(mine - storms) / max(abs(storms), SMALL)


def verdict(mine: float | str, storms: float | str) -> str:
    """Return in words what our value (or why there is none) and Storm's say of each other."""
    if isinstance(mine, float) and isinstance(storms, float):
        return "agree" if apart(mine, storms) <= TOLERANCE else "differ"
    return "by Storm only" if isinstance(storms, float) else "by us only" if isinstance(mine, float) else "by neither"


def compare(folder: Path, gains: dict[str, float], answers: dict[str, dict[str, float | str]]) -> tuple[Counter, float, list[str]]:
    """Return (how many values of each kind agreed, differed or were refused, the largest difference, what differed)."""
    counts: Counter = Counter()
    worst, bad = 0.0, list[str]()
    for name, said in answers.items():
        kind = "others"
        if name.startswith("ours") or name.partition(".")[0] in PROGRAMS:
            kind = "ours, read by Storm" if name.startswith("ours") else "written by Storm"
        for key, value in said.items():
            reward, _, aim = key.rpartition(":")
            try:
                if key == "error":
                    sojourn.load(folder / name)
                    mine: float | str = "read by us only"
                else:
                    mine = ours(folder / name, reward, aim)
            except SojournError as error:
                mine = str(error)
            answer = verdict(mine, value)
            worst = max(worst, apart(mine, value) if isinstance(mine, float) and isinstance(value, float) else 0.0)
            counts[kind, answer] += 1
            if answer == "differ" or (answer == "by Storm only" and kind != "others"):
                bad.append(f"{name} {key}: {mine} and Storm {value}")
            elif answer != "agree":
                print(f"  {name} {key}: {str(mine)[:160]} | Storm: {str(value)[:100]}")
    for name, gain in gains.items():  # written by us, read by Storm, written by Storm, read by us
        again = sojourn.load(folder / f"{name}.storm.drn", reward="reward")
        difference = apart(sojourn.solve(again).gain, gain)
        worst = max(worst, difference)
        counts["ours, back from Storm", "agree" if difference <= TOLERANCE else "differ"] += 1
        if difference > TOLERANCE:
            bad.append(f"{name} back from Storm: {difference:.2g} apart")
    return counts, worst, bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", help="the Python of an environment with stormpy")
    parser.add_argument("--random", type=int, default=100, help="how many random models")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None, help="further .drn files")
    given = parser.parse_args()
    if given.peers is None:
        print("nothing to compare with: give --peers PYTHON, an environment with stormpy")
        return
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        gains = write_all(folder, given.random, given.seed)
        for path in sorted(given.folder.glob("*.drn")) if given.folder else ():
            shutil.copy(path, folder / f"other-{path.name}")
        subprocess.run([given.peers, str(Path(__file__).with_name("_storm.py")), str(folder)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": ""})
        counts, worst, bad = compare(folder, gains, json.loads((folder / "answers.json").read_text()))
    for (kind, answer), number in sorted(counts.items()):
        print(f"{kind:24}{answer:18}{number:6}")
    print(f"largest relative difference {worst:.2g}; seed {given.seed}")
    print("\n".join(bad))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

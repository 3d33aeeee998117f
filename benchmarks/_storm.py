"""Storm's own answers about `.drn` files: run with the Python of an environment that holds `stormpy`, never imported by anything.

    PYTHON benchmarks/_storm.py FOLDER

Builds every PRISM program (`*.prism`) in FOLDER and writes it beside it as `.drn`, with all labels and names and as exact
fractions; writes every `*.drn` once more as `*.storm.drn`; prints one JSON object {file: {"reward model:min": value, ...}} with
the long-run averages from the initial state, or {"error": ...} where Storm reads none.
"""

import json
import os
import signal
import sys
from pathlib import Path

import stormpy
import stormpy.io

SECONDS = 20  # for one value; where Storm needs more, that is said


def built(folder):
    for path in sorted(folder.glob("*.prism")):
        program = stormpy.parse_prism_program(str(path), prism_compatibility=path.name.startswith("ctmc"))
        full = stormpy.build_model(program, options=stormpy.BuilderOptions(build_full=True))
        stormpy.io.export_to_drn(full, str(path.with_suffix(".drn")))
        exact = stormpy.build_model[stormpy.Rational](program)
        stormpy.io.export_to_drn(exact, str(path.with_suffix(".exact.drn")))


def averages(path):
    """Return Storm's long-run averages; a model of ours (one aim only) is written once more."""
    model = stormpy.build_model_from_drn(str(path))
    wanted = [(name, aim) for name in model.reward_models for aim in ("min", "max")]
    if path.name.startswith("ours"):
        stormpy.io.export_to_drn(model, str(path.with_suffix(".storm.drn")))
        wanted = [("cost", "min")] if "cost" in model.reward_models else [("reward", "max")]
    asked = {f"{name}:{aim}": f'R{{"{name}"}}{aim}=? [ LRA ]' if name else f"R{aim}=? [ LRA ]" for name, aim in wanted}
    return {key: in_time(model, formula) for key, formula in asked.items()}


def in_time(model, formula):
    """Return the value, or in words why there is none; in a process of its own, which ends when its time is up."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        try:
            result = stormpy.model_checking(model, stormpy.parse_properties(formula)[0])
            said = float(result.get_value(model.initial_states[0]))
        except Exception as error:  # Storm refuses some models (cycles without time): that is its answer
            said = str(error)[:200]
        os.write(into, json.dumps(said).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else f"no answer in {SECONDS} s"


def main():
    folder = Path(sys.argv[1])
    built(folder)
    answers = {}
    for path in sorted(folder.glob("*.drn")):
        try:
            answers[path.name] = averages(path)
        except Exception as error:
            answers[path.name] = {"error": str(error)[:200]}
    (folder / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main()

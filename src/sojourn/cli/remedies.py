"""What Python's errors advise, in the words of the command line.

Errors name their remedy as it is said in Python, since they are raised there.  Every line that a command prints of an error, a
warning, an alarm or a note goes through `for_shell`.  tests/cli/test_remedies.py reads all messages of the program and finds those
that would still show Python on the command line.
"""

import re

PATH = r"(?:'[^'`]*'|\"[^\"`]*\"|•)"  # a path as Python shows it, or whatever stands in its place

REMEDIES = [  # what Python says, what the command line says
    # controllers
    (r"call `missed\(\)` and go on", "say so with `sojourn control missed PATH` and go on"),
    (r"Ask `status\(\)\['next_seq'\]` for the next number", "Ask `sojourn control status PATH` for the next number"),
    (rf"`Controller\.create\({PATH}, \.\.\.\)` makes one", "`sojourn control create PATH MODEL --start STATE` makes one"),
    (rf"`Controller\.open\({PATH}, accept_loss=True\)`", "`sojourn control accept-loss PATH`"),
    (rf"`Controller\.open(?:\({PATH}\))?` goes on with", "`sojourn control report PATH` goes on with"),
    (r"`Controller\.backup`", "`sojourn control backup`"),
    (r", or create a new controller and import what `observations\(\)` can still read", ", or create a new controller"),
    (r"action is None, but this controller only advises \(shadow=True\)",
     "no --action is given, but this controller only advises (it was made with --shadow)"),
    (r"A controller made with a `safe_action` takes", "A controller made with --safe-action takes"),
    (r"give it: Controller\.open\(path, learner=\.\.\.\)", "only Python can open it, which can be given the learner's class"),
    (r"`estimate\(\)`", "`sojourn control estimate PATH`"),
    (r"say which, with event=\.\.\.", "say which, with --event NAME"),
    (r"report silent=\{name: times\}", "report --silent EVENT TIMES, once for each"),
    (r"tell it with model\.knowledge\(events=True\)", "create the controller with --events"),
    (r"and at `estimate\(\)`", "and at `sojourn control estimate PATH`"),
    (r"`replay\(\)` makes", "`sojourn control replay PATH` makes"),
    (r"`Controller\.open\(path, write=False\)` can read", "`sojourn control status PATH` can read"),
    (r"model is •?(?:None)?; the oracle must be shown the CTMDP: learner\('oracle', knowledge, model=model\)",
     "the oracle must be shown the rates of the model, which a controller is not; choose another learner (`sojourn learners`)"),
    (r", or a learner with plan\(\) or act\(\)", ""),
    (r"\bsafe_action is (?!None)", "--safe-action is "),
    (r"\bmax_late is ", "--max-late is "),
    (r"Leave max_late at 0", "Leave out --max-late"),
    (r"^forbidden is ", "--forbid is "),
    # logs
    (r"Rename its columns \(`columns=\{'theirs': 'ours'\}`\)", "Rename its columns (--column THEIRS=OURS)"),
    (r"say contiguous=False", "give --not-contiguous"),
    (r"give a data frame or a Parquet file whose column holds dates", "give a Parquet file whose column holds dates"),
    (r"\(`reward=`, `running=` or `knowledge=`\)", "(--model MODEL)"),
    (r"raise the limit: max_bytes=BYTES", "raise the limit: --max-bytes BYTES"),
    (r"Say which choices there are: `knowledge=`, such as model\.knowledge\(\)", "Say which choices there are: --model MODEL"),
    (r"`knowledge` says which choices there are", "--model says which choices there are"),
    (r"or tell a knowledge that has these pairs", "or use a model that has these choices"),
    (r"columns renames", "--column renames"),
    # models
    (r"`load\(path, reward=[^`]*\)`, or `(--reward [^`]*)`", r"`sojourn convert IN OUT \1`"),
    (r" with `(?:model|run)\.save`", ""),
    (r"[Ii]f you trust (the file|it), allow more: `max_bytes=[^`]*`", r"If you trust \1, a Python program can allow more"),
    (r"; or allow more: `max_bytes=\.\.\.`", ""),
    (r" \(`normalize_rows=True`\)", ""),
    (r" \(admissible=False\)", ""),
    (r" \(or in explore give `label=repr`\)", ""),
    (r"`sojourn\.check`", "`sojourn check MODEL`"),
    # pictures, solving, difficulty, learning
    (r"stop_when is given, but", "--within is given, but"),
    (r"^epsilon is ", "--within is "),
    (r"tell rate_bounds=\(lo, hi\), however wide",
     "--rate-bounds LO HI of `sojourn learn` or `sojourn control create` tells them, however wide"),
    (r"kind='(curves|graph|grid)'", r"--kind \1"),
    (r"Use method='([\w-]+)'", r"Use --method \1"),
    (r"Pass rate_bounds= \(command line: (--rate-bounds LO HI)\)", r"Pass \1"),
    (r"Tell rate_bounds=\(lo, hi\)", "Tell some (--rate-bounds LO HI)"),
    (r"`bound_at\([^`]*\)` \(command line: (--epochs N)\)", r"\1"),
    (r"`payable_bound\(epochs\)`", "what can be paid (`sojourn difficulty MODEL` prints it)"),
    (r"`lower_bound\(epochs=N\)`", "C(M) log N"),
    (r" Pass offset=0 for the logarithmic term alone\.", ""),
    (r"Pass reward_range=\(low, high\), or \"auto\",", "Give --reward-range LO,HI, or auto,"),
    (r"With ct-ucrl planning='fast', or reward_range='auto' for large rewards, takes",
     "With ct-ucrl --param planning=fast, or --reward-range auto for large rewards, takes"),
    (r" Run again, or hand over a function that makes an executor: run\(executor=lambda: \.\.\.\)", " Run again"),
]
_TOLD = [(re.compile(said), here) for said, here in REMEDIES]


def for_shell(text: str) -> str:
    """Return a message as the command line says it.

    >>> for_shell("If it is lost, call `missed()` and go on with number 3.")
    'If it is lost, say so with `sojourn control missed PATH` and go on with number 3.'
    """
    for said, here in _TOLD:
        text = said.sub(here, text)
    return text


def one_line(error: BaseException) -> str:
    """Return an error as one line."""
    return " ".join(for_shell(str(error)).split())

"""The command line, run in this process as a user would call it: through `main`, which also turns errors into one line."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from sojourn.cli.main import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def run(*words: object) -> Ran:
    """Run `sojourn WORDS`."""
    out, err = io.StringIO(), io.StringIO()
    old, sys.argv = sys.argv, ["sojourn", *map(str, words)]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    finally:
        sys.argv = old
    return Ran(code, out.getvalue(), err.getvalue())

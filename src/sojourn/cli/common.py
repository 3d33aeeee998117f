"""What every command shares: the MODEL argument, strict JSON, numbers in words."""

import json
import math
import os
import re
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import click

from sojourn.cli.remedies import for_shell
from sojourn.errors import ModelError, ParameterError, unknown_name
from sojourn.hidden_characters import has_hidden, visible
from sojourn.model.closeness import Within, within
from sojourn.model.scalars import is_decimal, is_whole_text
from sojourn.model.words import left_over

NOT_FINITE = ("nan", "inf", "infinity")
LONG = 40  # characters: a text beyond is a sentence
NARROWEST = 20  # columns below which lines are left as they are
SHOWN_STATES = 12  # of a policy


def _models(context: click.Context, argument: click.Parameter, text: str) -> list[Any]:
    """Return how a MODEL that begins with `text` may go on: the families of the zoo, else a file."""
    from click.shell_completion import CompletionItem

    from sojourn.zoo.catalogue import families

    named = [CompletionItem(name) for name in families() if name.startswith(text)]
    return named or [CompletionItem(text, type="file")]


def learner_names(context: click.Context, option: click.Parameter, text: str) -> list[str]:
    """Return the learners whose names begin with `text`."""
    from sojourn.learn.catalogue import LEARNERS

    return [name for name in LEARNERS if name.startswith(text)]


class Number(click.FloatRange):
    """A number in decimal digits; Python's own reading, which click's is, takes 1_5 for 15.  Commands refuse NaN and infinity."""

    name = "number"

    def _describe_range(self) -> str:  # click writes "x<=None" where there is no bound
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if isinstance(value, str) and not is_decimal(value.strip()) and value.strip().lower().lstrip("+-") not in NOT_FINITE:
            self.fail(f"{value!r} is not a number; write it as 12, -0.5 or 1e-3.", parameter, context)
        return super().convert(value, parameter, context)


class Whole(click.IntRange):
    """A whole number in decimal digits."""

    name = "whole number"

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if isinstance(value, str) and not is_whole_text(value.strip()):
            self.fail(f"{value!r} is not a whole number; write it as 12.", parameter, context)
        return super().convert(value, parameter, context)


NUMBER, WHOLE = Number(), Whole()
model_argument = click.argument("model", metavar="MODEL", shell_complete=_models)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else.")


def asked(epsilon: str, confidence: float) -> Within:
    """Return what --within and --confidence ask for."""
    if not 0 < confidence < 1:
        raise ParameterError(f"--confidence is {confidence:g}; it must lie between 0 and 1, such as 0.95.")
    return within(epsilon, float(1 - Decimal(repr(float(confidence)))))  # of 0.95 exactly 0.05


def policy_in_words(policy: Sequence[tuple[str, str]]) -> str:
    """Return [(state, action), ...] in words, the first states of many."""
    chosen = [f"{action} in {state}" for state, action in policy]
    more = f", ... ({left_over(len(chosen) - SHOWN_STATES, 'state')})" if len(chosen) > SHOWN_STATES else ""
    return ", ".join(chosen[:SHOWN_STATES]) + more


def renamed_columns(texts: Iterable[str]) -> dict[str, str]:
    """Return {their name: our name} of what --column says."""
    found = {}
    for text in texts:
        theirs, equals, ours = text.partition("=")
        if not equals:
            raise ParameterError(f"--column is {text!r}; write THEIRS=OURS, such as --column duration=holding_time.")
        found[theirs] = ours
    return found


def read_model(text: str) -> Any:
    """Return the model that MODEL names: a file, or a zoo family with parameters `name:key=value,key=value`."""
    from sojourn.model.files import load
    from sojourn.zoo.catalogue import families, make

    name = text.partition(":")[0]
    if name.replace("_", "-") in families() and not os.path.isfile(text):
        return make(text)
    if os.path.exists(text) or text.endswith((".json", ".npz", ".drn")):
        with waiting(f"reading {text}"):
            return load(text)
    raise ModelError(f"{text!r} is neither a file nor a zoo model: {unknown_name('zoo model', name, families())}")


def named_state(model: Any, text: str | None) -> Any:
    """Return the state that a text on the command line means: a state, what it reads as, or else a position."""
    if text is None or text in model.states or text in model.states.labels or not is_whole_text(text):
        return text
    return int(text)


def plain(value: Any) -> Any:
    """Return `value` as what strict JSON can hold: numpy scalars and arrays unwrapped, non-finite numbers as null.

    Notes and reasons, which are long texts, are said as the command line says them.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str) and len(value) > LONG:
        return for_shell(value)
    return value


def policy_object(model: Any, policy: Any) -> dict[str, str]:
    """Return a policy (positions) as {label of the state: label of the action}."""
    return {s: model.actions.label(a) for s, a in zip(model.states.labels, policy)}


def print_json(value: Any) -> None:
    """Print one strict JSON object; where stdout cannot hold every character, those beyond ASCII are escaped."""
    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    text = json.dumps(plain(value), allow_nan=False, ensure_ascii=not unicode)
    click.echo("".join(json.dumps(c)[1:-1] if has_hidden(c) else c for c in text) if has_hidden(text) else text)


def echo(text: str, err: bool = False) -> None:
    """Print a text; what could steer the terminal, or stand there unseen, is escaped."""
    click.echo(visible(text), err=err)


def say(text: str) -> None:
    """Print lines; on a terminal those too long for it are folded, and what follows stands below the first gap of the line.

    Notes and reasons in them are said as the command line says them.
    """
    echo("\n".join(folded(for_shell(text), terminal_width())))


def terminal_width() -> int:
    """Return how many characters go on a line of the terminal; 0 where there is none, and lines may be as long as they are."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else 0


def folded(text: str, width: int) -> list[str]:
    """Return the lines of a text, each folded to `width` characters (0: as long as it is).

    >>> folded("regret  2.5 after ten decisions, and so on", 24)
    ['regret  2.5 after ten', '        decisions, and', '        so on']
    """
    found = []
    for line in text.split("\n"):
        gap = re.match(r" *\S+(?: \S+)* {2,}|( *)", line)
        indent = " " * min(gap.end() if gap and gap[0].strip() else 4, max(width // 2, 1))
        fits = len(line) <= width or width < NARROWEST
        found += [line] if fits else textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [line]
    return found


def console(stderr: bool = False) -> Any:
    """Return a rich console that respects NO_COLOR and pipes."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Write `text` and the seconds so far on stderr, from two seconds on, while something is computed that says nothing itself."""
    from sojourn.model.progress import EVERY, Progress

    line, began, done = Progress(True), time.perf_counter(), threading.Event()

    def tick() -> None:
        while not done.wait(EVERY):
            line.say(f"{text} ... {time.perf_counter() - began:.0f} s")

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield
    finally:
        done.set()
        ticker.join()
        line.end()

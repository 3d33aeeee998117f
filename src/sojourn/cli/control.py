"""`sojourn control`: a durable controller of a real system, from the shell."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from sojourn.cli.common import (
    NUMBER,
    WHOLE,
    Whole,
    asked,
    echo,
    json_option,
    learner_names,
    model_argument,
    plain,
    policy_in_words,
    print_json,
    read_model,
    renamed_columns,
    say,
)
from sojourn.cli.remedies import one_line
from sojourn.errors import ParameterError, ReportError
from sojourn.model.numbers import shown
from sojourn.zoo.syntax import parse_parameters

LONGEST_LINE = 2**20  # bytes
EXAMPLE = 'give one JSON object, such as {"seq": 1, "holding_time": 0.5, "next_state": "up"}. Nothing was counted.'

path_argument = click.argument("path", metavar="PATH", type=click.Path(path_type=Path))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Run a real system: a learner that is told what happened and answers what to do, durably, in one file.

    States and actions are said as the model shows them.
    """


@command.command()
@path_argument
@model_argument
@click.option("--start", required=True, metavar="STATE", help="Where the system is now.")
@click.option("--learner", default="default", show_default=True, metavar="NAME", shell_complete=learner_names,
              help="A name of `sojourn learners`.")
@click.option("--param", multiple=True, metavar="KEY=VALUE", help="Parameters of the learner; may be repeated.")
@click.option("--seed", type=Whole(0), default=0, show_default=True, help="Of the learner's own random numbers.")
@click.option("--rate-bounds", type=(NUMBER, NUMBER), metavar="LO HI", help="Rates the learner is told (the model's own).")
@click.option("--no-rate-bounds", is_flag=True, help="Tell the learner nothing about rates.")
@click.option("--supports", is_flag=True, help="Tell the learner which jumps are possible; others raise an alarm.")
@click.option("--events", is_flag=True, help="Tell the learner which events drive which jumps (learners of events need it).")
@click.option("--safe-action", metavar="ACTION", help="What to advise in a state that the model does not have.")
@click.option("--forbid", multiple=True, type=(str, str), metavar="STATE ACTION", help="Never advise this; may be repeated.")
@click.option("--shadow", is_flag=True, help="Advise only: every report says what was really done.")
@click.option("--max-late", type=Whole(0), default=0, show_default=True,
              help="Answers the old policy may give at an episode's end while another process plans.")
@json_option
def create(path: Path, model: str, start: str, learner: str, param: tuple[str, ...], seed: int,
           rate_bounds: tuple[float, float] | None, no_rate_bounds: bool, supports: bool, events: bool, safe_action: str | None,
           forbid: tuple[tuple[str, str], ...], shadow: bool, max_late: int, as_json: bool) -> None:
    """Make a new controller at PATH for the choices and rewards of MODEL, whose rates and jumps it is not told."""
    from sojourn.control.controller import Controller
    from sojourn.learn.catalogue import learner_class

    if not events and getattr(learner_class(learner), "needs_events", False):
        raise ParameterError(f"--learner is {learner}, which learns the rates of declared events, but it would be told none: add "
                             "--events, or choose a learner of jumps (`sojourn learners`). Nothing was made.")
    if no_rate_bounds and rate_bounds:
        raise ParameterError("--rate-bounds and --no-rate-bounds are both given; give one of them. Nothing was made.")
    known = read_model(model).knowledge("unknown" if no_rate_bounds else rate_bounds, supports, events)
    parameters: dict[str, Any] = {}
    for text in param:
        parameters |= parse_parameters(text)
    forbidden: dict[str, list[str]] = {}
    for state, action in forbid:
        forbidden.setdefault(state, []).append(action)
    safe = None if safe_action is None else known.actions[known.actions.position(safe_action, "--safe-action", ParameterError)]
    with Controller.create(path, known, learner, start, seed=seed, parameters=parameters, safe_action=safe, forbidden=forbidden,
                           shadow=shadow, max_late=max_late) as controller:
        said = controller.status()
    print_json(said) if as_json else echo(f"made {path}; take action {said['action']} in state {said['state']}")


@command.command()
@path_argument
@click.option("--within", "epsilon", metavar="EPS", help="Say whether learning could stop: whether a policy is proved to be within "
              "EPS of the best, 5% of the best gain, or 0.05 per unit of time.")
@click.option("--confidence", type=NUMBER, default=0.95, show_default=True, help="Of that proof.")
@json_option
def status(path: Path, epsilon: str | None, confidence: float, as_json: bool) -> None:
    """Say where the system is, what to do there, and how it went so far; another process may be running it."""
    from sojourn.control.controller import Controller
    from sojourn.learn.saving import settings_in_words

    wanted = None if epsilon is None else asked(epsilon, confidence)
    with Controller.open(path, write=False) as controller:
        said, alarms = controller.status(wanted), controller.alarms
    if as_json:
        print_json({**said, "last_alarms": [alarm._asdict() for alarm in alarms[-5:]]})
        return
    gain = "" if said["gain"] is None else f", {said['gain']:.6g} per unit of time"
    given = f" ({settings_in_words(said['parameters'])})" if said["parameters"] else ""
    say(f"state {said['state']}, action {said['action']}, next report {said['next_seq']}\n"
               f"{said['epochs']:,} decisions in {said['time']:.6g} units of time, reward {said['reward']:.6g}{gain}\n"
               f"{said['learner']}{given}{', advising only' if said['shadow'] else ''}: its advice was followed "
               f"{said['followed']:,} times; "
               f"{said['uncounted']:,} reports not counted, {said['imported']:,} imported\n"
               f"{said['alarms']:,} alarms; {said['owner']}")
    if wanted is not None:
        answer = said["good_enough"]
        say(answer["sentence"])
        if answer["certified"]:
            say(f"the policy: {policy_in_words(answer['policy'])}")
    for alarm in alarms[-5:]:
        say(f"  after report {alarm.seq}, {alarm.kind}: {alarm.text}")


@command.command()
@path_argument
@click.argument("seq", type=WHOLE, required=False)
@click.argument("holding_time", type=NUMBER, required=False)
@click.argument("next_state", required=False)
@click.option("--reward", type=NUMBER, help="All that was paid, if not as known.")
@click.option("--action", help="What was really done, if not as advised.")
@click.option("--event", help="What happened.")
@click.option("--silent", multiple=True, type=(str, Whole(0)), metavar="EVENT TIMES",
              help="How often an event was seen that led nowhere; may be repeated.")
@click.option("--lines", is_flag=True, help="Read reports from stdin, one JSON object a line, and answer each with a line.")
@json_option
def report(path: Path, seq: int | None, holding_time: float | None, next_state: str | None, reward: float | None,
           action: str | None, event: str | None, silent: tuple[tuple[str, int], ...], lines: bool, as_json: bool) -> None:
    """Say what happened: report number SEQ, how long the action held, where it led; print the next action once that is durable.

    A line of --lines is {"seq": 1, "holding_time": 0.5, "next_state": "up"}, with reward, action, event or silent
    ({"arrive": 2}) where they are to be said; {"missed": true}, or {"missed": STATE}; or {"ask": "status"}.
    """
    from sojourn.control.controller import Controller

    if not lines and next_state is None:
        raise click.UsageError("give SEQ HOLDING_TIME NEXT_STATE, or --lines.")
    with Controller.open(path) as controller:
        if lines:
            answer_lines(controller)
            return
        seen = dict(silent) if silent or controller.status()["silent_events"] else None
        answer = controller.report(seq, holding_time, next_state, reward, action, event, seen)  # type: ignore[arg-type]
    print_json({"seq": seq, "action": answer}) if as_json else echo(str(answer))


def answer_lines(controller: Any) -> None:
    """Answer lines from stdin until it ends; a refused one is answered with its error, and the next line is read.

    A line is a report ({"seq": 1, "holding_time": 0.5, "next_state": "up"}), {"missed": true} or {"missed": STATE} where an event
    was lost, or {"ask": "status"}.
    """
    from sojourn.control.values import read

    for line in _lines():
        try:
            said = _object(line)
            given = {key: read(json.dumps(value)) for key, value in said.items()}
            if given == {"ask": "status"}:
                answer = controller.status()
            elif list(given) == ["missed"]:
                answer = {"action": controller.missed(None if given["missed"] is True else given["missed"])}
            else:
                _require(said)
                answer = {"seq": said.get("seq"), "action": controller.report_many([given])[0]}
            click.echo(json.dumps(plain(answer)))
            sys.stdout.flush()
        except (ReportError, ValueError, TypeError) as error:
            click.echo(json.dumps({"error": one_line(error)}))
        except RecursionError:
            click.echo(json.dumps({"error": f"the line is nested too deep; {EXAMPLE}"}))


def _require(said: dict[str, Any]) -> None:
    """Refuse a report that lacks what every report says."""
    from sojourn.control.said import KEYS

    missing = [key for key in ("seq", "holding_time", "next_state") if said.get(key) is None]
    if missing and set(said) <= set(KEYS):
        raise ReportError(f"the line has no {missing[0]}; {EXAMPLE}")


def _object(line: str | bytes) -> dict[str, Any]:
    """Return the JSON object in a line, or refuse a line that is none."""
    try:
        said = json.loads(line if isinstance(line, str) else line.decode(), object_pairs_hook=_keys_once)
    except UnicodeDecodeError:
        raise ReportError(f"the line is not UTF-8; {EXAMPLE}") from None
    except ReportError:
        raise
    except ValueError as error:
        why = str(error).partition(":")[0] if isinstance(error, json.JSONDecodeError) else "a number has too many digits"
        raise ReportError(f"the line is no JSON ({why}); {EXAMPLE}") from None
    if not isinstance(said, dict):
        raise ReportError(f"the line is {shown(json.dumps(said))[1:-1]}; {EXAMPLE}")
    return said


def _keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, or refuse one that says two things under one key: nobody knows which of them is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ReportError(f"the line has the key {shown(twice)} twice; say it once. Nothing was counted.")
    return found


def _lines() -> Iterator[bytes | str]:
    """Yield the lines of stdin; of one that is too long its first part, which no JSON object is, and nothing of the rest."""
    source = getattr(sys.stdin, "buffer", sys.stdin)
    while line := source.readline(LONGEST_LINE):
        yield line
        while len(line) == LONGEST_LINE and line[-1:] not in (b"\n", "\n"):
            line = source.readline(LONGEST_LINE)


@command.command()
@path_argument
@click.argument("state", required=False)
@json_option
def missed(path: Path, state: str | None, as_json: bool) -> None:
    """Say that an event was lost; with STATE, that the system is there now. Print what to do.

    Nothing is counted until the next report, or with STATE from now on.
    """
    from sojourn.control.controller import Controller

    with Controller.open(path) as controller:
        action, number = controller.missed(state), controller.status()["next_seq"]
    print_json({"action": action, "next_seq": number}) if as_json else echo(
        f"{'no action is safe to advise' if action is None else action}; the next report is number {number}")


@command.command()
@path_argument
@click.option("--confidence", type=NUMBER, default=0.95, show_default=True, help="Of all intervals and both gains together.")
@json_option
def estimate(path: Path, confidence: float, as_json: bool) -> None:
    """Say what has been learned: rates with intervals, the best policy now, what it earns, what remains to be tried."""
    from sojourn.control.controller import Controller
    from sojourn.control.estimate_words import as_object, lines

    with Controller.open(path, write=False) as controller:
        found = controller.estimate(confidence)
    print_json(as_object(found)) if as_json else say("\n".join(lines(found)))


@command.command(name="import")
@path_argument
@click.argument("log", metavar="LOG", type=click.Path(path_type=Path))
@click.option("--column", multiple=True, metavar="THEIRS=OURS", help="Rename a column of LOG; may be repeated.")
@click.option("--not-contiguous", is_flag=True, help="Rows need not begin where the last one led.")
@click.option("--max-bytes", type=Whole(1), help="What a Parquet file may unpack to. [default: 256 MB or 64 times its size]")
@json_option
def import_command(path: Path, log: Path, column: tuple[str, ...], not_contiguous: bool, max_bytes: int | None,
                   as_json: bool) -> None:
    """Learn from a LOG of the past, a .csv or .parquet file as `sojourn fit` reads it. Imported twice, it counts twice."""
    from sojourn.control.controller import Controller

    with Controller.open(path) as controller:
        before = controller.status()["alarms"]
        counted = controller.import_log(log, renamed_columns(column), not not_contiguous, max_bytes)
        action, raised = controller.action, controller.status()["alarms"] - before
        alarms = [alarm.text for alarm in controller.alarms[-raised:]] if raised else []
    if as_json:
        print_json({"imported": counted, "action": action, "alarms": alarms})
        return
    some = "1 sojourn was" if counted == 1 else f"{counted:,} sojourns were"
    say("\n".join([f"{some} counted; the action to take now is {action}", *(f"alarm: {text}" for text in alarms)]))


@command.command()
@path_argument
@click.argument("target", metavar="COPY", type=click.Path(path_type=Path))
@json_option
def backup(path: Path, target: Path, as_json: bool) -> None:
    """Make COPY, a whole and checked copy of PATH, also while another process runs it. An existing file is not replaced."""
    from sojourn.control.backup import backup as copy
    from sojourn.control.database import intact
    from sojourn.control.schema import WORDS
    from sojourn.model.files import file_path

    place = Path(os.path.realpath(path))
    with intact(place, WORDS):  # whatever its learner is: a copy needs none
        said = copy(place, file_path(target).absolute())
    print_json({"copy": str(target), **said}) if as_json else click.echo(
        f"{target}: {said['reports']:,} reports, {said['notes']:,} notes, chain {said['chain']}")


@command.command(name="accept-loss")
@path_argument
@json_option
def accept_loss(path: Path, as_json: bool) -> None:
    """Go on with PATH though its log (PATH-wal) is lost for good, or damaged: with the reports that are left.

    All of them are checked, and a note and an alarm say what happened. Where nothing is lost, nothing is done.
    """
    from sojourn.control.controller import Controller

    with Controller.open(path, accept_loss=True) as controller:
        said, lost = controller.status(), controller.lost
    print_json({"lost": lost, "next_seq": said["next_seq"], "action": said["action"]}) if as_json else say(
        f"{f'accepted: {lost}' if lost else 'nothing is lost'}; the next report is number {said['next_seq']}")


@command.command()
@path_argument
@json_option
def verify(path: Path, as_json: bool) -> None:
    """Check every page and row of the file, and that what was learned follows from the journal."""
    from sojourn.control.controller import Controller

    with Controller.open(path) as controller:
        said = controller.verify()
    print_json(said) if as_json else click.echo(
        f"{path} is sound: {said['reports']:,} reports, {said['notes']:,} notes, chain {said['chain']}; "
        f"what was learned follows from them ({said['answers_that_differ']} answers would be other today)")


@command.command()
@path_argument
@json_option
def replay(path: Path, as_json: bool) -> None:
    """Throw the snapshots away and learn everything anew from the journal, as after an upgrade."""
    from sojourn.control.controller import Controller

    with Controller.open(path) as controller:
        said = controller.replay()
    print_json(said) if as_json else click.echo(
        f"folded {said['reports']:,} reports and {said['notes']:,} notes anew; {said['answers_that_differ']:,} answers would be "
        "other today")

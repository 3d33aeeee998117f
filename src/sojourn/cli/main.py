"""The command line.  Commands are imported when they are called, so that `sojourn --help` is instant."""

import io
import os
import sys
from importlib import import_module
from typing import Any

import click

COMMANDS = {  # name: (module below sojourn.cli, one line of help)
    "check": ("check", "Check the paper's assumptions on a model, with a witness where one fails."),
    "control": ("control", "Run a real system with a durable controller."),
    "convert": ("convert", "Convert a model between file formats."),
    "difficulty": ("difficulty", "Say how hard a model is to learn: gaps, K, C(M), g, D, bounds."),
    "fit": ("fit", "Estimate a model from an event log: rates, intervals, what could be earned, what to try."),
    "learn": ("learn", "Run a learner on a model and report its regret."),
    "learners": ("learners", "List the learners: what each knows and what is proved."),
    "show": ("show", "Show a model in words or as a picture."),
    "solve": ("solve", "Solve a model exactly, with a certificate."),
    "study": ("study", "Run, resume and report replicated regret experiments."),
    "zoo": ("zoo", "List the zoo of models, or explain one family."),
}


class LazyCommands(click.Group):
    """A group that knows its commands' names and imports one only when it is called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = import_module(f"sojourn.cli.{COMMANDS[name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from sojourn.errors import unknown_name

            raise click.UsageError(unknown_name("command", args[0], COMMANDS), context)
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sojourn", prog_name="sojourn")
def sojourn() -> None:
    """Continuous-time Markov decision processes: model, solve with a proof, measure difficulty, learn online.

    A MODEL is a file (.json, .npz) or a zoo name with parameters, such as customer-selection:servers=5,classes=3.
    """


def main() -> None:
    """Run the command line: bad input is one line on stderr and exit code 1 (2 for wrong usage), never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = sojourn(standalone_mode=False, prog_name="sojourn")
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "sojourn"
        negative = isinstance(error, click.NoSuchOption) and error.option_name[1:2].isdigit()
        hint = " A negative number that is no option stands behind ` -- `." if negative else ""
        _complain(f"{error.format_message()}{hint} Try `{path} --help`.")
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        _complain(error.format_message())
        sys.exit(1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        from sojourn.cli.remedies import one_line
        from sojourn.errors import SojournError

        if not isinstance(error, (SojournError, OSError, MemoryError)):
            raise
        _complain(one_line(error))
        sys.exit(1)


def _complain(text: str) -> None:
    """Print an error as one line, in which nothing steers the terminal."""
    from sojourn.hidden_characters import visible

    click.echo(visible("error: " + " ".join(text.split())), err=True)

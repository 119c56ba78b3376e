"""The command line: one module a command.

Exit status: 0 done; 1 some of several files failed, the others are done; 2 nothing could be done, or bad usage; 130
interrupted; 141 the reader of the output went away. Every failure is one line on stderr.
"""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from as2d._version import __version__
from as2d.cli import ask, bench, live, models, profile, replay, soak, transcribe, translate, tune
from as2d.cli.output import discard_stdout
from as2d.cli.report import say
from as2d.errors import As2dError

__all__ = ["app", "main"]

_BAD = 2
_INTERRUPTED = 130
_BROKEN_PIPE = 141

# Markdown: typer's other modes break lines where the docstring does, and take [default: 7] for a style.
app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode="markdown")
app.add_typer(models.app, name="models")
app.add_typer(bench.app, name="bench")
app.add_typer(profile.app, name="profile")
app.add_typer(replay.app, name="replay")
app.command("transcribe")(transcribe.command)
app.command("translate")(translate.command)
app.command("ask")(ask.command)
app.command("live")(live.command)
app.command("tune")(tune.command)
app.command("soak")(soak.command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"as2d {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Speech to text with exact speculative decoding: sooner on small devices, without changing a token."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (None: the process's arguments) and return its exit status."""
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except typer.Exit as stop:
        return stop.exit_code
    except typer.TyperException as error:
        return _misused(error.format_message())
    except As2dError as error:
        say(f"error: {error}")
        return _BAD
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        discard_stdout()
        return _BROKEN_PIPE


def _run(arguments: Sequence[str]) -> int:
    """Not typer's own runner, which prints boxes of several lines and decides the exit status itself."""
    command = typer.main.get_command(app)
    with command.make_context("as2d", list(arguments)) as context:
        return command.invoke(context) or 0


def _misused(message: str) -> int:
    """Say what was wrong with the arguments; where help was shown instead, the message is empty."""
    if message:
        plain = message.replace("Value error, ", "").rstrip(".")  # pydantic's prefix
        say(f"error: {plain}; see --help")
    return _BAD

"""The command line: one file per command; each imports what it needs when it runs."""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import click

from ai_battle import __version__
from ai_battle.core.errors import AIBattleError, ConfigError, translate_errors

from . import bench, calibrate, doctor, export, init, models, replay, resume, run, schema, serve, show, tools, validate
from ._plain import without_secrets

FAILED, MISUSED, INTERRUPTED = 1, 2, 130


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(
    context_settings=CONTEXT,
    epilog="Every option has a twin in the environment: --turns of run is AI_BATTLE_RUN_TURNS.",
)
@click.version_option(__version__, prog_name="ai-battle")
def commands() -> None:
    """Conversations between language models, from a YAML file."""


for module in (
    run, resume, replay, show, validate, schema, init, doctor, models, tools, export, calibrate, serve, bench
):  # fmt: skip
    commands.add_command(module.command)


def _name_twins(command: click.Command, prefix: str) -> None:
    """Each option can be given by a variable that is called like the option as it is typed."""
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            parameter.envvar = f"{prefix}_{max(parameter.opts, key=len).lstrip('-').replace('-', '_').upper()}"
    for name, inner in getattr(command, "commands", {}).items():
        _name_twins(inner, f"{prefix}_{name.upper()}")


_name_twins(commands, "AI_BATTLE")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits with its code: 0 done, 1 failed or stopped by a limit, 2 misused, 130 interrupted."""
    _show_what_can_be_shown()
    sys.exit(_exit_code(list(sys.argv[1:] if arguments is None else arguments)))


def _show_what_can_be_shown() -> None:
    """A sign that the terminal's encoding lacks becomes a question mark, and the line is said all the same."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _exit_code(arguments: list[str]) -> int:
    try:
        with translate_errors("This is an error in ai-battle itself; please report it", AIBattleError):
            return _dispatched(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except AIBattleError as error:
        words = without_secrets(str(error))
        click.echo(f"{click.style('error:', fg='red', bold=True)} {words}", err=True, color=_colour())
        return MISUSED if isinstance(error, ConfigError) else FAILED


def _dispatched(arguments: list[str]) -> int:
    """What the command returned is its exit code; None is success."""
    try:
        return commands.main(arguments, prog_name="ai-battle", standalone_mode=False, color=_colour()) or 0
    except click.ClickException as error:
        error.show()
        return MISUSED
    except click.Abort:
        return INTERRUPTED
    except OSError as error:
        place = f" {error.filename}" if error.filename else ""
        raise AIBattleError(f"The system refused{place}: {error.strerror or error}.") from error


def _colour() -> bool | None:
    """None leaves it to the terminal; see no-color.org."""
    return False if os.environ.get("NO_COLOR") else None

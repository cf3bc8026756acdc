"""The command line: one module per command, imported when the command is used."""

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper

import click

from .. import __version__
from ..core.errors import AIBattleError, ConfigError, translate_errors

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
# The first lines of each command's own help, repeated here so that `--help` imports no command.
COMMANDS = {
    "run": "Run the discussion of CONFIG. That is a YAML file, or the name of a packaged one such as quickstart.",
    "talk": "Let models talk about TOPIC, also with you (--me). No file is needed.",
    "ask": "Answer QUESTION once. Standard input is added to it, or is the question if none is given.",
    "council": (
        "Let models answer QUESTION, and merge their answers into one. They rank each other's answers without names."
    ),
    "resume": ("Continue the run of RUN_DIR. Finished turns are not repeated, and a finished run stays as it is."),
    "runs": "List, search, open and delete earlier runs.",
    "configs": "List and show the discussions that come with ai-battle.",
    "replay": "Play the run of RUN_DIR again without calling a model. With --swap only that participant calls one.",
    "fork": "Continue from a turn of the run in RUN_DIR, in a new run. It is live; -n makes several.",
    "judge": "Judge each RUN by a rubric. Models score its participants, and a score needs a true quotation.",
    "show": (
        "Show one TURN of the run in RUN_DIR. This includes its model, tokens and cost, and what led to the answer."
    ),
    "validate": (
        "Check files of discussions, benchmarks, servers and rubrics. Nothing is run; exit code 2 means a problem."
    ),
    "schema": "Print the JSON Schema of a YAML format, for editors.",
    "init": (
        "Write a discussion to start from. TEMPLATE is the name of a packaged one; without it, one for your models."
    ),
    "doctor": "Check what this machine has, and say how to get what it lacks.",
    "models": "List the models in reach, and show or probe what one can do.",
    "tools": "List the tools that models can use, and call one.",
    "export": (
        "Write the run of RUN_DIR in one or more formats. They go to standard output unless --output names a place."
    ),
    "calibrate": "Choose when a small model is helped, from answers of your own.",
    "lessons": "Show, export or delete what large models taught small ones.",
    "pair": "Report what a pair of models loses and saves on your requests.",
    "ui": "Open a page to start, watch, search and compare runs. It shows this folder, to this machine only.",
    "serve": "Serve models as an Anthropic- and OpenAI-compatible server.",
    "mcp": "Serve discussions, questions and runs over MCP. The clients are other assistants.",
    "bench": "Compare settings on real tasks: quality, cost and time. The report says how certain each difference is.",
}


class Commands(click.Group):
    """Imports the module of a command when it is used: importing all would cost each start a tenth of a second."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        # Imported modules stay for good, so collecting garbage among them would waste a tenth of each start.
        gc.disable()
        try:
            command: click.Command = import_module(f"{__name__}.{cmd_name}").command
        finally:
            gc.freeze()
            gc.enable()
        _name_variables(command, f"AI_BATTLE_{cmd_name.upper()}")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggests a similar command for an unknown one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from ..core.plugins import near

            ctx.fail(f"There is no command {args[0]!r}{near(args[0], [*COMMANDS]).rstrip('.')}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        room = formatter.width - 6 - max(map(len, COMMANDS))
        shown = (click.Command(name, help=text) for name, text in sorted(COMMANDS.items()))
        with formatter.section("Commands"):
            formatter.write_dl([(command.name or "", command.get_short_help_str(room)) for command in shown])


@click.command(
    cls=Commands,
    context_settings=CONTEXT,
    epilog="Every option has a twin in the environment: --turns of run is AI_BATTLE_RUN_TURNS.",
)
@click.version_option(__version__, prog_name="ai-battle")
def commands() -> None:
    """Conversations between language models, from a YAML file."""


def _name_variables(command: click.Command, prefix: str) -> None:
    """Gives each option an environment variable with the option's name."""
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            parameter.envvar = f"{prefix}_{max(parameter.opts, key=len).lstrip('-').replace('-', '_').upper()}"
    for name, inner in getattr(command, "commands", {}).items():
        _name_variables(inner, f"{prefix}_{name.upper()}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits with its code: 0 done, 1 failed or stopped by a limit, 2 misused, 130 interrupted."""
    _replace_unknown_signs()
    sys.exit(run_command(list(sys.argv[1:] if arguments is None else arguments)))


def _replace_unknown_signs() -> None:
    """Replaces characters that the terminal's encoding lacks by question marks instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def run_command(arguments: list[str]) -> int:
    """Returns the exit code. Prints an error of ours to stderr."""
    try:
        with translate_errors("This is an error in ai-battle itself; please report it", AIBattleError):
            return _dispatch(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except AIBattleError as error:
        from ..core.object_store import with_addresses
        from .output import without_secrets

        words = with_addresses(without_secrets(str(error)))
        click.echo(f"{click.style('error:', fg='red', bold=True)} {words}", err=True, color=_colour())
        return MISUSED if isinstance(error, ConfigError) else FAILED


def _dispatch(arguments: list[str]) -> int:
    """Runs the command and returns its exit code. A command that returns None succeeded."""
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
    """Returns False if NO_COLOR is set (no-color.org), else None, which lets click decide by the terminal."""
    return False if os.environ.get("NO_COLOR") else None

"""The command line: modules of one or two commands each, imported when a command is used."""

import ast
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path

import click

from .. import __version__
from ..core.errors import AIBattleError, ConfigError
from ..core.plugins import translate_errors

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
COMMANDS: Mapping[str, str] = {
    name: f"{name}.command"
    for name in (
        "ask", "bench", "calibrate", "configs", "doctor", "fork", "judge", "models", "pair", "run", "runs", "serve",
        "show", "tools", "ui", "validate",
    )
} | {
    "council": "ask.council", "export": "show.export_command", "init": "configs.init",
    "lessons": "pair.lessons_command", "mcp": "ui.mcp_command", "replay": "fork.replay_command",
    "resume": "run.resume", "schema": "configs.schema", "talk": "ask.talk",
}  # fmt: skip
"""The module and the function of each command."""


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
            module, _, function = COMMANDS[cmd_name].partition(".")
            command: click.Command = getattr(import_module(f"{__name__}.{module}"), function)
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
        with formatter.section("Commands"):
            shown = (click.Command(name, help=_docstring(name)) for name in sorted(COMMANDS))
            formatter.write_dl([(command.name or "", command.get_short_help_str(room)) for command in shown])


def _docstring(name: str) -> str:
    """Returns the help of a command from its source: to import all of them would take seconds."""
    module, _, command = COMMANDS[name].partition(".")
    tree = ast.parse((Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8"))
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == command)
    return ast.get_docstring(function) or ""


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

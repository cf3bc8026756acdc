"""The page of the command line, from the commands themselves."""

from collections.abc import Iterator

import click

from ai_battle.cli import commands as ai_battle

from .tables import code, codes, table

HEAD = """# Command line

Commands are written `ai-battle COMMAND`, or `python -m ai_battle COMMAND`. `ai-battle --version` shows the version, and
`--help` (`-h`) after any command shows what this page says of it. [Exit codes](exit-codes.md) lists how commands end.

Commands that write a result write it to standard output; errors and questions go to standard error. Where the output is
not a terminal, there are plain lines without colours; `NO_COLOR` turns colours off on a terminal too.
"""


def page() -> str:
    root = click.Context(ai_battle, info_name="ai-battle")
    return "\n\n".join((HEAD, *_sections(root)))


def _sections(context: click.Context) -> Iterator[str]:
    assert isinstance(context.command, click.Group)
    for name in sorted(context.command.list_commands(context)):
        command = context.command.get_command(context, name)
        assert command
        inside = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _sections(inside)
        else:
            yield _section(inside)


def _section(context: click.Context) -> str:
    command = context.command
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    text = " ".join((command.help or "").split())
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    rows = map(_row, options)
    described = table(("option", "value", "default", "environment", "meaning"), rows)
    return f"## {context.command_path}\n\n```\n{usage}\n```\n\n{text}\n\n{described}".strip()


def _row(option: click.Option) -> tuple[str, ...]:
    flag = option.is_flag or option.count
    value = "" if flag else option.metavar or option.type.name.upper().replace(" RANGE", "")
    default = "" if flag or option.default in (None, ()) or not isinstance(option.default, str) else option.default
    return (codes(option.opts), code(value), code(default), code(str(option.envvar)), _meaning(option))


def _meaning(option: click.Option) -> str:
    several = " May be repeated." if option.multiple else ""
    return f"{option.help or ''}{several}"

"""`ai-battle tools`: lists tools, and calls one as a model would."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import yaml

from ..config.loading import LoadedDiscussion
from ..config.tools import RegisteredTool, Tools
from ..conversation.setup import load_checked
from ..core.errors import ConfigError
from ..core.exchange import ToolSpec
from ..core.messages import ToolCall
from ..core.texts import printable
from ..tools.base import ToolRegistry
from ..tools.loading import LoadContext, build, builtin_names
from ..tools.manager import ToolManager
from ..tools.mcp.servers import McpServers
from ..tools.sandbox import NoFence
from ..wire.dialects.schemas import signature
from .arguments import config as config_argument
from .options import as_json, require_trust, trust
from .output import print_json, show_rows

LACKS_A_FENCE = 3
drop_ins = click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True),
    help="A Python file with drop-in tools, or a folder of them; it is run.",
)


@click.group("tools")
def command() -> None:
    """List the tools that models can use, and call one."""


@command.command("list")
@drop_ins
@as_json
def list_(paths: tuple[str, ...], as_json: bool) -> None:
    """List the tools that come with ai-battle or are installed. Those of the given files are listed too."""
    registry = _registry(paths, {name: {} for name in builtin_names()}, LoadContext(Path()))
    if as_json:
        shown = {one.name: {"description": one.description, "parameters": one.schema} for one in registry.specs}
        print_json(shown)
        return
    _show(registry.specs)


@command.command("call")
@click.argument("name", metavar="NAME")
@click.argument("arguments", metavar="JSON", default="{}")
@click.option(
    "--workspace",
    metavar="DIR",
    default=".",
    type=click.Path(exists=True, file_okay=False),
    help="The folder that file and code tools may use.",
)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the tool, as in a YAML.")
@click.option("--allow-unsandboxed", is_flag=True, help="With --set sandbox=none: run code without a fence.")
@drop_ins
def call(name: str, arguments: str, settings: tuple[str, ...], paths: tuple[str, ...], **place: Any) -> int:
    """Call the tool NAME with arguments in JSON, as a model would. Its result is printed."""
    if not name:
        raise ConfigError("NAME is empty; 'ai-battle tools list' says which tools there are.")
    wanted = ToolCall(name, _object(arguments))
    parameters = dict(map(_setting, settings))
    named = {name: parameters} if parameters or not paths or name in builtin_names() else {}
    workspace = Path(place["workspace"])
    load_context = LoadContext(workspace, allow_unsandboxed=place["allow_unsandboxed"])
    return asyncio.run(_call(wanted, _registry(paths, named, load_context)))


@command.command("accept")
@config_argument
@trust
def accept(config: str, trust: bool) -> None:
    """Accept the tools of CONFIG's MCP servers as they are now.

    Their present descriptions and instructions become the known ones, and are listed.

    A tool whose description differs from its first use is called only if a person allows it.
    """
    loaded = load_checked(config)
    require_trust(loaded, given=trust)
    _show(loaded.redactor.value(asyncio.run(_accept(loaded))))


async def _accept(loaded: LoadedDiscussion) -> tuple[ToolSpec, ...]:
    section = loaded.file.discussion.tools
    async with McpServers(section.mcp.servers if section else {}, ToolRegistry(), loaded.base) as servers:
        return ToolRegistry(servers.accept()).specs


async def _call(call: ToolCall, registry: ToolRegistry) -> int:
    if find_fence := getattr(registry.get_tool(call.name), "fence", None):
        try:
            fence = await find_fence()
        except NoFence as error:
            click.echo(f"{click.style('error:', fg='red', bold=True)} {error}", err=True)
            return LACKS_A_FENCE
        if fence.name == "none":
            click.secho("This code runs without a fence: it can do all that you can.", fg="red", err=True)
    result = await ToolManager(registry).run(call)
    print_json(json.loads(result.text))
    return 1 if result.is_error else 0


def _registry(paths: Sequence[str], named: Mapping[str, Any], place: LoadContext) -> ToolRegistry:
    entries = tuple(RegisteredTool(name=name, parameters=parameters) for name, parameters in named.items())
    return build(Tools(registry=entries, paths=tuple(paths)), place)


def _object(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f'The arguments are not JSON ({error}); write them as \'{{"name": "value"}}\'.') from error
    if not isinstance(given, dict):
        raise ConfigError('The arguments must be a JSON object, as in \'{"expression": "1 + 1"}\'.')
    return given


def _setting(option: str) -> tuple[str, Any]:
    key, equals, text = option.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {option}: must be key=value, for example backend=duckduckgo")
    try:
        return key, yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {option}: {text!r} is not YAML") from error


def _show(tools: Sequence[ToolSpec]) -> None:
    for guide in filter(None, dict.fromkeys(tool.guide for tool in tools)):
        click.echo(f"{printable(guide)}\n")
    about = ((tool.name, f"{tool.description}\n  {signature('', tool.schema)}") for tool in tools)
    show_rows(("", ""), (map(printable, row) for row in about), show_header=False)


def tool_descriptions(tools: Iterable[ToolSpec]) -> Iterator[str]:
    """Returns what models read of each tool, without control characters that a server may have sent."""
    return (printable(f"{signature(tool.name, tool.schema)}: {tool.description.strip()}") for tool in tools)

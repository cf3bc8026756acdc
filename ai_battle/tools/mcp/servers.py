"""The MCP servers of a discussion: started with it, kept alive, and stopped with it."""

import asyncio
import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from textwrap import indent
from types import MappingProxyType
from typing import Any, Protocol

from pydantic_core import from_json

from ...config.tools import McpServer
from ...core.client import run_together
from ...core.errors import AIBattleError, ConfigError, ToolError
from ...core.events import Emit, Warned, ignore
from ...core.files import make_private, prompt_template, state_directory, write_private
from ...core.messages import Image
from ...core.plugins import optional
from ...files import pictures
from .._tasks import in_thread
from ..base import Parameters, Tool
from ..results import cut
from .links import link
from .sessions import Session

LONGEST_DESCRIPTION = 4_000
LONGEST_GUIDE = 2_000
LARGEST_SCHEMA = 32_000
LARGEST_OFFER = 400_000
"""Characters of JSON for one tool, and for all tools of a server; they are part of every request."""
MARGIN_SECONDS = 1.0
INSTRUCTIONS = ""
"""The key of a server's instructions among its pins; no offered tool has this name."""
CHANGED_TOOL = "it describes itself otherwise than when it was first used here"


class ToolRegistrar(Protocol):
    """Registers tools for models, as a `ToolRegistry` does."""

    def register_tool(self, tool: Tool) -> None: ...

    def unregister_tool(self, name: str) -> None: ...


class McpServers:
    """A context manager that runs the servers and keeps `registry` up to date with their tools.

    Entering raises `ConfigError` if a server does not start. Warnings for the user go to `emit`.
    """

    def __init__(
        self, settings: Mapping[str, McpServer], registry: ToolRegistrar, base: Path = Path(), emit: Emit = ignore
    ) -> None:
        self._servers = [_RunningServer(name, server, base, registry, emit) for name, server in settings.items()]

    async def __aenter__(self) -> "McpServers":
        async with AsyncExitStack() as unless_started:
            unless_started.push_async_callback(self.aclose)
            # All are started before any is offered, so that models see no tools if one of the servers fails.
            found = await run_together(*(server.start() for server in self._servers))
            for server, tools in zip(self._servers, found, strict=True):
                await server.offer(tools)
            unless_started.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def accept(self) -> "list[McpTool]":
        """Pins the tools as they are now."""
        return [tool for server in self._servers for tool in server.accept()]

    async def aclose(self) -> None:
        await asyncio.gather(*(server.close() for server in self._servers))


class McpTool(Tool):
    """A tool of a server. Unless the server says that it only reads, it counts as writing."""

    name = ""
    description = ""
    parameters: Parameters = MappingProxyType({})

    def __init__(self, server: "_RunningServer", described: Any, doubt: str = "") -> None:
        self.name = f"{server.name}:{described.name}" if described.name.strip() else ""
        self.description = cut(described.description or described.title or "", LONGEST_DESCRIPTION)
        self.parameters = {"type": "object", **described.input_schema}
        self.writes = not (described.annotations and described.annotations.read_only_hint)
        self.is_volatile = not self.writes  # a server has a state of its own
        self.timeout = server.longest_call
        self.described = described
        self.doubt = doubt
        self.guide = server.guide
        self._server = server

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return answer_fields(await self._server.call(self.described.name, parameters))


class _RunningServer:
    """One server. If its session is over, a new one is opened when needed."""

    def __init__(self, name: str, settings: McpServer, base: Path, registry: ToolRegistrar, emit: Emit) -> None:
        self.name = name
        self._timeout = settings.timeout
        self._start_timeout = settings.start_timeout
        self.longest_call = settings.start_timeout + settings.timeout + MARGIN_SECONDS
        """Seconds after which a call is given up from outside, as it may have to start the server again."""
        self._link = link(settings, base)
        self._pins = ToolPins(settings, base)
        self._registry = registry
        self._emit = emit
        self.guide = ""
        """The server's instructions as models get them."""
        self._instructions = ""
        self._listed: list[McpTool] = []
        self._offered: list[McpTool] = []
        self._session: Session | None = None
        self._opening, self._listing = asyncio.Lock(), asyncio.Lock()

    async def start(self) -> list[McpTool]:
        try:
            self._session, tools = await self._open()
        except ToolError as error:
            raise ConfigError(str(error)) from error
        return tools

    def accept(self) -> list[McpTool]:
        self._pins.accept(_digests((tool.described for tool in self._listed), self._instructions))
        self.guide = _guide(self.name, self._instructions)
        return [McpTool(self, tool.described) for tool in self._offered]

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    async def call(self, tool: str, arguments: Parameters) -> Any:
        session = await self._alive()
        try:
            async with asyncio.timeout(self._timeout):
                answer = await session.call(tool, arguments)
        except TimeoutError as error:
            raise ToolError(f"{self.name}:{tool} did not answer within {self._timeout:g} s and was given up") from error
        except ToolError as error:
            raise ToolError(f"The MCP server {self.name!r}: {error}") from error
        if session.tools_changed or self._listing.locked():
            await self._relist(session)  # the next request offers what there is after this call
        return answer

    async def offer(self, tools: list[McpTool]) -> None:
        """Replaces the offered tools. Nothing is awaited until all are registered, so no model sees a part of them.

        Tools that can't be offered are left out with a warning.
        """
        if [tool.described for tool in tools] == [tool.described for tool in self._listed]:
            return
        self._listed, old, self._offered = tools, self._offered, []
        for tool in old:
            self._registry.unregister_tool(tool.name)
        problems = list(self._register(tools))
        doubted = (tool for tool in self._offered if tool.doubt)
        doubts = (f"{tool.name}: {tool.doubt}; a person is asked about its calls." for tool in doubted)
        for words in (*problems, *doubts):
            await self._warn(words)

    def _register(self, tools: list[McpTool]) -> Iterator[str]:
        """Offers the tools, and yields why some can't be."""
        left = LARGEST_OFFER
        for tool in tools:
            try:
                left -= _size(tool, left)
                self._registry.register_tool(tool)
                self._offered.append(tool)
            except ConfigError as error:
                yield f"The MCP server {self.name!r} offers a tool that is left out: {error}"

    async def _warn(self, message: str) -> None:
        await self._emit(Warned(message))

    async def _alive(self) -> Session:
        async with self._opening:
            if self._session is None or self._session.is_over:
                await self.close()
                self._session, tools = await self._open()
                await self.offer(tools)
                await self._warn(f"The MCP server {self.name!r} had ended; it was started again.")
            return self._session

    async def _open(self) -> tuple[Session, list[McpTool]]:
        what = f"The MCP server {self.name!r} ({self._link.shown})"
        try:
            await in_thread(optional, "mcp", "mcp")  # may take seconds, which are not the server's
            async with asyncio.timeout(self._start_timeout), AsyncExitStack() as unless_listed:
                session = await Session.open(self._link, self._relist)
                unless_listed.push_async_callback(session.close)
                self.guide = await self._known_guide(session.instructions)
                tools = await self._tools(session)
                unless_listed.pop_all()
                return session, tools
        except TimeoutError as error:
            hint = f"; its last words: {last_words}" if (last_words := self._link.last_words()) else ""
            raise ToolError(
                f"{what} did not start within {self._start_timeout:g} s (its start_timeout){hint}"
            ) from error
        except AIBattleError as error:
            raise ToolError(f"{what} does not start: {error}") from error

    async def _known_guide(self, instructions: str) -> str:
        """Returns the instructions as models get them, or "" with a warning if they differ from the pinned ones."""
        self._instructions = instructions
        if self._pins.changed_names(_digests((), instructions)):
            await self._warn(
                f"The MCP server {self.name!r} gives other instructions than when it was first used here; "
                "models get none until `ai-battle tools accept` accepts them."
            )
            return ""
        return _guide(self.name, instructions)

    async def _tools(self, session: Session) -> list[McpTool]:
        listed, left_out = await session.tools()
        for reason in left_out:
            await self._warn(f"The MCP server {self.name!r} offers a tool that is left out: {reason}")
        changed = self._pins.changed_names(_digests(listed))
        return [McpTool(self, tool, CHANGED_TOOL if tool.name in changed else "") for tool in listed]

    async def _relist(self, session: Session) -> None:
        """Lists the tools again, once for all reported changes.

        A second caller waits for the first one's result.
        """
        try:
            async with self._listing, asyncio.timeout(self._start_timeout):
                if session.tools_changed:
                    await self.offer(await self._tools(session))
        except (AIBattleError, TimeoutError) as error:
            reason = str(error) or f"no answer within {self._start_timeout:g} s"
            await self._warn(f"The MCP server {self.name!r} has other tools now, but does not list them: {reason}")


def _guide(server: str, instructions: str) -> str:
    """Returns the instructions with a mark on each line, so that no line can pass for one of ours."""
    quoted = indent(cut(instructions, LONGEST_GUIDE), "> ", lambda _: True)
    template = prompt_template("ai_battle.tools", "server")
    return template.substitute(server=server, instructions=quoted) if instructions else ""


def _size(tool: McpTool, left: int) -> int:
    """Returns the size that the tool adds to a request. Raises `ConfigError` if that is too much."""
    size = len(json.dumps(tool.parameters, ensure_ascii=False, default=str)) + len(tool.description)
    if size > LARGEST_SCHEMA:
        raise ConfigError(
            f"{tool.name}: its description and schema have {size:,} characters, {LARGEST_SCHEMA:,} at most"
        )
    if size > left:
        raise ConfigError(f"{tool.name}: all tools of the server together have more than {LARGEST_OFFER:,} characters")
    return size


class ToolPins:
    """The digests of a server's tools and instructions, as they were at their first use on this machine.

    New tools are pinned; changed ones are reported until they are accepted. A server is identified by its command and
    folder, or by its address, whatever file names it.
    """

    def __init__(self, settings: McpServer, folder: Path) -> None:
        address = settings.url.partition("?")[0]
        self._server = _digest([address] if address else [settings.command, *settings.args, str(folder)])
        self._path = state_directory() / "mcp-tools.json"

    def changed_names(self, now: Mapping[str, str]) -> frozenset[str]:
        """Returns the names whose digests differ from their pins, and pins new ones."""
        known = self._read()
        before = known.get(self._server, {})
        if before:  # a server that is known and has no pin of instructions gave none
            before = {INSTRUCTIONS: _digest(""), **before}
        if new := {name: digest for name, digest in now.items() if name not in before}:
            self._write({**known, self._server: {**before, **new}})
        return frozenset(name for name, digest in now.items() if before.get(name, digest) != digest)

    def accept(self, now: Mapping[str, str]) -> None:
        """Pins these digests, and no others."""
        self._write({**self._read(), self._server: now})

    def _read(self) -> dict[str, dict[str, str]]:
        with suppress(OSError, ValueError):
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return found if isinstance(found, dict) else {}
        return {}

    def _write(self, pins: Mapping[str, Mapping[str, str]]) -> None:
        """Writes the pins. If that is impossible, each run counts as the first."""
        with suppress(OSError):
            make_private(self._path.parent)
            write_private(self._path, [json.dumps(pins, indent=1)])


def _digests(tools: Iterable[Any], instructions: str = "") -> dict[str, str]:
    of_tools = {tool.name: _digest([tool.title, tool.description, tool.input_schema]) for tool in tools}
    return of_tools | ({INSTRUCTIONS: _digest(instructions)} if instructions else {})


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()


LARGEST_IMAGE = 8_000_000
LONGEST_TYPE = 60


def answer_fields(result: Any) -> dict[str, Any]:
    """Returns the structured content if there is any, texts and images; or the server's error."""
    parts = [_part(block) for block in result.content]
    texts = [part for part in parts if isinstance(part, str)]
    if result.is_error:
        return {"error": "\n".join(texts) or "the tool failed and did not say why"}
    found = dict(_structured_fields(result.structured_content, texts))
    images = [part for part in parts if isinstance(part, Image)]
    return {**found, "images": images} if images else found


def _structured_fields(content: Any, texts: list[str]) -> Iterator[tuple[str, Any]]:
    """Yields structured content and the texts that say something else."""
    if content is None:
        yield "result", "\n".join(texts)
        return
    if isinstance(content, dict) and not content.get("error"):
        yield from content.items()
    else:
        yield "result", content
    if rest := _other_texts(content, texts):
        yield "text", "\n".join(rest)


def _other_texts(content: Any, texts: list[str]) -> list[str]:
    """Returns the texts without copies of the structured content, which servers send for older clients.

    A list is repeated item by item.
    """
    only = next(iter(content.values())) if isinstance(content, dict) and len(content) == 1 else content
    values, copies = list(map(_value, texts)), (content, only)
    if only in (texts, values):
        return []
    return [text for text, value in zip(texts, values, strict=True) if text != only and value not in copies]


def _value(text: str) -> Any:
    """Returns what the text says as JSON, or the text itself."""
    with suppress(ValueError):
        return from_json(text)
    return text


def _part(block: Any) -> "str | Image":
    match block.type:
        case "text":
            return str(block.text)
        case "image":
            return _picture(block.mime_type, block.data)
        case "audio":
            return f"[a sound ({block.mime_type}), which can't be heard here]"
        case "resource_link":
            return f"[{block.name}: {block.uri}]"
        case "resource":
            return _resource(block.resource)
    return f"[{block.type}]"


def _resource(resource: Any) -> "str | Image":
    if (text := getattr(resource, "text", None)) is not None:
        return f"[{resource.uri}]\n{text}"
    if str(resource.mime_type).startswith("image/"):
        return _picture(resource.mime_type, resource.blob)
    return f"[{resource.uri}: {len(resource.blob) * 3 // 4:,} bytes of {resource.mime_type or 'some kind'}]"


def _picture(media_type: str, data: str) -> "str | Image":
    """Returns the picture if models accept its format, whatever the server calls it; else a description."""
    what = f"an image ({media_type[:LONGEST_TYPE]})"
    try:
        image = base64.b64decode(data, validate=True)
    except binascii.Error:
        return f"[{what} that can't be read]"
    if len(image) > LARGEST_IMAGE:
        return f"[{what} of {len(image):,} bytes, which is too large]"
    seen = pictures.media_type(image)
    return Image(seen, image) if seen else f"[{what} of {len(image):,} bytes, which is none that models can see]"

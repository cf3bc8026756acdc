"""The MCP servers of a discussion: started with it, kept alive, and stopped with it."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Protocol

from ...config.tools import McpServer
from ...core.errors import AIBattleError, ConfigError, ToolError
from ...core.events import Emit, Warned, ignore
from ...core.plugins import optional
from .._tasks import in_thread, together
from ..base import Parameters, Tool
from ..results import cut
from ._links import link
from ._pins import CHANGED, Pins, identity
from ._results import fields
from ._sessions import Session

LONGEST_DESCRIPTION = 4_000
LARGEST_SCHEMA = 32_000
LARGEST_OFFER = 400_000
"""Characters of JSON: of one tool, and of all tools of a server; they go with every request."""


class Shelf(Protocol):
    """Where the tools are put for models to use, such as a `ToolRegistry`."""

    def register_tool(self, tool: Tool) -> None: ...

    def unregister_tool(self, name: str) -> None: ...


class McpServers:
    """While it is entered, the servers run and `shelf` has their tools, whatever they come to be.

    Entering raises `ConfigError` when a server does not start. What a user should know otherwise goes to `emit`.
    """

    def __init__(
        self, settings: Mapping[str, McpServer], shelf: Shelf, base: Path = Path(), emit: Emit = ignore
    ) -> None:
        offers = _Offers(shelf, emit)
        self._servers = [_Server(name, server, base, offers) for name, server in settings.items()]

    async def __aenter__(self) -> "McpServers":
        async with AsyncExitStack() as unless_started:
            unless_started.push_async_callback(self.aclose)
            found = await together([server.start() for server in self._servers])
            for server, tools in zip(self._servers, found, strict=True):
                await server.offer(tools)
            unless_started.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def accept(self) -> "list[McpTool]":
        """Takes the tools that run now for those that are known on this machine."""
        return [tool for server in self._servers for tool in server.accept()]

    async def aclose(self) -> None:
        await asyncio.gather(*(server.close() for server in self._servers))


class McpTool(Tool):
    """A tool of a server. Where the server does not say that it only reads, it is taken to write."""

    name = ""
    description = ""
    parameters: Parameters = MappingProxyType({})

    def __init__(self, server: "_Server", described: Any, doubt: str = "") -> None:
        self.name = f"{server.name}:{described.name}" if described.name.strip() else ""
        self.description = cut(described.description or described.title or "", LONGEST_DESCRIPTION)
        self.parameters = {"type": "object", **described.input_schema}
        self.writes = not (described.annotations and described.annotations.read_only_hint)
        self.timeout = server.timeout
        self.described = described
        self.doubt = doubt
        self._server = server

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return fields(await self._server.call(self.described.name, parameters))


class _Offers:
    """Where the tools of all servers are put; what can't be offered is left out, and the user is told."""

    def __init__(self, shelf: Shelf, emit: Emit) -> None:
        self._shelf = shelf
        self._emit = emit

    async def replace(self, server: str, old: list[McpTool], new: list[McpTool]) -> list[McpTool]:
        """Those of the new ones that are offered now; nothing is awaited before all of them are there."""
        for tool in old:
            self._shelf.unregister_tool(tool.name)
        offered: list[McpTool] = []
        problems, left = [], LARGEST_OFFER
        for tool in new:
            try:
                left -= _size(tool, left)
                self._shelf.register_tool(tool)
                offered.append(tool)
            except ConfigError as error:
                problems.append(f"The MCP server {server!r} offers a tool that is left out: {error}")
        doubts = [f"{tool.name}: {tool.doubt}; a person is asked about its calls." for tool in offered if tool.doubt]
        for told in (*problems, *doubts):
            await self.warn(told)
        return offered

    async def warn(self, message: str) -> None:
        await self._emit(Warned(message))


def _size(tool: McpTool, left: int) -> int:
    """What it adds to a request; raises `ConfigError` where that is too much."""
    size = len(json.dumps(tool.parameters, ensure_ascii=False, default=str)) + len(tool.description)
    if size > LARGEST_SCHEMA:
        raise ConfigError(
            f"{tool.name}: its description and schema have {size:,} characters, {LARGEST_SCHEMA:,} at most"
        )
    if size > left:
        raise ConfigError(f"{tool.name}: all tools of the server together have more than {LARGEST_OFFER:,} characters")
    return size


class _Server:
    """One server, with a session that is opened anew when it is needed and the last one is over."""

    def __init__(self, name: str, settings: McpServer, base: Path, offers: _Offers) -> None:
        self.name = name
        self.timeout = settings.timeout
        self._patience = settings.start_timeout
        self._link = link(settings, base)
        self._pins = Pins(identity(settings, base))
        self._offers = offers
        self._listed: list[McpTool] = []
        self._offered: list[McpTool] = []
        self._session: Session | None = None
        self._opening, self._listing = asyncio.Lock(), asyncio.Lock()

    async def start(self) -> list[McpTool]:
        try:
            self._session, tools = await self._opened()
        except ToolError as error:
            raise ConfigError(str(error)) from error
        return tools

    async def offer(self, tools: list[McpTool]) -> None:
        """What is offered already stays in its place."""
        if [tool.described for tool in tools] != [tool.described for tool in self._listed]:
            self._listed = tools
            self._offered = await self._offers.replace(self.name, self._offered, tools)

    def accept(self) -> list[McpTool]:
        self._pins.accept(tool.described for tool in self._listed)
        return self._offered

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    async def call(self, tool: str, arguments: Parameters) -> Any:
        session = await self._alive()
        try:
            answer = await session.call(tool, arguments)
        except ToolError as error:
            raise ToolError(f"The MCP server {self.name!r}: {error}") from error
        if session.tools_changed:
            await self._relist(session)
        return answer

    async def _alive(self) -> Session:
        async with self._opening:
            if self._session is None or self._session.is_over:
                await self.close()
                self._session, tools = await self._opened()
                await self.offer(tools)
                await self._offers.warn(f"The MCP server {self.name!r} had ended; it was started again.")
            return self._session

    async def _opened(self) -> tuple[Session, list[McpTool]]:
        what = f"The MCP server {self.name!r} ({self._link.shown})"
        try:
            await in_thread(optional, "mcp", "mcp")  # seconds on a slow machine, and no fault of the server's
            async with asyncio.timeout(self._patience):
                return await self._started()
        except TimeoutError as error:
            hint = f"; its last words: {heard}" if (heard := self._link.last_words()) else ""
            raise ToolError(f"{what} did not start within {self._patience:g} s (its start_timeout){hint}") from error
        except AIBattleError as error:
            raise ToolError(f"{what} does not start: {error}") from error

    async def _started(self) -> tuple[Session, list[McpTool]]:
        session = await Session.opened(self._link, self._relist)
        async with AsyncExitStack() as unless_listed:
            unless_listed.push_async_callback(session.close)
            tools = await self._tools(session)
            unless_listed.pop_all()
        return session, tools

    async def _tools(self, session: Session) -> list[McpTool]:
        listed, left_out = await session.tools()
        for reason in left_out:
            await self._offers.warn(f"The MCP server {self.name!r} offers a tool that is left out: {reason}")
        changed = self._pins.changed(listed)
        return [McpTool(self, tool, CHANGED if tool.name in changed else "") for tool in listed]

    async def _relist(self, session: Session) -> None:
        """Once, however often the server has said so; who comes second waits for what the first one finds."""
        try:
            async with self._listing, asyncio.timeout(self._patience):
                if session.tools_changed:
                    await self.offer(await self._tools(session))
        except (AIBattleError, TimeoutError) as error:
            reason = str(error) or f"no answer within {self._patience:g} s"
            await self._offers.warn(
                f"The MCP server {self.name!r} has other tools now, but does not list them: {reason}"
            )

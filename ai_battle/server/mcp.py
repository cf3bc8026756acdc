"""Serves ai-battle over MCP, on stdio and by HTTP on this machine."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from hmac import compare_digest
from inspect import getdoc
from socket import socket
from typing import IO, Any, TypeVar

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from .. import __version__
from ..config.documents import checked_section, environment_redactor
from ..config.values import Section
from ..core.errors import AIBattleError, ConfigError
from ..core.plugins import near, translate_errors
from .mcp_schemas import (
    AskArguments,
    AskResult,
    DiscussArguments,
    JudgeArguments,
    JudgeResult,
    ListArguments,
    ReadArguments,
    RunDocument,
    RunList,
)
from .mcp_tools import FolderTools, ProgressReporter

T = TypeVar("T")
LONGEST_MESSAGE = 16 * 1024 * 1024
"""Bytes of a message on standard input."""
UNAUTHORIZED = "Send the header 'Authorization: Bearer TOKEN' with the token of this server."
INSTRUCTIONS = (
    "Models of several providers discuss a topic or answer a question, a small one with the help of a large one where "
    "that pays. Calls cost money where the models do: max_cost bounds a call, and each result says what it cost. A "
    "discussion that is cancelled is kept: discuss with resume='last' goes on with it."
)


@dataclass(frozen=True, slots=True)
class ServedTool:
    """A tool as it is served. The docstring of its arguments is its title and description."""

    arguments: type[Section]
    result: type[BaseModel]
    call: Callable[[Any, ProgressReporter], Coroutine[Any, Any, BaseModel]]
    reads_only: bool = False

    def specification(self, name: str) -> Tool:
        words = getdoc(self.arguments) or ""
        hints = ToolAnnotations(
            read_only_hint=self.reads_only, destructive_hint=False, open_world_hint=not self.reads_only
        )
        return Tool(
            name=name,
            title=words.partition(":")[0],
            description=words,
            input_schema=self.arguments.model_json_schema(),
            output_schema=self.result.model_json_schema(mode="serialization"),
            annotations=hints,
        )


class McpHandlers:
    """Handles the requests of the protocol."""

    def __init__(self, folder: FolderTools) -> None:
        self._folder = folder
        self._ending: set[asyncio.Future[Any]] = set()
        self._tools = {
            "discuss": ServedTool(DiscussArguments, RunDocument, folder.discuss),
            "ask": ServedTool(AskArguments, AskResult, folder.ask),
            "judge": ServedTool(JudgeArguments, JudgeResult, folder.judge),
            "list_runs": ServedTool(ListArguments, RunList, folder.list_runs, reads_only=True),
            "read_run": ServedTool(ReadArguments, RunDocument, folder.read_run, reads_only=True),
        }

    async def list_tools(
        self, context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[tool.specification(name) for name, tool in self._tools.items()])

    async def call_tool(self, context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        """Calls a tool. Errors become results, so that the calling model can react."""
        redactor = environment_redactor(os.environ, self._folder.folder)
        try:
            with translate_errors("This is an error in ai-battle itself; please report it", AIBattleError):
                result = await self._result(context, params)
        except AIBattleError as error:
            return _tool_result(redactor.text(str(error)), is_error=True)
        document = redactor.document(result.model_dump(mode="json"))
        words = type(result).model_validate(document).model_dump_json(indent=2)
        return _tool_result(words, document, is_error=document.get("status") == "failed")

    async def _result(self, context: ServerRequestContext[Any], params: CallToolRequestParams) -> BaseModel:
        if (tool := self._tools.get(params.name)) is None:
            raise ConfigError(f"There is no tool {params.name!r}{near(params.name, [*self._tools])}")
        arguments = checked_section(tool.arguments, params.arguments or {})
        if self._ending:  # a client may resume a discussion that it has just cancelled and that is still being saved
            await asyncio.wait(self._ending)
        return await self._save_on_cancel(tool.call(arguments, context.session.report_progress))

    async def _save_on_cancel(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits `work`. Cancels it once when it is cancelled, and lets it save what is done.

        The SDK's cancel scopes would cancel each step of the saving, too.
        """
        task = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            self._ending.add(task)
            with anyio.CancelScope(shield=True):
                await asyncio.wait({task})
            self._ending.discard(task)
            raise


def create_server(folder: FolderTools) -> Server[Any]:
    handlers = McpHandlers(folder)
    return Server(
        "ai-battle",
        version=__version__,
        title="AI Battle",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
    )


async def serve_stdio(folder: FolderTools) -> None:
    """Serves until the client closes standard input, then saves unfinished work."""
    server = create_server(folder)
    async with stdio_server(_lines_of_client()) as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


def _lines_of_client() -> Any:
    """Returns the lines of standard input, read without the SDK's thread, which would keep a stopped server alive.

    Returns None for a file, which the SDK then reads: a file never blocks.
    """
    mode = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(0)):
        return None
    client = os.fdopen(os.dup(0), "rb", buffering=0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # so that programs started by tools do not read the client's messages
    return _lines(client)


async def _lines(pipe: IO[bytes]) -> AsyncIterator[str]:
    reader = asyncio.StreamReader(LONGEST_MESSAGE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    while line := await reader.readline():
        yield line.decode(errors="replace")


async def serve_http(folder: FolderTools, listening: socket, token: str) -> None:
    """Serves until it is interrupted; `listening` is bound to the loopback address of this machine."""
    app = _with_token(create_server(folder).streamable_http_app(), token)
    settings = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    await uvicorn.Server(settings).serve(sockets=[listening])


def _with_token(app: ASGIApp, token: str) -> ASGIApp:
    """Requires the token, to keep other users and programs of this machine out. The SDK checks Host and Origin."""
    expected = f"Bearer {token}".encode()

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not compare_digest(dict(scope["headers"]).get(b"authorization", b""), expected):
            await PlainTextResponse(UNAUTHORIZED, 401)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return respond


def _tool_result(text: str, document: dict[str, Any] | None = None, *, is_error: bool = False) -> CallToolResult:
    content = TextContent(type="text", text=text)
    return CallToolResult(content=[content], structured_content=document, is_error=is_error)

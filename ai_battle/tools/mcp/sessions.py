"""A session with an MCP server, in its own task. Every request gets an answer, even if the server's is unreadable."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Self, TypeAlias

from pydantic_core import ValidationError

from ...core.errors import ToolError
from ...core.plugins import optional, translate_errors
from .links import NO_REQUEST, Link

MAX_PAGES = 100
PAUSES = (1.0, 5.0, 30.0)
LONGEST, LONGEST_REASON = 1_000, 300
STALE_SESSION = "Session terminated"
SILENCE = {
    "Connection closed": "it closed the connection",
    "Server returned an error response": "it refuses",
    STALE_SESSION: "it has forgotten this session",
}
TOOLS_CHANGED = "notifications/tools/list_changed"
_log = logging.getLogger(__name__)
logging.getLogger("mcp").addHandler(logging.NullHandler())  # keeps the SDK's messages off the user's terminal

Changed: TypeAlias = Callable[["Session"], Awaitable[None]]


class McpServerError(ToolError):
    """A server can't be reached, or answered with an error."""


class Session:
    """Lists and calls the tools of a server. Awaits `changed` when the server says that its tools have changed.

    The SDK requires that a connection is closed by the task that opened it, so one task does both. The SDK's session
    group supports neither changing tools nor restarted servers, so it is not used.
    """

    def __init__(self, link: Link, changed: Changed) -> None:
        self._link = link
        self._changed = changed
        self._mcp = optional("mcp", "mcp")
        self._over = asyncio.Event()
        self.waiting: dict[int | str, str] = {}
        """Methods of the pending requests, by id."""
        self.tools_changed = False
        """True if the server has reported changes since its tools were listed."""
        self.left_out: list[str] = []
        """Why entries of the list are not valid tools."""
        self._ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live())

    @classmethod
    async def open(cls, link: Link, changed: Changed) -> "Session":
        """Returns a session that is ready. Raises `AIBattleError`. A cancelled start leaves nothing behind."""
        session = cls(link, changed)
        async with AsyncExitStack() as unless_ready:
            unless_ready.push_async_callback(session.close)
            await asyncio.wait({session._task, session._ready}, return_when=asyncio.FIRST_COMPLETED)
            if not session._ready.done():
                session._task.result()
            unless_ready.pop_all()
        return session

    @property
    def instructions(self) -> str:
        """What the server says about the use of its tools, or ""."""
        return str(self._ready.result().instructions or "").strip()

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def end(self) -> None:
        """Marks the session as over; its owner may still be closing it."""
        self._over.set()

    async def close(self) -> None:
        self.end()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()

    async def tools(self) -> tuple[list[Any], list[str]]:
        """Returns the server's tools as it describes them, and why others are invalid."""
        self.tools_changed = False
        self.left_out = []
        found: list[Any] = []
        cursor = None
        for _ in range(MAX_PAGES):
            with self._requesting():
                page = await self._ready.result().list_tools(cursor=cursor)
            found += page.tools
            if not (cursor := page.next_cursor):
                return found, self.left_out
        raise McpServerError(f"it lists tools without an end: {len(found):,} on the first {MAX_PAGES} pages")

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Returns the server's answer as it is. A cancellation is passed on to the server."""
        with self._requesting():
            client = self._ready.result()
            return await client.call_tool(tool, dict(arguments), progress_callback=partial(_log_progress, tool))

    @contextmanager
    def _requesting(self) -> Iterator[None]:
        """Raises the failure of a request in the server's words. If the server has lost the session, it is over."""
        try:
            with translate_errors(self._link.shown, McpServerError):
                yield
        except McpServerError as error:
            if _words(error) == STALE_SESSION:
                self._over.set()
            raise McpServerError(self._reason(error)) from error

    async def _live(self) -> None:
        try:
            with translate_errors(self._link.shown, McpServerError):
                async with self._mcp.Client(
                    self._streams(), message_handler=self._handle_message, cache=None
                ) as client:
                    self._ready.set_result(client)
                    await self._until_over(client)
        except McpServerError as error:
            raise McpServerError(self._reason(error)) from error
        finally:
            self._over.set()

    async def _until_over(self, client: Any) -> None:
        listening = asyncio.create_task(self._listen(client))
        try:
            await self._over.wait()
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[tuple[Any, Any]]:
        async with self._link.streams() as (read, write):
            yield _Inbound(read, self), _Outbound(write, self)

    async def _handle_message(self, message: Any) -> None:
        """Handles the change notification of older protocol versions, which comes at any time."""
        if isinstance(message, self._mcp.types.ToolListChangedNotification) and self._ready.done():
            await self._changed(self)

    async def _listen(self, client: Any) -> None:
        """Listens for changes, which newer servers report only to listeners; lists again after a lost connection."""
        subscriptions = optional("mcp.client.subscriptions", "mcp")
        offered = client.server_capabilities.tools
        if not (offered and offered.list_changed):
            return
        for pause in PAUSES:
            try:
                await self._follow(client)
                return
            except (subscriptions.ListenNotSupportedError, self._mcp.MCPError):
                return
            except subscriptions.SubscriptionLost:
                await asyncio.sleep(pause)
                self.tools_changed = True
                await self._changed(self)

    async def _follow(self, client: Any) -> None:
        async with client.listen(tools_list_changed=True) as events:
            async for _ in events:
                await self._changed(self)

    def _reason(self, error: McpServerError) -> str:
        """Returns the reason of a failure. If the SDK has none, the server's last output often says why."""
        words = _words(error)
        if words not in SILENCE:
            return words
        last_words = self._link.last_words()
        return f"{SILENCE[words]}; its last words: {last_words}" if last_words else SILENCE[words]


async def _log_progress(tool: str, progress: float, total: float | None, message: str | None) -> None:
    _log.info("%s: %g%s %s", tool, progress, "" if total is None else f" of {total:g}", message or "")


def _words(error: McpServerError) -> str:
    """Returns the message of the real error, which the SDK often wraps in a group of one."""
    cause: BaseException = error.__cause__ or error
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    return " ".join(str(cause).split())[:LONGEST] or type(cause).__name__


class _SessionStream:
    """A stream of the SDK whose messages the session inspects."""

    def __init__(self, stream: Any, session: Session) -> None:
        self._stream = stream
        self._session = session

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._stream.__aexit__(*error)


class _Outbound(_SessionStream):
    """The stream to the server."""

    async def send(self, item: Any) -> None:
        if (number := getattr(item.message, "id", None)) is not None and hasattr(item.message, "method"):
            self._session.waiting[number] = item.message.method
        await self._stream.send(item)


class _Inbound(_SessionStream):
    """The stream from the server, corrected so that the SDK can read it."""

    def __init__(self, stream: Any, session: Session) -> None:
        super().__init__(stream, session)
        self._types = optional("mcp.types", "mcp")
        self._message = optional("mcp.shared.message", "mcp").SessionMessage
        self._failed: list[Any] = []

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def __aexit__(self, *error: Any) -> None:
        self._session.end()
        await super().__aexit__(*error)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while not self._failed:
            item = await self._stream.__anext__()
            if not isinstance(item, Exception):
                self._look_at(item.message)
                return item
            self._failed += self._failures(item)
        return self._failed.pop(0)

    def _failures(self, error: Exception) -> Iterator[Any]:
        """Yields an error answer in place of an unreadable one, so that nobody waits for it until the timeout."""
        number = getattr(error, "answers", None)
        if number is not None and number not in self._session.waiting:
            return
        reason = " ".join(str(error).split())[:LONGEST_REASON]
        data = self._types.ErrorData(code=self._types.PARSE_ERROR, message=f"its answer can't be read: {reason}")
        for each in (number,) if number is not None else tuple(self._session.waiting):
            del self._session.waiting[each]
            yield self._message(self._types.JSONRPCError(jsonrpc="2.0", id=each, error=data))

    def _look_at(self, message: Any) -> None:
        """Removes invalid tools from a list, which would otherwise make the SDK reject the whole list."""
        if getattr(message, "method", "") == TOOLS_CHANGED:
            self._session.tools_changed = True
        elif self._session.waiting.pop(getattr(message, "id", NO_REQUEST), "") == "tools/list":
            listed = getattr(message, "result", {})
            if isinstance(tools := listed.get("tools"), list):
                listed["tools"] = [tool for tool in map(_with_schema_type, tools) if self._is_tool(tool)]

    def _is_tool(self, tool: Any) -> bool:
        if fault := self._fault(tool):
            name = tool.get("name") if isinstance(tool, dict) else tool
            self._session.left_out.append(f"{name!r:.80}: {fault}")
        return not fault

    def _fault(self, tool: Any) -> str:
        try:
            self._types.Tool.model_validate(tool, by_name=False)
        except ValidationError as error:
            first = error.errors()[0]
            return f"{'.'.join(map(str, first['loc']))} {first['msg']}".strip()
        kind = tool["inputSchema"]["type"]
        return "" if kind == "object" else f"inputSchema.type must be 'object', not {kind!r:.40}"


def _with_schema_type(tool: Any) -> Any:
    """Returns the tool with a schema that satisfies the SDK, as far as that is possible without asking the server."""
    if not isinstance(tool, dict) or not isinstance(schema := tool.get("inputSchema"), dict):
        return tool
    promised = tool.get("outputSchema")
    is_kept = isinstance(promised, dict) and promised.get("type") == "object"
    rest = {key: value for key, value in tool.items() if key != "outputSchema" or is_kept}
    return {**rest, "inputSchema": {"type": "object", **schema}}

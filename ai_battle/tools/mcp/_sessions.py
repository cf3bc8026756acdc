"""One session with an MCP server, held by a task of its own."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, TypeAlias

from ...core.borders import foreign_code
from ...core.errors import ToolError
from ...core.plugins import optional
from ._links import Link
from ._streams import Inbound, Outbound, Traffic

PAGES = 100
PAUSES = (1.0, 5.0, 30.0)
LONGEST = 1_000
STALE = "Session terminated"
SILENCE = {
    "Connection closed": "it closed the connection",
    "Server returned an error response": "it refuses",
    STALE: "it has forgotten this session",
}
_log = logging.getLogger(__name__)
logging.getLogger("mcp").addHandler(logging.NullHandler())  # the SDK's complaints are not for the user's terminal


Changed: TypeAlias = Callable[["Session"], Awaitable[None]]


class McpServerError(ToolError):
    """A server that can't be talked to, or that answered with an error."""


class Session:
    """What the server offers and does. `changed` is awaited when the server says that its tools are others now.

    The SDK wants a connection closed by the task that opened it, so one task does both.
    """

    def __init__(self, link: Link, changed: Changed) -> None:
        self._link = link
        self._changed = changed
        self._mcp = optional("mcp", "mcp")
        self._over = asyncio.Event()
        self._traffic = Traffic(self._over)
        self._ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live())

    @classmethod
    async def opened(cls, link: Link, changed: Changed) -> "Session":
        """A session that is ready; raises `AIBattleError`. Nothing is left of one whose start is cancelled."""
        session = cls(link, changed)
        async with AsyncExitStack() as unless_ready:
            unless_ready.push_async_callback(session.close)
            await asyncio.wait({session._task, session._ready}, return_when=asyncio.FIRST_COMPLETED)
            if not session._ready.done():
                session._task.result()
            unless_ready.pop_all()
        return session

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    async def close(self) -> None:
        self._over.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()

    @property
    def tools_changed(self) -> bool:
        """Whether the server has said that its tools are others, since they were listed."""
        return self._traffic.tools_changed

    async def tools(self) -> tuple[list[Any], list[str]]:
        """All tools of the server, in its own words, and why others are none."""
        self._traffic.tools_changed = False
        self._traffic.left_out = []
        found: list[Any] = []
        cursor = None
        for _ in range(PAGES):
            with self._server():
                page = await self._ready.result().list_tools(cursor=cursor)
            found += page.tools
            if not (cursor := page.next_cursor):
                return found, self._traffic.left_out
        raise McpServerError(f"it lists tools without an end: {len(found):,} on the first {PAGES} pages")

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """What the server answers, in its own words. When this is cancelled, the server is told so."""
        with self._server():
            client = self._ready.result()
            return await client.call_tool(tool, dict(arguments), progress_callback=partial(_progress, tool))

    @contextmanager
    def _server(self) -> Iterator[None]:
        """Around a request: what the server says of its failure; it is not asked again when it lost its memory."""
        try:
            with foreign_code(self._link.shown, McpServerError):
                yield
        except McpServerError as error:
            if _words(error) == STALE:
                self._over.set()
            raise McpServerError(self._reason(error)) from error

    async def _live(self) -> None:
        try:
            with foreign_code(self._link.shown, McpServerError):
                async with self._mcp.Client(self._streams(), message_handler=self._heard, cache=None) as client:
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
            yield Inbound(read, self._traffic), Outbound(write, self._traffic)

    async def _heard(self, message: Any) -> None:
        """Servers of the older protocol say that their tools changed whenever they like."""
        if isinstance(message, self._mcp.types.ToolListChangedNotification) and self._ready.done():
            await self._changed(self)

    async def _listen(self, client: Any) -> None:
        """Those of the newer one say it to who listens; who was cut off in between has to look again."""
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
                self._traffic.tools_changed = True
                await self._changed(self)

    async def _follow(self, client: Any) -> None:
        async with client.listen(tools_list_changed=True) as events:
            async for _ in events:
                await self._changed(self)

    def _reason(self, error: McpServerError) -> str:
        """The SDK can't say why there is no answer; what the server wrote last often does."""
        said = _words(error)
        if said not in SILENCE:
            return said
        last_words = self._link.last_words()
        return f"{SILENCE[said]}; its last words: {last_words}" if last_words else SILENCE[said]


async def _progress(tool: str, progress: float, total: float | None, message: str | None) -> None:
    _log.info("%s: %g%s %s", tool, progress, "" if total is None else f" of {total:g}", message or "")


def _words(error: McpServerError) -> str:
    """What really went wrong: in the SDK, it is often wrapped in a group of one."""
    cause: BaseException = error.__cause__ or error
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    return " ".join(str(cause).split())[:LONGEST] or type(cause).__name__

"""Servers that run already, by streamable HTTP on the loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from mcp.server.mcpserver import Context, MCPServer

from ai_battle.core.errors import ConfigError

from .conftest import Running, until

TOKEN = {"Authorization": "Bearer tok-12345"}


class Docs:
    """A server of documents; what reached it is kept."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.server = MCPServer("docs")
        self.server.add_tool(self.read)
        self.server.add_tool(self.publish)
        self.server.add_tool(self.wait)

    async def read(self, page: str) -> str:
        """One page."""
        return f"# {page}"

    async def publish(self, ctx: Context) -> str:
        """Offers one tool more."""
        self.server.add_tool(self.read, name="news")
        await ctx.notify_tools_changed()
        return "published"

    async def wait(self) -> str:
        """Takes long."""
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "waited"


@asynccontextmanager
async def serving(docs: Docs, port: int = 0, **options: Any) -> AsyncIterator[str]:
    """The server's address; it asks for a token."""
    app = docs.server.streamable_http_app(**options)

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        known = (b"authorization", TOKEN["Authorization"].encode()) in scope.get("headers", ())
        if scope["type"] == "http" and not known:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await app(scope, receive, send)

    server = uvicorn.Server(uvicorn.Config(guard, port=port, log_level="critical", timeout_graceful_shutdown=0))
    task = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        await task


@pytest.mark.parametrize("options", [{}, {"json_response": True}, {"stateless_http": True}], ids=str)
async def test_tools_are_listed_and_called(running: Running, options: dict[str, Any]) -> None:
    async with serving(Docs(), **options) as url, running(docs={"url": url, "headers": TOKEN}) as tools:
        assert tools.registry.names == ["docs:read", "docs:publish", "docs:wait"]
        assert (await tools.call("docs:read", page="Start")).text == '{"result": "# Start"}'


async def test_a_server_that_refuses_is_told_with_its_status_and_without_the_headers(running: Running) -> None:
    async with serving(Docs()) as url:
        with pytest.raises(ConfigError, match=r"does not start: it refuses.*HTTP 401 Unauthorized") as raised:
            async with running(docs={"url": url, "headers": {"Authorization": "Bearer wrong-one"}}):
                pass

    assert "wrong-one" not in str(raised.value)


async def test_tools_come_while_it_runs_and_a_late_call_is_stopped(running: Running) -> None:
    docs = Docs()
    async with serving(docs) as url, running(docs={"url": url, "headers": TOKEN, "timeout": 0.5}) as tools:
        await tools.call("docs:publish")
        await until(lambda: "docs:news" in tools.registry.names)
        async with asyncio.timeout(30):
            while not docs.cancelled.is_set():  # a busy machine gives it up before it has arrived
                late = await tools.call("docs:wait")

    assert "did not answer within 0.5 s" in late.text


async def test_a_server_that_goes_and_comes_back_is_found_again(running: Running) -> None:
    async with serving(Docs()) as url:
        port = int(url.split(":")[2].partition("/")[0])
        opened = running(docs={"url": url, "headers": TOKEN, "start_timeout": 20})
        tools = await opened.__aenter__()
    gone = [await tools.call("docs:read", page="Start") for _ in range(2)]
    async with serving(Docs(), port):
        back = await tools.call("docs:read", page="Start")
        await opened.__aexit__(None, None, None)

    assert [answer.is_error for answer in gone] == [True, True]
    assert back.text == '{"result": "# Start"}'

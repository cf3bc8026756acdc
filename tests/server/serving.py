"""A server of ours in the test's own event loop, with fake providers behind it."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from io import BytesIO
from typing import Any

import aiohttp

from ai_battle.server.config import ConfigSource, ServerConfig
from ai_battle.server.running import listening
from ai_battle.server.state import ServerState
from ai_battle.testing import FakeProviders


@asynccontextmanager
async def serving(fakes: FakeProviders, file: str = "", **environment: str) -> AsyncIterator[str]:
    """The address of a server with these variables; the port is a free one, and nobody needs a key."""
    async with serving_to(fakes, len, file, **environment) as (_, address):
        yield address


@asynccontextmanager
async def serving_to(
    fakes: FakeProviders, write: Callable[[bytes], object], file: str = "", **environment: str
) -> AsyncIterator[tuple[ServerState, str]]:
    """The same with what it holds; its log goes to `write`."""
    async with listening(server_config(fakes, file, **environment), write) as running:
        yield running


def server_config(fakes: FakeProviders, file: str = "", **environment: str) -> ServerConfig:
    known = fakes.environment
    known["ANTHROPIC_AUTH_TOKEN"] = known.pop("ANTHROPIC_API_KEY")  # which would be the key of clients
    state = {"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]}
    return ConfigSource(file, {**state, **known, **environment}, {"port": 0}).load()


async def ask_server(address: str, path: str, body: Any, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
    """The status and the JSON of an answer; of a stream, its text."""
    data = BytesIO(json.dumps(body).encode())
    sent = {"content-type": "application/json", **(headers or {})}
    async with aiohttp.ClientSession() as session, session.post(address + path, data=data, headers=sent) as answer:
        is_stream = answer.content_type == "text/event-stream"
        return answer.status, await (answer.text() if is_stream else answer.json(content_type=None))


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A bare connection to the server; little of an answer fits in before it is read."""
    host, port = address.removeprefix("http://").split(":")
    with socket.socket() as connection:
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await asyncio.get_running_loop().sock_connect(connection, (host, int(port)))
        reader, writer = await asyncio.open_connection(sock=connection.dup())
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def until(condition: Callable[[], bool], seconds: float | None = None) -> None:
    """Raises `TimeoutError` where it does not become true in time; how long a test may take at most pytest says."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)

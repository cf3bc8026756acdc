"""A server of ours in the test's own event loop, with fake providers behind it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from io import BytesIO
from typing import Any

import aiohttp

from ai_battle.server.running import Told, listening
from ai_battle.server.served import Served
from ai_battle.testing import FakeProviders


@asynccontextmanager
async def serving(fakes: FakeProviders, file: str = "", **environment: str) -> AsyncIterator[str]:
    """The address of a server with these variables; the port is a free one, and nobody needs a key."""
    async with serving_to(fakes, len, file, **environment) as (_, address):
        yield address


@asynccontextmanager
async def serving_to(
    fakes: FakeProviders, write: Callable[[bytes], object], file: str = "", **environment: str
) -> AsyncIterator[tuple[Served, str]]:
    """The same with what it holds; its log goes to `write`."""
    known = fakes.environment
    known["ANTHROPIC_AUTH_TOKEN"] = known.pop("ANTHROPIC_API_KEY")  # which would be the key of clients
    async with listening(Told(file, {**known, **environment}, {"port": 0}).plan(), write) as running:
        yield running


async def asked(address: str, path: str, body: Any, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
    """The status and the JSON of an answer."""
    data = BytesIO(json.dumps(body).encode())
    sent = {"content-type": "application/json", **(headers or {})}
    async with aiohttp.ClientSession() as session, session.post(address + path, data=data, headers=sent) as answer:
        return answer.status, await answer.json(content_type=None)


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A bare connection to the server."""
    host, port = address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

"""A server of ours in the test's own event loop, with fake providers behind it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
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
    async with aiohttp.ClientSession() as session, session.post(address + path, json=body, headers=headers) as answer:
        return answer.status, await answer.json(content_type=None)

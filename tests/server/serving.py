"""A server of ours in the test's own event loop, with fake providers behind it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from ai_battle.server.running import Told, listening
from ai_battle.testing import FakeProviders


@asynccontextmanager
async def serving(fakes: FakeProviders, file: str = "", **environment: str) -> AsyncIterator[str]:
    """The address of a server with these variables; the port is a free one."""
    told = Told(file, {**fakes.environment, **environment}, {"port": 0})
    async with listening(told.plan()) as (_, address):
        yield address


async def asked(address: str, path: str, body: Any, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
    """The status and the JSON of an answer."""
    async with aiohttp.ClientSession() as session, session.post(address + path, json=body, headers=headers) as answer:
        return answer.status, await answer.json(content_type=None)

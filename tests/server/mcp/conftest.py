"""The MCP server in a folder of its own, and the SDK's client that speaks to it."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, TextContent

from ai_battle.cli.options import require_trust
from ai_battle.server.mcp import create_server
from ai_battle.server.mcp_tools import FolderTools
from ai_battle.testing import FakeProviders

from ..serving import until

Mode = Literal["auto", "legacy"]


@dataclass
class Assistant:
    """A client, what it is told on the way, and what its calls come to."""

    client: Client
    told: list[tuple[float, float | None, str]] = field(default_factory=list)

    async def call(self, name: str, **arguments: Any) -> Mapping[str, Any]:
        """Returns what a call that goes well returns; the text that clients without schemas read says the same."""
        result = await self.result(name, arguments)
        assert not result.is_error, text_of(result)
        document: Mapping[str, Any] = json.loads(text_of(result))
        assert document == result.structured_content
        return document

    async def refusal(self, name: str, **arguments: Any) -> str:
        result = await self.result(name, arguments)
        assert result.is_error, text_of(result)
        return text_of(result)

    async def result(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        return await self.client.call_tool(name, arguments, progress_callback=self._hear)

    async def cancel_at(self, turn: int, name: str, **arguments: Any) -> None:
        """Calls a tool, and cancels that when it is told of a turn."""
        call = await self.call_until(turn, name, arguments)
        call.cancel()
        await asyncio.wait({call})

    async def call_until(self, turn: int, name: str, arguments: dict[str, Any]) -> asyncio.Task[CallToolResult]:
        """Returns a call that is under way and was told of a turn."""
        call = asyncio.create_task(self.result(name, arguments))
        await until(lambda: any(f"turn {turn} of" in words for _, _, words in self.told))
        return call

    async def _hear(self, progress: float, total: float | None, message: str | None) -> None:
        self.told.append((progress, total, message or ""))


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@asynccontextmanager
async def in_this_process(mode: Mode = "auto", **settings: Any) -> AsyncIterator[Assistant]:
    trust = partial(require_trust, given=settings.get("trust", False), ask=False)
    server = create_server(FolderTools(Path.cwd(), trust, **settings))
    async with Client(server, mode=mode) as client:
        yield Assistant(client)


@asynccontextmanager
async def by_stdio(*options: str, mode: Mode = "auto") -> AsyncIterator[Assistant]:
    """A client that starts the command as hosts do, with the variables of this process."""
    typed = ["-m", "ai_battle", "mcp", *options]
    started = StdioServerParameters(command=sys.executable, args=typed, env=dict(os.environ), cwd=Path.cwd())
    async with Client(stdio_client(started), mode=mode) as client:
        yield Assistant(client)


@pytest.fixture
def folder(here: Path) -> Path:
    return here


@pytest.fixture
async def fakes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeProviders]:
    """As everywhere, once the folder has taken all keys away."""
    async with FakeProviders() as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running

"""MCP servers as tests use them: the tools of some, while they run."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ai_battle.config.tools import McpServer
from ai_battle.core.events import EventLog, Warned
from ai_battle.core.messages import ToolCall, ToolResult
from ai_battle.tools.base import ToolRegistry
from ai_battle.tools.manager import ToolManager
from ai_battle.tools.mcp.servers import McpServers

PROGRAMS = Path(__file__).parent / "programs"


class Toolbox:
    """What models have of the servers, and what the user is told of them."""

    def __init__(self) -> None:
        self.registry = ToolRegistry()
        self.log = EventLog()

    @property
    def warnings(self) -> list[str]:
        return [event.message for event in self.log.events if isinstance(event, Warned)]

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        return await ToolManager(self.registry).run(ToolCall(name, arguments))


Running = Callable[..., AbstractAsyncContextManager[Toolbox]]


@asynccontextmanager
async def run(base: Path, **settings: dict[str, Any]) -> AsyncIterator[Toolbox]:
    """Servers by name, and what can be done with them while they run."""
    toolbox = Toolbox()
    servers = {name: McpServer(**one) for name, one in settings.items()}
    async with McpServers(servers, toolbox.registry, base, toolbox.log):
        yield toolbox


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return partial(run, tmp_path)


def program(name: str, *args: str, **settings: Any) -> dict[str, Any]:
    """The settings of a server that is a file of this folder."""
    return {"command": sys.executable, "args": (str(PROGRAMS / f"{name}.py"), *args), **settings}


async def until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - it holds elsewhere
            await asyncio.sleep(0.01)


def start_program(*how: str) -> "subprocess.Popen[str]":
    """Another process of ours, with a server of its own."""
    command = [sys.executable, str(PROGRAMS / "ours.py"), *how]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def children(pid: int | None = None) -> list[int]:
    """The processes of `odd.py` that this one, or `pid`, has started and that run."""
    said = subprocess.run(["ps", "-axww", "-o", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = (line.split(maxsplit=3) for line in said.stdout.splitlines())
    parent = str(pid or os.getpid())
    return [int(row[0]) for row in rows if row[1] == parent and row[2][0] != "Z" and "odd.py" in row[3]]


def is_alive(pid: int) -> bool:
    said = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return said.stdout.strip()[:1] not in ("", "Z")

"""Tools as tests use them: a registry of some, and one call of one."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ai_battle.core.messages import ToolCall
from ai_battle.tools.base import Tool, ToolRegistry
from ai_battle.tools.manager import ToolManager

Call = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


@pytest.fixture
def call_tool() -> Call:
    """Returns what a tool answers to a call of it, through the manager."""

    async def call(tool: Tool, **parameters: Any) -> dict[str, Any]:
        return await ToolManager(ToolRegistry([tool])).handle_tool_request(
            {"tool": tool.name, "parameters": parameters}
        )

    return call


def manager_of(*tools: Tool, **options: Any) -> ToolManager:
    return ToolManager(ToolRegistry(tools), **options)


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name, arguments, id="call_1")

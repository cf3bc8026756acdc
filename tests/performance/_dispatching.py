"""Calls of a trivial tool, directly and through what runs a model's calls."""

import asyncio
import gc
import time
from typing import Any

from ai_battle import Tool, ToolManager, ToolRegistry
from ai_battle.core.messages import ToolCall

TIMES = 500


class Adds(Tool):
    name = "add"
    description = "Adds two numbers."
    parameters = {  # noqa: RUF012
        "a": {"type": "integer", "required": True},
        "b": {"type": "integer", "default": 1},
    }

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {"sum": parameters["a"] + parameters["b"]}


TOOL = Adds()
MANAGER = ToolManager(ToolRegistry([TOOL]))


def dispatched(at_once: int = 1) -> float:
    """Milliseconds that so many calls take together."""
    calls = [ToolCall("add", {"a": number}) for number in range(at_once)]
    return _milliseconds(lambda: asyncio.gather(*map(MANAGER.run, calls)) if at_once > 1 else MANAGER.run(calls[0]))


def direct(at_once: int = 1) -> float:
    """The same without anything around the tool."""
    given = [{"a": number, "b": 1} for number in range(at_once)]
    return _milliseconds(lambda: asyncio.gather(*map(TOOL.execute, given)) if at_once > 1 else TOOL.execute(given[0]))


def _milliseconds(work: Any) -> float:
    async def repeated() -> float:
        gc.collect()
        started = time.perf_counter()
        for _ in range(TIMES):
            await work()
        return (time.perf_counter() - started) * 1e3 / TIMES

    return asyncio.run(repeated())

"""Measures the CPU of calls of a trivial tool, directly and through the tool manager."""

import asyncio
import gc
import time
from typing import Any

from ai_battle import Tool, ToolManager, ToolRegistry, tool
from ai_battle.core.messages import ToolCall

TIMES, ROUNDS = 50, 10


class AddTool(Tool):
    name = "add"
    description = "Adds two numbers."
    parameters = {  # noqa: RUF012
        "a": {"type": "integer", "required": True},
        "b": {"type": "integer", "default": 1},
    }

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {"sum": parameters["a"] + parameters["b"]}


@tool
def plus(a: int, b: int = 1) -> dict[str, int]:
    """Adds two numbers. It runs in a thread, as all functions that are not asynchronous."""
    return {"sum": a + b}


TOOLS: dict[str, Tool] = {"add": AddTool(), "plus": plus}
MANAGER = ToolManager(ToolRegistry(TOOLS.values()))


def dispatch(name: str = "add", at_once: int = 1) -> float:
    """Returns the milliseconds that `at_once` calls take together."""
    calls = [ToolCall(name, {"a": number}) for number in range(at_once)]
    return _milliseconds(lambda: asyncio.gather(*map(MANAGER.run, calls)) if at_once > 1 else MANAGER.run(calls[0]))


def direct(name: str = "add", at_once: int = 1) -> float:
    """Returns the milliseconds of the same calls without the tool manager."""
    given, execute = [{"a": number, "b": 1} for number in range(at_once)], TOOLS[name].execute
    return _milliseconds(lambda: asyncio.gather(*map(execute, given)) if at_once > 1 else execute(given[0]))


def _milliseconds(work: Any) -> float:
    """Returns the least of `ROUNDS` rounds, which other work disturbed least."""

    async def repeat() -> float:
        gc.collect()
        started = time.process_time()
        for _ in range(TIMES):
            await work()
        return (time.process_time() - started) * 1e3 / TIMES

    return min(asyncio.run(repeat()) for _ in range(ROUNDS))

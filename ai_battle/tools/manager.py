"""Runs tool calls. Whatever goes wrong becomes data for the model, never an exception in the conversation."""

import asyncio
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from ..core.errors import AIBattleError, ToolError
from ..core.messages import Text, ToolCall, ToolResult
from ..core.plugins import error_text, near, translate_errors
from ..core.telemetry import span
from ..wire.dialects.arguments import arguments_error, fit
from ..wire.dialects.calls import NotArguments, arguments_in
from ..wire.dialects.schemas import with_defaults
from ._tasks import call_function
from .base import Tool, ToolRegistry
from .results import ToolOutput, bounded_output, collect_prints

MAX_OUTPUT = 32_000
MAX_PRINTED = 4_000
GIVEN_UP = "and was given up"
"""Is in the error of a call that goes on after its timeout, or may have taken effect."""
GRACE_SECONDS = 1.0


class _RaisedError(ToolError):
    """The tool raised a foreign exception, which is the cause of this one."""


class ToolManager:
    """Runs calls of the tools in `registry`; a result has at most `max_output` characters."""

    def __init__(self, registry: ToolRegistry, *, max_output: int = MAX_OUTPUT) -> None:
        self.registry = registry
        self.max_output = max_output
        self._left_running: set[asyncio.Task[Any]] = set()

    async def run(self, call: ToolCall, prepared: ToolCall | None = None) -> ToolResult:
        """Returns the result of a call, or the error that the model has to know. Raises only `CancelledError`.

        `prepared` is the result of `prepare`, for callers that have it already.
        """
        with span("execute_tool", call.name, tool=call.name, tool_call=call.id or None) as attributes:
            try:
                output = await self._output(prepared or self.prepare(call))
            except ToolError as error:
                output = ToolOutput.of_error(str(error))
            if output.is_error:
                attributes["error"] = "tool_error"
        return ToolResult(call, (Text(output.text), *output.images), is_error=output.is_error)

    async def handle_tool_request(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Runs `{"tool": name, "parameters": {...}}` and returns the tool's result, or `{"error": text}`."""
        name = request.get("tool") if isinstance(request, Mapping) else None
        if not name:
            return {"error": "Tool name is required"}
        if not isinstance(name, str) or name not in self.registry:
            return {"error": f"Tool not found: {name}"}
        parameters = request.get("parameters") or {}
        if not isinstance(parameters, Mapping):
            return {"error": f"The parameters of {name} must be an object, not {parameters!r:.80}"}
        try:
            return (await self._output(self.prepare(ToolCall(name, parameters)))).fields
        except ToolError as error:
            return {"error": str(error)}

    def get_tool_descriptions(self) -> dict[str, dict[str, Any]]:
        return self.registry.list_tools()

    def prepare(self, call: ToolCall) -> ToolCall:
        """Returns the call as it will run, with repaired arguments and defaults. Raises `ToolError` if it can't run."""
        if call.name not in self.registry:
            raise ToolError(f"Tool not found: {call.name}{near(call.name, self.registry.names)}")
        schema = self.registry.spec(call.name).schema
        try:
            given = arguments_in(call.malformed) if call.malformed else call.arguments
        except NotArguments as error:
            raise ToolError(arguments_error(call.name, schema, (f"{error}: {call.malformed[:200]}",))) from error
        fitted = fit(given, schema)
        if fitted.problems:
            raise ToolError(arguments_error(call.name, schema, fitted.problems))
        return ToolCall(call.name, with_defaults(fitted.arguments, schema), call.id, extra=call.extra)

    async def _output(self, call: ToolCall) -> ToolOutput:
        tool = self.registry.get_tool(call.name)
        assert tool is not None
        with collect_prints(MAX_PRINTED) as printed:
            try:
                returned = await self._execute(tool, {name: _own_copy(value) for name, value in call.arguments.items()})
                with translate_errors(tool.name, _RaisedError):
                    output = bounded_output(returned, self.max_output)
            except _RaisedError as error:
                output = ToolOutput.of_error(f"Tool execution error: {_error_words(error.__cause__)}")
            except AIBattleError as error:
                output = ToolOutput.of_error(str(error))
        if not (text := printed.text()):
            return output
        return replace(bounded_output({**output.fields, "printed": text}, self.max_output), images=output.images)

    async def _execute(self, tool: Tool, arguments: dict[str, Any]) -> Any:
        """Returns the result of the tool. Raises `ToolError` after its timeout, even if it ignores being cancelled."""
        # A separate task, because a tool that swallows its cancellation must not hold up its caller.
        task = asyncio.create_task(_run_tool(tool, arguments))
        try:
            await asyncio.wait((task,), timeout=tool.timeout)
        except asyncio.CancelledError:
            await self._stop(task)
            raise
        if not task.done():
            await self._stop(task)
            raise ToolError(f"{tool.name} did not answer within {tool.timeout:g} s {GIVEN_UP}")
        if task.cancelled():
            raise ToolError(f"{tool.name} was cancelled")
        return task.result()

    async def _stop(self, task: asyncio.Task[Any]) -> None:
        self._left_running.add(task)
        task.add_done_callback(self._left_running.discard)
        task.add_done_callback(_retrieve_exception)
        task.cancel()
        await asyncio.wait((task,), timeout=GRACE_SECONDS)
        if not task.done():
            _forget(task)


def _own_copy(value: Any) -> Any:
    """Returns a copy that the tool may change."""
    return value if isinstance(value, str | int | float | None) else deepcopy(value)


def _forget(task: asyncio.Task[Any]) -> None:
    # asyncio.run() waits for every task when it ends, so a tool that ignores cancellation would keep the program alive.
    asyncio._unregister_task(task)
    task._log_destroy_pending = False  # type: ignore[attr-defined] # no warning about a task that is left on purpose


async def _run_tool(tool: Tool, arguments: dict[str, Any]) -> Any:
    try:
        with translate_errors(tool.name, _RaisedError):
            return await call_function(tool.execute, arguments)
    except SystemExit as error:
        raise ToolError(f"{tool.name} tried to end the program ({error.code})") from error


def _error_words(error: BaseException | None) -> str:
    """Returns the message of an exception, with its class name if the message alone says too little."""
    text = error_text(error)
    # str(KeyError("x")) is only "'x'".
    return text if text and not isinstance(error, LookupError) else f"{type(error).__name__}: {text}".rstrip(": ")


def _retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Marks the exception as retrieved, so that asyncio does not report it for a task that was given up."""
    if not task.cancelled():
        task.exception()

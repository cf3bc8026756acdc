"""`tool_format: json`: a call is a line of JSON, `{"name": ..., "arguments": {...}}`."""

from collections.abc import Iterable

from ...core.exchange import ToolSpec
from ...core.messages import ToolCall
from .forms import instruction, to_json


def describe(tools: Iterable[ToolSpec]) -> str:
    return instruction("json_line", tools)


def write(call: ToolCall) -> str:
    return to_json({"name": call.name, "arguments": call.arguments})

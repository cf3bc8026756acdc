"""`tool_format: fenced`: a call is a fenced block with `{"tool": ..., "parameters": {...}}`."""

from collections.abc import Iterable

from ...core.exchange import ToolSpec
from ...core.messages import ToolCall
from .forms import instruction, to_json


def describe(tools: Iterable[ToolSpec]) -> str:
    return instruction("fenced", tools)


def write(call: ToolCall) -> str:
    return f"```tool\n{to_json({'tool': call.name, 'parameters': call.arguments})}\n```"

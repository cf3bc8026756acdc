"""`tool_format: fenced`: a call is a fenced block with `{"tool": ..., "parameters": {...}}`."""

import json
from collections.abc import Iterable

from ...core.exchange import ToolSpec
from ...core.messages import ToolCall
from .describing import instruction


def describe(tools: Iterable[ToolSpec]) -> str:
    return instruction("fenced", tools)


def write(call: ToolCall) -> str:
    said = json.dumps({"tool": call.name, "parameters": call.arguments}, ensure_ascii=False, default=str)
    return f"```tool\n{said}\n```"

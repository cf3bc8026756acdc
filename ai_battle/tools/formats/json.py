"""`tool_format: json`: a call is a line of JSON, `{"name": ..., "arguments": {...}}`."""

import json
from collections.abc import Iterable

from ...core.exchange import ToolSpec
from ...core.messages import ToolCall
from .describing import instruction


def describe(tools: Iterable[ToolSpec]) -> str:
    return instruction("json_line", tools)


def write(call: ToolCall) -> str:
    return json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False, default=str)

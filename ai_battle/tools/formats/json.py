"""`tool_format: json`: a call is a block of JSON with `{"name": ..., "arguments": {...}}`."""

import json
from collections.abc import Iterable

from ...core.exchange import ToolSpec
from ...core.messages import ToolCall
from .describing import instruction


def describe(tools: Iterable[ToolSpec]) -> str:
    return instruction("json_block", tools)


def write(call: ToolCall) -> str:
    said = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False, default=str)
    return f"```json\n{said}\n```"

"""`tool_format: xml`: a call is an `<invoke>` whose parameters need no quoting, which suits code."""

import json
from collections.abc import Iterable
from typing import Any

from ...core.exchange import ToolSpec
from ...core.messages import ToolCall
from .describing import instruction


def describe(tools: Iterable[ToolSpec]) -> str:
    return instruction("xml", tools)


def write(call: ToolCall) -> str:
    parameters = (f'<parameter name="{name}">{_value(value)}</parameter>\n' for name, value in call.arguments.items())
    return f'<function_calls>\n<invoke name="{call.name}">\n{"".join(parameters)}</invoke>\n</function_calls>'


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)

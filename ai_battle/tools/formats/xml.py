"""`tool_format: xml`: a call is an `<invoke>` whose parameters need no quoting, which suits code."""

from collections.abc import Iterable

from ...core.exchange import ToolSpec
from ...core.messages import ToolCall
from .forms import instruction, to_json


def describe(tools: Iterable[ToolSpec]) -> str:
    return instruction("xml", tools)


def write(call: ToolCall) -> str:
    given = ((name, value if isinstance(value, str) else to_json(value)) for name, value in call.arguments.items())
    parameters = "".join(f'<parameter name="{name}">{value}</parameter>\n' for name, value in given)
    return f'<function_calls>\n<invoke name="{call.name}">\n{parameters}</invoke>\n</function_calls>'
